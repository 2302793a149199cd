#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The seeds are run before anything is fuzzed: one that fails is a finding and afl-fuzz does not get it;
# a self-test that fails is a target that does not start, in its own words.
# limit: 400
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl
if ! command -v afl-clang-fast >/dev/null; then
    skip 52-seeds-first "no afl-clang-fast"
    exit 0
fi

spec() { # NAME HARNESS SEEDS LINE...
    printf '[campaign]\nname = %s\nroot = %s\nbudget = 3s\ncores = 1\nseed = 7\n\n[target %s]\nharness = %s\nseeds = %s\n' \
        "$1" "$TOP" "$1" "$2" "$3" >"$T/$1.ini"
    name=$1
    shift 3
    for line in "$@"; do printf '%s\n' "$line"; done >>"$T/$name.ini"
}
report() { # NAME FILTER
    "$FUZZCTL" report "$1" --json | jq -r "$2"
}
folder() {
    find "$FZ_STATE/campaigns/$1" -path "*/$2" | sort | tail -n 1
}
given() { # NAME: the folder that afl-fuzz was given
    sed -n 's/^command_line .*afl-fuzz .*-i \([^ ]*\) -o .*/\1/p' "$(folder "$1" "out/$1/main/fuzzer_stats")"
}

# ---- a build of the kit, without a replay build ----------------------------------------------
mkdir "$T/five" "$T/five/sub"
cp seeds/chunk_frame/00[1-3]-* "$T/five/"
cp seeds/chunk_frame/066-* "$T/five/sub/bad seed"
before=$(find "$T/five" -type f -exec sha256sum {} + | sort)
spec kit "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl" "$T/five"
assert_exit "a failing seed is a finding" 10 "$FUZZCTL" run "$T/kit.ini"
assert_match "the live view tells" 'seeds that fail 1' "$(cat "$T/out")"
assert_match "so does the report" 'sub/bad seed: invariant C3' "$(cat "$T/out")"
assert_match "status" '1 of 4 seeds failed when replayed, left out' "$("$FUZZCTL" status kit)"
assert_match "and the log" 'kit/kit: seed sub/bad seed fails: invariant C3: length 0x1000001' "$(cat "$FZ_STATE/fuzzd.log")"
assert_match "it is an artifact of the seeds, with its class" '^invariant .* seed/crashes/3-sub_bad seed' \
    "$("$FUZZCTL" artifacts kit)"
assert_eq "the others are apart from it" 3 "$(find "$(folder kit seeds/kit/in)" -type f | wc -l)"
check "afl-fuzz got what is distilled from them" [ "$(find "$(given kit)" -type f | wc -l)" -ge 1 ]
assert_eq "of which it is none" "" "$(find "$(given kit)" -name '*bad*')"
assert_eq "and all that it saved is not less" "$(find "$(folder kit out/kit)" -path '*/crashes/*' -type f ! -name README.txt | wc -l)" \
    "$("$FUZZCTL" artifacts kit --json | jq '[.artifacts[].count] | add')"
assert_exit "verify accounts for it" 0 "$FUZZCTL" verify
assert_eq "the seeds are as they were" "$before" "$(find "$T/five" -type f -exec sha256sum {} + | sort)"
assert_eq "the verdict names them once" 1 "$(report kit '.reasons[]' | grep -c seed)"

