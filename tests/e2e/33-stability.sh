#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl stability: inputs that do not do the same each time are found and named with what brings it about; the shipped
# targets have none.
# limit: 240
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/session_opseq/afl tests/engine/stateful tests/engine/stdin
P=$BUILD/tests/engine/stateful
S="$FUZZCTL stability"

# put DIR WORD...: a file for each
put() {
    dir=$1
    shift
    mkdir -p "$dir"
    for w in "$@"; do printf '%s' "$w" >"$dir/$w"; done
}

# ---- none -----------------------------------------------------------------------------------
put "$T/good" abc xyz i0 i01 i0123 i77 i7654 A zzz
: >"$T/good/empty"
for seed in 1 2 3; do
    # shellcheck disable=SC2086
    assert_exit "what is set up once is no state ($seed)" 0 $S --harness "$P" --seed $seed "$T/good"
done
assert_match "and that is said" "^10 inputs run 8 times each and shuffled: all do the same each time$" "$(cat "$T/out")"
for t in chunk_frame session_opseq negotiation_frame control_json; do
    # shellcheck disable=SC2086
    assert_exit "$t has no state" 0 $S --harness "$HARNESSES/$t/afl" "seeds/$t"
done
# shellcheck disable=SC2086
assert_exit "nor has a program that reads standard input" 0 $S --harness "$BUILD/tests/engine/stdin" seeds/control_json
# shellcheck disable=SC2086
assert_exit "nor one that reads a file" 0 $S --harness "$BUILD/tests/engine/stdin" seeds/control_json -- @@

# ---- some ------------------------------------------------------------------------------------
put "$T/bad" abc sss s r p x xx i0 i77 c zzz A
# shellcheck disable=SC2086
assert_exit "state is exit code 10" 10 $S --harness "$P" "$T/bad"
got=$(sed "s|$T/bad/||g" "$T/out")
assert_match "another branch is found with the smallest input that opens it" \
    "^stateful: r: its map differs after s in edges? [0-9]" "$got"
assert_match "a crash is, too" "^stateful: x: returns alone, but crashes with SIGABRT after p$" "$got"
assert_match "every one" "^stateful: xx: returns alone, but crashes with SIGABRT after p$" "$got"
assert_match "one that counts its runs is found by itself" \
    "^stateful: c: its map differs when it is run again in the same process in edge" "$got"
assert_match "the edges are listed" "^edge [0-9]+ varies in 1 input, in 1 by how often it is run" "$got"
assert_match "and the smallest pair" "^smallest pair: p \(1 byte\) 70$" "$got"
assert_match "both of it" "^         then: x \(1 byte\) 78$" "$got"
assert_match "and how many" "^12 inputs run 8 times each and shuffled: 4 stateful; [0-9]+ of [0-9]+ edges vary$" "$got"
# shellcheck disable=SC2086
$S --harness "$P" "$T/bad" >"$T/again"
assert_eq "the same again" "" "$(diff "$T/out" "$T/again")"
# shellcheck disable=SC2086
assert_exit "as JSON" 10 $S --harness "$P" "$T/bad" --json
assert_eq "with what is found" '[12,4,0,false,["r","x","xx"]]' \
    "$(jq -c '.targets[0] | [.inputs, .stateful, .flaky, .stable, ([.findings[] | select(.itself | not) | .file | split("/") | last] | sort)]' "$T/out")"
assert_eq "and the pair" '["p","x"]' "$(jq -c '[.targets[0].smallest_pair[].file | split("/") | last]' "$T/out")"
put "$T/chance" '?' '??' f abc
# shellcheck disable=SC2086
assert_exit "chance in a verdict" 10 $S --harness "$P" -k 60 "$T/chance"
assert_match "is flaky" "^flaky: .*/f: " "$(cat "$T/out")"
assert_match "in a map unstable" "^unstable: .*/\?: its map differs from run to run" "$(cat "$T/out")"
rm "$T/chance/f"
# shellcheck disable=SC2086
assert_exit "which alone is no failure" 0 $S --harness "$P" -k 60 "$T/chance"

