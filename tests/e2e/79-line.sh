#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cores over two fuzzd of different state directories: none is shared unless both specs say so, who asked first is
# served first, and a killed fuzzd neither gives a core away that is in use nor keeps anybody waiting.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

private_locks
two_cores
A=$FZ_STATE/a B=$FZ_STATE/b
mkdir -m 700 "$A" "$B"
# shellcheck disable=SC2154 # assigned in the trap itself
trap 'for fz_s in "$A" "$B"; do timeout 40 "$FUZZCTL" --state "$fz_s" stop --all >/dev/null 2>&1; done; rm -f "$FZ_STATE/fuzzd.lock"; fz_cleanup' EXIT

spec() { # NAME CORES [LINE]
    cat >"$T/$1.ini" <<END
[campaign]
name = $1
root = $TOP
budget = 10m
cores = $2
${3-}

[limits]
disk_floor = 0
pressure = 100

[target $1]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = $2
END
}
start() { # STATE NAME
    "$FUZZCTL" --state "$1" start "$T/$2.ini" >"$T/out" 2>&1
}
status() { # STATE NAME FILTER
    "$FUZZCTL" --state "$1" status "$2" --json | jq -r ".campaigns[0] | $3"
}
fuzzing() { # STATE NAME
    [ "$(status "$1" "$2" '[.targets[0].instances[].state] | unique | join(" ")')" = fuzzing ]
}
waiting() { # STATE NAME
    [ "$(status "$1" "$2" .state)" = waiting ]
}
cores() { # STATE NAME
    status "$1" "$2" '[.targets[0].instances[].cpu] | sort | join(" ")'
}
kill_daemon() { # STATE
    kpid=$(sed 's/pid \([0-9]*\).*/\1/' "$1/fuzzd.lock")
    case $kpid in
    "" | *[!0-9]* | 0 | 1) not_ok "a pid to kill is known: $kpid" ;;
    *) kill -KILL "$kpid" ;;
    esac
    wait_for 5 dead "$kpid"
}
dead() {
    ! alive "$1"
}
places() {
    find /run/lock -name 'fuzzd-wait-*' | wc -l
}
spec a1 1
spec a2 2
spec b1 1
spec b2 1
spec b3 1
spec s1 1 "share_cores = yes"
spec s2 1 "share_cores = yes"
spec x1 1

# ---- none is shared --------------------------------------------------------------------------
check "a1 of fuzzd A starts" start "$A" a1
check "it fuzzes" wait_for 30 fuzzing "$A" a1
check "b1 of fuzzd B starts" start "$B" b1
check "it fuzzes" wait_for 30 fuzzing "$B" b1
if [ "$(cores "$A" a1)" != "$(cores "$B" b1)" ]; then ok "on another core"; else not_ok "on another core"; fi
check "b2 is taken" start "$B" b2
check "and waits, as no core is free" waiting "$B" b2
assert_match "which status says" "waits for cores: b2 needs 1, and too few are free" "$("$FUZZCTL" --state "$B" status b2)"
kill_daemon "$A"
sleep 3
check "a core of a killed fuzzd is not free while its keeper lives" waiting "$B" b2
check "the next fuzzd has a1 where it was" wait_for 10 fuzzing "$A" a1
"$FUZZCTL" --state "$A" stop a1 >/dev/null 2>&1
check "once it has ended, b2 has its core" wait_for 15 fuzzing "$B" b2
assert_eq "nobody stands in line any more" 0 "$(places)"

# ---- who asked first is served first ---------------------------------------------------------
"$FUZZCTL" --state "$B" stop b2 >/dev/null 2>&1
check "a2 of A wants two cores" start "$A" a2
check "and waits beside b1" waiting "$A" a2
check "b2 of B would have room" start "$B" b2
sleep 3
check "and waits behind a2" waiting "$B" b2
assert_match "which status says" "waits for cores: behind campaign a2 of fuzzd pid [0-9]+" "$("$FUZZCTL" --state "$B" status b2)"
check "x1 of A comes after both" start "$A" x1
check "and waits behind a2" waiting "$A" x1
assert_match "which status says" "behind campaign a2$" "$("$FUZZCTL" --state "$A" status x1)"
assert_eq "two fuzzd stand in line" 2 "$(places)"
"$FUZZCTL" --state "$B" stop b1 >/dev/null 2>&1
check "two cores being free, a2 is served" wait_for 20 fuzzing "$A" a2
check "b2 and x1 wait" waiting "$B" b2
check "still" waiting "$A" x1
kill_daemon "$B" # its place is lost and is taken again as it was
"$FUZZCTL" --state "$B" status >/dev/null 2>&1
sleep 2
"$FUZZCTL" --state "$A" stop a2 >/dev/null 2>&1
check "then b2" wait_for 20 fuzzing "$B" b2
check "and x1" wait_for 20 fuzzing "$A" x1

