#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The harnesses of our own parsers: their seeds reach every place they declare, and each is
# in the campaign that fuzzes fuzzd.
# limit: 300
. tests/e2e/lib.sh

# reach_value JSON ID
reach_value() {
    printf '%s\n' "$1" | sed -n "s/.*[{,]\"$2\":\([0-9]*\)[,}].*/\1/p"
}

for src in harnesses/selftest/*.c; do
    n=${src##*/}
    n=${n%.c}
    need "harnesses/selftest-$n/replay"
    reach=$("$HARNESSES/selftest-$n/replay" --reach "seeds/selftest-$n" 2>/dev/null)
    missing=
    for id in $("$HARNESSES/selftest-$n/replay" --required); do
        [ "$(reach_value "$reach" "$id")" -gt 0 ] 2>/dev/null || missing="$missing $id"
    done
    assert_eq "$n: the seeds reach every place" "" "$missing"
    check "$n: is in the campaign on ourselves" grep -qx "\[target $n\]" conf/campaigns/self.ini
done
