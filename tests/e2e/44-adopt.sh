#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adoption: a fuzzd that is killed or replaced costs no execution; the next one finds its instances by
# identity, never by a number, and after a restart of the host nothing is believed to live.
# limit: 375
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

for tool in python3 afl-clang-fast sqlite3; do
    [ "$tool" = afl-clang-fast ] && [ -n "${FZ_CRASHER-}" ] && continue
    if ! command -v $tool >/dev/null; then
        skip 44-adopt "no $tool"
        exit 0
    fi
done
crasher_campaign

instance=".campaigns[0].targets[0].instances[0]"
status() {
    "$FUZZCTL" status k --json | jq -r "$1"
}
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
execs_over() {
    [ "$(status "$instance.execs_done")" -gt "$1" ]
}
files() { # crash and hang files on disk
    find "$FZ_STATE/campaigns" -path '*/crashes/id:*' -o -path '*/hangs/id:*' | wc -l
}
cpu_ticks() { # of a process, user and system
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}
index() { # SQL
    sqlite3 -cmd '.timeout 3000' "$FZ_STATE/state.db" "$1"
}
port() {
    index "SELECT value FROM meta WHERE key = 'statsd_port'"
}
dead() {
    ! alive "$1"
}
kill_pid() {
    case $1 in
    "" | *[!0-9]* | 0 | 1) not_ok "a pid to kill is known: $1" ;;
    *)
        kill -KILL "$1"
        wait_for 5 dead "$1"
        ;;
    esac
}
kill_daemon() {
    kill_pid "$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")"
}
recorded() { # keeper|afl RECORD
    sed -n "s/^$1=\([0-9]*\) .*/\1/p" "$2"
}

# ---- killed at any instant -------------------------------------------------------------------
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/k.ini"
check "it fuzzes" wait_for 10 fuzzing
pid=$(status "$instance.pid")
before=$(port)
kill_daemon
execs=$(index "SELECT execs_done FROM targets")
n=$(files)
ticks=$(cpu_ticks "$pid")
saved_more() {
    [ "$(files)" -gt "$n" ]
}
check "without fuzzd artifacts are saved" wait_for 10 saved_more
sleep 2
check "by the same afl-fuzz" alive "$pid"
if [ "$(cpu_ticks "$pid")" -gt "$ticks" ]; then ok "which works on"; else not_ok "which works on"; fi
check "the next fuzzd finds it fuzzing" wait_for 5 fuzzing
assert_eq "by its pid" "$pid" "$(status "$instance.pid")"
assert_eq "without a restart" 0 "$(status "$instance.restarts")"
check "its executions went on meanwhile" wait_for 3 execs_over "$((execs + 200))"
all_taken() {
    "$FUZZCTL" verify >/dev/null 2>&1
}
check "what was saved meanwhile is taken" wait_for 5 all_taken
assert_eq "StatsD is open on the same port" "$before" "$(port)"
now=$(status "$instance.execs_done")
check "on which figures arrive" wait_for 3 execs_over "$now"

# ---- another build of fuzzd ------------------------------------------------------------------
mkdir "$T/new"
cp "$BUILD/fuzzd" "$BUILD/fuzzctl" "$BUILD/fuzz-keeper" "$BUILD/fuzz-triage" "$BUILD/fuzz-preload.so" "$T/new/"
kill_daemon
assert_exit "an upgraded fuzzd takes over" 0 "$T/new/fuzzctl" status k
assert_eq "it is the new program" "$T/new/fuzzd" "$(readlink "/proc/$(status .fuzzd.pid)/exe")"
assert_eq "over the same afl-fuzz" "$pid" "$(status "$instance.pid")"
assert_eq "so that the upgrade cost no execution" 0 "$(status "$instance.restarts")"

