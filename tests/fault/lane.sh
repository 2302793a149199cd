#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lives of the real fuzzd with a write of its own failing, one life a fault:
#
#   sh tests/fault/lane.sh DIR SPEC MODE FIRST STEP LAST
#
# Makes the calls FIRST, FIRST+STEP, … fail until LAST, or until calls of that number no longer
# happen. A life is start, pause, resume, the crashes collected and triaged, the end, report, list of
# bundles, stop. Then the fault is gone; another fuzzd takes the folder over, and everything found
# must be there. DIR is the lane's own: state/, what was said, and result with a line for each fault:
#
#   MODE N ok|told|bad LOST LEFT WHY…    told: the campaign could not end as planned, and said why
#
# MODE is ERRNO-once, ERRNO-full (from there on; there is space again after a while, under the same
# fuzzd) or ERRNO-CALL, where all calls of that name fail from the Nth on, as with -full.
set -u
dir=$1 spec=$2 mode=$3 at=$4 step=$5 last=$6
errno=${mode%%-*} how=${mode#*-}
FZ_STATE=$dir/state
FUZZ_STATE=$FZ_STATE
export FZ_STATE FUZZ_STATE
waits=no
FULL_S=2 # how long the disk stays full

# Each lane has the cores to itself: the locks are for campaigns that are to be fast.
if [ "${FZ_FAULT_OWN_LOCKS-}" = 1 ]; then
    mount -t tmpfs tmpfs /run/lock || exit 1
fi

alive() {
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1) in
    "" | Z | X) return 1 ;;
    esac
}
bad() {
    verdict=bad
    why="$why; $*"
}
# until_true SECONDS CMD…
until_true() {
    tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}
ended() {
    ! alive "$daemon"
}
answers() {
    ended || { [ -S "$FZ_STATE/fuzzd.sock" ] && "$FUZZCTL" status >/dev/null 2>&1; }
}
# say SECONDS VERB…: the verb ends, and not without a word. Its status is $rc.
say() {
    limit=$1
    shift
    timeout -s INT -k 5 "$limit" "$FUZZCTL" "$@" >"$dir/said" 2>&1
    rc=$?
    # A verb may wait for the disk, when it says what it waits for.
    [ $rc -lt 124 ] || [ "$waits$rc" = yes124 ] || bad "$1 hangs or dies ($rc)"
    [ $rc -eq 0 ] || [ -s "$dir/said" ] || bad "$1 ends with $rc and no word"
    { echo "$1: $rc"; cat "$dir/said"; } >>"$dir/log"
}
take_down() { # PID
    [ "${1:-0}" -gt 1 ] || return 0
    daemon=$1
    kill -TERM "$daemon" 2>/dev/null
    until_true 60 ended || { bad "fuzzd does not end"; kill -KILL "$daemon"; }
}
# Crash files that are not in the store by their content, and stored files that are not what they say.
lost() {
    find "$FZ_STATE"/campaigns/*/*/out -path '*/crashes*/id:*' -type f -exec sha256sum {} + 2>/dev/null |
        while read -r sum _; do
            [ -f "$FZ_STATE/store/$(echo "$sum" | cut -c1-2)/$sum" ] || echo "$sum"
        done
    find "$FZ_STATE/store" -type f -exec sha256sum {} + 2>/dev/null | while read -r sum file; do
        [ "${file##*/}" = "$sum" ] || echo "$file"
    done
}
# Living processes of the state folder, its cgroups, its working directories.
left() {
    find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$FZ_STATE*" 2>/dev/null
    grep -rahoE 'fuzzd-[0-9a-f]{8}' "$FZ_STATE" 2>/dev/null | sort -u | while read -r name; do
        find /sys/fs/cgroup -maxdepth 6 -type d -name "$name" 2>/dev/null
    done
    find "$FZ_STATE"/campaigns/*/*/scratch -mindepth 1 2>/dev/null
}
nothing_left() {
    [ -z "$(left)" ]
}

