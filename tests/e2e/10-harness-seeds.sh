#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The committed seeds are what the generators write, pass, and reach every required place.
# limit: 300
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/replay harnesses/chunk_frame/gen_seeds

# reach_value JSON ID
reach_value() {
    printf '%s\n' "$1" | sed -n "s/.*[{,]\"$2\":\([0-9]*\)[,}].*/\1/p"
}

for gen in "$HARNESSES"/*/gen_seeds; do
    dir=${gen%/gen_seeds}
    t=${dir##*/}
    [ -f "harnesses/targets/$t/gen_seeds.c" ] || continue

    assert_exit "$t: the committed seeds are the generated ones" 0 "$gen" --check seeds
    mkdir "$T/$t"
    cp -R "seeds/$t" "seeds/$t-min" "$T/$t/"
    assert_exit "$t: --check accepts a copy" 0 "$gen" --check "$T/$t"
    first=$(find "$T/$t/$t" -type f -size +0 | sort | head -n 1)
    printf '!' | dd of="$first" bs=1 conv=notrunc 2>/dev/null
    assert_exit "$t: --check sees a changed byte" 1 "$gen" --check "$T/$t"
    cp "seeds/$t/${first##*/}" "$first"
    printf 'x' >"$T/$t/$t/999-stranger"
    assert_exit "$t: --check sees a file too many" 1 "$gen" --check "$T/$t"
    rm "$T/$t/$t/999-stranger" "$first"
    assert_exit "$t: --check sees a missing file" 1 "$gen" --check "$T/$t"
    mkdir "$T/$t.out"
    assert_exit "$t: seeds are written" 0 "$gen" "$T/$t.out"
    assert_exit "$t: what is written is what is checked" 0 "$gen" --check "$T/$t.out"

    assert_exit "$t: every seed passes" 0 "$dir/replay" "seeds/$t" "seeds/$t-min"
    reach=$("$dir/replay" --reach "seeds/$t" 2>/dev/null)
    required=$(cat "harnesses/targets/$t/reach.required")
    missing=
    for id in $required; do
        [ "$(reach_value "$reach" "$id")" -gt 0 ] 2>/dev/null || missing="$missing $id"
    done
    assert_eq "$t: the seeds reach every required place" "" "$missing"
    assert_eq "$t: reach.required is what the target declares" "$required" "$("$dir/replay" --required)"
done

# What is pinned: seeds, and minimal ones. Promoted seeds are beside these and counted apart.
while read -r t seeds minimal; do
    assert_eq "$t has $seeds seeds and $minimal minimal ones" "$t: $seeds seeds
$t-min: $minimal seeds" "$("$HARNESSES/$t/gen_seeds" --check seeds | sed 's/,.*//')"
done <<EOF
chunk_frame 132 3
negotiation_frame 116 7
control_json 80 5
session_opseq 12 4
EOF
reach=$("$HARNESSES/chunk_frame/replay" --reach seeds/chunk_frame-min 2>/dev/null)
assert_eq "a place that no input reaches counts 0" 0 "$(reach_value "$reach" e_large)"
