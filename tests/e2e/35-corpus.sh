#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl corpus stats and merge; bundles as inputs of distill and replay.
# limit: 240
# shellcheck disable=SC2016 # expanded by the inner shell
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/chunk_frame/replay
H=$HARNESSES/chunk_frame/afl

# value EXPR: of the JSON in $T/out, as d
value() {
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$T/out" "$1"
}

# ---- a corpus of known content ----
mkdir -p "$T/in" "$T/out1/main/queue" "$T/out1/san/queue"
i=1
while [ $i -le 100 ]; do
    head -c $i /dev/zero | tr '\0' "a" >"$T/in/f$i"
    i=$((i + 1))
done
touch "$T/out1/main/fuzzer_setup" "$T/out1/san/fuzzer_setup"
cp "$T/in/f1" "$T/out1/main/queue/id:000000,orig:f1"
echo new >"$T/out1/main/queue/id:000001,src:000000"
echo san >"$T/out1/san/queue/id:000001,src:000000"
assert_exit "stats of a folder" 0 "$FUZZCTL" --json corpus stats "$T/in"
assert_eq "files and bytes" "100 5050" "$(value 'd["files"], d["places"][0]["bytes"]' | tr -d '(),')"
assert_eq "percentiles" "1 50 90 99 100" "$(value '" ".join(str(d["places"][0]["size"][k]) for k in ["min", "p50", "p90", "p99", "max"])')"
assert_eq "nothing was run" "None" "$(value 'd["edges"]')"
assert_exit "stats of AFL++ output" 0 "$FUZZCTL" --json corpus stats "$T/in" "$T/out1"
assert_eq "entries by instance" "{'main': 2, 'san': 1}" "$(value 'd["places"][1]["instances"]')"
assert_eq "contents" "102" "$(value 'd["contents"]')"
assert_exit "for people" 0 "$FUZZCTL" corpus stats "$T/out1"
assert_match "with ages" 'from 20.*Z to 20' "$(cat "$T/out")"
assert_exit "with a harness" 0 "$FUZZCTL" --json corpus stats seeds/chunk_frame --harness "$H"
edges=$(value 'd["edges"]["covered"]')
check "most of it is redundant" test "$(value 'd["edges"]["enough"] < d["edges"]["ended"]["ok"] / 2')" = True
sed "s,build/harnesses,$HARNESSES,g; s,^root = .*,root = $TOP," conf/campaigns/quick.ini >"$T/quick.ini"
assert_exit "of a target" 0 "$FUZZCTL" --json corpus stats "$T/quick.ini" chunk_frame
assert_eq "it is the same" "$edges seeds" "$(value 'd["edges"]["covered"], d["places"][0]["place"]' | tr -d "(),'")"
mkdir "$T/none"
assert_exit "of nothing" 11 "$FUZZCTL" corpus stats "$T/none"
assert_exit "of what is not there" 2 "$FUZZCTL" corpus stats "$T/gone"

