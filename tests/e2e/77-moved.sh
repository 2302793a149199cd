#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A state directory that was moved, and one that was copied while it ran: verify, report, artifacts and resume
# work there, and the copy does not touch what the original runs.
# limit: 150
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec m 100s
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/m.ini"
afl=$("$FUZZCTL" status m --json | jq '.campaigns[0].targets[0].instances[0].pid')
cp -a "$FZ_STATE" "$T/copy"
assert_exit "verify works in a copy of what runs" 0 timeout 30 "$FUZZCTL" --state "$T/copy" verify
assert_match "where the run has ended" interrupted "$("$FUZZCTL" --state "$T/copy" list)"
check "and the original fuzzes on" alive "$afl"
assert_exit "the copy is resumed" 0 "$FUZZCTL" --state "$T/copy" resume m
assert_exit "and stopped" 0 "$FUZZCTL" --state "$T/copy" stop m
check "and still the original fuzzes" alive "$afl"
assert_exit "which is stopped" 0 "$FUZZCTL" stop m
pid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
case $pid in "" | *[!0-9]* | 0 | 1) ;; *) kill -TERM "$pid" 2>/dev/null ;; esac
wait_for 8 no_state_pids
mv "$FZ_STATE" "$T/moved"
assert_exit "where it was moved to: report" 13 "$FUZZCTL" --state "$T/moved" report m
for verb in verify "artifacts m" "resume m" "stop m" verify; do
    # shellcheck disable=SC2086
    assert_exit "where it was moved to: $verb" 0 timeout 40 "$FUZZCTL" --state "$T/moved" $verb
done
for other in copy moved; do
    pid=$(sed 's/pid \([0-9]*\).*/\1/' "$T/$other/fuzzd.lock")
    case $pid in "" | *[!0-9]* | 0 | 1) ;; *) kill -TERM "$pid" 2>/dev/null ;; esac
done
[ -d "$FZ_STATE" ] || mkdir -m 700 "$FZ_STATE"
