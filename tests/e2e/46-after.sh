#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A target that names others in `after` starts once they ended clean, and not otherwise.
# limit: 400
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

# target NAME AFTER [PROGRAM]
target() {
    printf '[target %s]\nharness = %s\nreplay = %s\nseeds = seeds/chunk_frame-min\ninstances = 1\nafter = %s\n' \
        "$1" "${3-$HARNESSES/chunk_frame/afl}" "$HARNESSES/chunk_frame/replay" "$2"
}
# campaign NAME BUDGET
campaign() {
    printf '[campaign]\nname = %s\nroot = %s\nbudget = %s\ncores = 1\n' "$1" "$TOP" "$2"
}
# of NAME TARGET KEY: from status
of() {
    "$FUZZCTL" status "$1" --json | jq -r --arg t "$2" ".campaigns[0].targets[] | select(.name == \$t) | .$3"
}
fuzzing() {
    [ "$(of "$1" "$2" execs_done)" -gt 0 ]
}
run_of() {
    find "$FZ_STATE/campaigns/$1" -mindepth 1 -maxdepth 1 -type d
}
dead() {
    ! alive "$1"
}

# ---- The order, whatever the order of the file -------------------------------------------------
{
    campaign order 3s
    target last "middle first"
    target middle first
    target first ""
} >"$T/order.ini"
"$FUZZCTL" plan "$T/order.ini" >"$T/plan"
assert_eq "plan shows the waves" "wave 1: first wave 2: middle wave 3: last" "$(grep '^wave' "$T/plan" | tr '\n' ' ' | sed 's/ $//')"
assert_exit "all clean, it is clean" 0 "$FUZZCTL" run "$T/order.ini" --json
jq -r '.targets | sort_by(.started_at)[] | .name' "$T/out" >"$T/started"
assert_eq "each started after the one it waits for" "first middle last" "$(tr '\n' ' ' <"$T/started" | sed 's/ $//')"
assert_eq "no two of them side by side" true \
    "$(jq '.targets | sort_by(.started_at) | .[0].ended_at <= .[1].started_at and .[1].ended_at <= .[2].started_at' "$T/out")"
assert_eq "the wait is no fuzzing time" "true" "$(jq '[.targets[].fuzz_s] | all(. >= 3 and . <= 5)' "$T/out")"

# ---- One that is not clean -------------------------------------------------------------------
{
    campaign skips 20s
    target good ""
    target bad "" "$BUILD/bad-harness"
    target waits "good bad"
    target behind waits
} >"$T/skips.ini"
crasher=$T/crasher
cat >"$T/crasher.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char c[4] = "";
    if (read(0, c, sizeof(c)) > 0 && c[0] & 1)
        abort();
    return 0;
}
END
if ! AFL_QUIET=1 "${AFL_CC:-afl-clang-fast}" -O1 -o "$crasher" "$T/crasher.c"; then
    skip 46-after "no afl-clang-fast" && exit 0
fi
sed -i "s,$BUILD/bad-harness,$crasher," "$T/skips.ini"
sed -i '/^\[target bad\]/,/^\[/{/^replay/d}' "$T/skips.ini"
assert_exit "one with a finding, and it is not clean" 10 "$FUZZCTL" run "$T/skips.ini" --budget 3s
cp "$T/out" "$T/report"
assert_match "the report says who was skipped, and why" \
    'waits: was skipped: it waits for bad, which did not end clean: findings, bad: [0-9]+ inputs? with a finding' \
    "$(tr '\n' ' ' <"$T/report" | tr -s ' ')"
assert_match "and who by that" 'behind: was skipped: it waits for waits, which was skipped itself' \
    "$(tr '\n' ' ' <"$T/report" | tr -s ' ')"
assert_eq "status says so" skipped "$(of skips waits end_reason)"
assert_match "with the reason" 'skipped: it waits for bad' "$("$FUZZCTL" status skips)"
check "a skipped one has run nothing" [ ! -e "$(run_of skips)/out/waits" ]

# ---- Stopped while it waits --------------------------------------------------------------------
{
    campaign stops 120s
    target first ""
    target second first
} >"$T/stops.ini"
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/stops.ini"
check "the first one fuzzes" wait_for 30 fuzzing stops first
assert_eq "the second waits for it" first "$(of stops second waits_for)"
assert_match "as people are told" 'waits until first has ended clean' "$("$FUZZCTL" status stops)"
assert_exit "stop works" 0 "$FUZZCTL" stop stops
assert_eq "it ends as stopped" stopped "$(of stops second end_reason)"
assert_exit "the verdict is that of a stop" 13 "$FUZZCTL" report stops
assert_match "told as such" 'second: was stopped before it started' "$(cat "$T/out")"

# ---- fuzzd killed while one waits --------------------------------------------------------------
{
    campaign killed 8s
    target first ""
    target second first
    target third second
} >"$T/killed.ini"
daemon() {
    sed -n 's/^pid \([0-9]*\).*/\1/p' "$FZ_STATE/fuzzd.lock"
}
kill_daemon() {
    pid=$(daemon)
    case $pid in
    "" | 0 | 1) not_ok "a pid to kill is known" ;;
    *) kill -KILL "$pid" && wait_for 5 dead "$pid" ;;
    esac
}
assert_exit "start succeeds again" 0 "$FUZZCTL" start "$T/killed.ini"
check "the first one fuzzes again" wait_for 30 fuzzing killed first
kill_daemon
assert_eq "the next fuzzd knows who waits" first "$(of killed second waits_for)"
check "the second starts" wait_for 60 fuzzing killed second
# The first is judged already: the next fuzzd judges it anew, and starts nobody twice.
kill_daemon
assert_eq "the third waits for the second" second "$(of killed third waits_for)"
assert_exit "it ends clean" 0 "$FUZZCTL" wait killed --timeout 120s
assert_exit "with all three of them" 0 "$FUZZCTL" report killed --json
assert_eq "each by its budget" "budget budget budget" "$(jq -r '[.targets[].end_reason] | join(" ")' "$T/out")"
