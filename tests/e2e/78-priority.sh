#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign of higher priority freezes lower ones while it fuzzes and borrows their cores; whatever is killed, paused or
# stopped meanwhile, nobody stays frozen and nobody runs beside another.
# limit: 400
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

# Cores of our own, whatever else runs on this machine.
private_locks
two_cores

spec() { # NAME PRIORITY CORES BUDGET [LINE]
    cat >"$T/$1.ini" <<END
[campaign]
name = $1
root = $TOP
budget = $4
cores = $3
priority = $2
${5-}

[limits]
disk_floor = 0
pressure = 100
hang_timeout = 1s

[target $1]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = $3
END
}
status() { # NAME FILTER
    "$FUZZCTL" status "$1" --json | jq -r ".campaigns[0] | $2"
}
one=".targets[0].instances[0]"
is() { # NAME STATE of its first instance
    [ "$(status "$1" "$one.state")" = "$2" ]
}
campaign_is() { # NAME STATE
    [ "$(status "$1" .state)" = "$2" ]
}
execs_over() { # NAME N
    [ "$(status "$1" '.targets[0].execs_done')" -gt "$2" ]
}
ticks() { # of all instances of NAME
    for p in $(status "$1" '.targets[0].instances[].pid'); do
        [ "$p" -gt 1 ] && sed 's/.*) //' "/proc/$p/stat" | awk '{ print $12 + $13 }'
    done
}
hangs() {
    find "$FZ_STATE/campaigns" -path '*/hangs*/id*' -o -path '*/crashes*/id*' | wc -l
}
kill_daemon() {
    kpid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
    case $kpid in
    "" | *[!0-9]* | 0 | 1) not_ok "a pid to kill is known: $kpid" ;;
    *) kill -KILL "$kpid" ;;
    esac
    wait_for 5 dead "$kpid"
}
dead() {
    ! alive "$1"
}
held_by() { # NAME: why it is frozen by priority now
    status "$1" '[.frozen[]? | select(.now and .cause == "priority") | .why] | join(",")'
}
spec low 0 2 10m
spec mid 3 1 10m
spec high 7 1 8s
spec top 9 2 10m
spec peer 0 1 10m

# ---- plan ------------------------------------------------------------------------------------
assert_match "plan tells the priority" "priority 7: campaigns of a lower one stand still" "$("$FUZZCTL" plan "$T/high.ini")"
assert_match "and has it in JSON" '"priority": 7' "$("$FUZZCTL" plan "$T/high.ini" --json)"

# ---- the pre-release window ------------------------------------------------------------------
assert_exit "low starts" 0 "$FUZZCTL" start "$T/low.ini"
check "it fuzzes on both cores" wait_for 40 is low fuzzing
wait_for 20 execs_over low 100
pids=$(status low '[.targets[0].instances[].pid] | join(" ")')
assert_exit "high starts" 0 "$FUZZCTL" start "$T/high.ini"
check "high fuzzes" wait_for 30 is high fuzzing
assert_eq "low is frozen" frozen "$(status low .state)"
assert_eq "and says why" "campaign high of priority 7 fuzzes" "$(held_by low)"
assert_eq "its core is lent" high "$(status low "[.targets[0].instances[].lent_to // empty] | first")"
assert_eq "to high" low "$(status high "$one.lent_by")"
assert_match "status says so" "core lent by low" "$("$FUZZCTL" status high)"
assert_match "list shows it" "^low +frozen" "$("$FUZZCTL" list)"
sleep 0.5
before=$(ticks low) fuzz_s=$(status low '.targets[0].fuzz_s') execs=$(status low '.targets[0].execs_done')
sleep 3
assert_eq "low takes no processor time" "$before" "$(ticks low)"
assert_eq "its clock stands" "$fuzz_s" "$(status low '.targets[0].fuzz_s')"
"$FUZZCTL" wait high --timeout 60s >/dev/null 2>&1
check "low goes on once high has ended" wait_for 10 is low fuzzing
check "its executions go on" wait_for 10 execs_over low "$execs"
assert_eq "by the same processes" "$pids" "$(status low '[.targets[0].instances[].pid] | join(" ")')"
assert_eq "without a restart" 0 "$(status low '[.targets[0].instances[].restarts] | add')"
assert_eq "nothing is lent any more" "" "$(status low "[.targets[0].instances[].lent_to // empty] | join(\",\")")"
assert_eq "and no file was saved for it" 0 "$(hangs)"

# ---- beside other reasons --------------------------------------------------------------------
spec high 7 1 10m
assert_exit "high starts again" 0 "$FUZZCTL" start "$T/high.ini"
check "high fuzzes" wait_for 30 is high fuzzing
assert_exit "low is paused while it is frozen" 0 "$FUZZCTL" pause low
assert_exit "mid starts" 0 "$FUZZCTL" start "$T/mid.ini"
check "mid is frozen before it began" wait_for 5 campaign_is mid frozen
assert_exit "high is paused" 0 "$FUZZCTL" pause high
check "mid goes on while high stands still" wait_for 30 is mid fuzzing
assert_eq "low is held by mid now, too" "campaign mid of priority 3 fuzzes" "$(held_by low)"
assert_exit "high is resumed" 0 "$FUZZCTL" resume high
check "high fuzzes" wait_for 10 is high fuzzing
assert_eq "mid stands still" frozen "$(status mid .state)"
assert_exit "high is stopped" 0 "$FUZZCTL" stop high
check "mid goes on" wait_for 10 is mid fuzzing
assert_exit "mid is stopped" 0 "$FUZZCTL" stop mid
sleep 1
assert_eq "low is still paused by the user" "frozen: paused by a user" \
    "$(status low '.state + ": " + ([.frozen[] | select(.now) | .why] | join(","))')"
assert_exit "low is resumed" 0 "$FUZZCTL" resume low
check "low fuzzes" wait_for 10 is low fuzzing

# ---- a fuzzd that is killed ------------------------------------------------------------------
assert_exit "high starts" 0 "$FUZZCTL" start "$T/high.ini"
check "high fuzzes" wait_for 30 is high fuzzing
high_pid=$(status high "$one.pid")
kill_daemon
sleep 1
check "the next fuzzd finds high fuzzing" wait_for 10 is high fuzzing
assert_eq "low frozen" frozen "$(status low .state)"
assert_eq "for the same reason" "campaign high of priority 7 fuzzes" "$(held_by low)"
assert_eq "and the same processes" "$pids $high_pid" \
    "$(status low '[.targets[0].instances[].pid] | join(" ")') $(status high "$one.pid")"
assert_exit "top needs both cores, of keepers that were taken over" 0 "$FUZZCTL" start "$T/top.ini"
check "and gets them lent" wait_for 30 is top fuzzing
assert_eq "high stands still" "campaign top of priority 9 fuzzes" "$(held_by high)"
assert_eq "low, too" "campaign top of priority 9 fuzzes" "$(held_by low)"
keeper=$(status top "$one.keeper_pid")
kill_daemon
case $keeper in
"" | *[!0-9]* | 0 | 1) not_ok "a keeper to kill is known" ;;
*) kill -KILL "$keeper" ;;
esac
sleep 1
check "a lent core is had again after a keeper and fuzzd were killed" wait_for 30 is top fuzzing
assert_exit "top stops" 0 "$FUZZCTL" stop top
check "high goes on" wait_for 10 is high fuzzing
kill_daemon
assert_exit "the end of what held it is seen by the next fuzzd" 0 "$FUZZCTL" stop high
check "low goes on" wait_for 10 is low fuzzing
assert_eq "never restarted" "$pids" "$(status low '[.targets[0].instances[].pid] | join(" ")')"

