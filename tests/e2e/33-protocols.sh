#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Harnesses of both fork-server protocols, of every kind that AFL++ builds: the edges our client sees are those of the
# afl-showmap they came with, input by input; each way to end is told; what does not fit is refused at admission.
# limit: 900
# cores: none
. tests/e2e/lib.sh
need tests/e2e/engine_maps
maps=$BUILD/tests/e2e/engine_maps
other=$(aflpp_other)
if [ -z "$other" ]; then
    skip "both protocols" "there is no second AFL++ here; contrib/install-deps says why"
fi

# ---- inputs: of the texts that the programs branch on, the same every time -----------------
python3 - "$T/in" 1100 <<'PY'
import os, random, sys
rng, out = random.Random(4021), sys.argv[1]
os.makedirs(out)
for i in range(int(sys.argv[2])):
    n = rng.choice((1, 2, 3, 5, 8, 13, 40, 200))
    b = bytearray(rng.choice(b"zabc(-)q\xc8\xff") for _ in range(n))
    if i % 3 == 0:
        b = bytearray(rng.randrange(256) for _ in range(n))
    if i % 5 == 0:
        b = b"sum:" + b + b"last"
    if b[0] in b"AS9LEMKFW":  # those ends have a part of their own
        b[0:1] = b"("
    with open(f"{out}/{i:05}", "wb") as f:
        f.write(b)
PY
mkdir "$T/ends"
for c in A S 9 L E K W abc; do printf '%s' "$c" >"$T/ends/$c"; done

# ---- one build ------------------------------------------------------------------------------
# same_edges NAME BIN PROGRAM GREETING [ARGS...]: our maps and those of BIN/afl-showmap.
same_edges() {
    name=$1 bin=$2 program=$3 greeting=$4
    shift 4
    rm -rf "$T/theirs" "$T/ours" "$T/scratch"
    mkdir "$T/theirs" "$T/ours" "$T/scratch"
    AFL_QUIET=1 ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0 "$bin/afl-showmap" -q -r -t 5000 -m none \
        -i "$T/in" -o "$T/theirs" -- "$program" "$@" >"$T/log" 2>&1 </dev/null
    if [ $# -gt 0 ]; then set -- "$T/scratch" "$@"; fi
    "$maps" "$program" "$T/in" "$T/ours" "$@" >"$T/greeting" 2>"$T/err" || cat "$T/err"
    assert_match "$name: its greeting" "$greeting" "$(cat "$T/greeting")"
    find "$T/theirs" -type f -exec sed -i '/^000000:/d' {} +
    n=$(find "$T/theirs" -type f | wc -l)
    check "$name: afl-showmap has maps of $n" test "$n" -ge 1000
    check "$name: of many kinds" test "$(cat "$T"/ours/* | sort -u | wc -l)" -gt 5
    assert_eq "$name: the maps are equal" "" "$(diff -rq "$T/theirs" "$T/ours" | head -n 3)"
}

# ends NAME PROGRAM [-- ARGS...]: each way to end.
ends() {
    name=$1 program=$2
    shift 2
    "$FUZZCTL" replay --harness "$program" --engine fork --timeout 400ms --json "$T/ends" "$@" >"$T/out" 2>"$T/err"
    assert_eq "$name: every end is told" "9 oom,A crash,E pass,K lost,L timeout,S crash,W pass,abc pass" \
        "$(jq -r 'select(.file != null) | (.file | split("/") | last) + " " + .status' "$T/out" | LC_ALL=C sort | paste -sd,)"
}

# kind OF BIN KIND COMPILER SOURCE GREETING FLAGS...: builds and compares, for standard input and for a file.
kind() {
    of=$1 bin=$2 kind=$3 compiler=$4 source=$5 greeting=$6
    shift 6
    if ! AFL_QUIET=1 "$bin/$compiler" -O1 -g -Wno-unused "$@" -o "$T/$of-$kind" "tests/engine/$source" >"$T/log" 2>&1; then
        not_ok "$of $kind is built"
        tail -n 5 "$T/log"
        return
    fi
    same_edges "$of $kind" "$bin" "$T/$of-$kind" "$greeting"
    case $source in *.cc) return ;; esac
    case $kind in asan) ;; *) ends "$of $kind" "$T/$of-$kind" ;; esac
    case $kind in plain | deferred)
        same_edges "$of $kind @@" "$bin" "$T/$of-$kind" "$greeting" @@
        ends "$of $kind @@" "$T/$of-$kind" -- @@
        ;;
    esac
}

