#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The AFL++ builds under a real afl-fuzz: failures kept apart, stability, sanitizers, no server.
# limit: 450
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/chunk_frame/cmplog harnesses/chunk_frame/libfuzzer \
    plants/CHUNK_OVERREAD/chunk_frame/asan

AFL=$HARNESSES/chunk_frame/afl
AFL_CC=${AFL_CC:-afl-clang-fast}
if ! command -v afl-fuzz >/dev/null || ! command -v "$AFL_CC" >/dev/null; then
    skip harness-afl "afl-fuzz or $AFL_CC is not installed" && exit 0
fi
export AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1
unset AFL_BENCH_UNTIL_CRASH FZ_TWICE
# shellcheck disable=SC3045
ulimit -c 0

# fuzz OUT SECONDS ARGS…: afl-fuzz from the minimal seeds, its output in $T/log.
fuzz() {
    out=$1 seconds=$2
    shift 2
    afl-fuzz -i "${SEEDS:-seeds/chunk_frame-min}" -o "$T/$out" -V "$seconds" -s 1 "$@" >"$T/log" 2>&1
}

# stat_of OUT KEY
stat_of() {
    sed -n "s/^$2 *: *//p" "$T/$1/default/fuzzer_stats"
}

crash_files() {
    find "$T/$1/default/crashes" -name 'id*' | sort
}

# ---- Coverage cells ------------------------------------------------------------------------
mkdir "$T/seeds"
printf 'a' >"$T/seeds/a"
# shellcheck disable=SC2046
AFL_LLVM_DENYLIST=harnesses/sdk/afl-denylist.txt "$AFL_CC" -std=c17 -D_GNU_SOURCE -O2 -w -Iharnesses \
    -o "$T/four" tests/fixtures/harness/four_ids.c $(find harnesses/sdk -name 'fz_*.c') \
    harnesses/sdk/main_afl.c || exit 1
SEEDS=$T/seeds fuzz ids 4 "$T/four"
assert_eq "four ids on one path give four crash files" 4 "$(crash_files ids | wc -l)"
assert_eq "one of each id" "inv=Q1 inv=Q2 inv=Q3 inv=Q4" "$(crash_files ids | while read -r f; do
    "$T/four" --one "$f" 2>&1 >/dev/null | sed -n 's/^FZ-FAIL .* \(inv=[^ ]*\) .*/\1/p'
done | sort | tr '\n' ' ' | sed 's/ $//')"

# ---- The clean target ----------------------------------------------------------------------
fuzz clean 6 "$AFL"
assert_eq "the harness is perfectly stable" 100.00% "$(stat_of clean stability)"
assert_eq "the clean target has no crash" 0 "$(stat_of clean saved_crashes)"
assert_eq "and no hang" 0 "$(stat_of clean saved_hangs)"
check "the queue grows from three trivial seeds" [ "$(stat_of clean corpus_count)" -gt 6 ]
check "persistent mode is in use" grep -q 'Persistent mode binary detected' "$T/log"
check "so is the deferred fork server" grep -q 'Deferred forkserver binary detected' "$T/log"
# afl-fuzz -c is not run here: 4.04c sometimes leaves the child of its cmplog server behind.
check "the cmplog build calls the hooks of CmpLog" \
    grep -q __cmplog_ins_hook "$BUILD/obj/harnesses/cmplog/targets/chunk_frame/chunk_frame.o"

# ---- Plants that need afl-fuzz or a sanitizer ----------------------------------------------
AFL_BENCH_UNTIL_CRASH=1
export AFL_BENCH_UNTIL_CRASH
fuzz overread 60 "$PLANTS/CHUNK_OVERREAD/chunk_frame/asan"
first=$(crash_files overread | head -n 1)
check "the sanitizer build finds CHUNK_OVERREAD" [ -n "$first" ]
assert_match "and tells it as an ASan report" '"class":"memory","inv":"ASAN","signal":6' \
    "$("$PLANTS/CHUNK_OVERREAD/chunk_frame/asan" "$first" 2>/dev/null)"
fuzz state 60 "$PLANTS/CHUNK_STATE_LEAK/chunk_frame/afl"
first=$(crash_files state | head -n 1)
check "afl-fuzz finds CHUNK_STATE_LEAK" [ -n "$first" ]
assert_exit "whose input alone passes" 0 "$PLANTS/CHUNK_STATE_LEAK/chunk_frame/afl" "$first"
unset AFL_BENCH_UNTIL_CRASH

# ---- Without a fork server -----------------------------------------------------------------
bad=$T/bad
printf '\001\001\000\000\001' >"$bad"
for variant in afl asan cmplog replay; do
    b=$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/$variant
    "$b" --one "$bad" >"$T/out" 2>"$T/err"
    assert_eq "$variant --one dies by the signal of the class" 134 $?
    assert_eq "$variant --one says why in one line" 1 "$(grep -c '^FZ-FAIL .*class=invariant inv=C3 ' "$T/err")"
    assert_exit "$variant replays" 1 "$b" "$bad" seeds/chunk_frame-min
    assert_eq "$variant counts" "3 passed, 1 failed" "$(tail -n 1 "$T/out")"
    assert_exit "$variant of the clean target replays its seeds" 0 "$HARNESSES/chunk_frame/$variant" seeds/chunk_frame
done
"$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl" <"$bad" >"$T/out" 2>"$T/err"
assert_eq "without arguments one input is read from stdin" 134 $?
"$AFL" <"$bad" >"$T/out" 2>"$T/err"
assert_eq "and may pass" 0 $?

# ---- libFuzzer -----------------------------------------------------------------------------
mkdir "$T/corpus"
assert_exit "the libFuzzer build runs and finds nothing" 0 "$HARNESSES/chunk_frame/libfuzzer" -runs=2000 \
    -seed=1 -artifact_prefix="$T/" "$T/corpus" seeds/chunk_frame-min
check "it finds new inputs" [ "$(find "$T/corpus" -type f | wc -l)" -gt 3 ]
