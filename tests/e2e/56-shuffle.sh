#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a run leaves is run again and shuffled at its end: a program with state is told of in every form of the report, one without is
# told to be without, and the verdict is as it was.
# limit: 240
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd harnesses/chunk_frame/afl tests/engine/stateful

mkdir "$T/seeds"
for w in abc sss r i0 zzz; do printf '%s' "$w" >"$T/seeds/$w"; done
# campaign NAME PROGRAM SEEDS MORE
campaign() {
    cat >"$T/$1.ini" <<END
[campaign]
name = $1
root = $TOP
budget = 6s
cores = 1

[target t]
harness = $2
seeds = $3
instances = 1
END
    FZ_EXCLUSIVE=0 "$FUZZCTL" run "$T/$1.ini" >"$T/$1.out" 2>&1 </dev/null
    rc=$?
    "$FUZZCTL" report "$1" --json >"$T/$1.json" 2>/dev/null
    "$FUZZCTL" report "$1" >"$T/$1.txt" 2>/dev/null
    md=$(find "$FZ_STATE/campaigns/$1" -name report.md 2>/dev/null | head -n 1)
}

campaign stateful "$BUILD/tests/engine/stateful" "$T/seeds"
check "a program with state: some inputs are stateful" \
    jq -e '.targets[0].shuffle | .stateful > 0 and .checked > 0' "$T/stateful.json"
check "each with what brings it about" \
    jq -e '[.targets[0].shuffle.findings[] | select(.kind == "stateful") | .after | length] | min > 0' "$T/stateful.json"
assert_match "the report says how many" "shuffle +[0-9]+ inputs? run 8 times each and shuffled: [0-9]+ stateful" \
    "$(cat "$T/stateful.txt")"
assert_match "and the smallest pair" "smallest pair: " "$(cat "$T/stateful.txt")"
check "report.md is there" test -n "$md"
assert_match "and says it too" "[0-9]+ stateful" "$(cat "$md")"

campaign clean "$HARNESSES/chunk_frame/afl" "$TOP/seeds/chunk_frame"
assert_eq "a program without state: the verdict stays clean" 0 "$rc"
check "no input is stateful or flaky" \
    jq -e '.targets[0].shuffle | .stateful == 0 and .flaky == 0 and .checked > 10 and .kept' "$T/clean.json"
queue=$(find "$FZ_STATE/campaigns/clean" -type d -name queue | head -n 1)
assert_eq "status and replay of the queue count the same edges" "$(jq '.targets[0].edges_found' "$T/clean.json")" \
    "$("$FUZZCTL" replay --json --harness "$HARNESSES/chunk_frame/afl" "$queue" | tail -n 1 | jq .edges)"
assert_match "and that is said" "shuffle +[0-9]+ inputs? run 8 times" "$(cat "$T/clean.txt")"
