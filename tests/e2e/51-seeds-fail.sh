#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# afl-fuzz leaves a crashing seed out with a warning; the campaign must not end clean for that.
# A seed that a run changes is told as well.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl \
    plants/CHUNK_MAX_PLUS1/chunk_frame/afl

spec() { # NAME FOLDER SEEDS
    cat <<END
[campaign]
name = $1
root = $TOP
budget = 4s
cores = 1
seed = 7

[target $1]
harness = $2/afl
sanitizer = $2/asan
replay = $2/replay
seeds = $3
END
}

spec bad_seeds "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame" "$TOP/seeds/chunk_frame" >"$T/bad.ini"
"$FUZZCTL" run "$T/bad.ini" >"$T/bad.out" 2>&1
assert_eq "peers 15: a campaign whose seeds fail exits 10" 10 $?
assert_match "and says how many" '5 of 132 seeds failed when replayed before fuzzing, and afl-fuzz did not get them' \
    "$("$FUZZCTL" report bad_seeds --json | jq -r '.reasons[]')"

mkdir "$T/seeds"
cp seeds/chunk_frame/* "$T/seeds/"
spec moving_seeds "$HARNESSES/chunk_frame" "$T/seeds" >"$T/moving.ini"
"$FUZZCTL" start "$T/moving.ini" >"$T/start.out" 2>&1
assert_eq "a campaign with seeds of its own starts" 0 $?
echo more >"$T/seeds/more"
"$FUZZCTL" wait moving_seeds --timeout 60 >"$T/wait.out" 2>&1
assert_eq "a changed seeds folder is no clean end" 13 $?
assert_match "and is the reason" 'its seeds folder changed during the run' \
    "$("$FUZZCTL" report moving_seeds --json | jq -r '.reasons[0]')"

# A program that is built anew meanwhile, too.
cp -R "$HARNESSES/chunk_frame" "$T/builds"
spec rebuilt "$T/builds" "$TOP/seeds/chunk_frame" >"$T/rebuilt.ini"
"$FUZZCTL" start "$T/rebuilt.ini" >"$T/start.out" 2>&1
fuzzes() {
    [ "$("$FUZZCTL" status --json | jq -r '.campaigns[] | select(.name == "rebuilt") | .targets[0].execs_done')" -gt 0 ]
}
check "a campaign fuzzes" wait_for 30 fuzzes
cp "$T/builds/asan" "$T/asan"
echo >>"$T/asan"
mv "$T/asan" "$T/builds/asan"
"$FUZZCTL" wait rebuilt --timeout 60 >"$T/wait.out" 2>&1
assert_eq "a sanitizer build that is another at its end is no clean end" 13 $?
assert_match "and is the reason" 'its sanitizer was built anew during the run' \
    "$("$FUZZCTL" report rebuilt --json | jq -r '.reasons[0]')"
