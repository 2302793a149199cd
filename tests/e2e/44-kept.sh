#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A fuzzd that systemd keeps: when it dies, who asks meanwhile waits for systemd's next one and starts none beside it, which
# would have none of the service's restrictions and outlive its stop. One that ended in order is waited for by nobody.
# limit: 150
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper harnesses/chunk_frame/afl

chunk_spec kp 120s
keep() { # as systemd starts it
    NOTIFY_SOCKET=$T/notify "$FUZZD" --state "$FZ_STATE" --foreground >"$T/fuzzd.out" 2>&1 &
    kept=$!
}
answers() {
    [ "$("$FUZZCTL" status --json | jq .fuzzd.pid)" = "$kept" ]
}
fuzzing() {
    [ "$("$FUZZCTL" status kp --json | jq -r '.campaigns[0].targets[0].instances[0].state')" = fuzzing ]
}
dead() {
    ! alive "$1"
}
keep
check "a service's fuzzd serves" wait_for 10 answers
assert_exit "a campaign starts" 0 "$FUZZCTL" start "$T/kp.ini"
check "it fuzzes" wait_for 40 fuzzing
[ "$kept" -gt 1 ] && kill -KILL "$kept"
wait "$kept" 2>/dev/null
"$FUZZCTL" status kp --json >"$T/asked" 2>&1 &
asked=$!
sleep 2
keep
check "who asks meanwhile is answered" wait "$asked"
assert_eq "by the next one of the service" "$kept" "$(jq .fuzzd.pid "$T/asked")"
check "which goes on with the campaign" wait_for 15 fuzzing

assert_exit "the campaign stops" 0 "$FUZZCTL" stop kp
[ "$kept" -gt 1 ] && kill -TERM "$kept"
wait "$kept" 2>/dev/null
began=$(date +%s)
assert_exit "after one that ended in order a start is not kept waiting" 0 "$FUZZCTL" start "$T/kp.ini"
if [ $(($(date +%s) - began)) -lt 14 ]; then ok "not for systemd"; else not_ok "not for systemd"; fi
assert_exit "it stops" 0 "$FUZZCTL" stop kp
