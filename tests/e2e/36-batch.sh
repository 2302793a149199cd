#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl replay in batches: what it says of each input is what it says one by one, with inputs between them that end in
# every way, whoever is killed meanwhile; and each engine with programs that are not made for it.
# limit: 600
# cores: none
. tests/e2e/lib.sh
need tests/engine/kit-afl tests/engine/kit-asan tests/engine/kit-replay tests/engine/persistent \
    harnesses/chunk_frame/afl harnesses/chunk_frame/libfuzzer plants/CHUNK_MAX_PLUS1/chunk_frame/afl
KIT=$BUILD/tests/engine/kit-afl

# verdicts ENGINE PROGRAM DIR [OPTION...]: a line an input, without times
verdicts() {
    engine=$1 program=$2 dir=$3
    shift 3
    "$FUZZCTL" replay --timeout 1s --engine "$engine" --harness "$program" "$@" --json "$dir" 2>"$T/err" |
        jq -c 'if .file then [.file,.status,.kind,.signature,.signal,.exit_code,
            if .status == "timeout" or .status == "lost" then 0 else .map end] else [.passed,.failed,.unread,.left] end'
}

# same NAME PROGRAM DIR: both engines, in batches by one and by two
same() {
    verdicts fork "$2" "$3" >"$T/fork"
    verdicts batch "$2" "$3" --jobs 1 >"$T/batch1"
    verdicts batch "$2" "$3" --jobs 2 >"$T/batch2"
    # Who closed its stderr is heard in batches only.
    grep '/0110"' "$T/batch1" >"$T/unheard"
    for f in fork batch1 batch2; do
        grep -v '/0110"' "$T/$f" >"$T/$f.some"
    done
    check "$1: there are results" test "$(wc -l <"$T/fork")" -gt 3
    assert_eq "$1: in batches as one by one" "" "$(diff "$T/fork.some" "$T/batch1.some" | head -n 4)"
    assert_eq "$1: by two as well" "" "$(diff "$T/fork.some" "$T/batch2.some" | head -n 4)"
}

# ---- every way to end, between others ---------------------------------------------------------
mkdir "$T/ends"
n=0
for c in A1 abc S 9 abd E O L W A2 C D G K zzz P A3; do
    n=$((n + 1))
    printf '%s' "$c" >"$T/ends/$(printf '%03d' $n)0"
    for k in 1 2 3 4 5 6 7 8 9; do
        printf 'm%s.%s' "$n" "$k" >"$T/ends/$(printf '%03d' $n)$k"
    done
done
: >"$T/ends/empty"
head -c 1048577 /dev/zero >"$T/ends/large"
same kit "$KIT" "$T/ends"
same "kit, sanitizer" "$BUILD/tests/engine/kit-asan" "$T/ends"
assert_match "the invariant is told" 'invariant.*K1' "$(cat "$T/batch1")"
assert_match "of who closed its stderr, too" '"invariant","K1"' "$(cat "$T/unheard")"
assert_eq "and counted" "[160,11,1,0]" "$(tail -n 1 "$T/batch1")"

# ---- who writes over the ring ---------------------------------------------------------------------
# Before and behind it are others, with maps of their own; '0' fills with zeros, '1' with ones, 'n' with noise.
mkdir "$T/wild"
n=0
for c in V0a V1a Vna V0p Vnp V0 V1 Vn; do
    n=$((n + 1))
    for k in 1 2 3 4 5 6 7; do
        printf 'm%s.%s' "$n$k" "$(printf '%0*d' $((n + 8 * k)) 0)" >"$T/wild/$n-$k"
    done
    printf %s $c >"$T/wild/$n-4"
done
# Of the writers the edges differ: by fork server there is no ring.
for e in fork batch; do
    verdicts $e "$KIT" "$T/wild" --jobs 1 | jq -c 'if (.[0] | tostring | endswith("-4")) then .[6] = 0 else . end' >"$T/$e"
done
assert_eq "wild writes: in batches as one by one" "" "$(diff "$T/fork" "$T/batch" | head -n 4)"
assert_eq "and each is told for what it does" "[51,5,0,0]" "$(tail -n 1 "$T/batch")"
for c in V0a V1a Vna; do
    printf %s $c >"$T/one"
    assert_exit "$c alone is no pass" 10 "$FUZZCTL" replay --timeout 1s --harness "$KIT" "$T/one"