one_life() {
    FZ_FAULT_STICKY='' FZ_FAULT_CALL=''
    case $how in
    once) ;;
    full) FZ_FAULT_STICKY=1 ;;
    *) FZ_FAULT_STICKY=1 FZ_FAULT_CALL=$how ;;
    esac
    LD_PRELOAD=$BUILD/tests/fault/shim.so FZ_FAULT_PROGRAM=fuzzd FZ_FAULT_DIR=$FZ_STATE FZ_FAULT_MARK=$dir/hit \
        FZ_FAULT_UNTIL=$dir/space FZ_FAULT_ERRNO=$errno FZ_FAULT_AT=$at FZ_FAULT_STICKY=$FZ_FAULT_STICKY \
        FZ_FAULT_CALL=$FZ_FAULT_CALL "$FUZZD" --foreground >"$dir/fuzzd.out" 2>&1 &
    daemon=$!
    until_true 10 answers || [ -e "$dir/hit" ] || bad "fuzzd does not answer"
    if ended; then
        [ -s "$dir/fuzzd.out" ] || bad "fuzzd left without a word"
        verdict=told
        return
    fi
    say 30 start "$spec"
    started=$rc
    if [ $rc -eq 0 ]; then
        waits=yes limit=20
        [ "$how" = once ] || limit=$FULL_S
        say "$limit" pause c
        say "$limit" resume c
        [ "$how" = once ] || say 20 wait c --timeout ${FULL_S}s
        waits=no
    fi
    : >"$dir/space"
    [ $started -eq 0 ] || say 30 start "$spec"
    [ "$how" = once ] || say 30 resume c # where the pause was taken and the word to go on was not
    say 60 wait c
    [ $rc -eq 10 ] || verdict=told
    say 20 report c
    say 20 bundle list
    say 60 stop --all
    ended && bad "fuzzd died"
    take_down "$daemon"
    wait "$daemon" 2>/dev/null
    code=$?
    [ $code -eq 0 ] || bad "fuzzd ends with $code"
}

# The next one takes over whatever is left and is whole itself.
next_life() {
    say 90 run "$spec"
    if [ $rc -eq 4 ]; then # the one before is unfinished
        say 60 stop c
        say 90 run "$spec"
    fi
    [ $rc -eq 10 ] || bad "the next run ends with $rc"
    say 30 verify
    [ $rc -eq 0 ] || bad "verify ends with $rc"
    for b in "$FZ_STATE"/bundles/*; do
        "$FUZZCTL" bundle verify "$b" >>"$dir/log" 2>&1 || bad "$b does not verify"
    done
    for run in $("$FUZZCTL" list --json | jq -r '.runs[].run'); do
        "$FUZZCTL" report c --run "$run" --json 2>>"$dir/log" |
            jq -e '.targets | all(.pending == 0)' >/dev/null || bad "an input of $run has no class"
    done
    take_down "$("$FUZZCTL" status --json | jq -r '.fuzzd.pid // 0')"
}

misses=0
while [ "$at" -le "$last" ] && [ $misses -lt 2 ]; do
    verdict=ok why=''
    rm -rf "$FZ_STATE" "$dir/hit" "$dir/space" "$dir/log"
    mkdir -m 700 "$FZ_STATE"
    cp -a "$dir/cache" "$FZ_STATE/cache"
    one_life
    next_life
    until_true 5 nothing_left
    n_lost=$(lost | wc -l) n_left=$(left | wc -l)
    [ "$n_lost" -eq 0 ] || bad "lost: $(lost | tr '\n' ' ')"
    [ "$n_left" -eq 0 ] || bad "left: $(left | tr '\n' ' ')"
    if [ -e "$dir/hit" ]; then
        misses=0
        echo "$mode $at $verdict $n_lost $n_left $why" >>"$dir/result"
    else
        misses=$((misses + 1))
        [ $verdict = ok ] || echo "$mode unhit-$at bad $n_lost $n_left $why" >>"$dir/result"
    fi
    if [ $verdict = bad ]; then
        echo "== $mode $at$why"
        cat "$dir/fuzzd.out" "$dir/log"
    fi >>"$dir/bad"
    at=$((at + step))
done
