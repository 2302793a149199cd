#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The throughput table of the targets comes out: a row with every figure, and nothing left behind.
# limit: 120
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/chunk_frame/libfuzzer
command -v python3 >/dev/null || { skip bench "no python3"; exit 0; }

assert_exit "the targets are measured" 0 env TMPDIR="$T" python3 tests/bench/targets.py --build "$BUILD" --seconds 2 \
    --rounds 2 --json "$T/json" chunk_frame
assert_match "a row: seeds, queue, mean length, rates and ratios, edges" \
    '^chunk_frame +132 +[0-9]+ +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* +[0-9.]+ +[1-9][0-9]* +[0-9.]+ .* [1-9][0-9]* +100' \
    "$(cat "$T/out")"
assert_eq "each of the three in each round" 6 "$(python3 -c 'import json,sys; r = json.load(open(sys.argv[1]))
print(sum(x[s]["per_s"] > 0 for x in r["targets"][0]["rounds"] for s in ("empty", "afl", "libfuzzer")))' "$T/json")"
assert_eq "no file is left" "" "$(find "$T" -maxdepth 1 -name 'fuzzd-bench-*')"
assert_exit "an unknown target is told" 1 python3 tests/bench/targets.py --build "$BUILD" none
assert_match "with those there are" 'no target none; there are .*chunk_frame' "$(cat "$T/err")"
assert_exit "a core that is not ours" 1 python3 tests/bench/targets.py --build "$BUILD" --cpu 9999
