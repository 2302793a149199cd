#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values of a spec never pass through a shell: folders, programs, arguments, environment, seeds and
# dictionary full of its syntax, from the plan over a real afl-fuzz to the bundle's repro.sh.
# limit: 250
# cores: none
# shellcheck disable=SC2016  # nothing in here is meant to be expanded, that is the point
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl

# Each leaves a file TRAP* wherever a shell would run it.
odd='a=b;touch TRAP1|touch TRAP2&$(touch TRAP3)`touch TRAP4`"'"'"'>TRAP5 *?[x]~!{1,2}\$HOME'
dir=$T/$odd
mkdir -p "$dir/seeds $odd" || exit 1
for role in afl asan replay; do
    cp "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/$role" "$dir/$role"
done
cp seeds/chunk_frame-min/* "$dir/seeds $odd/"
cp dictionaries/chunk_frame.dict "$dir/$odd.dict"
cat >"$dir/$odd.ini" <<END
[campaign]
name = words
budget = 8s
cores = 1
seed = 7

[target t]
harness = $odd-afl
sanitizer = $odd-asan
replay = $odd-replay
args =
    \$(touch TRAP6)
    x;touch TRAP7
    \`touch TRAP8\`
    '"\$HOME
    a=b
    -x
env =
    ODD=\$(touch TRAP9);touch TRAPa|\`touch TRAPb\`'"\$HOME
    SPACES= two  blanks 
seeds = seeds $odd
dictionary = $odd.dict
instances = 1
END
for role in afl asan replay; do
    mv "$dir/$role" "$dir/$odd-$role"
done
traps() {
    find "$T" "$FZ_STATE" "$TOP" /tmp -maxdepth 12 -name 'TRAP?' 2>/dev/null
}

assert_exit "the spec is good" 0 "$FUZZCTL" check "$dir/$odd.ini"
assert_exit "its plan can be made" 0 "$FUZZCTL" plan "$dir/$odd.ini" --json
jq -r '.targets[0].args[]' "$T/out" >"$T/args"
assert_eq "arguments are word for word those of the spec" \
    '$(touch TRAP6)|x;touch TRAP7|`touch TRAP8`|'"'"'"$HOME|a=b|-x|' "$(tr '\n' '|' <"$T/args")"
assert_eq "and the program's" "$dir/$odd-afl" "$(jq -r '.targets[0].harness.path' "$T/out")"
assert_exit "its plan can be shown" 0 "$FUZZCTL" plan "$dir/$odd.ini"

assert_exit "a real afl-fuzz takes it" 0 timeout 40 "$FUZZCTL" start "$dir/$odd.ini"
pid=$("$FUZZCTL" status words --json | jq -r '.campaigns[0].targets[0].instances[0].pid')
tr '\0' '\n' <"/proc/$pid/cmdline" >"$T/cmdline"
assert_eq "its command ends with the program and the arguments as they are" \
    "$dir/$odd-afl
$(cat "$T/args")" "$(tail -n 7 "$T/cmdline")"
assert_eq "its environment has the value as it is" \
    'ODD=$(touch TRAP9);touch TRAPa|`touch TRAPb`'"'"'"$HOME' \
    "$(tr '\0' '\n' <"/proc/$pid/environ" | grep '^ODD=')"
"$FUZZCTL" wait words --timeout 60s >/dev/null 2>&1
assert_eq "it ends with a finding" 10 $?
"$FUZZCTL" report words --json >"$T/report.json"
"$FUZZCTL" report words >"$T/report.txt"
assert_eq "which reproduces each time" "3/3" "$(jq -r '.buckets[0].reproduced' "$T/report.json")"

# The line that people are told to paste.
line=$(jq -r '.buckets[0].replay // empty' "$T/report.json")
if [ -n "$line" ]; then
    (cd "$T" && sh -c "$line") >"$T/replay.out" 2>&1
    assert_match "the line of the report replays it in a shell" 'inv=C3' "$(cat "$T/replay.out")"
fi
bundle=$(jq -r '.buckets[0].bundle' "$T/report.json")
assert_exit "its bundle is whole" 0 "$FUZZCTL" bundle verify "$bundle"
mkdir "$T/un"
tar --zstd -xf "$bundle" -C "$T/un"
repro=$(find "$T/un" -name repro.sh)
(cd "$T/un" && sh "$repro") >"$T/repro.out" 2>&1
assert_eq "its repro.sh reproduces" 0 $?
sed 's/^/# /' "$T/repro.out" | tail -n 3

assert_eq "no shell has run a word of it" "" "$(traps)"

# ---- names -----------------------------------------------------------------------------------
for name in 'a;b' '$(x)' '../x' '-x' 'a b' '`x`'; do
    printf '[campaign]\nname = %s\n[target t]\nharness = /bin/true\nseeds = seeds/chunk_frame-min\n' \
        "$name" >"$T/name.ini"
    assert_exit "a campaign is not called $name" 2 "$FUZZCTL" check "$T/name.ini"
    printf '[campaign]\nname = x\nroot = %s\n[target %s]\nharness = %s/chunk_frame/afl\nseeds = seeds/chunk_frame-min\n' \
        "$TOP" "$name" "$HARNESSES" >"$T/name.ini"
    assert_exit "nor a target" 2 "$FUZZCTL" check "$T/name.ini"
done