# ---- one who waits and is killed bars nobody ----------------------------------------------------
check "a2 waits again" start "$A" a2
"$FUZZCTL" --state "$B" stop b2 >/dev/null 2>&1
check "for the core of x1" waiting "$A" a2
check "b1 stands behind" start "$B" b1
check "and waits" waiting "$B" b1
kill_daemon "$A"
check "who waited in a killed fuzzd bars nobody" wait_for 10 fuzzing "$B" b1
"$FUZZCTL" --state "$A" stop --all >/dev/null 2>&1
"$FUZZCTL" --state "$B" stop --all >/dev/null 2>&1

# ---- one that has lost its core -----------------------------------------------------------------
check "a1 starts" start "$A" a1
check "it fuzzes" wait_for 30 fuzzing "$A" a1
check "b1 starts" start "$B" b1
check "it fuzzes" wait_for 30 fuzzing "$B" b1
check "b2 waits" start "$B" b2
keeper=$(status "$A" a1 '.targets[0].instances[0].keeper_pid')
kill_daemon "$A"
case $keeper in
"" | *[!0-9]* | 0 | 1) not_ok "a keeper to kill is known" ;;
*) kill -KILL "$keeper" ;;
esac
check "b2 has the core of a keeper that was killed, too" wait_for 20 fuzzing "$B" b2
lost() {
    "$FUZZCTL" --state "$A" status a1 | grep -q 'waits for a core, others have the one it had'
}
check "a1 is told to wait for one" wait_for 20 lost
check "b3 asks later" start "$B" b3
ahead() {
    "$FUZZCTL" --state "$B" status b3 | grep -Eq 'waits for cores: behind campaign a1 of fuzzd pid [0-9]+'
}
check "and waits behind a1" wait_for 10 ahead
assert_eq "which has no core" -1 "$(cores "$A" a1)"
"$FUZZCTL" --state "$B" stop b2 >/dev/null 2>&1
check "a1 has the next one that is free" wait_for 10 fuzzing "$A" a1
check "and not b3" waiting "$B" b3
"$FUZZCTL" --state "$A" stop --all >/dev/null 2>&1
check "b3 has that of a1" wait_for 20 fuzzing "$B" b3
"$FUZZCTL" --state "$B" stop --all >/dev/null 2>&1
assert_eq "nobody stands in line" 0 "$(places)"

# ---- unless the spec says so -----------------------------------------------------------------
taskset -cp "${two%,*}" $$ >/dev/null
for s in "$A" "$B"; do # daemons of one core
    p=$(sed 's/pid \([0-9]*\).*/\1/' "$s/fuzzd.lock")
    [ "$p" -gt 1 ] && kill -TERM "$p" 2>/dev/null
    wait_for 10 dead "$p"
done
check "one that shares starts" start "$A" s1
check "and fuzzes" wait_for 30 fuzzing "$A" s1
check "another that does, in another fuzzd, too" start "$B" s2
check "and fuzzes" wait_for 40 fuzzing "$B" s2
assert_eq "on the same core" "$(cores "$A" s1)" "$(cores "$B" s2)"
check "one that does not is taken" start "$B" b1
check "and waits" waiting "$B" b1
assert_match "plan says who shares" "^shares its cores" "$("$FUZZCTL" --state "$A" plan "$T/s1.ini")"
"$FUZZCTL" --state "$A" stop --all >/dev/null 2>&1
check "as long as one of them is there" waiting "$B" b1
"$FUZZCTL" --state "$B" stop s2 >/dev/null 2>&1
check "and then has the core" wait_for 30 fuzzing "$B" b1
check "s1 does not share with it" start "$A" s1
check "and waits" waiting "$A" s1
"$FUZZCTL" --state "$A" stop --all >/dev/null 2>&1
assert_eq "and has left the line" 0 "$(places)"
