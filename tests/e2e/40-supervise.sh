#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One campaign under fuzzd: figures in its first seconds, a second start refused, an instance that
# is killed comes back, and after a stop no process, cgroup or SysV segment is left.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec one 90s

status() { # JQ-FILTER on the only campaign
    "$FUZZCTL" status one --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
counting() {
    [ "$(status "$instance.execs_done")" -gt "$1" ]
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/one.ini"
check "the instance fuzzes" wait_for 40 fuzzing
check "executions are counted within seconds" wait_for 5 counting 0
before=$(status "$instance.execs_done")
check "and go on counting each second" wait_for 4 counting "$before"

# ---- a second start --------------------------------------------------------------------------
assert_exit "a second start is refused with 4" 4 "$FUZZCTL" start "$T/one.ini"
assert_match "and says who holds it" "already running: run $(status .run), pid [0-9]+, since 20" "$(cat "$T/err")"
assert_eq "no folder is made for it" 1 "$(find "$FZ_STATE/campaigns/one" -mindepth 1 -maxdepth 1 -type d | wc -l)"
sed 's/name = one/name = other/' "$T/one.ini" >"$T/other.ini"
assert_exit "the same target in another campaign is refused with 4" 4 "$FUZZCTL" start "$T/other.ini"
assert_match "by the target's name, and the holder's campaign" \
    "target chunk_frame: already running: campaign one, run $(status .run), pid [0-9]+, since 20" "$(cat "$T/err")"

# ---- an instance is killed -------------------------------------------------------------------
pid=$(status "$instance.pid")
execs=$(status "$instance.execs_done")
assert_match "the instance has a pid" '^[1-9][0-9]*$' "$pid"
[ "$pid" -gt 1 ] && kill -KILL "$pid"
came_back() {
    [ "$(status "$instance.restarts")" -eq 1 ] && [ "$(status "$instance.pid")" != "$pid" ] && fuzzing
}
check "a killed instance comes back" wait_for 15 came_back
check "its executions are not counted anew" wait_for 5 counting "$((execs - 1))"
keeper=$(status "$instance.keeper_pid")
pid=$(status "$instance.pid")
[ "$keeper" -gt 1 ] && kill -KILL "$keeper"
keeper_back() {
    [ "$(status "$instance.restarts")" -eq 2 ] && fuzzing
}
check "a killed keeper is replaced" wait_for 15 keeper_back
assert_eq "and what it left is gone" dead "$(alive "$pid" && echo alive || echo dead)"

# ---- stop ------------------------------------------------------------------------------------
pids=$(find /sys/fs/cgroup -path '*/fuzzd-*/one/*' -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u)
[ -n "$pids" ] || pids=$(status "$instance.pid")
assert_exit "stop succeeds" 0 "$FUZZCTL" stop one
left=""
for pid in $pids; do
    alive "$pid" && left="$left $pid"
done
assert_eq "no process is left" "" "$left"
segments=$(ipcs -m -p | awk -v pids="$pids" 'BEGIN { n = split(pids, p, "\n"); for (i = 1; i <= n; i++) ours[p[i]] = 1 }
    $3 in ours { print $1 }')
assert_eq "no SysV segment is left" "" "$segments"
assert_eq "no cgroup of the campaign is left" "" \
    "$(for c in $(state_cgroups); do find "$c" -type d -name 'chunk_frame.*'; done)"
assert_match "the verdict is interrupted" interrupted "$("$FUZZCTL" status one --json | jq -r '.campaigns[0].verdict')"
check "fuzzd leaves when nothing is to do" wait_for 12 no_state_pids
check "and its cgroups with it" wait_for 2 no_state_cgroups
