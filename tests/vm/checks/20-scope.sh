#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign that is started from a session or service lives in a scope of its own, with its limits: as
# root by the system's systemd, as an ordinary user by his manager. A killed fuzzd leaves the
# scope to its instances, and the next one joins it; with the last process it is gone.
# limit: 240
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper harnesses/chunk_frame/afl

chunk_spec sc 120s "memory = 300M" "pids = 40"
ctl() { # of the manager that is asked
    if [ "$(id -u)" -eq 0 ]; then systemctl "$@"; else systemctl --user "$@"; fi
}
status() {
    "$FUZZCTL" status sc --json | jq -r ".$1"
}
instance="campaigns[0].targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
group() { # of a process
    sed -n 's/^0:://p' "/proc/$1/cgroup"
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/sc.ini"
check "it fuzzes" wait_for 40 fuzzing
assert_eq "status names the source" "v2 scope" "$(status 'campaigns[0].isolation | "\(.cgroup) \(.from)"')"
assert_eq "nothing is missing but what needs root" "" \
    "$(status 'campaigns[0].isolation.why[]' | grep -v 'its own cgroup')"
daemon=$(status fuzzd.pid)
afl=$(status "$instance.pid")
assert_match "fuzzd is in its scope" '/fuzz\.slice/fuzzd-[0-9a-f]{8}\.scope/fuzzd-[0-9a-f]{8}/ctl$' "$(group "$daemon")"
assert_match "and so is afl-fuzz" '/fuzz\.slice/fuzzd-.*\.scope/fuzzd-.*/sc/chunk_frame\.main/afl$' "$(group "$afl")"
unit=$(group "$afl" | sed 's,.*/\(fuzzd-[0-9a-f]*\.scope\)/.*,\1,')
assert_eq "which was delegated" "yes" "$(ctl show -P Delegate "$unit")"
assert_eq "and goes on when an instance is out of memory" "continue" "$(ctl show -P OOMPolicy "$unit")"
dir=/sys/fs/cgroup$(group "$afl")/..
assert_eq "the target has its memory limit" $((300 << 20)) "$(cat "$dir/t/memory.max")"
assert_eq "and its processes" 40 "$(cat "$dir/t/pids.max")"
assert_match "the instance its share of a core" '^[0-9]+ [0-9]+$' "$(cat "$dir/cpu.max")"

[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
sleep 1
check "afl-fuzz goes on without fuzzd" alive "$afl"
assert_eq "in a scope that is there still" active "$(ctl is-active "$unit")"
check "the next fuzzd finds it fuzzing" wait_for 15 fuzzing
assert_eq "it is the same afl-fuzz" "$afl" "$(status "$instance.pid")"
assert_eq "without a restart" 0 "$(status "$instance.restarts")"
assert_match "and is in the same scope" "/fuzz\.slice/$unit/fuzzd-[0-9a-f]{8}/ctl\$" "$(group "$(status fuzzd.pid)")"

# A stop of the scope, as at a shutdown: fuzzd ends in order.
ctl stop "$unit"
check "stopped by systemd, nothing is left" wait_for 30 no_state_pids
assert_eq "the run has ended" interrupted "$(sqlite3 "$FZ_STATE/state.db" 'SELECT verdict FROM runs')"
gone() {
    [ "$(ctl show -P LoadState "$unit")" = not-found ]
}
check "and the scope is gone" wait_for 10 gone
