#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program under test that attacks whoever runs it: memory, processes, descriptors, its own working
# directory, its fork server, afl-fuzz, its keeper, its cgroups. Fuzzing goes on or is restarted, what
# AFL++ can record gets the right class, kills for memory are counted although most leave no input,
# and neither the host nor anybody outside the instance notices.
# FZ_CHAOS_FAULTS="oom escape": only these, where there is no time for all.
# limit: 600
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so tests/chaos/dynamic tests/chaos/static

# A guest is short of memory: FZ_CHAOS_MEMORY. A static program shares it with its afl-fuzz.
MEMORY_MB=${FZ_CHAOS_MEMORY:-256}
mkdir -p "$T/seeds" "$T/marks/dynamic/victim" "$T/marks/static" "$T/canary"
printf 'AAAA' >"$T/seeds/a"
printf 'bang="!"\nnext="x"\n' >"$T/dict"
echo keep >"$T/canary/file"
echo gone >"$T/marks/dynamic/victim/file"

# A canary of no relation to fuzzd, in the same session as the test.
sleep $((600 * ${FZ_SLOW:-1})) &
canary=$!
canary_groups=$(cat "/proc/$canary/cgroup")
canary_start=$(sed 's/.*) //' "/proc/$canary/stat" | cut -d' ' -f20)

head_of_spec() { # NAME BUDGET
    cat <<END
[campaign]
name = $1
root = $T
budget = $2
cores = all

[limits]
memory = ${MEMORY_MB}M
pids = 64
log_max = 256K
END
}
# wanted FAULT; those FAULT…: the wanted ones of them
wanted() {
    [ -n "${FZ_CHAOS_FAULTS-}" ] || return 0
    case " $FZ_CHAOS_FAULTS " in *" $1 "*) ;; *) return 1 ;; esac
}
those() {
    for fz_f in "$@"; do
        ! wanted "$fz_f" || echo "$fz_f"
    done
}
# target FAULT dynamic|static [VARIABLE…]
target() {
    fault=$1 kind=$2 timeout=200ms
    shift 2
    wanted "$fault" || return 0
    # Filling memory takes its time on a busy host.
    case $fault in oom* | leak | cglimits | cgmount | cgns) timeout=$((${FZ_SLOW:-1} * 2 - 1))s ;; esac
    cat <<END

[target $fault]
harness = $BUILD/tests/chaos/$kind
seeds = seeds
dictionary = dict
instances = 1
timeout = $timeout
env =
    FZ_CHAOS=$fault
    FZ_CHAOS_DIR=$T/marks/$kind
END
    for v in "$@"; do echo "    $v"; done
}

# Enough for what must happen twice, with a pause between, on a host that does other things, too.
each=$((7 * ${FZ_SLOW:-1}))s
{
    head_of_spec chaos $each
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
{
    MEMORY_MB=256
    head_of_spec static $each
    for fault in oom sleepers forkbomb escape; do
        target "$fault" static
    done
    target parent static FZ_CHAOS_MAX=1
    target cgfds static "FZ_CHAOS_STRANGER=$canary"
} >"$T/static.ini"
MEMORY_MB=${FZ_CHAOS_MEMORY:-256}

faults() { # CAMPAIGN
    sed -n 's/^\[target \(.*\)\]/\1/p' "$T/$1.ini"
}
status() { # CAMPAIGN JQ-FILTER
    "$FUZZCTL" status "$1" --json | jq -r ".campaigns[0] | $2"
}
mem_available_mb() {
    awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}
left_of_target() {
    for p in /proc/[0-9]*; do
        case $(cat "$p/comm" 2>/dev/null) in
        fz-chaos-left | dynamic | static)
            tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qx "FZ_CHAOS_DIR=$T/marks/.*" && echo "${p#/proc/}"
            ;;
        esac
    done
}
no_left_of_target() {
    [ -z "$(left_of_target)" ]
}
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
# Samples free memory, executions and kills until the campaign is over.
watch_campaign() { # CAMPAIGN
    lowest=$(mem_available_mb)
    while :; do
        doc=$("$FUZZCTL" status "$1" --json) || return 1
        now=$(mem_available_mb)
        [ "$now" -lt "$lowest" ] && lowest=$now
        printf '%s' "$doc" | jq -r '.campaigns[0].targets[] | select(.state == "running") |
            "\(.name) \(.execs_done) \(.oom_kills)"' >>"$T/samples.$1"
        printf '%s' "$doc" | jq -e '.campaigns[0].verdict // "" | . != ""' >/dev/null && return 0
        [ $(($(date +%s) - began)) -lt $((300 * ${FZ_SLOW:-1})) ] || return 1
        [ "$1" != chaos ] || { kill_from_outside; note_limits; }
        sleep 0.5
    done
}
# shm files may belong to others; ours are told by name.
shm_files() {
    find /dev/shm -maxdepth 1 -name 'fz-chaos.*' | wc -l
}
shm_before=$(shm_files)
segments_before=$(awk 'NR > 1' /proc/sysvipc/shm | wc -l)

