#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl corpus promote: the only way into the committed seeds. What passes gets in once, with a name that says what
# it shows and a record of where it came from; the drift check takes it; a campaign changes no seed.
# limit: 400
. tests/e2e/lib.sh
need fuzzctl fuzzd harnesses/chunk_frame/afl harnesses/chunk_frame/replay harnesses/chunk_frame/gen_seeds

gen=$HARNESSES/chunk_frame/gen_seeds
replay=$HARNESSES/chunk_frame/replay
seeds=$T/seeds/chunk_frame
mkdir "$T/seeds"
cp -R seeds/chunk_frame seeds/chunk_frame-min "$T/seeds/"
cat >"$T/c.ini" <<END
[campaign]
name = c
budget = 6s
cores = 1
[target chunk_frame]
harness = $HARNESSES/chunk_frame/afl
replay = $replay
seeds = seeds/chunk_frame
END

# tree DIR: one hash of names and bytes
tree() {
    (cd "$1" && find . -type f -exec sha256sum {} + | sort | sha256sum)
}

# promote ARG…: with the spec's target
promote() {
    "$FUZZCTL" corpus promote "$@"
}

# ---- a run changes nothing ----------------------------------------------------------------
before=$(tree "$T/seeds") committed=$(tree seeds)
assert_exit "a campaign runs" 0 "$FUZZCTL" run "$T/c.ini"
assert_eq "its seeds are as they were" "$before" "$(tree "$T/seeds")"
assert_exit "so does one on the committed seeds" 0 "$FUZZCTL" run conf/campaigns/chunk_frame.ini --budget 3s --cores 1
assert_eq "they are as they were" "$committed" "$(tree seeds)"
if git rev-parse --git-dir >/dev/null 2>&1; then
    assert_eq "git sees no change of seeds" "" "$(git status --porcelain -- seeds)"
else
    ok "git sees no change of seeds (no repository here)"
fi

# ---- from the queue of a run --------------------------------------------------------------
queued=
for f in "$FZ_STATE"/campaigns/c/*/out/chunk_frame/main/queue/id:*; do
    case $f in *,orig:*) continue ;; esac
    queued=$f
    cmp -s "$f" /dev/null || break
done
if [ -z "$queued" ]; then
    not_ok "the campaign found an input of its own"
    exit 1
fi
ok "the campaign found an input of its own"
assert_exit "what a run found is promoted" 0 promote "$T/c.ini" "$queued"
name=$(sed -n 's,.*/\([0-9]*-[a-z0-9-]*\).*,\1,p' "$T/out" | tail -n 1)
assert_match "under the next number" '^132-[a-z0-9-]+$' "$name"
check "with its bytes" cmp "$queued" "$seeds/$name"
record=$(grep "^$name	" "$seeds/README.txt")
tab=$(printf '\t')
assert_match "campaign, run, instance and file are recorded" \
    "^${name}${tab}[0-9a-f]{64}${tab}20[0-9TZ:-]+${tab}c${tab}[0-9A-Z]{26}${tab}main${tab}queue/id:[0-9]{6}" "$record"
assert_exit "a second time it is there already" 0 promote "$T/c.ini" "$queued"
assert_match "as which seed is said" "is already there as $name" "$(cat "$T/out")"
assert_exit "so is a generated seed's content" 0 promote "$T/c.ini" seeds/chunk_frame/118-stream-all-types
assert_match "by its name" 'is already there as 118-stream-all-types' "$(cat "$T/out")"

# ---- the drift check ----------------------------------------------------------------------
assert_exit "the drift check takes the recorded seed" 0 "$gen" --check "$T/seeds"
assert_match "and counts it apart" '^chunk_frame: 132 seeds, 1 promoted$' "$(cat "$T/out")"
assert_exit "writing the generated ones leaves it alone" 0 "$gen" "$T/seeds"
assert_exit "and is checked" 0 "$gen" --check "$T/seeds"
assert_eq "replay counts the seeds and not the record" "133 passed, 0 failed" "$("$replay" "$seeds" 2>/dev/null | tail -n 1)"
assert_exit "afl-fuzz takes the folder" 0 "$FUZZCTL" run "$T/c.ini" --budget 2s
assert_eq "with 133 seeds" "133 133" "$("$FUZZCTL" report c --json | jq -r '.targets[0] | "\(.corpus_seeds) \(.seeds.total)"')"
record=$(sha256sum "$seeds/README.txt" | cut -d ' ' -f 1)
assert_eq "and not their record" 0 \
    "$(find "$FZ_STATE"/campaigns/c/*/out/chunk_frame/main/queue -type f -exec sha256sum {} + | grep -c "^$record")"

