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
