# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For 90-chaos and 91-chaos-static, after tests/e2e/lib.sh: campaigns of a program that attacks whoever runs it, a
# target for each fault, and what must hold on the host when they are over.
# FZ_CHAOS_FAULTS="oom escape": only these, where there is no time for all.

# A guest is short of memory: FZ_CHAOS_MEMORY. A static program shares it with its afl-fuzz.
: "${MEMORY_MB:=${FZ_CHAOS_MEMORY:-256}}"
mkdir -p "$T/seeds" "$T/marks/dynamic/victim" "$T/marks/static" "$T/marks/replay" "$T/canary"
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
each() {
    echo "$((7 * ${FZ_SLOW:-1}))s"
}
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
# What else a test does each time that watch_campaign looks.
meanwhile() {
    :
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
        meanwhile
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

# host_memory_kept BEFORE_MB: by the lowest that watch_campaign saw
host_memory_kept() {
    if [ $(($1 - lowest)) -lt $((2 * (256 + 512))) ]; then
        ok "the host has lost no more memory than two instances may use"
    else
        not_ok "the host has lost no more memory than two instances may use: $1 MB, then $lowest MB"
    fi
}

# What must hold on the host when the campaigns are over.
nothing_left() {
    check "no process of the target is left" wait_for 5 no_left_of_target
    check "the canary lives" alive "$canary"
    assert_eq "and is the same" "$canary_start" "$(sed 's/.*) //' "/proc/$canary/stat" | cut -d' ' -f20)"
    assert_eq "in the cgroups it was in" "$canary_groups" "$(cat "/proc/$canary/cgroup")"
    assert_eq "its score for the killer is as it was" 0 "$(cat "/proc/$canary/oom_score_adj")"
    assert_eq "the canary's file is there" keep "$(cat "$T/canary/file")"
    assert_eq "no SysV segment is left" "$segments_before" "$(awk 'NR > 1' /proc/sysvipc/shm | wc -l)"
    assert_eq "no file in shared memory is left" "$shm_before" "$(shm_files)"
    assert_eq "no working directory is left" "" "$(find "$FZ_STATE"/campaigns/*/*/scratch -mindepth 1 2>/dev/null)"
    assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify
    check "fuzzd leaves" wait_for 15 no_state_pids
    check "and its cgroups with it" wait_for 3 no_state_cgroups
    kill "$canary" 2>/dev/null
    wait "$canary" 2>/dev/null || :
}
