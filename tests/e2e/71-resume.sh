#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An interrupted run is resumed: after a stop, after SIGTERM of fuzzd, after a restart of the host. It is the same run,
# executions and budget go on; one whose programs or folder are not what they were is refused and says why.
# limit: 375
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl
command -v sqlite3 >/dev/null || { skip 71-resume "no sqlite3"; exit 0; }

cp "$HARNESSES/chunk_frame/afl" "$T/harness"
cat >"$T/again.ini" <<END
[campaign]
name = again
root = $TOP
budget = 60s
cores = 1

[limits]
disk_floor = 0
pressure = 100

[target chunk_frame]
harness = $T/harness
seeds = seeds/chunk_frame-min
instances = 1
END

status() {
    "$FUZZCTL" status again --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
execs() {
    status '.targets[0].execs_done'
}
counting() {
    [ "$(execs)" -gt "$1" ]
}
ended() {
    [ "$(status .state)" = ended ]
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/again.ini"
check "it fuzzes" wait_for 40 fuzzing
check "executions are counted" wait_for 5 counting 0
sleep 2
run=$(status .run)

# ---- after a stop ----------------------------------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop again
before=$(execs)
assert_exit "resume succeeds" 0 "$FUZZCTL" resume again
assert_match "and names the run" "run $run of campaign again resumed, running" "$(cat "$T/out")"
check "it fuzzes" wait_for 40 fuzzing
assert_eq "it is the same run" "$run" "$(status .run)"
assert_eq "which has no verdict now" null "$(status .verdict)"
check "its executions go on" wait_for 5 counting "$before"
if [ "$(status '.targets[0].fuzz_s')" -ge 2 ]; then
    ok "so does its clock"
else
    not_ok "so does its clock: $(status '.targets[0].fuzz_s') s"
fi
assert_exit "a resume of what runs succeeds" 0 "$FUZZCTL" resume again
assert_match "and says that it was not paused" "is not paused" "$(cat "$T/out")"

# ---- after SIGTERM of fuzzd ------------------------------------------------------------------
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -TERM "$daemon"
gone() {
    ! alive "$daemon"
}
check "fuzzd leaves on SIGTERM" wait_for 20 gone
assert_eq "the run is interrupted" interrupted "$(status .verdict)"
before=$(execs)
assert_exit "resume succeeds without a daemon" 0 "$FUZZCTL" resume again
check "it fuzzes again" wait_for 40 fuzzing
assert_eq "it is the same run still" "$run" "$(status .run)"
check "its executions go on again" wait_for 5 counting "$before"

# ---- after a restart of the host -------------------------------------------------------------
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
kill_all() {
    # shellcheck disable=SC2046  # pids, split on purpose
    kill -KILL $(state_pids) 2>/dev/null
    no_state_pids
}
check "nothing lives" wait_for 5 kill_all
sqlite3 "$FZ_STATE/state.db" "update runs set boot_id = '0123456789abcdef0123456789abcdef'"
sed -i 's/^boot_id.*/boot_id 0123456789abcdef0123456789abcdef/' "$FZ_STATE"/campaigns/again/*/exit/*.run
assert_exit "resume succeeds after a restart of the host" 0 "$FUZZCTL" resume again
check "it fuzzes after that" wait_for 40 fuzzing
assert_eq "it is the same run even then" "$run" "$(status .run)"
check "its executions go on even then" wait_for 5 counting "$before"

# ---- what cannot be resumed ------------------------------------------------------------------
assert_exit "stop once more" 0 "$FUZZCTL" stop again
echo >>"$T/harness"
assert_exit "a harness that was built anew: refused" 1 "$FUZZCTL" resume again
assert_match "with the reason" "run $run cannot be resumed: $T/harness was built anew since" "$(cat "$T/err")"
rm "$T/harness"
assert_exit "a harness that is gone: refused" 1 "$FUZZCTL" resume again
assert_match "with its name" "$T/harness is gone" "$(cat "$T/err")"
cp "$HARNESSES/chunk_frame/afl" "$T/harness"
dir=$(dirname "$FZ_STATE"/campaigns/again/*/plan.json)
mv "$dir/plan.json" "$T/plan.json"
assert_exit "a run without its plan: refused" 1 "$FUZZCTL" resume again
assert_match "with the file that is missing" "plan.json: No such file" "$(cat "$T/err")"
mv "$T/plan.json" "$dir/plan.json"
assert_exit "an unknown name" 6 "$FUZZCTL" resume nothing
assert_exit "resume within the rest of the budget" 0 "$FUZZCTL" resume again
sed 's/60s/1s/; s/again/short/; s/target chunk_frame/target short/' "$T/again.ini" >"$T/short.ini"
assert_exit "stop it" 0 "$FUZZCTL" stop again
"$FUZZCTL" run --quiet "$T/short.ini" >"$T/out" 2>&1
assert_exit "a run that ended as planned: refused" 1 "$FUZZCTL" resume short
assert_match "as nothing is left to do" "nothing left to do" "$(cat "$T/err")"
assert_exit "every file is accounted for" 0 "$FUZZCTL" verify
