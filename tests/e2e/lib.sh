# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Common ground of the end-to-end scripts:
#
#   #!/bin/sh
#   # SPDX-License-Identifier: Apache-2.0
#   # What this shows.   # limit: 60   (on a line of its own)
#   . tests/e2e/lib.sh
#   need fuzzctl fuzzd harnesses/chunk_frame/afl
#   …
#   ok "a started campaign is listed"
#
# Scripts run from the top of the tree. Each has its own directory $T and its own state
# directory $FZ_STATE in it (exported as FUZZ_STATE), both gone afterwards. At the end the
# campaigns and the daemon of that state directory are stopped the ordinary way; what then
# still lives is reported as a failure and killed, by pid.

set -u
TOP=$(pwd)
BUILD=${BUILD:-$TOP/build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
FUZZCTL=$BUILD/fuzzctl
FUZZD=$BUILD/fuzzd
TRIAGE=$BUILD/fuzz-triage
HARNESSES=$BUILD/harnesses
PLANTS=$BUILD/plants
FIXTURES=$TOP/tests/fixtures

T=$(mktemp -d "${TMPDIR:-/tmp}/fz-e2e.XXXXXX") || exit 1
FZ_STATE=$T/state
mkdir -m 700 "$FZ_STATE"
FUZZ_STATE=$FZ_STATE
# afl-fuzz on a machine that is not tuned for it.
AFL_SKIP_CPUFREQ=1
AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
export TOP BUILD FUZZCTL FUZZD TRIAGE HARNESSES PLANTS FIXTURES T FZ_STATE FUZZ_STATE
export AFL_SKIP_CPUFREQ AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES
unset FUZZ_RUNTIME_SECS

FZ_FAILED=0

ok() {
    echo "ok $*"
}

not_ok() {
    FZ_FAILED=1
    echo "not ok $*"
}

# skip NAME WHY: the test cannot be done here. Goes on; use `skip … && exit 0` to end.
skip() {
    fz_name=$1
    shift
    echo "skip $fz_name $*"
}

# need FILE…: ends the script as skipped when something below $BUILD was not built.
need() {
    for fz_need in "$@"; do
        if [ ! -e "$BUILD/$fz_need" ]; then
            skip "$(basename "$0" .sh)" "$fz_need is not built"
            exit 0
        fi
    done
}

# chunk_spec NAME BUDGET [LINE...]: $T/NAME.ini, one instance of chunk_frame on one core; LINEs are limits
chunk_spec() {
    fz_spec=$1
    cat >"$T/$fz_spec.ini" <<END
[campaign]
name = $fz_spec
root = $TOP
budget = $2
cores = 1

[target chunk_frame]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = 1
END
    shift 2
    [ $# -eq 0 ] || printf '\n[limits]\n' >>"$T/$fz_spec.ini"
    for fz_line in "$@"; do printf '%s\n' "$fz_line" >>"$T/$fz_spec.ini"; done
}

# small_disk NAME: the state directory lies on a file system of 24 MiB, which $FZ_STATE/filler may fill; without one
# the script ends with NAME skipped. Those that use it are of one lane, "shared": fuzzd names its cgroups by device and
# inode of the state directory, which the next file system has again.
small_disk() {
    if ! mount -t tmpfs -o size=24m,mode=700 tmpfs "$FZ_STATE" 2>/dev/null; then
        skip "$1" "a tmpfs cannot be mounted here"
        exit 0
    fi
    trap fz_unmount EXIT
}
fz_unmount() {
    rm -f "$FZ_STATE/filler"
    timeout 40 "$FUZZCTL" stop --all >/dev/null 2>&1
    wait_for 15 no_state_pids
    umount -l "$FZ_STATE"
    fz_cleanup
}

# assert_eq NAME WANT GOT
assert_eq() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1"
        printf '  want: %s\n  got:  %s\n' "$2" "$3"
    fi
}

# assert_match NAME ERE TEXT: some line of TEXT matches.
assert_match() {
    if printf '%s\n' "$3" | grep -Eq -- "$2"; then
        ok "$1"
    else
        not_ok "$1"
        printf '  want: %s\n  got:  %s\n' "$2" "$3"
    fi
}

# assert_exit NAME STATUS CMD…: output goes to $T/out and $T/err.
assert_exit() {
    fz_name=$1 fz_want=$2
    shift 2
    "$@" >"$T/out" 2>"$T/err"
    fz_rc=$?
    if [ $fz_rc -eq "$fz_want" ]; then
        ok "$fz_name"
    else
        not_ok "$fz_name"
        echo "  want: exit $fz_want, got: exit $fz_rc from: $*"
        sed 's/^/  | /' "$T/out" "$T/err" | tail -n 20
    fi
}

# check NAME CMD…: ok when CMD succeeds.
check() {
    fz_name=$1
    shift
    if "$@"; then ok "$fz_name"; else not_ok "$fz_name"; fi
}

# wait_for SECONDS CMD…: polls CMD five times a second until it succeeds, on a busy host for twice as long;
# FZ_SLOW=N on one that is N times slower.
wait_for() {
    fz_tries=$(($1 * 5 * ${FZ_SLOW:-2}))
    shift
    while ! "$@"; do
        fz_tries=$((fz_tries - 1))
        [ $fz_tries -gt 0 ] || return 1
        sleep 0.2
    done
}

# aflpp_other: the prefix of an AFL++ of the other fork-server protocol than that of PATH; nothing where there is none.
aflpp_other() {
    fz_other=$(sh contrib/install-deps --aflpp-other 2>/dev/null)
    # The tests may run with that one themselves.
    [ "$(command -v afl-fuzz)" != "$fz_other/bin/afl-fuzz" ] || fz_other=/usr
    [ ! -x "$fz_other/bin/afl-showmap" ] || echo "$fz_other"
}

# private_locks: begins the script again with locks of cores, and so cores, of its own, whatever else runs on this machine.
private_locks() {
    [ -z "${FZ_LOCKS-}" ] || return 0
    rm -rf "$T"
    trap - EXIT
    # shellcheck disable=SC2016 # expanded by the inner shell
    FZ_LOCKS=1 exec unshare -m sh -c 'mount -t tmpfs -o mode=1777 fz-locks /run/lock && exec sh "$0"' "$0"
}

# two_cores: this shell and what it starts on the first two of its cores; ends the script as skipped where there is but one.
two_cores() {
    if [ "$(nproc)" -lt 2 ]; then
        skip "$(basename "$0" .sh)" "two cores are needed"
        exit 0
    fi
    two=$(taskset -cp $$ | sed 's/.*: //' | awk -F, '{ n = 0; for (i = 1; i <= NF && n < 2; i++) { split($i, r, "-"); for (c = r[1]; c <= (r[2] == "" ? r[1] : r[2]) && n < 2; c++) s = s (n++ ? "," : "") c } print s }')
    taskset -cp "$two" $$ >/dev/null
}

# crasher_campaign: $T/k.ini, one instance on a target that keeps crashing and hanging. An afl-fuzz whose only seed
# takes longer than its timeout leaves.
crasher_campaign() {
    if [ -n "${FZ_CRASHER-}" ]; then
        cp "$FZ_CRASHER" "$T/crasher" # where there is no compiler
    else
        AFL_QUIET=1 afl-clang-fast -O1 -o "$T/crasher" tests/kill/crasher.c >/dev/null 2>&1
    fi
    mkdir "$T/seeds"
    echo abcdefgh >"$T/seeds/one"
    cat >"$T/k.ini" <<END
[campaign]
name = k
root = $T
budget = $((90 * ${FZ_SLOW:-1}))s
cores = 1

[target a]
harness = crasher
seeds = seeds
instances = 1
timeout = $((40 * ${FZ_SLOW:-1}))ms
hang_timeout = $((100 * ${FZ_SLOW:-1}))ms
END
}

# alive PID: there, and not a zombie.
alive() {
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1) in
    "" | Z | X) return 1 ;;
    esac
}