# At any instant of the start and of the end of what holds it.
runs_beside() { # both fuzz: what must never be
    "$FUZZCTL" status --json |
        jq -e '[.campaigns[] | select(.name == "low" or .name == "high") | .targets[0].instances[0].state] == ["fuzzing", "fuzzing"]' >/dev/null
}
settled() {
    is low frozen && is high fuzzing
}
for pause in 0.05 0.2 0.4 0.7; do
    "$FUZZCTL" start "$T/high.ini" >/dev/null 2>&1 &
    starter=$!
    sleep $pause
    kill_daemon
    wait $starter
    "$FUZZCTL" status >/dev/null 2>&1
    if ! campaign_is high running && [ "$("$FUZZCTL" list --json | jq '[.runs[] | select(.campaign == "high" and .state == "running")] | length')" = 0 ]; then
        "$FUZZCTL" start "$T/high.ini" >/dev/null 2>&1
    fi
    check "killed $pause s into its start: high fuzzes and low stands still" wait_for 30 settled
    runs_beside && not_ok "both fuzz"
    "$FUZZCTL" stop high >/dev/null 2>&1 &
    stopper=$!
    sleep $pause
    kill_daemon
    wait $stopper
    check "killed $pause s into its stop: low goes on" wait_for 40 is low fuzzing
done
assert_eq "low was never restarted" "$pids" "$(status low '[.targets[0].instances[].pid] | join(" ")')"

# ---- what never fuzzes holds nobody ----------------------------------------------------------
sed -e 's,^name = high,name = broken,' -e 's,^harness = .*,harness = /bin/true,' "$T/high.ini" >"$T/broken.ini"
"$FUZZCTL" start "$T/broken.ini" >/dev/null 2>&1
check "low goes on beside one that cannot start" wait_for 20 is low fuzzing

# ---- stop of one that is held ----------------------------------------------------------------
assert_exit "high starts" 0 "$FUZZCTL" start "$T/high.ini"
check "high fuzzes" wait_for 30 is high fuzzing
assert_exit "one that is frozen by priority stops" 0 "$FUZZCTL" stop low
assert_match "in order" '"?end"?[= ]+exited' "$(cat "$FZ_STATE"/campaigns/low/*/exit/low.main.exit)"
assert_match "its report has the freezes" 'frozen +.*campaign .* of priority' "$("$FUZZCTL" report low)"
assert_exit "high keeps its core beside what comes" 0 "$FUZZCTL" start "$T/peer.ini"
check "peer is frozen" wait_for 5 campaign_is peer frozen
assert_exit "high stops" 0 "$FUZZCTL" stop high
check "peer fuzzes" wait_for 30 is peer fuzzing
assert_exit "peer stops" 0 "$FUZZCTL" stop peer
assert_eq "no file was saved for all that" 0 "$(hangs)"
