#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The invariants see faults that no plant has: each mutant of the library is caught by its id.
# limit: 450
. tests/e2e/lib.sh
need harnesses/chunk_frame/replay harnesses/session_opseq/replay

objects=$BUILD/obj/harnesses/replay
tab=$(printf '\t')

# mutant TARGET FILE PROGRAM: builds $T/mutant from the target with one file of its library as the
# sed program changes it; $uses are the objects of other folders.
mutant() {
    dir=harnesses/targets/$1
    sed "$3" "$dir/$2" >"$T/$2"
    if cmp -s "$dir/$2" "$T/$2"; then
        echo "the program changes nothing" >"$T/err"
        return 1
    fi
    others=$(find "$objects/targets/$1" -name '*.o' ! -name "${2%.c}.o")
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -w -Iharnesses -I"$dir" -o "$T/mutant" "$T/$2" $others $uses \
        "$objects"/sdk/*.o 2>"$T/err"
}

# mutants TARGET LEAST: every mutant of the list is caught by its id on the committed seeds.
mutants() {
    n=0
    while IFS=$tab read -r id file program; do
        case $id in "#"* | "") continue ;; esac
        n=$((n + 1))
        if ! mutant "$1" "$file" "$program"; then
            not_ok "$1 mutant $n ($id) is built"
            cat "$T/err"
            continue
        fi
        "$T/mutant" --timeout 2000 "seeds/$1" >"$T/out" 2>/dev/null
        assert_match "$1 mutant $n is caught by $id" "\"inv\":\"$id\"" \
            "$(sed -n 's/.*\("inv":"[^"]*"\).*/\1/p' "$T/out" | sort | uniq -c)"
    done <"tests/fixtures/harness/$1.mutants"
    check "all mutants of $1 were tried" [ "$n" -ge "$2" ]
}

# shellcheck disable=SC3045
ulimit -c 0
uses=$(echo "$objects"/targets/json/*.o "$objects/targets/chunk_frame/chunk_frame.o" \
    "$objects/targets/control_json/control_json.o")
mutants session_opseq 20
uses=
mutants chunk_frame 20

mutant chunk_frame chunk_frame.c 's/if (len > WL_MAX_CHUNK_LEN)/if (len > 100)/' || exit 1
assert_exit "a library that the self-test refuses dies before any input" 133 "$T/mutant" seeds/chunk_frame
assert_match "and says so" '^FZ-FAIL target=chunk_frame class=internal inv=SELFTEST ' "$(cat "$T/err")"
assert_eq "and judges no input" "" "$(cat "$T/out")"
