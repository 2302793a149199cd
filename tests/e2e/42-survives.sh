#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a campaign survives: the starter's process group, a killed fuzzd (the next one takes the same
# afl-fuzz over, budget and artifacts included), a killed fuzzd and keeper together.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl

cat >"$T/live.ini" <<END
[campaign]
name = live
root = $TOP
budget = 90s
cores = 1

[target planted]
harness = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl
sanitizer = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/asan
replay = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay
seeds = seeds/chunk_frame-min
instances = 1
END

status() {
    "$FUZZCTL" status live --json | jq -r "$1"
}
instance=".campaigns[0].targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}

# ---- the starter's process group -------------------------------------------------------------
python3 -uc 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound")
while True: print(s.recv(4096).decode())' "$T/notify" >"$T/told" &
manager=$!
wait_for 10 test -s "$T/told"
began=$(date +%s)
setsid sh -c "NOTIFY_SOCKET='$T/notify' '$FUZZCTL' start '$T/live.ini' >'$T/start.out' 2>&1; echo \$? >'$T/start.rc'; sleep 60" &
wait_for 40 test -s "$T/start.rc"
assert_eq "a start in another process group succeeds" 0 "$(cat "$T/start.rc")"
check "its campaign fuzzes" wait_for 40 fuzzing
assert_eq "a service that started it is not told ready, or at its end stopping, in its name" bound "$(cat "$T/told")"
kill "$manager"
group=$(ps -o pid=,pgid=,args= -e | awk -v t="$T/start.out" 'index($0, t) && $1 == $2 { print $2; exit }')
assert_match "the starter's process group is found" '^[1-9][0-9]*$' "$group"
[ -n "$group" ] && kill -s KILL -- "-$group"
sleep 1
check "the campaign lives on when the group is killed" fuzzing
daemon=$(status .fuzzd.pid)
sid=$(ps -o sid= -p "$daemon" | tr -d ' ')
assert_eq "fuzzd leads a session of its own" "$daemon" "$sid"
assert_eq "fuzzd has no terminal" "?" "$(ps -o tty= -p "$daemon" | tr -d ' ')"

# ---- a killed fuzzd --------------------------------------------------------------------------
pid=$(status "$instance.pid")
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
run=$(find "$FZ_STATE/campaigns/live" -mindepth 1 -maxdepth 1 -type d)
# What it leaves when it is killed between the write and the rename of a file.
for left in "$run/plan.json" "$run/report/report.md" "$run/out/planted/main/fuzzer_stats" "$FZ_STATE/cache/a"; do
    mkdir -p "${left%/*}"
    echo half >"$left.tmp-$daemon"
done
cp "$run/plan.json.tmp-$daemon" "$run/plan.json.tmp-1" # of a process that lives
sleep 2
check "afl-fuzz goes on without fuzzd" alive "$pid"
check "the next fuzzd finds it fuzzing" wait_for 10 fuzzing
assert_eq "what the dead one was writing is gone, that of a living process is not" "$run/plan.json.tmp-1" \
    "$(find "$FZ_STATE" -name '*.tmp-*')"
rm -f "$run/plan.json.tmp-1"
assert_eq "it is the same afl-fuzz" "$pid" "$(status "$instance.pid")"
assert_eq "without a restart" 0 "$(status "$instance.restarts")"
fuzz_s=$(status '.campaigns[0].targets[0].fuzz_s')
lived=$(($(date +%s) - began))
if [ "$fuzz_s" -ge 3 ] && [ "$fuzz_s" -le "$lived" ]; then
    ok "its fuzzing time went on"
else
    not_ok "its fuzzing time went on: $fuzz_s of $lived s"
fi
found() {
    [ "$(status '.campaigns[0].targets[0].crashes')" -gt 0 ]
}
check "artifacts are taken" wait_for 30 found

# ---- fuzzd and keeper ------------------------------------------------------------------------
keeper=$(status "$instance.keeper_pid")
daemon=$(status .fuzzd.pid)
[ "$keeper" -gt 1 ] && [ "$daemon" -gt 1 ] && kill -KILL "$daemon" "$keeper"
back() {
    [ "$(status "$instance.pid")" != "$pid" ] && fuzzing
}
check "fuzzd and keeper killed together: it comes back" wait_for 20 back
assert_exit "stop succeeds" 0 "$FUZZCTL" stop live
assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify
