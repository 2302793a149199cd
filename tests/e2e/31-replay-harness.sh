#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our own client of the fork server: the same edges as afl-showmap, input by input, and fuzzctl replay --harness over
# programs that end in every way.
# limit: 300
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl tests/engine/persistent tests/engine/static tests/engine/stdin tests/engine/asan tests/e2e/engine_maps

# ---- the same edges -----------------------------------------------------------------------
# inputs DIR N SEEDS...: N variants of the seeds, the same every time
inputs() {
    python3 - "$@" <<'PY'
import os, sys
out, n, seeds = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
os.makedirs(out)
blobs = [open(os.path.join(d, f), "rb").read() for d in seeds for f in sorted(os.listdir(d)) if not f.endswith(".txt")]
state = 12345
for i in range(n):
    b = bytearray(blobs[i % len(blobs)][:2000])
    for _ in range(i % 5):
        state = (state * 1103515245 + 12345) % 2**31
        at = state // 7 % (len(b) + 1)
        b[at:at + state % 3] = bytes([state // 65536 % 256])
    # afl-showmap passes over empty files.
    open(os.path.join(out, f"{i:05}"), "wb").write(bytes(b) or b"x")
PY
}

# same_edges NAME PROGRAM DIR [ENV=VALUE...]
same_edges() {
    name=$1 program=$2 dir=$3
    shift 3
    mkdir "$T/$name.theirs" "$T/$name.ours"
    env AFL_QUIET=1 "$@" afl-showmap -q -r -t 5000 -i "$dir" -o "$T/$name.theirs" -- "$program" \
        >"$T/$name.log" 2>&1 </dev/null
    check "$name: our client runs them all" "$BUILD/tests/e2e/engine_maps" "$program" "$dir" "$T/$name.ours"
    find "$T/$name.theirs" -type f -exec sed -i '/^000000:/d' {} +
    n=$(find "$T/$name.ours" -type f | wc -l)
    assert_eq "$name: afl-showmap has a map of each of $n" "$n" "$(find "$T/$name.theirs" -type f | wc -l)"
    assert_eq "$name: the maps are equal" "" "$(diff -rq "$T/$name.theirs" "$T/$name.ours" | head -n 3)"
}

inputs "$T/frames" 1200 seeds/chunk_frame
same_edges chunk_frame "$HARNESSES/chunk_frame/afl" "$T/frames"
same_edges asan "$HARNESSES/chunk_frame/asan" "$T/frames" ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0
inputs "$T/few" 200 seeds/control_json
same_edges stdin "$BUILD/tests/engine/stdin" "$T/few"

# ---- every way to end ----------------------------------------------------------------------
mkdir "$T/ends"
for c in A S 9 L E K F W abc; do printf '%s' "$c" >"$T/ends/$c"; done
: >"$T/ends/empty"
head -c 1048577 /dev/zero >"$T/ends/large"
printf A >"$T/ends/$(printf 'odd\nname\377')"
mkfifo "$T/ends/fifo"
ln -s /dev/zero "$T/ends/link"
printf x >"$T/ends/.hidden"
R="$FUZZCTL replay --timeout 300ms --harness"

# ends NAME PROGRAM [-- ARGS]
ends() {
    name=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    assert_exit "$name: failures are exit code 10" 10 $R "$program" "$T/ends" "$@"
    got=$(sed "s|$T/ends/||" "$T/out")
    assert_match "$name: a crash is told" "A: crash: SIGABRT" "$got"
    assert_match "$name: another" "S: crash: SIGSEGV" "$got"
    assert_match "$name: a kill that is not ours is for want of memory" "9: oom: SIGKILL" "$got"
    assert_match "$name: a hang is told" "L: timeout: timeout" "$got"
    assert_match "$name: a server that died" "K: lost: the program's fork server died of it" "$got"
    assert_match "$name: too large an input is not run" "large: not run: over 1 MiB" "$got"
    assert_match "$name: odd names are shown safely" 'odd\\x0aname\\xff: crash' "$got"
    assert_match "$name: counts" "5 passed, 6 failed, 1 not run" "$got"
    assert_eq "$name: in the order of the names" "$(LC_ALL=C sort "$T/out" | grep '^/' )" "$(grep '^/' "$T/out")"
    # shellcheck disable=SC2086
    assert_exit "$name: as JSON" 10 $R "$program" --json "$T/ends" "$@"
    assert_eq "$name: a line an input" "12 11" \
        "$(grep -c '"status"' "$T/out") $(grep -c '"us"' "$T/out")"
    check "$name: each is JSON" jq -e . "$T/out"
    assert_eq "$name: totals" '[5,6,1,0]' "$(tail -n 1 "$T/out" | jq -c '[.passed,.failed,.unread,.left]')"
}
ends persistent "$BUILD/tests/engine/persistent"
ends stdin "$BUILD/tests/engine/stdin"
ends file "$BUILD/tests/engine/stdin" -- @@

# ---- a program that removes what it was given --------------------------------------------------------
mkdir "$T/spoiled"
for f in 1:Um 2:A 3:U 4:abc 5:Us 6:E 7:Ud 8:A; do printf %s "${f#*:}" >"$T/spoiled/${f%:*}"; done
for e in fork native; do
    "$FUZZCTL" replay --jobs 1 --engine $e --harness "$BUILD/tests/engine/stdin" --json "$T/spoiled" -- @@ >"$T/out" 2>"$T/err"
    assert_eq "$e: who removes its file costs no other its own" "0,s6,0,0,0,3,0,s6" \
        "$(jq -r 'select(.file) | if .signal then "s\(.signal)" else .exit_code end' "$T/out" | paste -sd,)"
done

# ---- what is named ---------------------------------------------------------------------------
H=$HARNESSES/chunk_frame/afl
mkdir -p "$T/afl/main/queue/.state" "$T/afl/main/crashes" "$T/afl/second/queue" "$T/empty"
: >"$T/afl/main/fuzzer_setup"
: >"$T/afl/second/fuzzer_setup"
cp seeds/chunk_frame/001-* "$T/afl/main/queue/"
cp seeds/chunk_frame/002-* "$T/afl/second/queue/"
cp seeds/chunk_frame/003-* "$T/afl/main/crashes/"
cp seeds/chunk_frame/004-* "$T/afl/main/queue/.state/"
assert_exit "of AFL++ output the queues are taken" 0 "$FUZZCTL" replay --harness "$H" "$T/afl"
assert_match "of every instance" "^2 passed, 0 failed" "$(cat "$T/out")"
assert_exit "of one instance its own" 0 "$FUZZCTL" replay --harness "$H" "$T/afl/main"
assert_match "and no crashes" "^1 passed, 0 failed" "$(cat "$T/out")"
cp "$H" "$T/of-this-folder"
# shellcheck disable=SC2016 # expanded by the inner shell
assert_exit "a program of the current folder needs no slash" 0 \
    sh -c 'cd "$1" && "$2" replay --harness of-this-folder afl' sh "$T" "$FUZZCTL"
assert_exit "no inputs prove nothing" 11 "$FUZZCTL" replay --harness "$H" "$T/empty"
assert_exit "a path that is not there" 2 "$FUZZCTL" replay --harness "$H" "$T/none"
assert_exit "a program that is not there" 2 "$FUZZCTL" replay --harness "$T/none" "$T/afl"
assert_exit "no path" 2 "$FUZZCTL" replay --harness "$H"
assert_exit "an unknown engine" 2 "$FUZZCTL" replay --harness "$H" --engine warp "$T/afl"
assert_match "is told what there is" "allowed are auto, fork, batch, native" "$(cat "$T/err")"
assert_exit "--engine without --harness" 2 "$FUZZCTL" replay --engine fork
assert_exit "a program without a fork server has none" 2 "$FUZZCTL" replay --harness /bin/true --engine fork "$T/afl"
assert_match "and that is said" "has no fork server; build it with afl-clang-fast" "$(cat "$T/err")"
assert_exit "but runs natively" 0 "$FUZZCTL" replay --harness /bin/cat "$T/afl"
assert_exit "as a replay build does" 0 "$FUZZCTL" replay --harness "$HARNESSES/chunk_frame/replay" "$T/afl"
assert_exit "a sanitizer build" 0 "$FUZZCTL" replay --harness "$HARNESSES/chunk_frame/asan" "$T/afl"

# ---- nothing is left -------------------------------------------------------------------------
tmp=${TMPDIR:-/tmp}
# tree PID: it and whom it started, and whom these did
tree() {
    for p in $(pgrep -P "$1"); do
        echo "$p"
        tree "$p"
    done
}
gone() {
    for p in "$@"; do
        kill -0 "$p" 2>/dev/null && return 1
    done
    return 0
}
folders() {
    find "$tmp" -maxdepth 1 -name 'fuzzctl-replay.*' -user "$(id -u)" 2>/dev/null
}
groups() { # PID
    find /sys/fs/cgroup -type d -name "replay.$1.*" 2>/dev/null
}
in_state() { # STATE: some of $kids are
    for p in $kids; do
        [ "$(sed 's/.*) //; s/ .*//' "/proc/$p/stat" 2>/dev/null)" = "$1" ] && return 0
    done
    return 1
}
three() { # fuzzctl's guard, a server and its child
    kids=$(tree "$pid")
    [ "$(echo "$kids" | wc -w)" -ge 3 ]
}
# A program ends after so many inputs; then it goes on until it has another child.
stands_between() {
    kill -STOP "$pid"
    kids=$(tree "$pid")
    in_state T && return 0
    kill -CONT "$pid"
    return 1
}
# struck NAME PROGRAM INPUT: fuzzctl is killed while it runs that input, or, for none, while the program waits for the next.
struck() {
    if [ -n "$3" ]; then
        "$FUZZCTL" replay --engine fork --jobs 1 --timeout 30s --harness "$2" "$3" >"$T/out" 2>&1 &
    else
        # shellcheck disable=SC2086 # words
        "$FUZZCTL" replay --engine fork --jobs 1 --harness "$2" $plenty >"$T/out" 2>&1 &
    fi
    pid=$!
    wait_for 10 three || true
    check "$1: there were a server and its child" test "$(echo "$kids" | wc -w)" -ge 3
    if [ -z "$3" ]; then
        check "$1: the child is stopped" wait_for 5 stands_between
    fi
    kids=$(tree "$pid")
    [ "$pid" -gt 1 ] && kill -9 "$pid"
    wait "$pid" 2>/dev/null
    # shellcheck disable=SC2086 # words
    wait_for 10 gone $kids || true
    # shellcheck disable=SC2086
    check "$1: killed by force, it leaves no process" gone $kids
    assert_eq "$1: no folder" "" "$(folders)"
    assert_eq "$1: no cgroup" "" "$(groups "$pid")"
}
mkdir "$T/plenty"
i=0
while [ $i -lt 3000 ]; do
    echo "$i" >"$T/plenty/$i"
    i=$((i + 1))
done
plenty= # some minutes of it
i=0
while [ $i -lt 1000 ]; do
    plenty="$plenty $T/plenty"
    i=$((i + 1))
done
for e in persistent static; do
    struck "$e, in an input" "$BUILD/tests/engine/$e" "$T/ends/L"
    struck "$e, between inputs" "$BUILD/tests/engine/$e" ""
done

# Without a cgroup those that leave their session are found as children of fuzzctl's.
cat >"$T/forker.c" <<'END'
#include <unistd.h>
int main(void)
{
    char c = 0;
    if (read(0, &c, 1) == 1 && c == 'F' && fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                sleep(10);
    }
    return 0;
}
END
cc -O1 -o "$T/forker" "$T/forker.c"
mkdir "$T/forks"
for i in 1 2 3 4 5 6 7 8 9; do echo "F$i" >"$T/forks/$i"; done
forkers() {
    find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$T/forker" 2>/dev/null
}
if unshare -m mount -t tmpfs none /sys/fs/cgroup 2>/dev/null; then
    for jobs in 1 2; do
        # shellcheck disable=SC2016 # expanded by the inner shell
        assert_exit "inputs that leave a daemon, no cgroups, $jobs at once" 0 unshare -m sh -c \
            'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh "$FUZZCTL" replay --engine native --jobs $jobs --harness "$T/forker" "$T/forks"
        assert_eq "leave none" "" "$(forkers)"
    done
else
    skip "inputs that leave a daemon, no cgroups" "nothing can be mounted here"
fi

# On a terminal there is a bar, the rate and the time left.
if command -v script >/dev/null; then
    printf '%s replay --engine native --jobs 1 --timeout 5s --harness %s %s\n' "$FUZZCTL" "$BUILD/tests/engine/stdin" "$T/frames" >"$T/bar.sh"
    script -qec "sh $T/bar.sh" /dev/null >"$T/bar" 2>&1 </dev/null
    assert_match "a terminal sees a bar, the rate and the time left" '\[##*\.*\] [0-9]+ of [0-9]+, [0-9]+ failed, [^,]*/s, [0-9a-z-]+ left' "$(tr '\r' '\n' <"$T/bar")"
else
    skip "a terminal sees a bar" "script is not installed"
fi

# Many that begin at the same time: none takes away another's folder.
for i in 1 2 3 4 5 6; do
    (
        k=0
        while [ $k -lt 20 ]; do
            "$FUZZCTL" replay --jobs 2 --harness "$H" "$T/afl" >/dev/null 2>"$T/at-once$i" || cat "$T/at-once$i"
            k=$((k + 1))
        done
    ) >"$T/at-once.$i" &
done
wait
assert_eq "many at once" "" "$(cat "$T"/at-once.[1-6] | head -n 3)"

# A replay in another PID namespace, as in a container that shares the cgroups, finds none of these pids and leaves them alone.
if unshare -p --fork --mount-proc true 2>/dev/null; then
    "$FUZZCTL" replay --engine fork --jobs 1 --timeout 14s --harness "$BUILD/tests/engine/persistent" "$T/ends/L" >"$T/long" 2>&1 &
    pid=$!
    wait_for 10 three || true
    own=$(groups "$pid")
    check "it has a cgroup" test -n "$own"
    sleep 11 # no longer young
    assert_exit "one in another PID namespace" 0 unshare -p --fork --mount-proc "$FUZZCTL" replay --harness "$H" "$T/afl"
    assert_eq "takes no cgroup away" "$own" "$(groups "$pid")"
    wait "$pid"
    assert_match "nor the process in it" "L: timeout" "$(cat "$T/long")"
else
    skip "a replay in another PID namespace" "there can be none"
fi

# Its guard is killed, too.
"$FUZZCTL" replay --jobs 1 --timeout 30s --harness "$BUILD/tests/engine/persistent" "$T/ends/L" >"$T/out" 2>&1 &
pid=$!
wait_for 10 three || true
kids=$(tree "$pid")
guard=
for p in $kids; do
    [ "$(cat "/proc/$p/comm" 2>/dev/null)" = fuzz-guard ] && guard=$p
done
check "there is a guard" test -n "$guard"
[ -n "$guard" ] && kill -9 "$guard"
[ "$pid" -gt 1 ] && kill -9 "$pid"
wait "$pid" 2>/dev/null
for k in $kids; do
    wait_for 5 gone "$k" || true
    check "killed with its guard, it leaves no server" gone "$k"
done
assert_exit "the next replay" 0 "$FUZZCTL" replay --harness "$H" "$T/afl"
assert_eq "takes away the folder" "" "$(folders)"
assert_eq "and the cgroup of one that was killed" "" "$(groups "$pid")"
