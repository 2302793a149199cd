#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl check: one exact line for each fault of a folder of broken specs, and what good
# specs give. The wanted lines are tests/fixtures/spec-broken/want; GOLDEN_UPDATE=1 rewrites
# it. Specs are checked in place, so the harnesses must be in build/.
# limit: 60
# cores: none
. tests/e2e/lib.sh
need fuzzctl harnesses/chunk_frame/afl harnesses/chunk_frame/replay

if [ "$BUILD" != "$TOP/build" ]; then
    skip "check" "the specs name build/, the programs are in $BUILD"
    exit 0
fi
broken=tests/fixtures/spec-broken

# Paths of this tree and the number of cores are the machine's own.
plain() {
    sed -e "s,$TOP/,,g" -e 's/lets us use [0-9]*$/lets us use N/'
}

assert_exit "a folder of broken specs is refused" 2 "$FUZZCTL" check $broken
plain <"$T/out" >"$T/got"
if [ "${GOLDEN_UPDATE-}" = 1 ]; then cp "$T/got" $broken/want; fi
check "every fault has its exact line" cmp $broken/want "$T/got"
diff -u $broken/want "$T/got" | head -n 20
assert_eq "nothing goes to standard error" "" "$(cat "$T/err")"

specs=0
silent=
for f in "$broken"/*.ini; do
    specs=$((specs + 1))
    grep -q "^$f:" "$T/got" || silent="$silent $f"
done
check "there are 25 broken specs or more" [ $specs -ge 25 ]
assert_eq "each of them has a line of its own" "" "$silent"

# What is shipped is fine after make; what another command builds is told with that command.
assert_exit "the campaigns of this project are fine" 0 "$FUZZCTL" check conf/campaigns
assert_eq "each file is told so" "$(find conf/campaigns -name '*.ini' | wc -l)" "$(grep -c ': ok (' "$T/out")"
if [ ! -e "$HARNESSES/selftest-ini/afl" ]; then
    assert_match "with what is still to be built, and how" \
        'self.ini:[0-9]*: warning: \[target ini\] harness: .* does not exist yet, "make selftest" builds it' "$(cat "$T/out")"
    assert_exit "running it is refused all the same" 2 "$FUZZCTL" plan conf/campaigns/self.ini
fi
for t in harnesses/targets/*/invariants.c; do
    t=$(basename "$(dirname "$t")")
    for f in prerelease quick; do
        check "$f.ini has $t" grep -q "^\[target $t\]" "conf/campaigns/$f.ini"
    done
done

# A good spec is told so; its effective form is a spec that gives the same again.
cat >"$T/good.ini" <<EOF
[campaign]
root = $TOP
cores = 1
[target chunk_frame]
harness = build/harnesses/chunk_frame/afl
seeds = seeds/chunk_frame-min
args =
    one ;two
EOF
assert_exit "a good spec passes" 0 "$FUZZCTL" check "$T/good.ini"
assert_eq "it says so" "$T/good.ini: ok (1 target)" "$(grep -v ': warning: ' "$T/out")"
assert_exit "the values in force can be shown" 0 "$FUZZCTL" check "$T/good.ini" --effective
cp "$T/out" "$T/effective.ini"
assert_match "with defaults" '^memory = 2G$' "$(cat "$T/effective.ini")"
assert_exit "and loaded again" 0 "$FUZZCTL" check "$T/effective.ini" --effective
check "to the same" cmp "$T/effective.ini" "$T/out"

assert_exit "a missing file is an error of the spec" 2 "$FUZZCTL" check "$T/none.ini"
assert_exit "no file at all is wrong usage" 2 "$FUZZCTL" check
# What is no campaign file is one to no verb, and before any daemon is started.
mkfifo "$T/pipe.ini"
mkdir "$T/folder.ini"
ln -s loop.ini "$T/loop.ini"
head -c 300000 /dev/zero >"$T/big.ini"
mkdir "$T/odd
name"
cp "$T/good.ini" "$T/odd
name/odd.ini"
sed -i '/^root/d; s,build/,'"$TOP"'/build/,; s,seeds/,'"$TOP"'/seeds/,' "$T/odd
name/odd.ini"
for f in "$T/pipe.ini" "$T/folder.ini" "$T/loop.ini" "$T/big.ini" "$T/none.ini" "$T/odd
name/odd.ini"; do
    for verb in check plan start run; do
        assert_exit "$verb of $(basename "$f") is refused as a bad spec" 2 timeout 10 "$FUZZCTL" $verb "$f"
    done
