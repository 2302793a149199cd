#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The invariants see faults that no plant has: each mutant of the library is caught by its id.
# limit: 450
. tests/e2e/lib.sh
need harnesses/chunk_frame/replay

dir=harnesses/targets/chunk_frame
objects=$BUILD/obj/harnesses/replay
tab=$(printf '\t')
n=0

# mutant PROGRAM: builds $T/mutant from the library as the sed program changes it.
mutant() {
    sed "$1" "$dir/chunk_frame.c" >"$T/chunk_frame.c"
    if cmp -s "$dir/chunk_frame.c" "$T/chunk_frame.c"; then
        echo "the program changes nothing" >"$T/err"
        return 1
    fi
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -w -Iharnesses -I"$dir" -o "$T/mutant" "$T/chunk_frame.c" \
        "$objects/targets/chunk_frame/invariants.o" "$objects/targets/chunk_frame/oracle.o" "$objects"/sdk/*.o 2>"$T/err"
}

# shellcheck disable=SC3045
ulimit -c 0
while IFS=$tab read -r id program; do
    case $id in "#"* | "") continue ;; esac
    n=$((n + 1))
    if ! mutant "$program"; then
        not_ok "mutant $n ($id) is built"
        cat "$T/err"
        continue
    fi
    "$T/mutant" --timeout 2000 seeds/chunk_frame >"$T/out" 2>/dev/null
    assert_match "mutant $n is caught by $id" "\"inv\":\"$id\"" \
        "$(sed -n 's/.*\("inv":"[^"]*"\).*/\1/p' "$T/out" | sort | uniq -c)"
done <tests/fixtures/harness/chunk_frame.mutants
check "all mutants were tried" [ "$n" -ge 20 ]

mutant 's/if (len > WL_MAX_CHUNK_LEN)/if (len > 100)/' || exit 1
assert_exit "a library that the self-test refuses dies before any input" 133 "$T/mutant" seeds/chunk_frame
assert_match "and says so" '^FZ-FAIL target=chunk_frame class=internal inv=SELFTEST ' "$(cat "$T/err")"
assert_eq "and judges no input" "" "$(cat "$T/out")"