# red NAME CMD…: after CMD the check fails; the folder is put back.
red() {
    red_name=$1
    shift
    cp -R "$T/seeds" "$T/saved"
    "$@"
    assert_exit "the check is red when $red_name" 1 "$gen" --check "$T/seeds"
    rm -rf "$T/seeds"
    mv "$T/saved" "$T/seeds"
}
byte() {
    printf '\377' | dd of="$1" bs=1 conv=notrunc 2>/dev/null
}
red "a byte of a promoted seed is changed" byte "$seeds/$name"
red "a byte of a generated seed is changed" byte "$seeds/001-stdin-len-1"
red "a promoted seed is missing" rm "$seeds/$name"
red "a seed has no record" cp "$seeds/$name" "$seeds/133-x"
red "the record is gone" rm "$seeds/README.txt"
red "a record's hash is changed" sed -i "s/^\($name${tab}\)..../\10000/" "$seeds/README.txt"
assert_exit "put back, it is green" 0 "$gen" --check "$T/seeds"

# ---- names ----------------------------------------------------------------------------------
printf '\001\000\000\000\003abc\002\000\000\000\001z' >"$T/mine"
assert_exit "a name may be given" 0 promote --name 'Two kinds, in a row!' "$T/c.ini" "$T/mine"
check "it is made one of letters and digits" cmp "$T/mine" "$seeds/133-two-kinds-in-a-row"
assert_match "a path of this machine is not recorded" "${tab}-${tab}-${tab}-${tab}mine\$" \
    "$(grep ^133- "$seeds/README.txt")"
mkdir "$T/few" "$T/odd"
cp seeds/chunk_frame-min/000-one-byte "$T/few/000-one"
sed "s,seeds/chunk_frame,few," "$T/c.ini" >"$T/few.ini"
assert_exit "an input that reaches a new place" 0 promote "$T/few.ini" seeds/chunk_frame/065-stdin-header-len-01000000
assert_match "is named by it" '^001-reach-[a-z0-9-]+$' "$(find "$T/few" -name '001-*' -printf '%f\n')"
assert_match "and says so" 'first to reach [a-z]' "$(cat "$T/out")"
odd="$T/odd/- a	b
c;\$(x)"
printf '\003\000\000\000\001q' >"$odd"
assert_exit "a file may have any name" 0 promote "$T/few.ini" "$odd"
assert_match "which is recorded in printable form" "${tab}- a.x09b.x0ac;.\(x\)\$" "$(tail -n 1 "$T/few/README.txt")"
assert_exit "several at once" 0 promote "$T/few.ini" seeds/chunk_frame/12[0-9]-*
: >"$T/empty"
assert_exit "an empty one" 0 promote "$T/few.ini" "$T/empty"

# ---- refused --------------------------------------------------------------------------------
# The plain library beside a plant that fails: the same input, refused while the bug is there.
if [ -x "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay" ]; then
    sed "s,$replay,$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay,;s,seeds/chunk_frame,few," "$T/c.ini" >"$T/plant.ini"
    few=$(tree "$T/few")
    assert_exit "what fails is refused" 10 promote "$T/plant.ini" seeds/chunk_frame/066-stdin-header-len-01000001
    assert_match "with its class" 'fails: invariant C[0-9]+' "$(cat "$T/err")"
    assert_eq "and nothing is changed" "$few" "$(tree "$T/few")"
    assert_exit "the good one beside it gets in" 10 promote "$T/plant.ini" \
        seeds/chunk_frame/066-stdin-header-len-01000001 seeds/chunk_frame/056-stdout-body-0-of-8
    check "under its number" grep -q 'body-0-of-8' "$T/few/README.txt"
