#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The replay program of the kit: classes, evidence, exit status, output, limits.
# limit: 300
# cores: none
. tests/e2e/lib.sh

sdk=$(find harnesses/sdk -name 'fz_*.c')
# shellcheck disable=SC2086
"${CC:-cc}" -std=c17 -D_GNU_SOURCE -O1 -g -Iharnesses -o "$T/b" tests/fixtures/harness/behaviours.c \
    $sdk harnesses/sdk/main_replay.c || exit 1
unset FZ_TWICE FZ_ALLOC_LIMIT_MB
# shellcheck disable=SC3045
ulimit -c 0

# case_is NAME INPUT WANT: class, inv and signal of one replayed input.
case_is() {
    printf '%s' "$2" >"$T/in"
    got=$("$T/b" --timeout 300 "$T/in" 2>"$T/err" |
        sed -n 's/^{"file":.*"class":"\(.*\)","inv":"*\([^"]*\)"*,"signal":\([0-9]*\),"ms":[0-9.]*[,}].*$/\1 \2 \3/p')
    assert_eq "$1" "$3" "$got"
}

case_is "a clean input passes" z "pass null 0"
case_is "invariant is SIGABRT" A "invariant B1 6"
case_is "determinism is SIGUSR1" D "determinism B2 10"
case_is "oom is SIGUSR2" O "oom B3 12"
case_is "internal is SIGTRAP" I "internal B4 5"
case_is "memory is SIGSEGV" M "memory B5 11"
case_is "a signal that the library ignores still ends it" b "invariant B8 6"
case_is "one request above the target's limit is oom" g "oom GUARD 12"
case_is "too many live bytes are oom" h "oom GUARD 12"
case_is "a live block at the end is a leak" l "invariant INV-LEAK 6"
case_is "a block freed twice is a memory fault" f "memory GUARD 11"
case_is "state that survives a run is seen by the second" s "invariant INV-STATE 6"
case_is "the byte behind a guarded copy faults" p "memory null 11"
case_is "the last byte of a guarded copy does not" q "pass null 0"
case_is "a bare abort is an invariant" a "invariant null 6"
case_is "SIGKILL is a hard kill" k "hard-kill null 9"
case_is "a target that exits 0 has not passed" e "internal null 0"
case_is "a target that exits 7 has not passed" x "internal null 0"
case_is "an endless loop is a timeout" t "timeout null 14"
case_is "an input that ignores its alarm is a timeout" T "timeout null 9"
case_is "a FZ-FAIL inside a line is no evidence" w "arithmetic null 8"
case_is "the stack protector's text is memory" W "memory GLIBC 6"
case_is "a sanitizer's report is memory" S "memory ASAN 6"
case_is "what a target prints does not mix with the lines" o "pass null 0"

printf s >"$T/in"
assert_exit "FZ_TWICE=0 runs an input once" 0 env FZ_TWICE=0 "$T/b" "$T/in"
printf h >"$T/in"
FZ_ALLOC_LIMIT_MB=3 "$T/b" "$T/in" >/dev/null 2>"$T/err"
assert_match "FZ_ALLOC_LIMIT_MB sets the limit of live bytes" \
    '^FZ-FAIL .* inv=GUARD detail=3145728 bytes live' "$(cat "$T/err")"
printf g >"$T/in"
FZ_ALLOC_LIMIT_MB=3 "$T/b" "$T/in" >/dev/null 2>"$T/err"
assert_match "and not that of a single request" 'inv=GUARD detail=one request of 1049600' "$(cat "$T/err")"

printf A >"$T/in"
assert_match "a failing line says what the invariant said" '"ms":[0-9.]*,"detail":"plain"}$' \
    "$("$T/b" "$T/in" 2>/dev/null)"
printf S >"$T/in"
assert_match "or what the report said" '"detail":"ERROR: AddressSanitizer: heap-use-after-free"}$' \
    "$("$T/b" "$T/in" 2>/dev/null)"
printf L >"$T/in"
"$T/b" --one "$T/in" >"$T/out" 2>"$T/err"
assert_eq "a detail of two lines is told in one line" \
    "FZ-FAIL target=behaviours class=invariant inv=B6 detail=two?FZ-FAIL target=x class=oom inv=X detail=lines?" \
    "$(grep '^FZ-FAIL ' "$T/err")"