# ---- the host's clock was set ------------------------------------------------------------------
kill_daemon
counted=$(index "SELECT fuzz_ms FROM targets")
index "UPDATE targets SET extra = json_set(extra, '\$.at_ms', json_extract(extra, '\$.at_ms') - 86400000)"
check "a clock set a day forth meanwhile uses no budget up" wait_for 5 fuzzing
assert_eq "and costs no execution" "$pid" "$(status "$instance.pid")"
counts_on() {
    [ "$(index "SELECT fuzz_ms FROM targets")" -gt $((counted + 500)) ]
}
check "the time of real fuzzing counts" wait_for 5 counts_on

# ---- the port is taken -----------------------------------------------------------------------
kill_daemon
python3 -c "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', int(sys.argv[1])))
print('bound', flush=True)
time.sleep(60)" "$before" >"$T/bound" &
thief=$!
wait_for 5 test -s "$T/bound"
check "with its port taken it is found fuzzing, by its files" wait_for 10 fuzzing
assert_eq "and is the same afl-fuzz" "$pid" "$(status "$instance.pid")"
if [ "$(port)" != "$before" ]; then ok "what starts now gets another port"; else not_ok "what starts now gets another port"; fi
kill "$thief"

# ---- a record whose pid is somebody else's by now ----------------------------------------------
record=$(find "$FZ_STATE/campaigns/k" -name 'a.main.run')
kill_daemon
kill_pid "$(recorded keeper "$record")"
wait_for 5 dead "$pid"
sleep $((600 * ${FZ_SLOW:-1})) &
stranger=$!
forge() { # PID START: the record names this process as keeper and afl-fuzz; START empty: as it was
    python3 -c "
import hashlib, re, sys
path, pid, start = sys.argv[1:4]
text = open(path).read()
body = text[:text.rindex('sum=')]
for key in 'keeper', 'afl':
    old = re.search(key + r'=(\d+) (\d+) (\w+)', body)
    body = body.replace(old.group(0), f'{key}={pid} {start or old.group(2)} {old.group(3)}')
open(path, 'w').write(body + 'sum=' + hashlib.sha256(body.encode()).hexdigest() + '\n')" "$record" "$1" "$2"
}
new_afl() { # another than it was
    [ "$(status "$instance.pid")" != "$pid" ] && [ "$(status "$instance.pid")" != "$stranger" ] && fuzzing
}
forge "$stranger" ""
check "peers 10: with a reused pid on record the instance is started anew" wait_for 15 new_afl
check "peers 10: and the stranger lives" alive "$stranger"
# Nor does its very identity make a process our keeper: the records of a copied state directory have that.
pid=$(status "$instance.pid")
kill_daemon
kill_pid "$(recorded keeper "$record")"
wait_for 5 dead "$pid"
forge "$stranger" "$(sed 's/.*) //' "/proc/$stranger/stat" | cut -d' ' -f20)"
check "a process elsewhere is not taken for the keeper" wait_for 15 new_afl
check "and lives, too" alive "$stranger"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k
check "the stranger outlives the stop" alive "$stranger"
kill "$stranger"
assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify

# ---- the host was restarted ------------------------------------------------------------------
sed -e 's/name = k/name = boot/' -e 's/^timeout = .*/timeout = 2s/' -e 's/^hang_timeout = .*/hang_timeout = 5s/' \
    -e "s,harness = .*,harness = $HARNESSES/chunk_frame/afl," -e "s,^seeds = .*,seeds = $TOP/seeds/chunk_frame-min," "$T/k.ini" >"$T/boot.ini"
assert_exit "a campaign without findings starts" 0 "$FUZZCTL" start "$T/boot.ini"
record=$(find "$FZ_STATE/campaigns/boot" -name 'a.main.run')
out=$(find "$FZ_STATE/campaigns/boot" -type d -name crashes)
pid=$(recorded afl "$record")
kill_daemon
kill_pid "$(recorded keeper "$record")"
wait_for 5 dead "$pid"
index "UPDATE runs SET boot_id = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' WHERE campaign = 'boot'"
cp "$TOP/seeds/chunk_frame-min/$(find "$TOP/seeds/chunk_frame-min" -type f -printf '%f\n' | head -1)" \
    "$out/id:000000,sig:06,src:000000,time:1,execs:1,op:havoc,rep:1"