# ---- a campaign file -------------------------------------------------------------------------
cat >"$T/s.ini" <<END
[campaign]
name = s
root = $T
budget = 10s
cores = 1

[target good]
harness = $P
seeds = good

[target bad]
harness = $P
seeds = bad
END
# shellcheck disable=SC2086
assert_exit "all targets of a campaign file" 10 $S "$T/s.ini"
assert_match "each with its name" "^good: 10 inputs run" "$(cat "$T/out")"
assert_match "in turn" "^bad: 12 inputs run 8 times each and shuffled: 4 stateful" "$(cat "$T/out")"
# shellcheck disable=SC2086
assert_exit "one of them" 0 $S "$T/s.ini" good --json
assert_eq "by its name" '["good"]' "$(jq -c '[.targets[].target]' "$T/out")"
# shellcheck disable=SC2086
assert_exit "one that is not there" 2 $S "$T/s.ini" nix
assert_match "is told what there is" "there are: good bad" "$(cat "$T/err")"

# ---- what is refused, what takes long ----------------------------------------------------------
mkdir "$T/none"
# shellcheck disable=SC2086
{
    assert_exit "no inputs" 11 $S --harness "$P" "$T/none"
    assert_exit "no path" 2 $S --harness "$P"
    assert_exit "nothing named" 2 $S
    assert_exit "a path that is not there" 2 $S --harness "$P" "$T/nix"
    assert_exit "a program without a fork server" 2 $S --harness /bin/cat "$T/good"
    assert_exit "one run is no comparison" 2 $S --harness "$P" -k 1 "$T/good"
    assert_exit "arguments of no program" 2 $S "$T/s.ini" -- x
}
head -c 1048577 /dev/zero >"$T/good/large"
# shellcheck disable=SC2086
assert_exit "an input that is too large is not passed over" 1 $S --harness "$P" "$T/good"
assert_match "but told, with the reason" "^not run: .*/large: over 1 MiB$" "$(cat "$T/out")"
# shellcheck disable=SC2086
assert_exit "as JSON" 1 $S --harness "$P" "$T/good" --json
assert_eq "the reason, too" "large over 1 MiB" \
    "$(jq -r '.targets[0].not_run[] | (.file | split("/") | last) + " " + .why' "$T/out")"
rm "$T/good/large"
# shellcheck disable=SC2086
assert_exit "a budget in which nothing can be run is no success" 11 $S --harness "$P" --budget 1ms "$T/good"
assert_eq "and not said to be one" "nothing is known: 10 left for want of time" "$(cat "$T/out")"
# shellcheck disable=SC2086
assert_exit "nor as JSON" 11 $S --harness "$P" --budget 1ms "$T/good" --json
assert_eq "with figures of nothing" "[0,10,null,null]" \
    "$(jq -c '.targets[0] | [.checked, .left, .stable, .stability_pct]' "$T/out")"
# shellcheck disable=SC2086
assert_exit "quiet it prints" 10 $S --harness "$P" -q "$T/bad"
assert_eq "the sum alone" "1 12 inputs run" "$(wc -l <"$T/out") $(cut -d ' ' -f 1-3 "$T/out")"
put "$T/slow" L LL LLL LLLL LLLLL LLLLLL abc
# shellcheck disable=SC2086
assert_exit "after its budget it ends" 0 $S --harness "$P" --budget 3s --timeout 500ms "$T/slow"
assert_match "and says what is left" "[1-9] left for want of time" "$(cat "$T/out")"
# shellcheck disable=SC2086
$S --harness "$P" --timeout 5s "$T/slow" >"$T/out" 2>"$T/err" &
pid=$!
sleep 1
[ "$pid" -gt 1 ] && kill -INT "$pid"
wait "$pid"
assert_eq "interrupted, it says so" "1 fuzzctl stability: interrupted" "$? $(cat "$T/err")"
