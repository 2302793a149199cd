#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The host comes first: a campaign is frozen while memory is short, while its folder is over its budget, and while the
# file system has less room than the floor; each with its words, and it goes on by itself. At the budget old logs go first.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

psi() { # PERCENT
    printf 'some avg10=%s avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n' \
        "$1" >"$T/psi.new"
    mv "$T/psi.new" "$T/psi"
}
psi 0.00
FUZZ_PRESSURE=$T/psi
export FUZZ_PRESSURE

chunk_spec guest 10m "pressure = 30" "disk = 32M" "disk_floor = 0"

status() {
    "$FUZZCTL" status guest --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
is() {
    [ "$(status "$instance.state")" = "$1" ]
}
why() {
    status '.frozen[]? | select(.now) | .why'
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/guest.ini"
check "it fuzzes" wait_for 40 is fuzzing
pid=$(status "$instance.pid")

# ---- memory ----------------------------------------------------------------------------------
psi 53.20
check "short memory freezes it" wait_for 5 is frozen
assert_eq "with the figures" "memory pressure of the host is 53 %, at most 30 %" "$(why)"
assert_exit "a user may pause it too" 0 "$FUZZCTL" pause guest
assert_exit "and take that back" 0 "$FUZZCTL" resume guest
assert_match "which is told not to be enough" "guest is frozen: memory pressure" "$(cat "$T/out")"
check "it is frozen still" is frozen
psi 25.00
sleep 4
check "a little less does not let it go on" is frozen
psi 1.00
began=$(date +%s)
check "calm does" wait_for 16 is fuzzing
if [ $(($(date +%s) - began)) -ge 8 ]; then
    ok "after ten seconds of it"
else
    not_ok "after ten seconds of it: $(($(date +%s) - began))"
fi
assert_eq "it is the same afl-fuzz" "$pid" "$(status "$instance.pid")"

# ---- its own bytes ---------------------------------------------------------------------------
dir=$(dirname "$FZ_STATE"/campaigns/guest/*/plan.json)
before=$(status "$instance.execs_done")
head -c 20000000 /dev/zero >"$dir/log/chunk_frame.main.log.1"
head -c 20000000 /dev/zero >"$dir/scratch/chunk_frame.main/left-behind"
log_gone() {
    [ ! -e "$dir/log/chunk_frame.main.log.1" ]
}
check "over the budget, an old log goes" wait_for 12 log_gone
restarted() {
    [ "$(status "$instance.restarts")" -eq 1 ] && is fuzzing && [ ! -e "$dir/scratch/chunk_frame.main/left-behind" ]
}
check "and what a target left in its working folder, by a new start" wait_for 15 restarted
counting() {
    [ "$(status "$instance.execs_done")" -gt "$before" ]
}
check "which costs no queue and no count" wait_for 5 counting
assert_match "the log tells it" "working folder is over the disk budget, starting it again" "$(cat "$FZ_STATE/fuzzd.log")"
head -c 40000000 /dev/zero >"$dir/report/bigger"
check "with nothing left to remove it is frozen" wait_for 30 is frozen
assert_eq "with the figures" "the run holds 38M on disk, its budget is 32M" \
    "$(why | sed 's/holds 3[89]M/holds 38M/')"
rm "$dir/report/bigger"
check "it goes on when there is room" wait_for 15 is fuzzing

# ---- a start under a floor that is not there -------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop guest
sed 's/disk_floor = 0/disk_floor = 900T/; s/guest/low/; s/target chunk_frame/target low/' "$T/guest.ini" >"$T/low.ini"
assert_exit "a start below the floor is answered" 0 "$FUZZCTL" start "$T/low.ini"
assert_match "with the reason" "it is frozen: .* free in .*, at least 900T stay free" "$(cat "$T/out")"
assert_match "nothing of it runs" "frozen since" "$("$FUZZCTL" status low)"
assert_eq "no instance was started" "planned" "$("$FUZZCTL" status low --json |
    jq -r '.campaigns[0].targets[0].state')"
assert_exit "it stops" 0 "$FUZZCTL" stop low
assert_match "the report tells each cause" "frozen 1 time, .*: memory pressure" "$("$FUZZCTL" report guest)"