# ---- --one: the process dies by the signal of the class ------------------------------------
for pair in A:134 D:138 O:140 I:133 M:139 k:137 z:0; do
    printf '%s' "${pair%:*}" >"$T/in"
    assert_exit "--one of ${pair%:*} ends with status ${pair#*:}" "${pair#*:}" "$T/b" --one "$T/in"
done
printf A >"$T/in"
"$T/b" --one - <"$T/in" >"$T/out" 2>"$T/err"
assert_match "--one - reads stdin" '^FZ-FAIL target=behaviours class=invariant inv=B1 ' "$(cat "$T/err")"
assert_exit "--one takes one file only" 2 "$T/b" --one "$T/in" "$T/in"

# ---- Exit status ---------------------------------------------------------------------------
mkdir "$T/empty" "$T/dir" "$T/dir/sub"
printf z >"$T/dir/b"
printf z >"$T/dir/a"
printf A >"$T/dir/.hidden"
printf A >"$T/dir/README.txt"
printf A >"$T/dir/sub/c"
assert_exit "all passed is 0" 0 "$T/b" "$T/dir"
assert_eq "a directory is its files by name, without dot files and README.txt" "a b 2 passed, 0 failed" \
    "$(sed 's/^{"file":"[^"]*\/\([^/"]*\)".*/\1/' "$T/out" | tr '\n' ' ' | sed 's/ $//')"
assert_exit "some failed is 1" 1 "$T/b" "$T/dir" "$T/dir/sub"
assert_eq "the closing line counts both" "2 passed, 1 failed" "$(tail -n 1 "$T/out")"
assert_exit "no arguments is 2" 2 "$T/b"
assert_exit "an unknown option is 2" 2 "$T/b" --nonsense "$T/dir"
assert_exit "a time limit that is no number is 2" 2 "$T/b" --timeout 5x "$T/dir"
assert_exit "a missing file is 2" 2 "$T/b" "$T/nowhere"
assert_exit "a device is 2" 2 "$T/b" /dev/zero
assert_exit "an empty directory is 3" 3 "$T/b" "$T/empty"
assert_eq "and claims nothing" "" "$(cat "$T/out")"
assert_exit "--help is 0" 0 "$T/b" --help

# ---- Inputs --------------------------------------------------------------------------------
head -c 70000 /dev/zero | tr '\0' N >"$T/in"
"$T/b" --one "$T/in" >/dev/null 2>"$T/err"
assert_match "a long input is cut to 64 KiB" 'inv=B7 detail=65536 bytes' "$(cat "$T/err")"
: >"$T/in"
assert_exit "an empty input is an input" 0 "$T/b" "$T/in"
odd=$T/dir/$(printf 'q"\\\001\377')
printf z >"$odd"
"$T/b" "$odd" >"$T/out"
assert_match "a file name that is not text is escaped" 'q\\"\\\\\\u0001\\u00ff","class"' "$(cat "$T/out")"

# ---- --reach -------------------------------------------------------------------------------
printf A >"$T/in"
assert_exit "--reach does not judge" 0 "$T/b" --reach "$T/dir/a" "$T/dir/b" "$T/in"
assert_eq "--reach counts each run once and lists what was not reached" '{"seen":3,"never":0}' "$(cat "$T/out")"
assert_exit "--reach without inputs is 3" 3 "$T/b" --reach "$T/empty"
assert_exit "--required needs no input" 0 "$T/b" --required
assert_eq "--required lists the places, one a line" "seen never" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')"
assert_exit "--required takes none" 2 "$T/b" --required "$T/in"

# Every child of the coverage build adds to the profile, also where the parent runs none of it.
LLVM_PROFILE_FILE="$T/cov-%m.profraw" "$HARNESSES/chunk_frame/cov" seeds/chunk_frame >/dev/null 2>&1
assert_eq "the coverage build passes the seeds" 0 "$?"
profdata=$(command -v llvm-profdata || command -v llvm-profdata-14)
check "its profile can be read" "$profdata" merge -o "$T/cov.profdata" "$T"/cov-*.profraw
ran=$("$profdata" show --counts --function=wl_read_chunk "$T/cov.profdata" 2>/dev/null |
    sed -n 's/.*Function count: //p' | sort -rn | head -n 1)
check "it counts what the children ran (${ran:-nothing})" test "${ran:-0}" -ge 132
