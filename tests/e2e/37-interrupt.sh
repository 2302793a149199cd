#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGTERM and SIGINT while an input hangs: every verb that runs many inputs ends at once, by each engine, says what was
# not run, and leaves no process, no cgroup, no segment, no folder.
# limit: 240
. tests/e2e/lib.sh
need tests/engine/kit-afl tests/engine/kit-replay tests/engine/persistent tests/engine/stdin tests/engine/stateful \
    harnesses/chunk_frame/afl harnesses/chunk_frame/cov
KIT=$BUILD/tests/engine/kit-afl
LIMIT_MS=20000 # the input has 60 s: who ends by then has not waited for it

mkdir "$T/in" "$T/tmp"
for i in 0 1 2 3 4; do echo "abc$i" >"$T/in/$i"; done
echo L >"$T/in/5-hangs"
for i in 6 7; do echo "z$i" >"$T/in/$i"; done
TMPDIR=$T/tmp
export TMPDIR

tree() {
    for p in $(pgrep -P "$1"); do
        echo "$p"
        tree "$p"
    done
}
now_ms() {
    date +%s%3N
}
segments() {
    awk 'NR > 1 && $5 == pid { print $2 }' pid="$1" /proc/sysvipc/shm
}
# at_work: the program has been started
at_work() {
    kids=$(tree "$pid")
    for p in $kids; do
        [ "$(readlink "/proc/$p/exe" 2>/dev/null)" = "$(realpath "$program")" ] && return 0
    done
    return 1
}
# stops SIGNAL NAME CODE PROGRAM WORDS COMMAND...: WORDS are what is said
stops() {
    sig=$1 name=$2 code=$3 program=$4 words=$5
    shift 5
    env --default-signal=INT,TERM,HUP "$@" >"$T/out" 2>"$T/err" &
    pid=$!
    check "$name: it is at work" wait_for 20 at_work
    sleep 0.7
    kids=$(tree "$pid")
    check "$name: and goes on" kill -0 "$pid"
    began=$(now_ms)
    [ "$pid" -gt 1 ] && kill -s "$sig" "$pid"
    wait "$pid"
    rc=$?
    took=$(($(now_ms) - began))
    echo "# $name: $took ms"
    check "$name: it ends at once ($took ms)" test "$took" -le "$LIMIT_MS"
    assert_eq "$name: with the exit code of what was not done" "$code" "$rc"
    assert_match "$name: and says so" "$words" "$(cat "$T/out" "$T/err")"
    left= # one that is dead and not reaped has no program any more
    for p in $kids; do readlink "/proc/$p/exe" >/dev/null 2>&1 && left="$left $p"; done
    assert_eq "$name: no process is left" "" "$left"
    assert_eq "$name: no folder" "" "$(ls -A "$T/tmp")"
    assert_eq "$name: no segment" "" "$(segments "$pid")"
    assert_eq "$name: no cgroup" "" "$(find /sys/fs/cgroup -type d -name "replay.$pid.*" 2>/dev/null)"
}

R="$FUZZCTL replay --timeout 60s --jobs 1"
not_run="interrupted, 3 of 8 inputs not run"
for sig in TERM INT; do
    # shellcheck disable=SC2086
    {
        stops $sig "fork, $sig" 1 "$BUILD/tests/engine/persistent" "$not_run" $R --engine fork --harness "$BUILD/tests/engine/persistent" "$T/in"
        stops $sig "batch, $sig" 1 "$KIT" "$not_run" $R --engine batch --harness "$KIT" "$T/in"
        stops $sig "native, $sig" 1 "$BUILD/tests/engine/stdin" "$not_run" $R --engine native --harness "$BUILD/tests/engine/stdin" "$T/in"
    }
done
# shellcheck disable=SC2086
assert_exit "uninterrupted, what was run is counted" 10 $R --timeout 300ms --engine batch --harness "$KIT" "$T/in"
for engine in fork batch; do
    # shellcheck disable=SC2086
    stops TERM "$engine, by two" 1 "$KIT" "interrupted, [1-3] of 8 inputs not run" \
        $R --jobs 2 --engine $engine --harness "$KIT" "$T/in"
done
assert_match "the closing line counts what was not run" "^[5-7] passed, 0 failed, [1-3] not run" "$(cat "$T/out")"

# A program that does not greet.
cat >"$T/mute.c" <<'END'
#include <unistd.h>
const char *mark = "##SIG_AFL_PERSISTENT##";
int main(void)
{
    for (;;)
        pause();
}
END
cat >"$T/late.c" <<'END'
#include <unistd.h>
__attribute__((constructor(0))) static void late(void)
{
    for (;;)
        pause();
}
END
AFL_QUIET=1 afl-clang-fast -o "$T/late" "$T/mute.c" "$T/late.c" 2>/dev/null
# shellcheck disable=SC2086
stops TERM "no greeting" 1 "$T/late" "interrupted, 8 of 8 inputs not run" $R --engine fork --harness "$T/late" "$T/in"

