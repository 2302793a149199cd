#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two targets in one campaign fuzz side by side, or one after the other where there is one core,
# and never sync into each other.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

cat >"$T/two.ini" <<END
[campaign]
name = two
root = $TOP
budget = 6s
cores = all

[target left]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = 1
env = AFL_SYNC_TIME=1

[target right]
harness = $HARNESSES/chunk_frame/afl
seeds = $T/right
instances = 1
END
mkdir "$T/right"
printf 'only the right one has this' >"$T/right/mark"

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/two.ini"
"$FUZZCTL" wait two --timeout 90s >/dev/null 2>&1
run=$(find "$FZ_STATE/campaigns/two" -mindepth 1 -maxdepth 1 -type d)
for target in left right; do
    check "$target has its own output folder" test -d "$run/out/$target/main/queue"
    assert_eq "$target synced with nobody" "" "$(ls "$run/out/$target/main/.synced" 2>/dev/null)"
    assert_eq "$target knows only its own instance" main "$(ls "$run/out/$target")"
    ended=$("$FUZZCTL" status two --json | jq -r --arg t $target '.campaigns[0].targets[] | select(.name == $t) | .end_reason')
    assert_eq "$target ended by its budget" budget "$ended"
done
assert_eq "the mark is in no queue of the other" 0 "$(grep -rl 'only the right one' "$run/out/left" | wc -l)"
assert_eq "the committed seeds are as they were" "" "$(git -C "$TOP" status --porcelain seeds 2>/dev/null)"
