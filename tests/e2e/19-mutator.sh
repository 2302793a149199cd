#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The mutator of whole operations in a real afl-fuzz, alone, and in the plan of its campaign.
# limit: 150
. tests/e2e/lib.sh
need harnesses/session_opseq/mutator.so harnesses/session_opseq/afl plants/SESS_STALL/session_opseq/afl \
    plants/SESS_STALL/session_opseq/replay

command -v afl-fuzz >/dev/null || { skip mutator "afl-fuzz is not installed"; exit 0; }
export AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1 AFL_CUSTOM_MUTATOR_ONLY=1
AFL_CUSTOM_MUTATOR_LIBRARY=$(cd "$HARNESSES/session_opseq" && pwd)/mutator.so
export AFL_CUSTOM_MUTATOR_LIBRARY
# shellcheck disable=SC3045
ulimit -c 0

# fuzz OUT SECONDS PROGRAM
fuzz() {
    afl-fuzz -i seeds/session_opseq-min -o "$T/$1" -t 1000 -V "$2" -s 1 -- "$3" >"$T/log" 2>&1
}

fuzz clean 5 "$HARNESSES/session_opseq/afl"
assert_eq "mutated operations leave the harness perfectly stable" 100.00% \
    "$(sed -n 's/^stability *: *//p' "$T/clean/default/fuzzer_stats")"
assert_eq "and find nothing in the session" 0 "$(find "$T/clean/default/crashes" "$T/clean/default/hangs" -name 'id*' | wc -l)"
new=$(find "$T/clean/default/queue" -name 'id*' ! -name '*orig*' | wc -l)
check "they alone make the queue grow" [ "$new" -gt 20 ]
long=$(find "$T/clean/default/queue" -name 'id*' -size +770c | wc -l)
assert_eq "no output is longer than 128 operations" 0 "$long"

export AFL_BENCH_UNTIL_CRASH=1
fuzz stall 60 "$PLANTS/SESS_STALL/session_opseq/afl"
found=$(find "$T/stall/default/crashes" -name 'id*' | sort | head -n 1)
check "they alone find SESS_STALL" [ -n "$found" ]
assert_match "as what it is" '"class":"invariant","inv":"S(8|9|11)"' \
    "$("$PLANTS/SESS_STALL/session_opseq/replay" "$found" 2>/dev/null)"

# ---- The campaign --------------------------------------------------------------------------
need fuzzctl
unset AFL_CUSTOM_MUTATOR_LIBRARY AFL_CUSTOM_MUTATOR_ONLY AFL_BENCH_UNTIL_CRASH
assert_exit "the campaign is planned" 0 "$BUILD/fuzzctl" plan conf/campaigns/session_opseq.ini
# On one core the main is all there is.
[ "$(nproc)" -eq 1 ] && want="1 1" || want="1 0"
assert_eq "one secondary has the mutator" "$want" "$(awk '
    /^  session_opseq\/session_opseq\// { main = /\(main/ }
    /AFL_CUSTOM_MUTATOR_LIBRARY=/ { n++; n_main += main }
    END { print n, n_main + 0 }' "$T/out")"
