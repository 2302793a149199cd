#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program under test that attacks whoever runs it: memory, processes, descriptors, its own working
# directory, its fork server, afl-fuzz, its keeper, its cgroups. Fuzzing goes on or is restarted, what
# AFL++ can record gets the right class, kills for memory are counted although most leave no input,
# and neither the host nor anybody outside the instance notices.
# limit: 600
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so tests/chaos/dynamic
. tests/e2e/chaos.sh

{
    head_of_spec chaos "$(each)"
    for fault in oom leak sysv sleepers forkbomb escape loop stop oomadj fill fds; do
        target "$fault" dynamic
    done
    target flood dynamic AFL_DEBUG_CHILD=1
    target devshm dynamic FZ_CHAOS_MAX=2
    target delete dynamic FZ_CHAOS_MAX=2
    target parent dynamic FZ_CHAOS_MAX=2
    target aflfuzz dynamic FZ_CHAOS_MAX=1
    target keeper dynamic FZ_CHAOS_MAX=1
    target cgleave dynamic FZ_CHAOS_MAX=5
    for fault in cgkill cgfreeze cglimits cgmount; do
        target $fault dynamic
    done
    target cgns dynamic "FZ_CHAOS_STRANGER=$canary"
    target killed dynamic
} >"$T/chaos.ini"

# Kills all of one instance, keeper and all, as somebody on the host might: once.
kill_from_outside() {
    [ -e "$T/killed" ] || grep -q '^killed [1-9]' "$T/samples.chaos" || return 0
    [ ! -e "$T/killed" ] || return 0
    for fz_c in $(state_cgroups); do
        [ -e "$fz_c/chaos/killed.main/cgroup.kill" ] && echo 1 >"$fz_c/chaos/killed.main/cgroup.kill" && : >"$T/killed"
    done
}
# The limits of a target that tries to lift them, while it runs.
note_limits() {
    for fz_c in $(state_cgroups); do
        for fz_f in cglimits cgmount cgns; do
            cat "$fz_c/chaos/$fz_f.main/t/memory.limit_in_bytes" "$fz_c/chaos/$fz_f.main/t/memory.max" \
                "$fz_c/chaos/$fz_f.main/t/pids.max" 2>/dev/null | sed "s/^/$fz_f /" >>"$T/limits"
        done
    done
}
meanwhile() {
    kill_from_outside
    note_limits
}

before=$(mem_available_mb)
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/chaos.ini"
[ "$FZ_FAILED" = 0 ] || exit 1
check "the campaign comes to its end" watch_campaign chaos
host_memory_kept "$before"
"$FUZZCTL" report chaos --json >"$T/report.json"
artifacts=$("$FUZZCTL" artifacts chaos --json)
kills() { # oom_kills of a target, by the report
    jq -r --arg t "$1" '.targets[] | select(.name == $t) | .oom_kills' "$T/report.json"
}
restarts() {
    jq -r --arg t "$1" '.targets[] | select(.name == $t) | .restarts' "$T/report.json"
}
classes() {
    printf '%s' "$artifacts" | jq -r --arg t "$1" '.artifacts[] | select(.target == $t) | .class' | sort -u | tr '\n' ' '
}

# ---- each fault ------------------------------------------------------------------------------
for fault in $(faults chaos); do
    [ "$fault" = killed ] || check "$fault: the fault was set off" test -e "$T/marks/dynamic/$fault.0"
    assert_eq "$fault: the target ends as planned" budget \
        "$(jq -r --arg t "$fault" '.targets[] | select(.name == $t) | .end_reason' "$T/report.json")"
    # shellcheck disable=SC2016 # awk's own
    check "$fault: executions went on" awk -v t="$fault" '$1 == t { if (first == "") first = $2; last = $2 }
        END { exit !(first != "" && last > first) }' "$T/samples.chaos"
