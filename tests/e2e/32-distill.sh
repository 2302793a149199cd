#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl distill: the same coverage by fewer and smaller files, input that afl-cmin gives up on, and what is refused.
# limit: 300
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl tests/engine/persistent tests/e2e/engine_maps
H=$HARNESSES/chunk_frame/afl
D="$FUZZCTL distill --harness"

# corpus DIR N: variants of the seeds, the same every time
corpus() {
    python3 - "$@" <<'PY'
import os, sys
out, n = sys.argv[1], int(sys.argv[2])
os.makedirs(out)
d = "seeds/chunk_frame"
blobs = [open(os.path.join(d, f), "rb").read() for f in sorted(os.listdir(d)) if not f.endswith(".txt")]
state = 777
for i in range(n):
    b = bytearray(blobs[i % len(blobs)][:300])
    for _ in range(1 + i % 7):
        state = (state * 1103515245 + 12345) % 2**31
        at = state // 7 % (len(b) + 1)
        b[at:at + state % 3] = bytes([state // 65536 % 256])
    open(os.path.join(out, f"{i:05}"), "wb").write(bytes(b) or b"x")
PY
}

# union DIR: all edges with their buckets that a folder of inputs has
union() {
    rm -rf "$T/maps"
    mkdir "$T/maps"
    "$BUILD/tests/e2e/engine_maps" "$H" "$1" "$T/maps"
    find "$T/maps" -type f -exec cat {} + | awk -F: '
        { n = $2; b = n >= 128 ? 128 : n >= 32 ? 32 : n >= 16 ? 16 : n >= 8 ? 8 : n >= 4 ? 4 : n; print $1 ":" b }' |
        sort -u
}

corpus "$T/in" 1500
# shellcheck disable=SC2086
assert_exit "a corpus is distilled" 0 $D "$H" "$T/in" -o "$T/out1"
assert_match "and said so" "of 1500 inputs, .* cover the same" "$(cat "$T/out")"
n=$(find "$T/out1" -type f | wc -l)
check "to few files ($n)" test "$n" -gt 3 -a "$n" -lt 100
union "$T/in" >"$T/all"
union "$T/out1" >"$T/kept"
assert_eq "no edge and no count is lost" "" "$(diff "$T/all" "$T/kept" | head -n 3)"
for f in "$T/out1"/*; do
    cmp -s "$f" "$T/in/${f##*/}" || not_ok "${f##*/} is not the input of that name"
done
# shellcheck disable=SC2086
assert_exit "again, with another number of servers" 0 $D "$H" --jobs 1 "$T/in" -o "$T/out2"
assert_eq "gives the same" "" "$(diff -rq "$T/out1" "$T/out2")"
# shellcheck disable=SC2086
assert_exit "with little memory" 0 $D "$H" --cap 1M "$T/in" -o "$T/out3"
union "$T/out3" >"$T/kept"
assert_eq "no edge and no count is lost, either" "" "$(diff "$T/all" "$T/kept" | head -n 3)"
# shellcheck disable=SC2086
assert_exit "edges only" 0 $D "$H" --edges-only "$T/in" -o "$T/out4"
m=$(find "$T/out4" -type f | wc -l)
check "takes fewer files ($m)" test "$m" -lt "$n"
union "$T/out4" | cut -d: -f1 | sort -u >"$T/kept"
assert_eq "and loses no edge" "" "$(cut -d: -f1 "$T/all" | sort -u | diff - "$T/kept" | head -n 3)"
# shellcheck disable=SC2086
assert_exit "by the fork server alone" 0 $D "$H" --engine fork "$T/in" -o "$T/fork"
assert_eq "gives the same, too" "" "$(diff -rq "$T/out1" "$T/fork")"
if command -v afl-cmin >/dev/null; then
    # afl-cmin refuses folders below /tmp unless it is told.
    AFL_ALLOW_TMP=1 AFL_QUIET=1 afl-cmin -i "$T/in" -o "$T/cmin" -- "$H" >"$T/log" 2>&1 </dev/null
    c=$(find "$T/cmin" -type f 2>/dev/null | wc -l)
    check "no more files than afl-cmin keeps ($n, $c)" test "$c" -gt 0 -a "$n" -le "$c"
fi

# ---- keep, against -----------------------------------------------------------------------
# shellcheck disable=SC2086
assert_exit "curated seeds are kept" 0 $D "$H" --keep seeds/chunk_frame-min "$T/in" -o "$T/out5"
for f in seeds/chunk_frame-min/*; do
    cmp -s "$f" "$T/out5/${f##*/}" || not_ok "${f##*/} was not kept"
done
# Folders of one harness have names in common, and an empty input each.
for i in 1 2 3 4; do
    mkdir -p "$T/same/$i"
    : >"$T/same/$i/empty"
    echo $i >"$T/same/$i/x"
done
mv "$T/same/4/x" "$T/same/4/x-$(sha256sum <"$T/same/2/x" | cut -c1-12)"
# shellcheck disable=SC2086
assert_exit "of several folders with names in common" 0 $D "$H" --keep "$T/same/4" --keep "$T/same/1" --keep "$T/same/2" \
    --keep "$T/same/3" "$T/same/1" -o "$T/same.out"
assert_eq "each of their contents is kept" "$(cat "$T/same"/*/* | LC_ALL=C sort | sha256sum) 8" \
    "$(cat "$T/same.out"/* | LC_ALL=C sort | sha256sum) $(find "$T/same.out" -type f | wc -l)"
# shellcheck disable=SC2086
assert_exit "against itself" 0 $D "$H" --against "$T/in" "$T/in" --json -o "$T/out6"
assert_eq "a corpus has nothing new" "[0,0]" "$(jq -c '[.kept,.new_tuples]' "$T/out")"
# shellcheck disable=SC2086
assert_exit "for people" 0 $D "$H" --against "$T/in" "$T/in" -o "$T/out6-text"
assert_match "said so" "^nothing new: 0 of 1500 inputs, .* are needed; --against covers all [0-9]+ edges and counts" "$(cat "$T/out")"
# shellcheck disable=SC2086
assert_exit "against the seeds" 0 $D "$H" --against seeds/chunk_frame "$T/in" --json -o "$T/out7"
check "something is" test "$(jq .new_tuples "$T/out")" -gt 0
# shellcheck disable=SC2086
assert_exit "for people, too" 0 $D "$H" --against seeds/chunk_frame "$T/in" -o "$T/out7-text"
assert_match "by how much" "of 1500 inputs, .* add [0-9]+ edges and counts to the [0-9]+ of --against" "$(cat "$T/out")"
# shellcheck disable=SC2086
assert_exit "quiet" 0 $D "$H" -q seeds/chunk_frame -o "$T/out7-quiet"
assert_eq "it prints nothing" "" "$(cat "$T/out" "$T/err")"
assert_exit "a target of a campaign" 0 "$FUZZCTL" distill --target chunk_frame conf/campaigns/chunk_frame.ini "$T/in" -o "$T/out8"
for f in seeds/chunk_frame/*; do
    [ "${f##*/}" = README.txt ] || cmp -s "$f" "$T/out8/${f##*/}" || not_ok "${f##*/} of its seeds was not kept"
done
mkdir -p "$T/afl/main/queue" "$T/afl/two/queue"
: >"$T/afl/main/fuzzer_setup"
: >"$T/afl/two/fuzzer_setup"
cp seeds/chunk_frame/00* "$T/afl/main/queue/"
cp seeds/chunk_frame/01* "$T/afl/two/queue/"
# shellcheck disable=SC2086
assert_exit "AFL++ output" 0 $D "$H" "$T/afl" --json -o "$T/out9"
assert_eq "is taken whole" 20 "$(jq .inputs "$T/out")"

# ---- what afl-cmin gives up on ---------------------------------------------------------------
mkdir "$T/bad"
for c in A S L E K abc abd zzz; do printf '%s' "$c" >"$T/bad/$c"; done
: >"$T/bad/empty"
head -c 1048577 /dev/zero >"$T/bad/large"
printf abe >"$T/bad/$(printf 'new\nline')"
P=$BUILD/tests/engine/persistent
# shellcheck disable=SC2086
assert_exit "crashes, hangs, empty and large files" 0 $D "$P" --timeout 300ms "$T/bad" --json -o "$T/out10"
assert_eq "are set aside and told" "A crash,K lost,L timeout,S crash,large unread" \
    "$(jq -r '.set_aside[] | (.file | split("/") | last) + " " + .why' "$T/out" | paste -sd,)"
check "the others are distilled" test "$(jq .kept "$T/out")" -ge 2
mkdir "$T/crashes"
cp "$T/bad/A" "$T/crashes/"
# shellcheck disable=SC2086
assert_exit "only crashes" 0 $D "$P" "$T/crashes" --json -o "$T/out11"
assert_eq "leave an empty corpus" "0 0" "$(jq .kept "$T/out") $(find "$T/out11" -type f | wc -l)"
assert_match "which is said, and why" "^fuzzctl distill: the corpus in .*/out11 is empty: 1 of 1 input was set aside \(1 crash\)$" "$(cat "$T/err")"
printf S >"$T/crashes/S"
: >"$T/big" && head -c 1048577 /dev/zero >"$T/big"
# shellcheck disable=SC2086
assert_exit "of several kinds, quiet" 0 $D -q "$P" "$T/crashes" "$T/big" -o "$T/out11-quiet"
assert_match "too" "is empty: 3 of 3 inputs were set aside \(2 crash, 1 unread\)$" "$(cat "$T/err")"
rm "$T/crashes/S"
printf abcdef >"$T/crashes/good"
# shellcheck disable=SC2086
assert_exit "a crash and another" 0 $D "$P" "$T/crashes" -o "$T/out11-text"
assert_match "files and bytes are of the same inputs" "^1 of 2 inputs, 6 bytes of 7 bytes, cover" "$(cat "$T/out")"

# ---- what is done only once, or by turns ----------------------------------------------------
O=$T/once
AFL_QUIET=1 afl-clang-fast -O1 -o "$O" tests/engine/once.c >/dev/null 2>&1 || not_ok "once.c is built"
python3 - "$T/words" <<'PY'
import os, random, sys
random.seed(4)
os.makedirs(sys.argv[1])
for i in range(1500):
    name = os.path.join(sys.argv[1], f"{i:05}")
    open(name, "wb").write(bytes(random.choice(b"abcgpqwxyzI0") for _ in range(random.randint(1, 12))))
PY
for k in 1 2 3 4; do
    rm -rf "$T/out20"
    # shellcheck disable=SC2086
    $D "$O" --jobs $((k % 2 + 1)) "$T/words" -o "$T/out20" >"$T/out" 2>"$T/err"
    echo "$(cat "$T/out20"/* | sha256sum) $(find "$T/out20" -type f -printf '%f\n' | sort | tr '\n' ' ')"
done | sort -u >"$T/ways"
assert_eq "what is done only once does not decide who is kept" 1 "$(wc -l <"$T/ways")"
for k in 300 900 901 1400; do printf 'S%s' "$k" >"$T/words/00$k-s"; done
for k in 1 2 3 4 5 6; do
    rm -rf "$T/out20"
    # shellcheck disable=SC2086
    $D "$O" --jobs $((k % 2 + 1)) "$T/words" -o "$T/out20" >"$T/out" 2>"$T/err"
    echo "$(grep -c . "$T/out") $(cat "$T/out20"/* | sha256sum) $(find "$T/out20" -type f -printf '%f\n' | sort | tr '\n' ' ')"
done | sort -u >"$T/ways"
assert_eq "nor does who was in whose process" 1 "$(wc -l <"$T/ways")"
mkdir "$T/turns"
printf a >"$T/turns/0"
printf r >"$T/turns/1"
printf xyz >"$T/turns/2"
printf xyzz >"$T/turns/3"
# shellcheck disable=SC2086
assert_exit "who does another thing by turns" 0 $D "$O" --jobs 1 --edges-only "$T/turns" -o "$T/out21" --json
assert_eq "is set aside" "unstable" "$(jq -r '.set_aside[].why' "$T/out")"
assert_match "and another stands in for it" "xyz" "$(cat "$T/out21"/*)"

# ---- what is refused, nothing half-written ---------------------------------------------------
# shellcheck disable=SC2086
assert_exit "a folder with something in it" 2 $D "$H" "$T/in" -o "$T/out1"
assert_match "is not touched" "not empty" "$(cat "$T/err")"
assert_eq "at all" "$n" "$(find "$T/out1" -type f | wc -l)"
# shellcheck disable=SC2086
assert_exit "a program without a fork server" 2 $D /bin/cat "$T/in" -o "$T/x"
# shellcheck disable=SC2086
assert_exit "an engine without a map" 2 $D "$H" --engine native "$T/in" -o "$T/x"
assert_match "is told what there is" "--engine native: allowed are auto, fork, batch$" "$(cat "$T/err")"
# shellcheck disable=SC2086
assert_exit "an engine that the program has not" 2 $D "$P" --engine batch "$T/in" -o "$T/x"
assert_match "is told what that takes" "persistent cannot run batches" "$(cat "$T/err")"
# shellcheck disable=SC2086
assert_exit "a path that is not there" 2 $D "$H" "$T/none" -o "$T/x"
mkdir "$T/none"
# shellcheck disable=SC2086
assert_exit "an empty folder" 11 $D "$H" "$T/none" -o "$T/x"
# shellcheck disable=SC2086
assert_exit "no output" 2 $D "$H" "$T/in"
assert_match "is told what is missing" "^fuzzctl distill: -o is missing" "$(head -n 1 "$T/err")"
assert_exit "no harness" 2 "$FUZZCTL" distill "$T/in" -o "$T/x"
assert_match "is told, too" "^fuzzctl distill: neither --harness nor --target is given" "$(head -n 1 "$T/err")"
# shellcheck disable=SC2086
assert_exit "no path" 2 $D "$H" -o "$T/x"
assert_match "is told as well" "^fuzzctl distill: no file or folder of inputs is named" "$(head -n 1 "$T/err")"
assert_exit "a harness that is a folder" 2 "$FUZZCTL" distill "$H" --harness seeds/chunk_frame -o "$T/x"
assert_match "is told by its option" "^fuzzctl distill: --harness seeds/chunk_frame: not a regular file" "$(cat "$T/err")"
for out in "$T/in/sub" "$T/in/../in/sub//"; do
    # shellcheck disable=SC2086
    assert_exit "an output among the inputs: ${out#"$T"}" 2 $D "$H" "$T/in" -o "$out"
    assert_match "is refused" "/in/sub/*: would be among the inputs in .*/in from then on" "$(cat "$T/err")"
done
# shellcheck disable=SC2086
assert_exit "of AFL++ output, whose queues alone count" 0 $D "$H" "$T/afl" -o "$T/afl/distilled"
# shellcheck disable=SC2086
assert_exit "not in one of these" 2 $D "$H" "$T/afl" -o "$T/afl/main/queue/x"
# shellcheck disable=SC2086
assert_exit "a name that is passed over" 0 $D "$H" "$T/in" -o "$T/in/.distilled"
rm -rf "$T/in/.distilled"
assert_exit "an unknown target" 2 "$FUZZCTL" distill --target nix conf/campaigns/chunk_frame.ini "$T/in" -o "$T/x"
assert_match "is told what there is" "there are: chunk_frame" "$(cat "$T/err")"
# shellcheck disable=SC2086
for out in /proc/fz/x "$T/none/x/y" "" /; do
    # shellcheck disable=SC2086
    assert_exit "a folder that cannot be made, known before anything is run: '$out'" 2 $D "$H" "$T/in" -o "$out"
done
# shellcheck disable=SC2086
assert_exit "the folder one is in" 2 env -C "$T/none" $D "$(realpath "$H")" "$T/in" -o .
# shellcheck disable=SC2086
assert_exit "a new folder with a slash behind it" 0 $D "$H" "$T/in" -o "$T/slash//"
assert_eq "is like one without" "$n" "$(find "$T/slash" -type f | wc -l)"
check "nothing was left" test ! -e "$T/x" -a -z "$(find "$T" -maxdepth 1 -name '*.tmp-*')"
corpus "$T/more" 4000
mkdir "$T/tmp"
for sig in INT TERM HUP; do
    # shellcheck disable=SC2086
    TMPDIR=$T/tmp env --default-signal=HUP $D "$P" --timeout 5s "$T/bad" "$T/more" -o "$T/out12" >"$T/out" 2>"$T/err" &
    pid=$!
    sleep 1
    [ "$pid" -gt 1 ] && kill -s $sig "$pid"
    wait "$pid"
    assert_eq "$sig: it says so" "1 fuzzctl distill: interrupted; nothing was written" "$? $(cat "$T/err")"
    check "$sig: and writes nothing" test ! -e "$T/out12" -a -z "$(find "$T" -maxdepth 1 -name '*.tmp-*')"
    assert_eq "$sig: nor leaves a folder" "" "$(ls "$T/tmp")"
done
