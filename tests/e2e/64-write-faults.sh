#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real fuzzd with one of its writes failing, once or from then on: the campaign ends with its
# verdict or is told as failed, nothing half-written is believed, and the next one is whole.
# FZ_FAULTS_ALL=1 (make check-faults) fails every write in turn.
# limit: 18000
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl tests/fault/shim.so

cat >"$T/c.ini" <<END
[campaign]
name = c
root = $TOP
budget = 4s
cores = 1
seed = 7
stop_on = first

[target t]
harness = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl
replay = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay
seeds = seeds/chunk_frame-min
dictionary = dictionaries/chunk_frame.dict
instances = 1
END
"$FUZZCTL" plan "$T/c.ini" >/dev/null # asks afl-fuzz once
cp -a "$FZ_STATE/cache" "$T/cache"

daemon=
fuzzd_gone() {
    ! alive "$daemon"
}
daemon_end() {
    kill -TERM "$daemon"
    wait_for 60 fuzzd_gone || { echo "# fuzzd does not end"; kill -KILL "$daemon"; bad=1; }
    wait "$daemon" 2>/dev/null
}
answers() {
    [ -S "$FZ_STATE/fuzzd.sock" ] && "$FUZZCTL" status >/dev/null 2>&1
}

# round ERRNO STICKY AT: true when the fault was hit.
round() {
    bad=0 limit=40
    [ -z "$2" ] || limit=8 # a disk that stays full is waited for
    rm -rf "$FZ_STATE" "$T/hit"
    mkdir -m 700 "$FZ_STATE"
    cp -a "$T/cache" "$FZ_STATE/cache"
    LD_PRELOAD=$BUILD/tests/fault/shim.so FZ_FAULT_PROGRAM=fuzzd FZ_FAULT_DIR=$FZ_STATE \
        FZ_FAULT_MARK=$T/hit FZ_FAULT_ERRNO=$1 FZ_FAULT_AT=$3 ${2:+env FZ_FAULT_STICKY=1} \
        "$FUZZD" --foreground >"$T/fuzzd.out" 2>&1 &
    daemon=$!
    began=$(($(date +%s) + 3))
    while alive "$daemon" && ! answers && [ "$(date +%s)" -lt $began ]; do sleep 0.05; done
    if alive "$daemon"; then
        timeout -s INT "$limit" "$FUZZCTL" run "$T/c.ini" >"$T/run.out" 2>"$T/run.err"
        rc=$?
        case $rc in
        10) ;;
        *) grep -q . "$T/run.err" "$T/run.out" || { echo "# exit $rc without a word"; bad=1; } ;;
        esac
        daemon_end
    else
        grep -q . "$T/fuzzd.out" || { echo "# fuzzd left without a word"; bad=1; }
    fi
    [ -e "$T/hit" ] && hit=1 || hit=0
    # The next one takes over whatever is left and is whole itself.
    timeout 90 "$FUZZCTL" run "$T/c.ini" >"$T/run2.out" 2>"$T/run2.err"
    rc2=$?
    if [ $rc2 -eq 4 ]; then # the one before is unfinished: it is gone on with
        timeout 60 "$FUZZCTL" stop c >/dev/null 2>&1
        timeout 90 "$FUZZCTL" run "$T/c.ini" >"$T/run2.out" 2>"$T/run2.err"
        rc2=$?
    fi
    [ $rc2 -eq 10 ] || { echo "# the next run ends with $rc2"; bad=1; }
    "$FUZZCTL" verify >"$T/verify.out" 2>&1 || { echo "# verify fails"; bad=1; }
    for b in "$FZ_STATE"/bundles/*; do
        "$FUZZCTL" bundle verify "$b" >/dev/null 2>&1 || { echo "# $b does not verify"; bad=1; }
    done
    if [ $bad -ne 0 ]; then
        sed 's/^/# | /' "$T/fuzzd.out" "$T/run.err" "$T/run2.err" "$T/verify.out" | tail -n 30
        failed="$failed $1${2:+-sticky}@$3"
    fi
    fuzzd_pid=$("$FUZZCTL" status --json | jq -r '.fuzzd.pid // empty')
    if [ -n "$fuzzd_pid" ] && [ "$fuzzd_pid" -gt 1 ]; then
        daemon=$fuzzd_pid
        kill -TERM "$daemon"
        wait_for 60 fuzzd_gone
    fi
    [ "$hit" -eq 1 ]
}

failed='' rounds=0
for kind in "ENOSPC" "EIO" "ENOSPC sticky"; do
    # shellcheck disable=SC2086
    set -- $kind
    at=1
    [ -n "${FZ_FAULTS_ALL-}" ] || case $kind in "ENOSPC") at=47 ;; EIO) at=63 ;; *) at=84 ;; esac
    while round "$1" "${2-}" $at; do
        rounds=$((rounds + 1))
        at=$((at + 1))
        [ -n "${FZ_FAULTS_ALL-}" ] || break
        [ $at -lt 2000 ] || break
    done
done
echo "# $rounds faults"
assert_eq "no write that fails leaves anything but words" "" "$failed"
check "some were hit" [ $rounds -ge 3 ]
