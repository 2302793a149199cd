#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Empty cgroups of a fuzzd that runs are tidied away by somebody: what it replays next is replayed all the same, under the
# same limits.
# limit: 120
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl plants/CHUNK_MAX_PLUS1/chunk_frame/replay

private_locks
chunk_spec c 6s
sed -i -e "s,^harness = .*,harness = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl," \
    -e "/^harness/a replay = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay" "$T/c.ini"
printf '\n[limits]\ndisk_floor = 0\npressure = 100\n' >>"$T/c.ini"

"$FUZZD" --state "$FZ_STATE" --foreground 2>"$T/log" &
daemon=$!
wait_for 10 test -S "$FZ_STATE/fuzzd.sock"
prefixes=$(find /sys/fs/cgroup -type d -name ctl-triage 2>/dev/null |
    while read -r d; do
        grep -qs "^$daemon\$" "${d%-triage}/cgroup.procs" && dirname "$d"
    done)
if [ -z "$prefixes" ]; then
    skip 44-groups-gone "no cgroups here"
    kill -TERM $daemon && wait $daemon
    exit 0
fi
tidy() {
    for d in $prefixes; do
        find "$d"/ctl-* -depth -type d -exec rmdir {} + 2>/dev/null
    done
}
limits() {
    for d in $prefixes; do
        for f in memory.limit_in_bytes memory.max pids.max; do
            cat "$d/ctl-triage/jobs/$f" 2>/dev/null
        done
    done
}
had=$(limits)
tidy
groups() {
    for d in $prefixes; do find "$d" -name 'ctl-triage'; done
}
check "the groups for replays are gone" test -z "$(groups)"
assert_exit "a run finds what there is" 10 "$FUZZCTL" run "$T/c.ini"
assert_eq "all of it is judged" "" "$("$FUZZCTL" report c | grep -E 'not triaged|could not|cgroup of')"
check "in groups that are there again" test -n "$(groups)"
assert_eq "under the limits they had" "$had" "$(limits)"
kill -TERM $daemon && wait $daemon