# state_cgroups: the cgroups this state directory's records name and that still exist.
state_cgroups() {
    fz_names=$(grep -rahoE 'fuzzd-[0-9a-f]{8}' "$FZ_STATE" 2>/dev/null | sort -u)
    for fz_n in $fz_names; do
        find /sys/fs/cgroup -maxdepth 6 -type d -name "$fz_n" 2>/dev/null
    done
}

# state_pids: living processes of this state directory: in its cgroups, or started with it
# as their FUZZ_STATE or working below it.
state_pids() {
    {
        for fz_c in $(state_cgroups); do
            find "$fz_c" -name cgroup.procs -exec cat {} + 2>/dev/null
        done
        find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$FZ_STATE*" 2>/dev/null |
            sed 's,^/proc/\([0-9]*\)/.*,\1,'
        # The daemon answers to its lock file: an open descriptor, whatever its environment.
        find /proc -maxdepth 3 -path '/proc/[0-9]*/fd/*' -lname "$FZ_STATE/*" 2>/dev/null |
            sed 's,^/proc/\([0-9]*\)/.*,\1,'
    } | sort -un | while read -r fz_p; do
        [ "$fz_p" -gt 1 ] && [ "$fz_p" -ne $$ ] && alive "$fz_p" && echo "$fz_p"
    done
}