# ---- merge ----
before=$(find "$T/in" "$T/out1" -type f -exec sha256sum {} + | sort | sha256sum)
assert_exit "a union" 0 "$FUZZCTL" --json corpus merge "$T/m1" "$T/out1" "$T/in"
assert_eq "has each content once" "102 1" "$(value 'd["kept"], d["copies"]' | tr -d '(),')"
assert_eq "as many files" 102 "$(find "$T/m1" -type f | wc -l)"
check "named by instance" test -f "$T/m1/main-id:000001,src:000000" -a -f "$T/m1/san-id:000001,src:000000"
check "and folder" test -f "$T/m1/in-f100"
check "the first of a content stays" test ! -e "$T/m1/in-f1" -a -e "$T/m1/main-id:000000,orig:f1"
assert_eq "sources are untouched" "$before" "$(find "$T/in" "$T/out1" -type f -exec sha256sum {} + | sort | sha256sum)"
assert_exit "a folder that is there" 2 "$FUZZCTL" corpus merge "$T/m1" "$T/in"
assert_exit "only what adds coverage" 0 "$FUZZCTL" --json corpus merge "$T/m2" seeds/chunk_frame "$T/m1" --harness "$H"
kept=$(value 'd["kept"]')
check "is less ($kept)" test "$kept" -lt 100 -a "$kept" -gt 3
assert_eq "nothing is left beside it" "" "$(find "$T" -maxdepth 1 -name 'm*.tmp*')"
assert_exit "and covers the same" 0 "$FUZZCTL" --json corpus stats "$T/m2" --harness "$H"
assert_eq "in edges" "$edges" "$(value 'd["edges"]["covered"]')"
assert_exit "again" 0 "$FUZZCTL" --json corpus merge "$T/m3" seeds/chunk_frame "$T/m1" --harness "$H"
assert_eq "gives the same" "" "$(diff -rq "$T/m2" "$T/m3")"
mkdir "$T/odd"
printf x >"$T/odd/-a
b"
printf y >"$T/odd/$(head -c 255 /dev/zero | tr '\0' n)"
printf z >"$T/odd/.hidden"
head -c 2000000 /dev/zero >"$T/odd/large"
assert_exit "odd names" 0 "$FUZZCTL" --json corpus merge "$T/m4" "$T/odd"
assert_eq "get plain ones" "2" "$(find "$T/m4" -type f -regex '.*/odd-[!-~]*' | wc -l)"
assert_eq "a large file is told" "1 over 1 MiB" "$(value 'd["unread"], d["unread_files"][0]["why"]' | tr -d "(),'")"
assert_exit "same names of two folders" 0 sh -c '
    mkdir -p "$T/p/x" "$T/q/x" && echo 1 >"$T/p/x/n" && echo 2 >"$T/q/x/n" && "$FUZZCTL" corpus merge "$T/m5" "$T/p/x" "$T/q/x"'
assert_eq "are both there" "1 2" "$(cat "$T/m5"/* | sort | tr '\n' ' ' | sed 's/ $//')"
assert_exit "a program without a fork server" 2 "$FUZZCTL" corpus merge "$T/m6" "$T/in" --harness "$HARNESSES/chunk_frame/replay"
check "leaves nothing" test ! -e "$T/m6"
assert_match "and is told of as elsewhere" "^fuzzctl corpus: merge: --harness .*/replay has no fork server; build it" "$(cat "$T/err")"
assert_exit "quiet" 0 "$FUZZCTL" -q corpus merge "$T/m8" "$T/odd"
assert_eq "it prints nothing" "" "$(cat "$T/out" "$T/err")"

# ---- what is wrong is said ----
# refused NAME CODE ERE ARGS...: fuzzctl ends with CODE, nothing but usage before it printed, and the first line it says matches
refused() {
    name=$1 want=$2 words=$3
    shift 3
    assert_exit "$name" "$want" "$FUZZCTL" "$@"
    assert_match "$name: in words" "$words" "$(head -n 1 "$T/err")"
    assert_eq "$name: and nothing else" "" "$(cat "$T/out")"
}
mkdir "$T/links"
ln -s "$T/in/f1" "$T/links/one"
mkfifo "$T/links/fifo"
refused "pack: no file" 2 "^fuzzctl corpus: pack: -o is missing" corpus pack "$T/in"
refused "merge: a target of no file" 2 "^fuzzctl corpus: merge: --target t: --spec is missing" corpus merge "$T/m6" "$T/in" --target t
refused "merge: an option of others" 2 "^fuzzctl corpus merge: invalid option -- 'o'" corpus merge "$T/m6" "$T/in" -o "$T/m6"
refused "run: no file" 2 "^fuzzctl run: no campaign file is named" run --budget rle.ini
refused "merge: an unknown target" 2 "no target named nope; there are: .*chunk_frame" corpus merge "$T/m6" "$T/in" --spec "$T/quick.ini" --target nope
refused "stats: an unknown target" 2 "no target named nope; there are: .*chunk_frame" corpus stats "$T/quick.ini" nope
refused "promote: an unknown target" 2 "no target named nope; there are: .*chunk_frame" corpus promote --spec "$T/quick.ini" nope "$T/in/f1"
refused "selftest: an unknown target" 2 "no target named nope; there are: .*chunk_frame" selftest "$T/quick.ini" --target nope
for verb in verify show; do
    refused "bundle $verb: no file" 2 "^fuzzctl bundle: .*/gone.tar.zst: No such file" bundle $verb "$T/gone.tar.zst"
    refused "bundle $verb: no bucket" 2 "^fuzzctl bundle: 0123abcd: no such file, and no bundle of that bucket" bundle $verb 0123abcd