# all_kinds OF BIN GREETING
all_kinds() {
    kind "$1" "$2" persistent afl-clang-fast target.c "$3, test cases shared" -DTARGET_PERSISTENT
    kind "$1" "$2" loop afl-clang-fast target.c "$3, test cases by file" -DTARGET_LOOP
    kind "$1" "$2" deferred afl-clang-fast target.c "$3, test cases by file" -DTARGET_DEFERRED
    kind "$1" "$2" plain afl-clang-fast target.c "$3, test cases by file"
    kind "$1" "$2" c++ afl-clang-fast++ target.cc "$3, test cases shared"
    AFL_USE_ASAN=1
    export AFL_USE_ASAN
    kind "$1" "$2" asan afl-clang-fast target.c "$3, test cases shared" -DTARGET_PERSISTENT
    unset AFL_USE_ASAN
    AFL_LLVM_LAF_ALL=1
    export AFL_LLVM_LAF_ALL
    kind "$1" "$2" laf afl-clang-fast target.c "$3, test cases shared" -DTARGET_PERSISTENT
    unset AFL_LLVM_LAF_ALL
    kind "$1" "$2" lto afl-clang-lto target.c "$3, test cases shared, dictionary offered" -DTARGET_PERSISTENT
    kind "$1" "$2" lto-plain afl-clang-lto target.c "$3, test cases by file, dictionary offered"
    kind "$1" "$2" lto-c++ afl-clang-lto++ target.cc "$3, test cases shared"
}

# protocol BIN: old or new, by the version; greeting: what our client calls it.
protocol() {
    version=$("$1/afl-fuzz" -h 2>&1 | sed -n 's/.*afl-fuzz++\([0-9]*\)\.\([0-9]*\).*/\1\2/p' | head -n 1)
    if [ "${version:-0}" -ge 420 ]; then echo new; else echo old; fi
}
greeting() {
    case $1 in old) echo 'AFL\+\+ up to 4.1x' ;; new) echo 'AFL\+\+ 4.20c and later' ;; esac
}

own=$(dirname "$(command -v afl-fuzz)")
own_is=$(protocol "$own")
all_kinds "$own_is" "$own" "$(greeting "$own_is")"
if [ -n "$other" ]; then
    other_is=$(protocol "$other/bin")
    check "the two speak different protocols" test "$own_is" != "$other_is"
    all_kinds "$other_is" "$other/bin" "$(greeting "$other_is")"
fi

# ---- the plugin of gcc ------------------------------------------------------------------------
# Debian's plugin compares the compiler with the one it was built with to the letter, the name of its package included, and a
# security update of the same compiler does not pass. That comparison, and nothing else, is lifted where it is in the way.
gcc_plugin() {
    if ! AFL_QUIET=1 afl-gcc-fast -O1 -o "$T/t" tests/engine/target.c >"$T/log" 2>&1 &&
        grep -q 'incompatible versions' "$T/log"; then
        mkdir "$T/afl"
        cp -a /usr/lib/afl/. "$T/afl/"
        sed -i 's/plugin_default_version_check/plugin_default_version_chec2/' "$T"/afl/afl-gcc-*.so
        echo 'int plugin_default_version_chec2(void *a, void *b) { return a != b; }' >"$T/same.c"
        cc -w -shared -fPIC -o "$T/same.so" "$T/same.c"
        AFL_PATH=$T/afl
        LD_PRELOAD=$T/same.so
        export AFL_PATH LD_PRELOAD
    fi
    AFL_QUIET=1 afl-gcc-fast -O1 -w "$@" tests/engine/target.c >"$T/log" 2>&1
    built=$?
    unset AFL_PATH LD_PRELOAD
    return $built
}
if command -v afl-gcc-fast >/dev/null && [ "$own" = /usr/bin ]; then
    if gcc_plugin -DTARGET_PERSISTENT -o "$T/gcc-loop"; then
        same_edges "gcc plugin, persistent" "$own" "$T/gcc-loop" "test cases shared"
        ends "gcc plugin, persistent" "$T/gcc-loop"
    else
        not_ok "the gcc plugin builds a loop"
        tail -n 5 "$T/log"
    fi
    rm -rf "$T/afl"
    if gcc_plugin -o "$T/gcc-plain"; then
        same_edges "gcc plugin, plain" "$own" "$T/gcc-plain" "test cases by file"
        same_edges "gcc plugin, plain @@" "$own" "$T/gcc-plain" "test cases by file" @@
    else
        not_ok "the gcc plugin builds a plain program"
        tail -n 5 "$T/log"
    fi