done
assert_exit "distill" 0 "$FUZZCTL" distill --timeout 1s --harness "$KIT" "$T/wild" --json -o "$T/wild.out"
assert_eq "sets aside who crashes and hangs, and no other" "1-4 crash,2-4 crash,3-4 crash,4-4 timeout,5-4 timeout" \
    "$(jq -r '.set_aside[] | (.file | split("/") | last) + " " + .why' "$T/out" | paste -sd,)"

# ---- planted bugs -------------------------------------------------------------------------------
python3 - "$T/plant" <<'PY'
import os, sys
out = sys.argv[1]
os.makedirs(out)
d = "seeds/chunk_frame"
blobs = [open(os.path.join(d, f), "rb").read() for f in sorted(os.listdir(d)) if not f.endswith(".txt")]
state = 99
for i in range(1500):
    b = bytearray(blobs[i % len(blobs)][:400])
    for _ in range(i % 6):
        state = (state * 1103515245 + 12345) % 2**31
        at = state // 7 % (len(b) + 1)
        b[at:at + state % 3] = bytes([state // 65536 % 256])
    open(os.path.join(out, f"{i:05}"), "wb").write(bytes(b))
PY
same "no bug" "$HARNESSES/chunk_frame/afl" "$T/plant"
same CHUNK_MAX_PLUS1 "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl" "$T/plant"
check "the plant is met" test "$(jq -s '.[-1][1]' "$T/batch1")" -gt 0

# ---- built by an AFL++ of the other protocol, and with other instrumentation ---------------------
# build_kit NAME BIN [ENV=VALUE...]: the kit's harness as harnesses/README.md shows, by BIN/afl-clang-fast
build_kit() {
    name=$1 bin=$2
    shift 2
    env AFL_QUIET=1 AFL_LLVM_DENYLIST="$TOP/harnesses/sdk/afl-denylist.txt" PATH="$bin:$PATH" "$@" \
        afl-clang-fast -O1 -g -std=c17 -D_GNU_SOURCE -Iharnesses -o "$T/$name" tests/engine/kit.c harnesses/sdk/fz_*.c \
        harnesses/sdk/main_afl.c >"$T/log" 2>&1 || cat "$T/log"
}
here=$(dirname "$(command -v afl-clang-fast)")
build_kit ngram "$here" AFL_LLVM_INSTRUMENT=CLASSIC,NGRAM-4
same "n-grams" "$T/ngram" "$T/ends"
other=$(aflpp_other)
if [ -z "$other" ]; then
    skip "a harness of the other protocol" "there is no second AFL++ here; contrib/install-deps says why"
else
    build_kit other "$other/bin"
    same "the other protocol" "$T/other" "$T/ends"
fi

# ---- state -------------------------------------------------------------------------------------
mkdir "$T/stateful"
printf X >"$T/stateful/1"
printf x >"$T/stateful/2"
printf X >"$T/stateful/3"
printf abc >"$T/stateful/4"
for e in batch fork; do
    assert_exit "$e: who fails behind others only" 10 "$FUZZCTL" replay --engine $e --jobs 1 --harness "$KIT" "$T/stateful"
    assert_eq "$e: is told as that" "$T/stateful/3: stateful: passes alone, fails behind other inputs" "$(grep stateful "$T/out")"
done
assert_match "and no other is" "^3 passed, 1 failed" "$(cat "$T/out")"
assert_exit "distill sets it aside" 0 "$FUZZCTL" distill --jobs 1 --harness "$KIT" "$T/stateful" --json -o "$T/distilled"
assert_eq "as unstable" "unstable" "$(jq -r '.set_aside[].why' "$T/out" | sort -u)"

# ---- who stops or kills its parent ------------------------------------------------------------------------
mkdir "$T/stops"
for c in abc H abd; do printf '%s' "$c" >"$T/stops/$c"; done
printf K >"$T/kills"
for e in fork batch native; do
    assert_exit "$e: who stops or kills its parent costs one input" 10 "$FUZZCTL" replay --engine $e --timeout 300ms \
        --harness "$KIT" "$T/stops" "$T/kills"
    stopped="the program's fork server fell silent" killed="the program's fork server died of it"
    [ $e != native ] || stopped="the program stopped its parent" killed="the program killed its parent"
    assert_match "$e: and is told as that" "H: lost: $stopped" "$(cat "$T/out")"
    assert_match "$e: either way" "kills: lost: $killed" "$(cat "$T/out")"
    assert_match "$e: no other" "^2 passed, 2 failed" "$(cat "$T/out")"
done

# ---- memory ------------------------------------------------------------------------------------
mkdir "$T/memory"
for c in abc abd R abe abf; do printf '%s' "$c" >"$T/memory/$c"; done
for e in fork batch native; do
    assert_exit "$e: want of memory costs one input" 10 "$FUZZCTL" replay --engine $e --memory 64M --timeout 20s \
        --harness "$KIT" "$T/memory"
    assert_match "$e: and is told" "R: oom: SIGKILL" "$(cat "$T/out")"
    assert_match "$e: no other" "^4 passed, 1 failed" "$(cat "$T/out")"
done

# ---- who is killed -----------------------------------------------------------------------------
mkdir "$T/slow"
for k in 1 2 3; do for i in 0 1 2 3 4 5 6 7 8 9; do
    for j in 0 1 2 3 4; do printf 'Z%s%s%s' $k $i $j >"$T/slow/$k$i$j"; done
done; done

# of PID: its child that is of the harness, and not the guard of fuzzctl
of() {
    for p in $(pgrep -P "$1"); do
        [ "$(readlink "/proc/$p/exe")" = "$(readlink -f "$KIT")" ] && echo "$p" && return
    done
}

# struck NAME WHOM(child|harness): 150 inputs of 20 ms, while WHOM is killed three times
struck() {
    "$FUZZCTL" replay --engine batch --jobs 1 --harness "$KIT" --json "$T/slow" >"$T/out" 2>"$T/err" &
    pid=$!
    hits=0
    for i in 1 2 3; do
        sleep 0.7
        victim=$(of "$pid")
        [ "$2" = child ] && [ -n "$victim" ] && victim=$(of "$victim")
        [ -n "$victim" ] && [ "$victim" -gt 1 ] && kill -9 "$victim" && hits=$((hits + 1))
    done
    wait "$pid"
    assert_eq "$1: all inputs pass" "0 [150,0,0,0]" \
        "$? $(tail -n 1 "$T/out" | jq -c '[.passed,.failed,.unread,.left]')"
    check "$1: it was killed ($hits)" test "$hits" -gt 0
}
struck "kill -9 of the process that runs them" child
struck "kill -9 of the harness" harness

segments() {
    ipcs -m 2>/dev/null | awk '$1 ~ /^0x/' | wc -l
}
before=$(segments)
"$FUZZCTL" replay --engine batch --jobs 1 --harness "$KIT" "$T/slow" >"$T/out" 2>&1 &
pid=$!
sleep 1
harness=$(of "$pid")
child=$([ -n "$harness" ] && of "$harness")
[ "$pid" -gt 1 ] && kill -9 "$pid"
wait "$pid" 2>/dev/null
check "there were two" test -n "$harness" -a -n "$child"
for k in $harness $child; do
    wait_for 5 sh -c "! kill -0 $k 2>/dev/null" || true
    check "kill -9 of the engine leaves no process" sh -c "! kill -0 $k 2>/dev/null"
done
check "and no segment" test "$(segments)" -le "$before"

# ---- engines and programs ------------------------------------------------------------------------
cp -r "$T/ends" "$T/some"
# No hangs.
rm "$T/some/0080" "$T/some/0160" "$T/some/large"
for p in "$BUILD/tests/engine/kit-replay" "$KIT"; do
    verdicts native "$p" "$T/some" | jq -c '[.[0],.[1]]' >"$T/native"
    verdicts fork "$KIT" "$T/some" | jq -c '[.[0],.[1]]' >"$T/fork"
    assert_eq "native, ${p##*/}: as by fork server" "" "$(diff "$T/fork" "$T/native" | head -n 4)"
done
assert_exit "a libFuzzer build runs natively" 0 "$FUZZCTL" replay --harness "$HARNESSES/chunk_frame/libfuzzer" seeds/chunk_frame-min
assert_exit "not in batches" 2 "$FUZZCTL" replay --engine batch --harness "$HARNESSES/chunk_frame/libfuzzer" seeds/chunk_frame-min
assert_match "which is one clear line" "^fuzzctl.*libfuzzer cannot run batches; that takes a harness of the kit" "$(cat "$T/err")"
assert_eq "one" 1 "$(wc -l <"$T/err")"
assert_exit "nor does a program of AFL++ without the kit" 2 "$FUZZCTL" replay --engine batch --harness "$BUILD/tests/engine/persistent" "$T/some"
assert_exit "set by hand, the variable is refused" 2 env FZ_BATCH=1 "$KIT"
assert_match "with words" "batch mode is for fuzzctl" "$(cat "$T/err")"
printf abc >"$T/one"
if command -v afl-showmap >/dev/null; then
    check "and afl-showmap is served all the same" env FZ_BATCH=1 AFL_QUIET=1 afl-showmap -q -C -i "$T/stateful" -o "$T/map" -- "$KIT"
fi