done
assert_eq "no fault went as far as its fuse" "" "$(find "$T/marks" -name '*.fuse')"
for fault in $(those oom oomadj); do # by size, and when the scores of the killer were changed
    assert_match "$fault: a big allocation is of class oom" '^oom ' "$(classes "$fault")"
done
# Many inputs leak a little each: none shows it alone, and the record says what the kernel counted.
if wanted leak; then
    assert_eq "a leak that adds up is no oom of one input" "unreproduced " "$(classes leak)"
    assert_eq "its kind is" oom "$(jq -r '[.buckets[] | select(.target == "leak") | .kind] | unique | join(",")' "$T/report.json")"
    assert_match "with the kills that were counted" 'cgroup counted [1-9][0-9]* kills? for memory' \
        "$(jq -r '.buckets[] | select(.target == "leak") | .signature_why' "$T/report.json")"
fi
! wanted loop || assert_match "an endless loop is of class timeout" '^timeout ' "$(classes loop)"
! wanted stop || assert_eq "a child that stops itself is no finding" "" "$(classes stop)"
for fault in $(those oom leak oomadj cglimits cgmount cgns); do
    check "$fault: kills for memory are in the report" test "$(kills "$fault")" -gt 0
    # shellcheck disable=SC2016 # awk's own
    check "$fault: and in status while it runs" awk -v t="$fault" '$1 == t && $3 > 0 { n++ } END { exit !n }' "$T/samples.chaos"
    assert_eq "$fault: the victim is always a child" 0 "$(restarts "$fault")"
done
# A bomb may take the slot of a child that ran into its timeout: then the fork server has to come anew.
for fault in $(those sleepers escape fds stop delete fill cgkill cgfreeze cgleave); do
    assert_eq "$fault: nothing had to be restarted" 0 "$(restarts "$fault")"
done
! wanted parent || assert_eq "a killed fork server is started again" 2 "$(restarts parent)"
for fault in $(those aflfuzz keeper killed); do
    assert_eq "$fault: what was killed is started again" 1 "$(restarts "$fault")"
done
! wanted killed || check "the cgroup of killed was killed" test -e "$T/killed"
# A target that is root has its cgroups before its eyes, and cannot touch them.
assert_eq "no limit was lifted" "$(for f in $(those cglimits cgmount cgns); do echo "$f $((MEMORY_MB << 20)) $f 64"; done)" \
    "$(sort -u "$T/limits" 2>/dev/null | paste -d' ' - -)"
for way in mount mount1 remount keeper init; do
    check "cgroups cannot be reached by $way" test ! -e "$T/marks/dynamic/cgmount.$way"
done
assert_eq "nor by a user namespace of its own" "" "$(find "$T/marks/dynamic" -name 'cgns.[a-z]*')"
if wanted flood; then
    log=$(find "$FZ_STATE/campaigns/chaos" -name 'flood.main.log*' -exec cat {} + | wc -c)
    if [ "$log" -gt 65536 ] && [ "$log" -le 262144 ]; then
        ok "a flood of output ends in a log of its bound"
    else
        not_ok "a flood of output ends in a log of its bound: $log bytes"
    fi
fi

# ---- replays ---------------------------------------------------------------------------------
printf '!' >"$T/bang"
for fault in devshm sysv; do
    printf '{"job":"input","target":"t","blob":"%s","artifact_kind":"crash","file":"x","runs":1,"timeout_ms":1000,
        "memory_bytes":0,"args":[],"env":["FZ_CHAOS=%s","FZ_CHAOS_DIR=%s"],"programs":[{"role":"harness","path":"%s"}]}' \
        "$T/bang" $fault "$T/marks/replay" "$BUILD/tests/chaos/dynamic" >"$T/job.json"
    assert_match "replay of $fault: it is answered" '"ok":true' "$("$TRIAGE" <"$T/job.json" | tr -d ' ')"
    check "replay of $fault: the fault was set off" test -e "$T/marks/replay/$fault.0"
done

nothing_left
! wanted delete || assert_eq "only what the target was given is deleted" "" "$(ls "$T/marks/dynamic/victim")"