# ---- a program without the kit ---------------------------------------------------------------
cat >"$T/plain.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    int c = f != NULL ? getc(f) : EOF;
    if (c == '!')
        abort();
    while (c == 'L')
        ;
    return c == 'q' ? 1 : c == 'z' ? 2 : 0;
}
END
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/plain" "$T/plain.c" >/dev/null 2>&1
for how in stdin file; do
    mkdir "$T/$how"
    printf q >"$T/$how/reject"
    printf zz >"$T/$how/good"
    printf '!' >"$T/$how/crash"
    printf L >"$T/$how/hang"
    args=""
    [ $how = stdin ] || args="args = @@"
    spec $how "$T/plain" "$T/$how" "$args"
    assert_exit "a plain program, by $how: failing seeds are findings" 10 "$FUZZCTL" run "$T/$how.ini"
    assert_eq "$how: what hangs is a timeout, what crashes a crash" "crash timeout" \
        "$("$FUZZCTL" artifacts $how --json | jq -r '[.artifacts[] | select(.instance == "seed").class] | sort | join(" ")')"
    assert_eq "$how: both are left out" "good reject" \
        "$(find "$(folder $how "seeds/$how/in")" -type f -printf '%f\n' | sort | tr '\n' ' ' | sed 's/ $//')"
    assert_eq "$how: afl-fuzz got none of them" "" "$(find "$(given $how)" -name crash -o -name hang)"
    assert_eq "$how: it was fuzzed" budget "$(report $how '.targets[0].end_reason')"
done
assert_exit "verify accounts for all" 0 "$FUZZCTL" verify

# ---- one that kills what runs it -------------------------------------------------------------
sed 's/^    while/    if (c == 75) kill(getppid(), SIGKILL);\n    while/; 1i #include <signal.h>\n#include <unistd.h>' "$T/plain.c" >"$T/killer.c"
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/killer" "$T/killer.c" >/dev/null 2>&1
mkdir "$T/killing"
printf K >"$T/killing/bad"
printf '!' >"$T/killing/crash"
printf zz >"$T/killing/good"
spec killing "$T/killer" "$T/killing"
assert_exit "a seed that kills its parent is a finding, and the campaign runs" 10 "$FUZZCTL" run "$T/killing.ini"
assert_match "by its name and in its own words" 'seed bad fails: crash killed or stopped its parent' "$(cat "$FZ_STATE/fuzzd.log")"
assert_eq "both are kept" "bad crash" \
    "$("$FUZZCTL" artifacts killing --json | jq -r '[.artifacts[] | select(.instance == "seed" and .class == "crash").file | split("/")[-1]] | sort | join(" ")')"
assert_eq "and afl-fuzz got neither" "good" "$(find "$(folder killing seeds/killing/in)" -type f -printf '%f\n')"
assert_eq "it was fuzzed" budget "$(report killing '.targets[0].end_reason')"
assert_exit "replay, too" 10 "$FUZZCTL" replay "$T/killing.ini"
assert_match "names it" 'killing/bad.*killed or stopped its parent' "$(cat "$T/out")"

# ---- none left -------------------------------------------------------------------------------
mkdir "$T/none"
printf '!' >"$T/none/a"
printf '!!' >"$T/none/b"
spec none "$T/plain" "$T/none"
assert_exit "no seed left is a start that fails" 12 "$FUZZCTL" start "$T/none.ini"
assert_match "and says so" 'no seed is left to begin with: 2 of 2 fail when replayed' "$(cat "$T/err")"
assert_exit "with the verdict findings" 10 "$FUZZCTL" wait none --timeout 60s
assert_eq "each of them an artifact" 2 "$("$FUZZCTL" artifacts none --json | jq '.artifacts | length')"
assert_eq "afl-fuzz was not started" "" "$(folder none 'out/none/main')"

