#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real afl-fuzz on a real harness under fuzz-keeper, with no daemon: the target is in its own
# cgroup, a stop ends by itself, and a killed afl-fuzz leaves neither its stopped child nor its
# shared memory.
# limit: 300
. tests/e2e/lib.sh
need tests/e2e/keeper_afl fuzz-keeper fuzz-preload.so harnesses/chunk_frame/afl

AFL_FUZZ=$(command -v afl-fuzz)
export BUILD AFL_FUZZ
for trial in stop kill stop-without-cgroups kill-without-cgroups; do
    how=${trial%%-*}
    unset BACKEND
    case $trial in *-without-cgroups) export BACKEND=none ;; esac
    dir=$FZ_STATE/$trial
    mkdir "$dir"
    "$BUILD/tests/e2e/keeper_afl" "$dir" "$HARNESSES/chunk_frame/afl" "$TOP/seeds/chunk_frame" "$how" >"$dir/seen"
    rc=$?
    seen=$(cat "$dir/seen")
    assert_eq "$trial: the driver ran" 0 $rc
    assert_match "$trial: afl-fuzz came up, pinned where a core was free" '^up=1 ' "$seen"
    assert_match "$trial: a run record was there" '^run=0 ' "$seen"
    assert_match "$trial: the keeper ended with 0" '^keeper_status=0 ' "$seen"
    assert_match "$trial: none of its shared memory is left" 'segments_after=0$' "$seen"
    assert_match "$trial: afl and t are empty" '^afl_after=0 t_after=0$' "$seen"
    assert_match "$trial: the cgroups were removed" '^destroy=0$' "$seen"
    case $seen in
    *backend=none*) [ "$trial" != "$how" ] || skip "$trial: the target is in its own cgroup" "no cgroups here" ;;
    *) assert_match "$trial: keeper, afl-fuzz and target are each in their cgroup" '^afl=1 t=1 keep=1$' "$seen" ;;
    esac
    if unshare --ipc true 2>/dev/null; then
        assert_match "$trial: it had an IPC namespace of its own" 'own_ipc=1$' "$seen"
        assert_match "$trial: whose segments are not seen outside" '^segments_seen=0$' "$seen"
    fi
    if [ "$how" = stop ]; then
        assert_match "$trial: afl-fuzz ended by itself, as asked" \
            '^record=0 end=0 code=0 asked=1 after_grace=0 oom=0 what=$' "$seen"
    else
        assert_match "$trial: the record says SIGKILL, and that nobody asked" \
            '^record=0 end=1 code=9 asked=0 after_grace=0 oom=0 what=$' "$seen"
        # Its stopped child dies with the fork server, or by the keeper; that none is left is shown above.
    fi
    execs=$(sed -n 's/^execs_done *: *//p' "$dir/out/main/fuzzer_stats")
    check "$trial: inputs were executed" [ "${execs:-0}" -gt 0 ]
done
