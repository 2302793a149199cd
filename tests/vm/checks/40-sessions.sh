#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Campaigns of an ordinary user and the end of the session that started them: with KillUserProcesses=yes a
# process that only left its session dies with it, a campaign of a user who lingers lives on.
# modes: root
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd harnesses/chunk_frame/afl

mkdir /home/fuzzer/s && chown fuzzer: /home/fuzzer/s
cat >/home/fuzzer/s/se.ini <<END
[campaign]
name = se
root = $TOP
budget = 200s
cores = 1

[target chunk_frame]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = 1
END
chmod 644 /home/fuzzer/s/se.ini
export TOP FUZZCTL
# session COMMAND: as the user, in a session of his own that ends with it.
session() {
    su -l fuzzer -c "export AFL_SKIP_CPUFREQ=1 FUZZ_STATE=/home/fuzzer/s/state; $1"
}
pids() { # of the user's processes of that name
    pgrep -u fuzzer -x "$1"
}
no_pid() {
    ! pids "$1" >/dev/null
}
no_session() {
    ! loginctl list-sessions --no-legend | grep -q fuzzer
}
manager() {
    systemctl --quiet is-active user@1500.service
}
no_manager() {
    ! manager
}

mkdir -p /run/systemd/logind.conf.d
printf '[Login]\nKillUserProcesses=yes\n' >/run/systemd/logind.conf.d/kill.conf
systemctl restart systemd-logind.service

# ---- without linger --------------------------------------------------------------------------
loginctl disable-linger fuzzer
session "setsid sleep 987 & '$FUZZCTL' start /home/fuzzer/s/se.ini; '$FUZZCTL' doctor" >"$T/out" 2>&1
assert_match "a campaign starts" 'campaign se started' "$(cat "$T/out")"
assert_match "doctor says that it ends with the session" 'loginctl enable-linger' "$(cat "$T/out")"
check "the session ends" wait_for 20 no_session
check "with what had only left its terminal" wait_for 10 no_pid sleep
check "and the user's manager with all of his" wait_for 30 no_manager
check "so that no afl-fuzz is left" wait_for 20 no_pid afl-fuzz
check "and no fuzzd" wait_for 20 no_pid fuzzd

# ---- with linger -----------------------------------------------------------------------------
loginctl enable-linger fuzzer
wait_for 20 manager
session "setsid sleep 987 & '$FUZZCTL' resume se; '$FUZZCTL' doctor" >"$T/out" 2>&1
assert_match "the interrupted run goes on" 'se' "$(cat "$T/out")"
assert_eq "doctor has nothing to say about linger" "" "$(grep enable-linger "$T/out")"
check "the session ends" wait_for 20 no_session
check "with what had only left its terminal" wait_for 10 no_pid sleep
sleep 3
check "the campaign of a user who lingers lives on" pids afl-fuzz
check "and its fuzzd" pids fuzzd
session "'$FUZZCTL' status se --json" >"$T/status"
assert_eq "the next session finds it fuzzing" fuzzing "$(jq -r '.campaigns[0].targets[0].instances[0].state' "$T/status")"
assert_eq "with all limits" "v2 scope" "$(jq -r '.campaigns[0].isolation | "\(.cgroup) \(.from)"' "$T/status")"
session "'$FUZZCTL' stop se" >"$T/out" 2>&1
check "a stop leaves nothing" wait_for 20 no_pid afl-fuzz
check "not even fuzzd" wait_for 20 no_pid fuzzd
rm -rf /run/systemd/logind.conf.d /home/fuzzer/s
systemctl restart systemd-logind.service
