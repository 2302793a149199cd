#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pause freezes afl-fuzz and its target where they stand: no execution, no clock, no hang or crash that is
# the pause's own; a killed fuzzd leaves it paused, and a stop of a paused campaign works.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec still 10m "disk_floor = 0" "pressure = 100"

status() {
    "$FUZZCTL" status still --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
is() { # STATE of the instance
    [ "$(status "$instance.state")" = "$1" ]
}
execs() {
    status "$instance.execs_done"
}
counting() {
    [ "$(execs)" -gt "$1" ]
}
saved_files() {
    find "$FZ_STATE/campaigns/still" -path '*/crashes*/id*' -o -path '*/hangs*/id*' | sort
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/still.ini"
check "the instance fuzzes" wait_for 40 is fuzzing
check "executions are counted" wait_for 5 counting 0
pid=$(status "$instance.pid")

# ---- pause -----------------------------------------------------------------------------------
files=$(saved_files)
assert_exit "pause succeeds" 0 "$FUZZCTL" pause still
assert_match "and says so" "campaign still paused" "$(cat "$T/out")"
assert_exit "a second pause succeeds" 0 "$FUZZCTL" pause still
assert_match "and says that it was" "is paused already" "$(cat "$T/out")"
assert_eq "the campaign's state" frozen "$(status .state)"
check "the instance's state" is frozen
assert_match "status has the reason" "frozen since .*: paused by a user" "$("$FUZZCTL" status still)"
sleep 1
before=$(execs) fuzz_s=$(status '.targets[0].fuzz_s')
ticks=$(cut -d' ' -f14-15 "/proc/$pid/stat")
sleep 5
assert_eq "no execution while it is paused" "$before" "$(execs)"
assert_eq "its clock stands" "$fuzz_s" "$(status '.targets[0].fuzz_s')"
assert_eq "afl-fuzz takes no time of its core" "$ticks" "$(cut -d' ' -f14-15 "/proc/$pid/stat")"

# ---- a killed fuzzd keeps it so --------------------------------------------------------------
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
sleep 1
check "the next fuzzd finds it frozen" wait_for 10 is frozen
assert_eq "for the same reason" "paused by a user" "$(status '.frozen[] | select(.now) | .why')"
assert_eq "its clock stands still" "$fuzz_s" "$(status '.targets[0].fuzz_s')"
assert_eq "it is the same afl-fuzz" "$pid" "$(status "$instance.pid")"

# ---- resume ----------------------------------------------------------------------------------
assert_exit "resume succeeds" 0 "$FUZZCTL" resume still
assert_match "and says so" "campaign still goes on" "$(cat "$T/out")"
assert_exit "a second resume succeeds" 0 "$FUZZCTL" resume still
assert_match "and says that it was not paused" "is not paused" "$(cat "$T/out")"
check "it fuzzes again" wait_for 10 is fuzzing
check "executions go on" wait_for 5 counting "$before"
assert_eq "it is the same afl-fuzz still" "$pid" "$(status "$instance.pid")"
assert_eq "without a restart" 0 "$(status "$instance.restarts")"
clock_runs() {
    [ "$(status '.targets[0].fuzz_s')" -gt "$fuzz_s" ]
}
check "its clock runs" wait_for 5 clock_runs
assert_eq "no file was saved for the pause" "$files" "$(saved_files)"

# ---- stop of a paused one --------------------------------------------------------------------
assert_exit "pause again" 0 "$FUZZCTL" pause still
sleep 0.5
assert_exit "a paused campaign stops" 0 "$FUZZCTL" stop still
assert_eq "afl-fuzz is gone" dead "$(alive "$pid" && echo alive || echo dead)"
assert_match "it ended in order, not by a kill" '"?end"?[= ]+exited' \
    "$(cat "$FZ_STATE"/campaigns/still/*/exit/chunk_frame.main.exit)"
assert_exit "pause of what has ended is an error" 1 "$FUZZCTL" pause still
assert_match "that says so" "still is not running" "$(cat "$T/err")"
assert_exit "pause of what never was" 6 "$FUZZCTL" pause nothing
assert_exit "pause where nothing runs" 6 "$FUZZCTL" pause
assert_exit "stop where nothing runs is no error of a fuzzd that idles" 0 "$FUZZCTL" stop
assert_exit "and is a document with --json" 0 "$FUZZCTL" stop --json
assert_eq "of the form of other answers" true "$(jq .ok "$T/out")"
assert_match "the report has the pauses" '"times": 2' "$("$FUZZCTL" report still --json)"
assert_match "the report says them" "frozen +2 times.*paused by a user" "$("$FUZZCTL" report still)"

# ---- without cgroups -------------------------------------------------------------------------
wait_for 12 no_state_pids
FUZZ_STATE=$FZ_STATE "$FUZZD" --cgroup none --foreground >"$T/fuzzd.out" 2>&1 &
wait_for 10 test -S "$FZ_STATE/fuzzd.sock"
assert_exit "start without cgroups" 0 "$FUZZCTL" start "$T/still.ini"
check "the instance fuzzes without cgroups" wait_for 40 is fuzzing
pid=$(status "$instance.pid")
assert_exit "pause without cgroups" 0 "$FUZZCTL" pause still
sleep 1
before=$(execs) ticks=$(cut -d' ' -f14-15 "/proc/$pid/stat")
sleep 3
assert_eq "afl-fuzz stands still" "$ticks" "$(cut -d' ' -f14-15 "/proc/$pid/stat")"
files=$(saved_files)
assert_exit "resume without cgroups" 0 "$FUZZCTL" resume still
check "executions go on without cgroups" wait_for 8 counting "$before"
assert_eq "no file was saved for that pause" "$files" "$(saved_files)"
assert_exit "pause once more without cgroups" 0 "$FUZZCTL" pause still
assert_exit "a stop of it works" 0 "$FUZZCTL" stop still
assert_eq "and leaves nothing" dead "$(alive "$pid" && echo alive || echo dead)"