# ---- a self-test that fails ------------------------------------------------------------------
kit() { # OUT MAIN COMPILER FLAGS...
    out=$1 main=$2 cc=$3
    shift 3
    # shellcheck disable=SC2046
    AFL_QUIET=1 "$cc" -std=c17 -D_GNU_SOURCE -O1 -g "$@" -Iharnesses -o "$out" tests/fixtures/harness/broken.c \
        $(find harnesses/sdk -name 'fz_*.c') "harnesses/sdk/$main.c" >"$T/cc.out" 2>&1 || sed 's/^/  | /' "$T/cc.out"
}
kit "$T/broken-afl" main_afl afl-clang-fast
kit "$T/broken-replay" main_replay "${CC:-cc}"
kit "$T/whole-replay" main_replay "${CC:-cc}" -DFAILS_UNLESS='"/"'
words='its start-up self-test fails: FZ-FAIL target=broken class=internal inv=SELFTEST detail=the table has 7 entries, expected 8'
for build in broken whole; do
    spec $build "$T/broken-afl" "$T/stdin" "replay = $T/$build-replay"
    began=$(date +%s)
    assert_exit "$build: a self-test that fails is a start that fails" 12 "$FUZZCTL" start "$T/$build.ini"
    took=$(($(date +%s) - began))
    assert_match "$build: in the target's own words" "$words" "$(cat "$T/err")"
    check "$build: at once, without a ladder of restarts: $took s" [ $took -le 10 ]
    assert_exit "$build: with the verdict failed-to-start" 12 "$FUZZCTL" wait $build --timeout 60s
    assert_match "$build: its words are in status" "did not start: $words" "$("$FUZZCTL" status $build)"
    assert_match "$build: in the report" "$words" "$(report $build '.targets[0].start_failure')"
    assert_match "$build: and the reason" "did not start: $words" "$(report $build '.reasons[0]')"
    assert_eq "$build: afl-fuzz was not started" "" "$(folder $build "out/$build/main")"
done

# ---- many slow seeds: a budget, a killed fuzzd, a stop ---------------------------------------
# Slow where afl-fuzz does not run it.
cat >"$T/slow.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char c[2] = "";
    if (read(0, c, 2) < 0)
        return 1;
    if (getenv("__AFL_SHM_ID") == NULL)
        usleep(400000);
    return c[0] == 'S' ? c[1] == '1' ? 2 : 1 : 0;
}
END
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/slowly" "$T/slow.c" >/dev/null 2>&1
mkdir "$T/slow"
for i in $(seq 1 80); do printf 'S%s' "$i" >"$T/slow/$i"; done
replaying() {
    [ "$("$FUZZCTL" status "$1" --json | jq -r '.campaigns[0].targets[0].seeds.state')" = running ]
}
fuzzd_pid() {
    "$FUZZCTL" status --json | jq -r '.fuzzd.pid // 0'
}
spec slow "$T/slowly" "$T/slow"
"$FUZZCTL" start "$T/slow.ini" >"$T/start.out" 2>&1 &
starter=$!
check "status tells that seeds are being replayed" wait_for 10 replaying slow
began=$(date +%s)
"$FUZZCTL" status >/dev/null
check "and is answered meanwhile" [ $(($(date +%s) - began)) -le 2 ]
pid=$(fuzzd_pid)
case $pid in "" | *[!0-9]* | 0 | 1) not_ok "fuzzd has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
check "the next fuzzd replays them again" wait_for 10 replaying slow
wait $starter
"$FUZZCTL" wait slow --timeout 120s >/dev/null 2>&1
left=$(report slow '.targets[0].seeds.left')
check "not all were run in the time there is: $left" [ "$left" -gt 0 ]
assert_match "which the verdict notes" "$left of 80 seeds were not replayed before fuzzing" "$(report slow '.reasons[]')"
assert_eq "and none of them is taken for a failure" 0 "$(report slow '.targets[0].seeds.failed')"

spec stopped "$T/slowly" "$T/slow"
"$FUZZCTL" start "$T/stopped.ini" >"$T/start.out" 2>&1 &
starter=$!
check "a campaign replays its seeds" wait_for 10 replaying stopped
began=$(date +%s)
assert_exit "a stop while they run" 0 "$FUZZCTL" stop stopped
check "does not wait for them" [ $(($(date +%s) - began)) -le 8 ]
wait $starter
assert_eq "is an interruption" interrupted "$(report stopped .verdict)"
assert_eq "and leaves nothing half done" "" "$(folder stopped 'seeds/stopped.new')"
assert_exit "verify accounts for all of it" 0 "$FUZZCTL" verify
