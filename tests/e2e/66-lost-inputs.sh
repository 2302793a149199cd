#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# afl-fuzz goes on when the disk is full, and what it finds then is an empty file: no artifact, but
# told as lost by status, report, verify and verdict. And a state directory that was packed and
# unpacked holds the same inputs as before, for verify and for a resume.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage

small_disk "lost inputs"

# It crashes on '!' once $T/first is there, on '?' once $T/second is.
cat >"$T/t.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
#ifdef __AFL_COMPILER
__AFL_FUZZ_INIT();
#endif
static void run(const unsigned char *d, int n)
{
    if (n > 0 && d[0] == '!' && access(DIR "/first", F_OK) == 0)
        abort();
    if (n > 0 && d[0] == '?' && access(DIR "/second", F_OK) == 0)
        abort();
    if (n > 1 && d[1] == 'x')
        (void)usleep(1);
}
int main(void)
{
#ifdef __AFL_COMPILER
    const unsigned char *d;
    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000))
        run(d, __AFL_FUZZ_TESTCASE_LEN);
#else
    unsigned char d[64];
    run(d, (int)read(0, d, sizeof(d)));
#endif
    return 0;
}
END
AFL_QUIET=1 afl-clang-fast -O1 -DDIR="\"$T\"" -o "$T/harness" "$T/t.c" >/dev/null 2>&1
cc -O1 -DDIR="\"$T\"" -o "$T/replay" "$T/t.c"
mkdir "$T/seeds"
printf 'AAAA' >"$T/seeds/a"
printf 'bang="!"\nask="?"\n' >"$T/dict"
cat >"$T/lost.ini" <<END
[campaign]
name = lost
root = $T
budget = 100s
cores = 1

[limits]
disk_floor = 0

[target t]
harness = harness
replay = replay
seeds = seeds
dictionary = dict
instances = 1
timeout = 100ms
END

status() {
    "$FUZZCTL" status lost --json | jq -r ".campaigns[0] | $1"
}
fuzzing() {
    [ "$(status ".targets[0].instances[0].state")" = fuzzing ]
}
counted() { # KEY AT_LEAST
    [ "$(status ".targets[0].$1")" -ge "$2" ]
}
# Files of crashes* and hangs*, by hand; further arguments are find's.
by_hand() {
    find "$FZ_STATE"/campaigns/lost/*/out/t/main/ -path '*/main/[ch]*/*' -type f \
        ! -name README.txt "$@" | wc -l
}
empty_one() {
    [ "$(by_hand -size 0)" -gt 0 ]
}
verify() {
    "$FUZZCTL" verify --json | jq -r "$1"
}
fill() {
    dd if=/dev/zero of="$FZ_STATE/filler" bs=64k 2>/dev/null
    dd if=/dev/zero of="$FZ_STATE/filler" bs=4k oflag=append conv=notrunc 2>/dev/null
}
daemon_gone() {
    ! alive "$daemon"
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/lost.ini"
check "it fuzzes" wait_for 40 fuzzing
fill
: >"$T/first"
check "afl-fuzz saves an empty file on the full disk" wait_for 30 empty_one
rm -f "$T/first" # nothing more is found
rm -f "$FZ_STATE/filler"
check "status counts it as lost" wait_for 30 counted lost 1
kept=$(by_hand -size +0) # rarely, what afl-fuzz wrote anew has left it a block
assert_eq "and not as a crash" "$kept" "$(status '.targets[0].crashes')"
assert_match "in words, too" 'lost: [0-9]+ crash or hang files? (is|are) empty: a full disk' \
    "$("$FUZZCTL" status lost)"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop lost
lost=$(by_hand -size 0)
assert_match "the verdict says why it is not clean" 'empty, what was found is lost' \
    "$("$FUZZCTL" report lost)"
assert_match "the report names the file" 'main/crashes/id:' "$("$FUZZCTL" report lost)"
assert_exit "verify finds no difference" 0 "$FUZZCTL" verify
assert_match "and does not say that all is accounted for" \
    "^$(by_hand) files?, $kept occurrences?, $kept blobs?: no difference, $lost lost inputs?\$" \
    "$("$FUZZCTL" verify)"
assert_match "it names it" '^lost: .*crashes/id:' "$("$FUZZCTL" verify)"
assert_eq "it is no artifact" "$kept" "$("$FUZZCTL" artifacts lost --json | jq '.artifacts | length')"

# ---- findings stay findings; a packed and unpacked state directory -----------------------------
: >"$T/second"
assert_exit "resume succeeds" 0 "$FUZZCTL" resume lost
check "what is found with space counts" wait_for 40 counted crashes 1
assert_exit "stop succeeds" 0 "$FUZZCTL" stop lost
assert_eq "findings stay findings" findings "$(status .verdict)"
assert_match "with what is lost beside them" 'empty, what was found is lost' \
    "$("$FUZZCTL" report lost)"
assert_exit "verify finds no difference" 0 "$FUZZCTL" verify
occurrences=$(by_hand -size +0)
assert_eq "occurrences are as counted by hand" "$occurrences" "$(verify .occurrences)"

daemon=$("$FUZZCTL" status --json | jq '.fuzzd.pid // 0')
if [ "$daemon" -gt 1 ]; then
    kill -TERM "$daemon"
    wait_for 20 daemon_gone
fi
tar -C "$FZ_STATE" -cf "$T/state.tar" .
find "$FZ_STATE" -mindepth 1 -delete
tar -C "$FZ_STATE" -xf "$T/state.tar"
assert_exit "verify finds no difference in the copy" 0 "$FUZZCTL" verify
assert_eq "it has the occurrences of before" "$occurrences" "$(verify .occurrences)"
inputs=$("$FUZZCTL" artifacts lost --json | jq '[.artifacts[].count] | add')
rm -f "$T/second" # nothing more is found
assert_exit "resume succeeds" 0 "$FUZZCTL" resume lost
check "it fuzzes" wait_for 40 fuzzing
assert_exit "stop succeeds" 0 "$FUZZCTL" stop lost
assert_exit "verify finds no difference after the resume" 0 "$FUZZCTL" verify
assert_eq "occurrences are as counted by hand" "$(by_hand -size +0)" "$(verify .occurrences)"
assert_eq "no input is counted twice" "$inputs" \
    "$("$FUZZCTL" artifacts lost --json | jq '[.artifacts[].count] | add')"

# ---- held open ---------------------------------------------------------------------------------
file=$(find "$FZ_STATE"/campaigns/lost/*/out/t/main/crashes*/ -name 'id:*' -size +0 | head -n 1)
exec 9>>"$file"
assert_exit "a file held open is no difference" 0 "$FUZZCTL" verify
assert_match "but told" '^open: .* is still open for writing' "$("$FUZZCTL" verify)"
exec 9>&-
assert_eq "and no longer when it is closed" 0 "$(verify '.open | length')"