no_state_pids() {
    [ -z "$(state_pids)" ]
}

no_state_cgroups() {
    [ -z "$(state_cgroups)" ]
}

fz_cleanup() {
    fz_status=$?
    trap - EXIT INT TERM HUP
    # What a shell ends with when it cannot go on, or was told to end: the rest was not tried.
    case $fz_status in
    2 | 12[6-9] | 1[3-9][0-9]) not_ok "the script came to its end ($fz_status)" ;;
    esac
    if [ -x "$FUZZCTL" ] && [ -e "$FZ_STATE/fuzzd.lock" ]; then
        timeout 40 "$FUZZCTL" stop --all >/dev/null 2>&1
        # A daemon that fuzzctl started leaves by itself when idle, or at once on TERM.
        for fz_p in $(state_pids); do
            [ "$(readlink "/proc/$fz_p/exe")" = "$(readlink -f "$FUZZD")" ] && kill -TERM "$fz_p" 2>/dev/null
        done
    fi
    if ! wait_for 8 no_state_pids; then
        not_ok "no process of the state directory outlives the test"
        for fz_p in $(state_pids); do
            echo "  $fz_p $(tr '\0' ' ' <"/proc/$fz_p/cmdline" 2>/dev/null | cut -c1-160)"
        done
        for fz_p in $(state_pids); do
            kill -KILL "$fz_p" 2>/dev/null
        done
        wait_for 3 no_state_pids
    fi
    if ! wait_for 2 no_state_cgroups; then
        not_ok "no cgroup of the state directory outlives the test"
        for fz_c in $(state_cgroups); do
            echo "  $fz_c"
            find "$fz_c" -depth -type d -exec rmdir {} \; 2>/dev/null
        done
    fi
    # Of a guest nothing is kept but what it says.
    if [ "$FZ_FAILED" -ne 0 ] && [ -n "${FZ_VM_MODE-}" ] && [ -f "$FZ_STATE/fuzzd.log" ]; then
        echo "  the log of fuzzd:"
        tail -n 15 "$FZ_STATE/fuzzd.log" | cut -c1-200 | sed 's/^/  /'
    fi
    # Run by tests/run, the directory is read once more there, and then removed.
    [ -n "${FZ_RUN_DIR-}" ] || rm -rf "$T"
    exit $FZ_FAILED
}
trap fz_cleanup EXIT
trap 'exit 130' INT TERM HUP
