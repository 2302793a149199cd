#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real fuzzd with its writes failing, one or all from then on, over a whole life: each campaign
# ends with its verdict or is told as failed, nothing half-written is believed, nothing found is lost,
# and the next fuzzd is whole. FZ_FAULTS_ALL=1 (make check-faults) fails every call in turn.
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

modes="ENOSPC-once EIO-once ENOSPC-full EIO-fsync ENOSPC-rename"
# Most of a life is waiting, so several go at once, each with locks of its own where that can be.
lanes=${FZ_FAULT_LANES-4}
own=
if unshare --mount true 2>/dev/null && [ -d /run/lock ]; then own=1; else lanes=1; fi

# lane NUMBER MODE FIRST STEP LAST
lane() {
    d=$FZ_STATE/lane$1
    mkdir -p "$d"
    [ -e "$d/cache" ] || cp -a "$FZ_STATE/cache" "$d/cache"
    shift
    FZ_FAULT_OWN_LOCKS=$own ${own:+unshare --mount} sh tests/fault/lane.sh "$d" "$T/c.ini" "$@"
}

# Where all are not tried: one that meets the campaign while it runs, for each mode.
some() {
    case $1 in
    ENOSPC-once) echo 47 ;;
    EIO-once) echo 63 ;;
    ENOSPC-full) echo 84 ;;
    EIO-fsync) echo 9 ;;
    *) echo 5 ;;
    esac
}

if [ -n "${FZ_FAULTS_ALL-}" ]; then
    for mode in ${FZ_FAULT_MODES-$modes}; do
        i=1
        pids=''
        while [ "$i" -le "$lanes" ]; do
            lane $i "$mode" $i "$lanes" 2000 &
            pids="$pids $!"
            i=$((i + 1))
        done
        # shellcheck disable=SC2086
        wait $pids
    done
else
    i=0
    pids=''
    for mode in $modes; do
        i=$((i + 1))
        lane $i "$mode" "$(some "$mode")" 1 "$(some "$mode")" &
        pids="$pids $!"
        # shellcheck disable=SC2086
        [ $((i % lanes)) -ne 0 ] || wait $pids
    done
    # shellcheck disable=SC2086
    wait $pids
fi

cat "$FZ_STATE"/lane*/result >"$T/result"
cat "$FZ_STATE"/lane*/bad 2>/dev/null | sed 's/^/# | /' | head -n 300
awk 'BEGIN { printf "# %-14s | %6s | %8s | %5s | %4s | %4s\n", "mode", "points", "survived", "told", "lost", "left" }
    { n[$1]++; s[$1] += $3 != "bad"; told[$1] += $3 == "told"; lost[$1] += $4; left[$1] += $5 }
    END { for (m in n) printf "# %-14s | %6d | %8d | %5d | %4d | %4d\n", m, n[m], s[m], told[m], lost[m], left[m] }' "$T/result"
assert_eq "no write that fails leaves anything but words" "" "$(grep ' bad ' "$T/result")"
for mode in ${FZ_FAULT_MODES-$modes}; do
    check "$mode: some were hit" grep -q "^$mode [0-9]" "$T/result"
done