fi
[ -n "$other" ] || exit 0

# ---- who may fuzz what -------------------------------------------------------------------------
for of in old new; do
    printf '[target %s]\nharness = %s\nseeds = %s\n' "$of" "$T/$of-persistent" "$TOP/seeds/chunk_frame-min" >"$T/$of.ini"
done
case $own_is in
old) old=$own new=$other/bin ;;
new) old=$other/bin new=$own ;;
esac
assert_exit "a newer AFL++ fuzzes an old harness" 0 env AFL_FUZZ="$new/afl-fuzz" "$FUZZCTL" plan "$T/old.ini"
assert_exit "and its own" 0 env AFL_FUZZ="$new/afl-fuzz" "$FUZZCTL" plan "$T/new.ini"
assert_exit "an old AFL++ fuzzes an old harness" 0 env AFL_FUZZ="$old/afl-fuzz" "$FUZZCTL" plan "$T/old.ini"
for verb in plan check start; do
    assert_exit "a harness of a newer AFL++ is refused by $verb" 2 env AFL_FUZZ="$old/afl-fuzz" "$FUZZCTL" $verb "$T/new.ini"
    assert_match "with line and reason" "^[^ ]*new.ini:2: \[target new\] harness: .*4.20c or later .*rebuild it with" "$(cat "$T/out" "$T/err")"
done

# ---- a campaign by the newer one ---------------------------------------------------------------
# Its status files, its crash files, its options: on a harness of each protocol.
mkdir "$T/seeds"
echo abcdefgh >"$T/seeds/one"
AFL_QUIET=1 "$old/afl-clang-fast" -O1 -w -o "$T/old-crasher" tests/kill/crasher.c >"$T/log" 2>&1 || cat "$T/log"
AFL_QUIET=1 "$new/afl-clang-fast" -O1 -w -o "$T/new-crasher" tests/kill/crasher.c >"$T/log" 2>&1 || cat "$T/log"
cat >"$T/both.ini" <<END
[campaign]
name = both
root = $T
budget = 10s
cores = 1

[target old]
harness = old-crasher
seeds = seeds
instances = 1
timeout = 40ms
hang_timeout = 100ms

[target new]
harness = new-crasher
seeds = seeds
instances = 1
timeout = 40ms
hang_timeout = 100ms
END
assert_exit "the newer AFL++ fuzzes both, and finds" 10 env AFL_FUZZ="$new/afl-fuzz" timeout 240 "$FUZZCTL" run "$T/both.ini"
"$FUZZCTL" report both --json >"$T/report" 2>/dev/null
for of in old new; do
    assert_eq "$of: executions, edges and crashes are counted" "true true true" \
        "$(jq -r ".targets[] | select(.name == \"$of\") | \"\(.execs_done > 100) \(.edges_found > 3) \(.crashes > 0)\"" "$T/report")"
done
assert_exit "every file it saved is accounted for" 0 "$FUZZCTL" verify both

# Its figures come each second, though they bear only the name that every main has.
sed -e 's/^name = .*/name = live/' -e 's/^budget = .*/budget = 60s/' -e '/^\[target new/,$d' "$T/both.ini" >"$T/live.ini"
counted() { # MORE-THAN
    [ "$("$FUZZCTL" status live --json | jq '.campaigns[0].targets[0].instances[0].execs_done')" -gt "$1" ]
}
assert_exit "a campaign is started" 0 env AFL_FUZZ="$new/afl-fuzz" "$FUZZCTL" start "$T/live.ini"
check "its executions are counted within seconds" wait_for 30 counted 200
n=$("$FUZZCTL" status live --json | jq '.campaigns[0].targets[0].instances[0].execs_done')
check "and go on being counted" wait_for 10 counted "$n"
"$FUZZCTL" stop live >/dev/null 2>&1
