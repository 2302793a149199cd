#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The invariants see faults that no plant has: each mutant of the library is caught by its id.
# limit: 450
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/replay

targets=harnesses/targets
objects=$BUILD/obj/harnesses/replay
tab=$(printf '\t')

# library TARGET: what a target may use of others, for the linker to take what it needs.
library() {
    rm -f "$T/others.a"
    find "$objects/targets" -name '*.o' ! -path "*/$1/*" ! -name 'invariants.o' ! -name 'oracle*.o' \
        -exec ar rcs "$T/others.a" {} +
}

# mutant TARGET FILE PROGRAM: builds $T/mutant with the file as the sed program changes it.
mutant() {
    sed "$3" "$targets/$2" >"$T/mutant.c"
    if cmp -s "$targets/$2" "$T/mutant.c"; then
        echo "the program changes nothing" >"$T/err"
        return 1
    fi
    own=$(find "$objects/targets/$1" -name '*.o' ! -path "*/${2%.c}.o")
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -w -Iharnesses -I"$targets/${2%/*}" -o "$T/mutant" "$T/mutant.c" \
        $own "$objects"/sdk/*.o "$T/others.a" 2>"$T/err"
}

# shellcheck disable=SC3045
ulimit -c 0
for list in tests/fixtures/harness/*.mutants; do
    t=${list##*/}
    t=${t%.mutants}
    need "harnesses/$t/replay"
    library "$t"
    n=0
    while IFS=$tab read -r id file program; do
        case $id in "#"* | "") continue ;; esac
        n=$((n + 1))
        case $file in */*) ;; *) file=$t/$file ;; esac
        if ! mutant "$t" "$file" "$program"; then
            not_ok "$t: mutant $n ($id) is built"
            cat "$T/err"
            continue
        fi
        "$T/mutant" --timeout 2000 "seeds/$t" >"$T/out" 2>/dev/null
        assert_match "$t: mutant $n is caught by $id" "\"inv\":\"$id\"" \
            "$(sed -n 's/.*\("inv":"[^"]*"\).*/\1/p' "$T/out" | sort | uniq -c)"
    done <"$list"
    check "$t: all mutants were tried" [ "$n" -ge 20 ]
done

library chunk_frame
mutant chunk_frame chunk_frame/chunk_frame.c 's/if (len > WL_MAX_CHUNK_LEN)/if (len > 100)/' || exit 1
assert_exit "a library that the self-test refuses dies before any input" 133 "$T/mutant" seeds/chunk_frame
assert_match "and says so" '^FZ-FAIL target=chunk_frame class=internal inv=SELFTEST ' "$(cat "$T/err")"
assert_eq "and judges no input" "" "$(cat "$T/out")"
