#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The installed units: fuzzctl uses the service's fuzzd, a campaign outlives a killed and a restarted
# service, an instance that is out of memory ends nothing else, and a stop ends all in order. The
# campaign is another user's, and finds and judges under all that the unit closes.
# modes: root
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd plants/CHUNK_MAX_PLUS1/chunk_frame/afl

# The service's own state directory, and what is installed.
FZ_STATE=/var/lib/fuzzd FUZZ_STATE=/var/lib/fuzzd
FUZZCTL=$(command -v fuzzctl) FUZZD=$(command -v fuzzd || echo /usr/local/sbin/fuzzd)

assert_eq "units are as systemd wants them" "" \
    "$(systemd-analyze verify --man=no fuzzd.service fuzz.slice fuzz-campaign@x.service fuzz-campaign@x.timer 2>&1)"
assert_eq "fuzzd.service of a user, too" "" "$(XDG_RUNTIME_DIR=$T systemd-analyze verify --man=no --user fuzzd.service 2>&1)"
assert_exit "the service starts" 0 systemctl start fuzzd.service
assert_match "and says what it serves" 'serving /var/lib/fuzzd' "$(systemctl show -P StatusText fuzzd.service)"
main() {
    systemctl show -P MainPID fuzzd.service
}
mkdir -p /etc/fuzzd
cat >/etc/fuzzd/sv.ini <<END
[campaign]
name = sv
root = $TOP
budget = 60m
cores = 1
user = fuzzer

[target planted]
harness = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl
sanitizer = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/asan
replay = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay
seeds = seeds/chunk_frame-min
instances = 1
END
status() {
    "$FUZZCTL" status sv --json | jq -r ".$1"
}
instance="campaigns[0].targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
assert_exit "a campaign starts" 0 "$FUZZCTL" start /etc/fuzzd/sv.ini
check "it fuzzes" wait_for 40 fuzzing
assert_eq "by the service's fuzzd" "$(main)" "$(status fuzzd.pid)"
afl=$(status "$instance.pid")

# ---- closed, and still fuzzing -----------------------------------------------------------------
of() { # KEY of afl-fuzz
    sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$afl/status"
}
assert_eq "afl-fuzz is the campaign's user" 1500 "$(of Uid)"
assert_eq "without new privileges" 1 "$(of NoNewPrivs)"
assert_eq "and with the unit's filter of system calls" 2 "$(of Seccomp)"
for file in /usr/fz /etc/fz /boot/fz /proc/sys/kernel/core_pattern /sys/kernel/profiling; do
    assert_match "$file is not to be written to" 'Read-only' "$(nsenter -t "$afl" -m sh -c "{ : >>$file; } 2>&1")"
done
judged() {
    [ "$(status 'campaigns[0].targets[0].buckets')" -gt 0 ]
}
check "what it finds is judged" wait_for 60 judged
assert_match "as a finding of the plant" 'C3' "$("$FUZZCTL" report sv)"
assert_eq "with all limits" "v2 scope" "$(status 'campaigns[0].isolation | "\(.cgroup) \(.from)"')"

# ---- scheduled ----------------------------------------------------------------------------------
assert_exit "a unit whose campaign runs already fails" 1 timeout 100 systemctl start fuzz-campaign@sv.service
check "and does not end it" fuzzing
sed 's/^name = .*/name = night/; s/^\[target .*/[target nightly]/' /etc/fuzzd/sv.ini >/etc/fuzzd/other.ini
systemctl start --no-block fuzz-campaign@other.service
night() { # STATE of its only run
    [ "$(sqlite3 /var/lib/fuzzd/state.db "SELECT state FROM runs WHERE campaign = 'night'")" = "$1" ]
}
check "another runs, by the name in its file" wait_for 30 night running

# ---- killed, and replaced --------------------------------------------------------------------
old=$(main)
[ "$old" -gt 1 ] && kill -KILL "$old"
again() {
    systemctl --quiet is-active fuzzd.service && [ "$(main)" -gt 1 ] && [ "$(main)" != "$old" ]
}
assert_exit "who asks at once after a kill is answered" 0 "$FUZZCTL" status sv
check "a killed fuzzd is started again by systemd" wait_for 20 again
assert_eq "which is who answers, and no other beside it" "$(main)" "$(status fuzzd.pid)"
check "it finds it fuzzing" wait_for 15 fuzzing
assert_eq "the same afl-fuzz" "$afl" "$(status "$instance.pid")"
assert_eq "without a restart" 0 "$(status "$instance.restarts")"
assert_eq "nor does it end what a timer began" activating "$(systemctl is-active fuzz-campaign@other.service)"
check "whose run goes on" night running

# ---- out of memory in a group below --------------------------------------------------------------
dir=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$afl/cgroup")/..
before=$(sed -n 's/^oom_kill //p' "$dir/t/memory.events")
echo 8M >"$dir/t/memory.max"
# shellcheck disable=SC2016 # for the shell that goes into the group
sh -c 'echo $$ >"$1/cgroup.procs" && exec python3 -c "len(b\"x\" * (60 << 20))"' sh "$dir/t"
after=$(sed -n 's/^oom_kill //p' "$dir/t/memory.events")
echo max >"$dir/t/memory.max"
if [ "${after:-0}" -gt "${before:-0}" ]; then ok "a group below is out of memory"; else not_ok "a group below is out of memory"; fi
assert_eq "the scope goes on" active "$(systemctl is-active 'fuzzd-*.scope' | sort -u)"
assert_eq "and so does the service" active "$(systemctl is-active fuzzd.service)"
check "and afl-fuzz" alive "$afl"

# ---- scheduled, stopped ---------------------------------------------------------------------------
assert_exit "the other unit is stopped" 0 systemctl stop fuzz-campaign@other.service
check "with its campaign" wait_for 20 night ended
check "and no other" fuzzing

# ---- a stop ------------------------------------------------------------------------------------
assert_exit "the service stops" 0 systemctl stop fuzzd.service
assert_eq "in order" "inactive success" "$(systemctl is-active fuzzd.service) $(systemctl show -P Result fuzzd.service)"
check "and nothing is left" wait_for 10 no_state_pids
assert_eq "the campaign was ended" "ended findings" \
    "$(sqlite3 -separator ' ' /var/lib/fuzzd/state.db "SELECT state, verdict FROM runs WHERE campaign = 'sv'")"
rm -rf /etc/fuzzd