done
refused "bundle unpack: no file" 2 "gone.tar.zst: No such file" bundle unpack "$T/gone.tar.zst" "$T/m7"
refused "stats: a harness that is none" 2 "^fuzzctl corpus: stats: --harness .*quick.ini is not executable" corpus stats "$T/in" --harness "$T/quick.ini"
refused "stats: one without a fork server" 2 "^fuzzctl corpus: stats: --harness /bin/cat has no fork server" corpus stats "$T/in" --harness /bin/cat
for verb in "replay --harness $H" "stability --harness $H" "distill --harness $H -o $T/m6" "corpus merge $T/m6" "corpus pack -o $T/m6.tar"; do
    # shellcheck disable=SC2086
    refused "${verb%% -*}: links alone" 11 "there are no inputs: 2 links or the like in folders, which are not followed" $verb "$T/links"
done
refused "pack: among the inputs" 2 "in/p.tar: would be among the inputs in .*/in from then on" corpus pack "$T/in" -o "$T/in/p.tar"
refused "merge: among the inputs" 2 "in/sub: would be among the inputs in .*/in from then on" corpus merge "$T/in/sub" "$T/out1" "$T/in"
assert_exit "pack tells" 0 "$FUZZCTL" corpus pack "$T/in" -o "$T/p.tar"
assert_match "sizes as the others do" "^100 inputs, [0-9.]+ KiB$" "$(cat "$T/out")"

# ---- bundles ----
need plants/CHUNK_MAX_PLUS1/chunk_frame/afl plants/CHUNK_MAX_PLUS1/chunk_frame/replay
P=$PLANTS/CHUNK_MAX_PLUS1/chunk_frame
cat >"$T/b.ini" <<END
[campaign]
name = bundled
root = $TOP
budget = 60s
stop_on = first
cores = 1
[target planted]
harness = $P/afl
replay = $P/replay
seeds = seeds/chunk_frame-min
instances = 1
END
assert_exit "a campaign with a finding" 10 "$FUZZCTL" run "$T/b.ini"
assert_exit "its bundle" 0 "$FUZZCTL" bundle make bundled
B=$(find "$FZ_STATE/bundles" -name '*.tar.zst' | head -n 1)
check "is there" test -n "$B"
assert_exit "is replayed as it is" 10 "$FUZZCTL" --json replay --harness "$P/afl" "$B"
assert_match "under its own name" 'tar.zst/inputs/[0-9a-f]+' "$(cat "$T/out")"
assert_exit "is distilled with the seeds" 0 "$FUZZCTL" distill --harness "$H" "$B" seeds/chunk_frame -o "$T/d1"
assert_exit "and merged" 0 "$FUZZCTL" corpus merge "$T/m7" "$B"
check "its inputs are files" test "$(find "$T/m7" -type f | wc -l)" -ge 1
head -c 300 "$B" >"$T/torn.tar.zst"
assert_exit "a torn bundle is refused" 2 "$FUZZCTL" replay --harness "$H" "$T/torn.tar.zst"
assert_exit "by distill, too" 2 "$FUZZCTL" distill --harness "$H" "$T/torn.tar.zst" -o "$T/d2"
mkdir "$T/folder"
cp "$T/torn.tar.zst" "$T/folder/"
assert_exit "in a folder it is an input" 0 "$FUZZCTL" replay --harness "$H" "$T/folder"
assert_eq "no private folder is left" "" "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'fuzzctl-replay.*' -newer "$T/quick.ini")"