done
assert_match "a newline in a path is named" 'root: .* lies below a folder with a control byte' "$(cat "$T/err")"
# Nor is a program, whatever its size, which is told in one line.
cp "$BUILD/harnesses/chunk_frame/afl" "$T/program"
head -c 200000 "$T/program" >"$T/short"
printf '\0\1\2\n\3\0\n' >"$T/data"
for verb in check plan start run replay; do
    for f in program short; do
        assert_exit "$verb of a program ($f) is refused" 2 "$FUZZCTL" $verb "$T/$f"
        assert_match "with what to do" "^[^:]*(: )?$T/$f: is a program, not a campaign file; .fuzzctl init $T/$f. writes one" "$(cat "$T/out" "$T/err")"
        assert_eq "in one line" 1 "$(cat "$T/out" "$T/err" | grep -c program)"
    done
    assert_exit "$verb of other bytes too" 2 "$FUZZCTL" $verb "$T/data"
    assert_match "as what they are" "$T/data: not text, so no campaign file\$" "$(cat "$T/out" "$T/err")"
done
assert_exit "replay of a program" 2 "$FUZZCTL" replay "$T/program"
assert_match "tells of --harness" 'did you mean --harness' "$(cat "$T/err")"
check "no daemon was started for them" [ ! -e "$FZ_STATE/fuzzd.lock" ]
mkdir "$T/folder"
assert_exit "a folder without specs is an error" 2 "$FUZZCTL" check "$T/folder"
assert_exit "a fault is a fault in JSON too" 2 "$FUZZCTL" check "$broken/key-misspelt.ini" --json
assert_match "with its line" '"line": *5' "$(cat "$T/out")"

# Without afl-fuzz the spec itself can still be checked.
assert_exit "without afl-fuzz a good spec passes" 0 \
    env AFL_FUZZ="$T/none" PATH="$T/folder" "$FUZZCTL" check "$T/good.ini"
assert_match "with a warning" 'warning: .*not checked' "$(cat "$T/out")"
assert_exit "and a program that is not instrumented is still found" 2 \
    env AFL_FUZZ="$T/none" PATH="$T/folder" "$FUZZCTL" check "$broken/harness-not-instrumented.ini"

# ---- the state directory -----------------------------------------------------------------------
mkdir -p "$T/mine/sub"
echo seed >"$T/mine/one"
for verb in "start $T/good.ini" "run $T/good.ini" "plan $T/good.ini" "resume x" status list verify; do
    # shellcheck disable=SC2086 # words of their own
    assert_exit "${verb%% *}: a folder of other files is no state directory" 2 "$FUZZCTL" --state "$T/mine" $verb
    assert_match "which one line says" "^fuzzctl: $T/mine holds other files and is no state directory" "$(cat "$T/err")"
done
assert_exit "nor to fuzzd" 2 "$FUZZD" --state "$T/mine" --foreground
assert_exit "check is done without it" 0 "$FUZZCTL" --state "$T/mine" check "$T/good.ini"
assert_eq "nothing was put there" 2 "$(find "$T/mine" -mindepth 1 | wc -l)"
mkdir -m 700 "$T/new"
mkdir "$T/new/lost+found"
for verb in status list; do
    assert_exit "$verb: one of nothing is one" 0 "$FUZZCTL" --state "$T/mine/sub/../../new" $verb
    assert_match "which is named, without a way up" "nothing has run( yet)? in $T/new\$" "$(cat "$T/out")"
done
assert_exit "an unknown option" 2 "$FUZZCTL" --foo
assert_match "is no verb" 'unknown option "--foo"' "$(cat "$T/err")"

# ---- what a file is ----------------------------------------------------------------------------
kind() { # KEY = VALUE, in a good spec
    printf '[target k]\nharness = %s\nseeds = %s\n%s\n' "$BUILD/harnesses/chunk_frame/afl" "$TOP/seeds/chunk_frame-min" "$1" >"$T/k.ini"
}
for file in "$TOP/harnesses/sdk/main_afl.c" "$BUILD/harnesses/chunk_frame/afl"; do
    kind "dictionary = $file"
    assert_exit "${file##*/} is no dictionary" 2 "$FUZZCTL" check "$T/k.ini"
    assert_match "by file and line" "k.ini:4: \[target k\] dictionary: $file line 1: .*; allowed: .*# comments" "$(cat "$T/out")"
done
kind "coverage = $BUILD/harnesses/chunk_frame/afl"
assert_exit "a build without coverage is no fault" 0 "$FUZZCTL" check "$T/k.ini"
assert_match "but told" 'k.ini:4: warning: \[target k\] coverage: .* has no source coverage' "$(cat "$T/out")"