else
    skip "what fails is refused" "the plant is not built"
fi
assert_exit "a missing file" 2 promote "$T/c.ini" "$T/none"
assert_exit "a folder" 1 promote "$T/c.ini" "$T/odd"
mkfifo "$T/pipe"
assert_exit "a pipe" 1 promote "$T/c.ini" "$T/pipe"
head -c 1048577 /dev/zero >"$T/big"
assert_exit "more than afl-fuzz takes" 1 promote "$T/c.ini" "$T/big"
assert_match "which is said" 'longer than 1048576 bytes' "$(cat "$T/err")"
assert_exit "an unknown target" 2 promote none "$T/mine"
assert_exit "a spec of several" 2 promote conf/campaigns/demo.ini "$T/mine"
assert_match "with what to say" 'say --spec conf/campaigns/demo.ini' "$(cat "$T/err")"
assert_exit "no file" 2 promote "$T/c.ini"
assert_exit "a name of nothing" 2 promote --name '...' "$T/c.ini" "$T/mine"
printf '# a spec without builds\n[campaign]\n[target t]\nseeds = few\nharness = none\n' >"$T/bare.ini"
assert_exit "no build to replay in" 2 promote "$T/bare.ini" "$T/mine"
assert_match "says to build" 'build them first' "$(cat "$T/err")"
assert_exit "corpus alone lists its subcommands" 0 "$FUZZCTL" corpus
assert_match "this one" '^  promote ' "$(cat "$T/out")"
assert_exit "an unknown subcommand" 2 "$FUZZCTL" corpus feed

# ---- by name, by bucket ----------------------------------------------------------------------
(cd "$T" && promote chunk_frame mine) >"$T/out" 2>&1
assert_match "a target by its name in this folder's specs, one meaning" 'with different seeds; say --spec' "$(cat "$T/out")"
rm "$T/few.ini" "$T/plant.ini" 2>/dev/null
(cd "$T" && promote chunk_frame mine) >"$T/out" 2>&1
assert_match "or found" 'is already there as 133-two' "$(cat "$T/out")"
(cd / && promote chunk_frame "$T/mine") >"$T/out" 2>&1
assert_match "or in the newest run that has it" 'is already there as' "$(cat "$T/out")"

# A target whose bug is then mended: the finding becomes a seed, under what it was.
cat >"$T/fix.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int c = getchar();
    if (c == 'x' && !FIXED)
        abort();
    return c == 'y';
}
END
AFL_QUIET=1 afl-clang-fast -DFIXED=0 -o "$T/fix" "$T/fix.c" >/dev/null 2>&1
mkdir "$T/fixseeds"
printf p >"$T/fixseeds/000-w"
printf '[campaign]\nname = fix\nbudget = 90s\nstop_on = first\ncores = 1\n[target fix]\nharness = fix\nseeds = fixseeds\n' >"$T/fix.ini"
assert_exit "a campaign with a finding" 10 "$FUZZCTL" run "$T/fix.ini"
bucket=$("$FUZZCTL" artifacts fix | sed -n 's/^crash *\([0-9a-f]\{12\}\) .*/\1/p' | head -n 1)
assert_exit "the finding is refused while the bug is there" 10 promote "$T/fix.ini" "$bucket"
assert_match "with class and signal" 'fails: crash SIGABRT' "$(cat "$T/err")"
AFL_QUIET=1 afl-clang-fast -DFIXED=1 -o "$T/fix" "$T/fix.c" >/dev/null 2>&1
assert_exit "mended, its bucket is promoted" 0 promote "$T/fix.ini" "$(printf %.8s "$bucket")"
check "named by what it was" test -f "$T/fixseeds/001-was-crash-sigabrt"
assert_match "with where it was found" "${tab}fix${tab}[0-9A-Z]{26}${tab}main${tab}crashes/id:000000,sig:06" \
    "$(cat "$T/fixseeds/README.txt")"
assert_exit "JSON tells the same" 0 promote "$T/fix.ini" "$bucket" --json
assert_eq "that it is present" present "$(python3 -c 'import json,sys; print(json.load(sys.stdin)["files"][0]["result"])' <"$T/out")"