sleep 1
"$FUZZCTL" wait boot --timeout 30s >/dev/null 2>&1
assert_match "after a restart of the host the run has ended, and says why" \
    '^ended\|.*the host was restarted' "$(index "SELECT state, reasons FROM runs WHERE campaign = 'boot'")"
assert_match "its target as stopped" 'stopped' \
    "$(index "SELECT t.end_reason FROM targets t JOIN runs r ON r.id = t.run WHERE r.campaign = 'boot'")"
assert_eq "the artifact it had is collected" 1 \
    "$(index "SELECT count(*) FROM occurrences o JOIN runs r ON r.id = o.run WHERE r.campaign = 'boot'")"
assert_exit "and nothing else is missing" 0 "$FUZZCTL" verify

# ---- killed while it replays -----------------------------------------------------------------
# A process in the group of replays, as a fuzzd that is killed in the middle of one leaves it for a while.
is_sleep() {
    [ "$(cat "/proc/$left/comm")" = sleep ]
}
replay_left() {
    if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/1/comm)" = systemd ]; then
        # From his session's group an ordinary user can move nothing; from one of his manager's he can.
        systemd-run --user --scope --quiet sleep $((100 * ${FZ_SLOW:-1})) &
    else
        sleep $((100 * ${FZ_SLOW:-1})) &
    fi
    left=$!
    wait_for 10 is_sleep
    for group in $(state_cgroups); do
        [ ! -d "$group/ctl-triage/jobs/t" ] || echo "$left" >"$group/ctl-triage/jobs/t/cgroup.procs"
    done
}
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/k.ini"
check "it fuzzes" wait_for 10 fuzzing
kill_daemon
replay_left
check "a replay is left in its group" sh -c "grep -q ctl-triage/jobs/t /proc/$left/cgroup"
assert_exit "the next fuzzd comes" 0 "$FUZZCTL" status k
check "the left replay is gone" wait_for 5 dead "$left"
wait "$left" 2>/dev/null
assert_eq "and the next one has its group" 0 "$(grep -c 'no cgroup for fuzz-triage' "$FZ_STATE/fuzzd.log")"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k

# ---- killed with nothing to do ---------------------------------------------------------------
# left: the cgroups of this state directory.
left() {
    find /sys/fs/cgroup -maxdepth 6 -type d -name "$prefix"
}
none_left() {
    [ -z "$(left)" ]
}
prefix=$(state_cgroups | head -n 1)
prefix=${prefix##*/}
"$FUZZD" --state "$FZ_STATE" >/dev/null 2>&1
[ -n "$prefix" ] || prefix=$(sed -n 's,.*/\(fuzzd-[0-9a-f]*\)/.*,\1,p' "/proc/$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")/cgroup" | head -n 1)
if [ -z "$prefix" ]; then
    skip "cgroups of a killed idle fuzzd" "there are no cgroups here"
elif grep -q 'cgroups v2, from scope' "$FZ_STATE/fuzzd.log"; then
    check "a fuzzd without work has a scope" test -n "$(left)"
    kill_daemon
    check "which systemd takes away when it is killed" wait_for 10 none_left
    assert_exit "status finds none" 0 "$FUZZCTL" status
else
    kill_daemon
    check "a fuzzd that is killed leaves its cgroups" test -n "$(left)"
    leaf=$(find "$(left | head -n 1)" -type d | tail -n 1)
    sleep $((600 * ${FZ_SLOW:-1})) &
    stranger=$!
    echo $stranger >"$leaf/cgroup.procs"
    assert_exit "a verb that finds none" 0 "$FUZZCTL" list
    check "keeps a group with a process in it" test -d "$leaf"
    check "and the process" alive $stranger
    kill $stranger
    wait_for 5 dead $stranger
    assert_exit "status finds none, either" 0 "$FUZZCTL" status
    check "an empty group is removed" wait_for 2 none_left
fi
