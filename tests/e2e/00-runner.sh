#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The runner itself: what must fail does, and the count says so.
# limit: 90
# cores: none
. tests/e2e/lib.sh

# inner NAME…: runs $T/NAME.sh under a runner of its own; closing line in $last.
inner() {
    scripts=
    for name in "$@"; do scripts="$scripts $T/$name.sh"; done
    # shellcheck disable=SC2086 # names of ours without blanks
    out=$(FZ_PRIVATE_IPC='' FZ_RUN_DIR='' FZ_EXCLUSIVE='' sh tests/run $scripts 2>&1)
    rc=$?
    last=$(printf '%s\n' "$out" | tail -n 1)
}

printf 'echo "ok one"\necho "ok two"\n' >"$T/good.sh"
inner good
assert_eq "two passed tests are counted" "2 passed, 0 failed 0" "$last $rc"

printf 'echo "ok one"\necho "not ok two"\n' >"$T/bad.sh"
inner bad
assert_eq "a failed test is counted and fails the run" "1 passed, 1 failed 1" "$last $rc"

printf 'echo "ok one"\nexit 3\n' >"$T/status.sh"
inner status
assert_eq "a script that ends with a status is a failure" "1 passed, 1 failed 1" "$last $rc"

: >"$T/silent.sh"
inner silent
assert_eq "a script that reports nothing is a failure" "0 passed, 1 failed 1" "$last $rc"

printf '# limit: 1\necho "ok one"\nsleep 60\n' >"$T/late.sh"
inner late
assert_eq "a script past its limit is a failure" "1 passed, 1 failed 1" "$last $rc"

printf 'echo "ok one"\necho "skip two no such thing"\n' >"$T/skipping.sh"
STRICT='' inner skipping
assert_eq "a skip is told apart" "1 passed, 0 failed, 1 skipped 0" "$last $rc"
STRICT=1 inner skipping
assert_eq "a skip fails under STRICT=1" "1 passed, 1 failed 1" "$last $rc"

printf '# cores: none\necho "ok one"\necho "skip two no such thing"\n' >"$T/beside.sh"
printf '# cores: shared\necho "ok one"\n' >"$T/shared.sh"
printf '# cores: shared\necho "not ok one"\n' >"$T/unwell.sh"
STRICT='' LANES=3 inner good bad beside shared
assert_eq "lanes run each script once, and are counted together" "5 passed, 1 failed, 1 skipped 1" "$last $rc"
STRICT='' LANES=3 inner good beside shared
assert_eq "and pass when all do" "4 passed, 0 failed, 1 skipped 0" "$last $rc"
STRICT='' LANES=3 inner good beside unwell
assert_eq "and fail when one does" "3 passed, 1 failed, 1 skipped 1" "$last $rc"

mkdir "$T/small"
# shellcheck disable=SC2016 # expanded by the script
printf 'echo "ok one"\nwhile echo "ok another"; do :; done 2>/dev/null\ncat /dev/zero >"$TMPDIR/fill" 2>/dev/null\nexit 0\n' >"$T/fills.sh"
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # expanded by the inner shell
    out=$(FZ_PRIVATE_IPC='' FZ_RUN_DIR='' FZ_EXCLUSIVE='' unshare -m sh -c \
        'mount -t tmpfs -o size=400k fz-small "$1" && TMPDIR=$1 exec sh tests/run "$2"' sh "$T/small" "$T/fills.sh" 2>&1)
    rc=$?
    assert_eq "a disk that was full is a failure" "1 failed 1" "$(printf '%s\n' "$out" | tail -n 1 | sed 's/.*, //') $rc"
else
    skip "a disk that was full is a failure" "nothing can be mounted here"
fi

# shellcheck disable=SC2016 # expanded by the script
printf 'echo "ok one"\nsetsid sleep 77 >/dev/null 2>&1 &\necho $! >"%s"\n' "$T/pid" >"$T/process.sh"
inner process
assert_eq "a process left behind is a failure" "1 passed, 1 failed 1" "$last $rc"
if alive "$(cat "$T/pid")"; then not_ok "and is killed"; else ok "and is killed"; fi

printf 'echo "ok one"\nipcmk -M 4096 >/dev/null\n' >"$T/segment.sh"
inner segment
assert_eq "a SysV segment left behind is a failure" "1 passed, 1 failed 1" "$last $rc"

leaf=$(find /sys/fs/cgroup -maxdepth 1 -type d \( -name pids -o -name unified \) | head -n 1)
name=fuzzd-$(printf '%08x' $$)
if [ -n "$leaf" ] && mkdir "$leaf/$name" 2>/dev/null && rmdir "$leaf/$name"; then
    # shellcheck disable=SC2016
    printf 'echo "ok one"\nmkdir "%s"\necho %s >"$TMPDIR/record"\n' "$leaf/$name" "$name" >"$T/cgroup.sh"
    inner cgroup
    assert_eq "a cgroup left behind is a failure" "1 passed, 1 failed 1" "$last $rc"
    if [ -d "$leaf/$name" ]; then not_ok "and is removed"; else ok "and is removed"; fi
else
    skip "a cgroup left behind is a failure" "no cgroup can be made here"
fi

# ---- make check AFLPP=PREFIX: what is no AFL++ is told before anything is built ---------------------------------
mkdir -p "$T/no aflpp/bin" "$T/half/bin"
: >"$T/half/bin/afl-fuzz"
: >"$T/no aflpp/bin/afl-fuzz"
with() { # PREFIX
    make -n NODEPS=1 BUILD="$BUILD" check AFLPP="$1"
}
assert_exit "a folder with a blank is no AFLPP" 2 with "$T/no aflpp"
assert_match "which is said" 'a folder whose name has no blank is needed' "$(cat "$T/err")"
assert_exit "nor is one without all it takes" 2 with "$T/half"
assert_match "each is named" "there is no $T/half/bin/afl-clang-fast $T/half/bin/afl-showmap " "$(cat "$T/err")"
assert_exit "nor one that is not there" 2 with "$T/none"