began=$(date +%s)
before=$(mem_available_mb)
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/chaos.ini"
[ "$FZ_FAILED" = 0 ] || exit 1
check "the campaign comes to its end" watch_campaign chaos
if [ $((before - lowest)) -lt $((2 * (256 + 512))) ]; then
    ok "the host has lost no more memory than two instances may use"
else
    not_ok "the host has lost no more memory than two instances may use: $before MB, then $lowest MB"
fi
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

# ---- a static program ------------------------------------------------------------------------
assert_exit "a static program is started" 0 "$FUZZCTL" start "$T/static.ini"
assert_match "status says that its isolation is weaker" \
    '/main: the program shares the cgroup of its afl-fuzz' "$(status static '.isolation.why[]')"
before=$(mem_available_mb)
check "its campaign comes to its end" watch_campaign static
if [ $((before - lowest)) -lt $((2 * (256 + 512))) ]; then
    ok "static: the host has lost no more memory than two instances may use"
else
    not_ok "static: the host has lost no more memory than two instances may use: $before MB, then $lowest MB"
fi
for fault in $(faults static); do
    check "static $fault: the fault was set off" test -e "$T/marks/static/$fault.0"
done
check "a static program has no way to move strangers" test ! -e "$T/marks/static/cgfds.stranger"
! wanted cgfds || check "and none is moved when it says that they knock" test -e "$T/marks/static/cgfds.knock"
assert_match "the report says that its isolation is weaker" 'shares the cgroup of its afl-fuzz' "$("$FUZZCTL" report static)"

# ---- replays ---------------------------------------------------------------------------------
printf '!' >"$T/bang"
for fault in devshm sysv; do
    printf '{"job":"input","target":"t","blob":"%s","artifact_kind":"crash","file":"x","runs":1,"timeout_ms":1000,
        "memory_bytes":0,"args":[],"env":["FZ_CHAOS=%s","FZ_CHAOS_DIR=%s"],"programs":[{"role":"harness","path":"%s"}]}' \
        "$T/bang" $fault "$T/marks/static" "$BUILD/tests/chaos/dynamic" >"$T/job.json"
    assert_match "replay of $fault: it is answered" '"ok":true' "$("$TRIAGE" <"$T/job.json" | tr -d ' ')"
    check "replay of $fault: the fault was set off" test -e "$T/marks/static/$fault.0"
done

# ---- what is left ----------------------------------------------------------------------------
check "no process of the target is left" wait_for 5 no_left_of_target
check "the canary lives" alive "$canary"
assert_eq "and is the same" "$canary_start" "$(sed 's/.*) //' "/proc/$canary/stat" | cut -d' ' -f20)"
assert_eq "in the cgroups it was in" "$canary_groups" "$(cat "/proc/$canary/cgroup")"
assert_eq "its score for the killer is as it was" 0 "$(cat "/proc/$canary/oom_score_adj")"
assert_eq "the canary's file is there" keep "$(cat "$T/canary/file")"
! wanted delete || assert_eq "only what the target was given is deleted" "" "$(ls "$T/marks/dynamic/victim")"
assert_eq "no SysV segment is left" "$segments_before" "$(awk 'NR > 1' /proc/sysvipc/shm | wc -l)"
assert_eq "no file in shared memory is left" "$shm_before" "$(shm_files)"
assert_eq "no working directory is left" "" "$(find "$FZ_STATE"/campaigns/*/*/scratch -mindepth 1 2>/dev/null)"
assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify
check "fuzzd leaves" wait_for 15 no_state_pids
check "and its cgroups with it" wait_for 3 no_state_cgroups
kill "$canary" 2>/dev/null
wait "$canary" 2>/dev/null || :
