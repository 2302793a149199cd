#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole way: planted builds end as one bucket each of the right class, with a bundle that
# verifies and reproduces; the clean build ends clean; verify accounts for every file.
# limit: 600
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl \
    plants/CHUNK_MAX_PLUS1/chunk_frame/afl plants/CHUNK_ALLOC_FIRST/chunk_frame/afl \
    plants/CHUNK_EOF_SPIN/chunk_frame/afl

target() { # NAME FOLDER SEEDS
    cat <<END

[target $1]
harness = $2/afl
sanitizer = $2/asan
replay = $2/replay
seeds = seeds/$3
dictionary = dictionaries/chunk_frame.dict
instances = 1
END
}

{
    printf '[campaign]\nname = plants\nroot = %s\nbudget = 15s\ncores = all\nseed = 7\n' "$TOP"
    target invariant "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame" chunk_frame-min
    target oom "$PLANTS/CHUNK_ALLOC_FIRST/chunk_frame" chunk_frame-min
    target timeout "$PLANTS/CHUNK_EOF_SPIN/chunk_frame" chunk_frame-min
} >"$T/plants.ini"
{
    printf '[campaign]\nname = clean\nroot = %s\nbudget = 20s\ncores = all\nseed = 7\n' "$TOP"
    target chunk_frame "$HARNESSES/chunk_frame" chunk_frame
} >"$T/clean.ini"

# ---- planted bugs ----------------------------------------------------------------------------
"$FUZZCTL" run "$T/plants.ini" >"$T/plants.out" 2>&1
assert_eq "a campaign with findings exits 10" 10 $?
"$FUZZCTL" report plants --json >"$T/plants.json"
for class in invariant oom timeout; do
    got=$(jq -r --arg t "$class" '[.buckets[] | select(.target == $t) | .class] | join(" ")' "$T/plants.json")
    assert_eq "the $class plant gives one $class bucket" "$class" "$got"
    got=$(jq -r --arg t "$class" '.buckets[] | select(.target == $t) | .reproduced' "$T/plants.json")
    assert_eq "the $class bucket reproduces each time" "3/3" "$got"
done
got=$(jq -r '.buckets[] | select(.target == "invariant") | .signature' "$T/plants.json")
assert_match "the invariant is named in the signature" C3 "$got"
assert_eq "the verdict is findings" findings "$(jq -r .verdict "$T/plants.json")"
got=$(find "$FZ_STATE/campaigns/plants" -name report.md -size +0)
assert_match "report.md is in the run's folder" report.md "$got"
assert_match "run ends with the report" findings "$(cat "$T/plants.out")"

# ---- bundles ---------------------------------------------------------------------------------
for class in invariant oom timeout; do
    bundle=$(jq -r --arg t "$class" '.buckets[] | select(.target == $t) | .bundle' "$T/plants.json")
    if ! "$FUZZCTL" bundle verify "$bundle" >/dev/null; then
        not_ok "the bundle of $class does not verify: $bundle"
        continue
    fi
    ok "the bundle of $class verifies"
    mkdir "$T/$class"
    tar --zstd -xf "$bundle" -C "$T/$class"
    assert_eq "plain tar opens the bundle of $class" 0 $?
    repro=$(find "$T/$class" -name repro.sh)
    sh "$repro" >"$T/repro.out" 2>&1
    assert_eq "repro.sh of $class reproduces" 0 $?
    case $class in oom | invariant)
        sh "$repro" "$HARNESSES/chunk_frame/replay" >"$T/repro.out" 2>&1
        assert_eq "repro.sh of $class says no on the clean build" 1 $?
        ;;
    esac
    sh "$repro" "$T/none" >"$T/repro.out" 2>&1
    assert_eq "repro.sh of $class tells a missing target" 2 $?
    before=$(sha256sum <"$bundle")
    id=$(jq -r --arg t "$class" '.buckets[] | select(.target == $t) | .id' "$T/plants.json")
    "$FUZZCTL" bundle make plants "$id" >/dev/null || not_ok "bundle make $id"
    assert_eq "the bundle of $class is the same when made again" "$before" "$(sha256sum <"$bundle")"
done

# The replay line of the report is one a user can paste.
replay=$(jq -r '.buckets[] | select(.target == "invariant") | .replay' "$T/plants.json")
sh -c "$replay" >"$T/replay.out" 2>&1
assert_match "the replay command of the report shows the bug" 'FZ-FAIL .*inv=C3' "$(cat "$T/replay.out")"

# ---- nothing lost ----------------------------------------------------------------------------
"$FUZZCTL" verify >"$T/verify.out" 2>&1
assert_eq "verify accounts for every file" 0 $?
files=$(find "$FZ_STATE/campaigns" -path '*/crashes*/id*' -o -path '*/hangs*/id*' | wc -l)
listed=$("$FUZZCTL" artifacts plants --json | jq '[.artifacts[].count] | add')
assert_eq "each saved file is an occurrence" "$files" "$listed"
victim=$(find "$FZ_STATE/store" -type f | head -n 1)
printf x >>"$victim"
"$FUZZCTL" verify >"$T/verify.out" 2>&1
assert_eq "verify tells a changed input" 7 $?

# ---- the clean build -------------------------------------------------------------------------
seeds_before=$(cat seeds/chunk_frame/* | sha256sum)
"$FUZZCTL" run "$T/clean.ini" >"$T/clean.out" 2>&1
rc=$?
assert_eq "a clean campaign exits 0" 0 $rc
[ $rc -eq 0 ] || cat "$T/clean.out"
"$FUZZCTL" report clean --json >"$T/clean.json"
assert_eq "the verdict is clean" clean "$(jq -r .verdict "$T/clean.json")"
assert_match "and says saturated" saturated "$(jq -r '.reasons[]' "$T/clean.json")"
assert_eq "committed seeds are as they were" "$seeds_before" "$(cat seeds/chunk_frame/* | sha256sum)"
missing=$(jq -r '.targets[0].reach_missing | length' "$T/clean.json")
assert_eq "every required reach id was seen" 0 "$missing"