# ---- the other verbs ------------------------------------------------------------------------------
stops TERM distill 1 "$KIT" "interrupted; nothing was written" \
    "$FUZZCTL" distill --timeout 60s --jobs 1 --harness "$KIT" "$T/in" -o "$T/none"
check "distill: and nothing is" test ! -e "$T/none"
stops TERM stability 1 "$BUILD/tests/engine/persistent" "interrupted" \
    "$FUZZCTL" stability --timeout 60s --harness "$BUILD/tests/engine/persistent" "$T/in"
stops TERM "corpus merge" 1 "$KIT" "interrupted; nothing was written" \
    "$FUZZCTL" corpus merge "$T/none" "$T/in" --timeout 60s --harness "$KIT"

# spec NAME HARNESS [LINE...]
spec() {
    name=$1 program=$2
    shift 2
    printf '[campaign]\nname = %s\nroot = %s\n[target kit]\nharness = %s\nseeds = %s\n' "$name" "$TOP" "$program" "$T/in" >"$T/$name.ini"
    for line in "$@"; do echo "$line" >>"$T/$name.ini"; done
}
spec edges "$KIT" "instances = 1"
stops TERM "coverage, edges" 1 "$KIT" "interrupted" "$FUZZCTL" coverage "$T/edges.ini" --timeout 60s
stops TERM "corpus stats" 1 "$KIT" "interrupted" "$FUZZCTL" corpus stats "$T/in" --harness "$KIT" --timeout 60s

# Only the build for line coverage hangs.
cat >"$T/line.c" <<'END'
#include <unistd.h>
int main(void)
{
    char c = 0;
    long n = read(0, &c, 1);
#ifdef SLOW
    while (n == 1 && c == 'L')
        usleep(1000);
#endif
    return n == 1 && c == 'z';
}
END
AFL_QUIET=1 afl-clang-fast -o "$T/line" "$T/line.c" 2>/dev/null
clang -DSLOW -fprofile-instr-generate -fcoverage-mapping -o "$T/line-cov" "$T/line.c"
spec lines "$T/line" "coverage = $T/line-cov" "instances = 1"
stops TERM "coverage, lines" 1 "$T/line-cov" "interrupted" "$FUZZCTL" coverage "$T/lines.ini" --timeout 60s
spec kit-lines "$T/line" "coverage = $BUILD/tests/engine/kit-replay" "instances = 1"
# And its tools, the first of PATH: one that finds the right version by a merge, and one that shows it.
mkdir "$T/merges" "$T/shows"
printf '#!/bin/sh\nexec sleep 60\n' >"$T/slow"
chmod 755 "$T/slow"
ln -s "$T/slow" "$T/merges/llvm-profdata"
ln -s "$T/slow" "$T/merges/llvm-cov"
ln -s "$T/slow" "$T/shows/llvm-cov"
ln -s "$(clang -print-prog-name=llvm-profdata)" "$T/shows/llvm-profdata"
spec tools "$T/line" "coverage = $BUILD/harnesses/chunk_frame/cov" "instances = 1"
rm "$T/in/5-hangs"
for tool in merges shows; do
    stops TERM "coverage, whose tool $tool" 1 "$(command -v sleep)" "^fuzzctl coverage: interrupted$" \
        env PATH="$T/$tool:$PATH" "$FUZZCTL" coverage "$T/tools.ini" --timeout 60s --html "$T/pages"
    check "coverage, whose tool $tool: no pages" test ! -e "$T/pages" -a -z "$(find "$T" -maxdepth 1 -name 'pages*')"
done
echo L >"$T/in/5-hangs"
stops TERM "coverage by the kit" 1 "$BUILD/tests/engine/kit-replay" "interrupted" "$FUZZCTL" coverage "$T/kit-lines.ini" --timeout 60s

# gate NAME PROGRAM...: a target for each
gate() {
    name=$1
    shift
    printf '[campaign]\nroot = %s\n' "$TOP" >"$T/$name.ini"
    for p in "$@"; do
        n=$((n + 1))
        printf '[target t%s]\nreplay = %s\nseeds = %s\n' "$n" "$p" "$T/in" >>"$T/$name.ini"
    done
}
n=0
gate kit "$BUILD/tests/engine/kit-replay" "$BUILD/tests/engine/kit-replay"
stops TERM "the gate, kit" 1 "$BUILD/tests/engine/kit-replay" "interrupted, 1 target not begun" "$FUZZCTL" replay "$T/kit.ini" --timeout 60s
assert_match "the gate, kit: and counts" "interrupted, 3 of 8 inputs not run" "$(cat "$T/out")"
gate foreign "$T/line-cov"
stops INT "the gate, another program" 1 "$T/line-cov" "interrupted, 3 of 8 inputs not run" "$FUZZCTL" replay "$T/foreign.ini" --timeout 60s
