#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A disk that fills up after fuzzing has ended, while a crash is still being replayed: its result waits
# for space, the campaign for its result, and both go on by themselves, also under the next fuzzd.
# limit: 240
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage tests/fault/shim.so

cat >"$T/t.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
#ifdef __AFL_COMPILER
__AFL_FUZZ_INIT();
#endif
static void run(const unsigned char *d, int n)
{
    if (n > 0 && d[0] == '!')
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
    int n = (int)read(0, d, sizeof(d));
    if (getenv("FZ_SLOW") != NULL)
        (void)sleep(2); /* the campaign is over by the time it has been replayed */
    run(d, n);
#endif
    return 0;
}
END
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/harness" "$T/t.c" >/dev/null 2>&1
cc -O1 -o "$T/replay" "$T/t.c"
mkdir "$T/seeds"
printf 'AAAA' >"$T/seeds/a"
printf 'bang="!"\n' >"$T/dict"
cat >"$T/late.ini" <<END
[campaign]
name = late
root = $T
budget = 3s
cores = 1

[target t]
harness = harness
replay = replay
seeds = seeds
dictionary = dict
instances = 1
timeout = 100ms
env = FZ_SLOW=1
END

daemon_start() { # with a disk that is full from the time that $T/full is there until $T/space is
    rm -f "$T/full" "$T/space"
    LD_PRELOAD=$BUILD/tests/fault/shim.so FZ_FAULT_PROGRAM=fuzzd FZ_FAULT_DIR=$FZ_STATE FZ_FAULT_FROM=$T/full \
        FZ_FAULT_UNTIL=$T/space FZ_FAULT_ERRNO=ENOSPC FZ_FAULT_AT=1 FZ_FAULT_STICKY=1 \
        "$FUZZD" --foreground >"$T/fuzzd.out" 2>&1 &
    daemon=$!
    wait_for 10 test -S "$FZ_STATE/fuzzd.sock"
}
daemon_gone() {
    ! alive "$daemon"
}
daemon_end() {
    kill -TERM "$daemon"
    wait_for 30 daemon_gone || { not_ok "fuzzd ends"; kill -KILL "$daemon"; }
    wait "$daemon" 2>/dev/null
}
status() {
    "$FUZZCTL" status late --json | jq -r ".campaigns[0] | $1"
}
fuzzing_is_over() {
    [ "$(status '.targets[0].end_reason')" = budget ]
}
told() {
    grep -q 'cannot be finished: .*full' "$T/fuzzd.out"
}
# One campaign up to the full disk with its result still to come.
fill_up() {
    daemon_start
    assert_exit "$1: start succeeds" 0 "$FUZZCTL" start "$T/late.ini"
    check "$1: fuzzing comes to its end" wait_for 30 fuzzing_is_over
    : >"$T/full"
    assert_eq "$1: an input is still to be triaged" true "$(status '.targets[0].pending > 0')"
    check "$1: fuzzd says what it waits for" wait_for 60 told
    assert_match "$1: so does status" 'full' "$(status '.trouble')"
    assert_exit "$1: and the campaign is not over" 5 "$FUZZCTL" wait late --timeout 3s
}
nothing_pending() {
    assert_eq "$1: nothing is pending" 0 "$("$FUZZCTL" report late --json | jq '[.targets[].pending] | add')"
    assert_exit "$1: every file is accounted for" 0 "$FUZZCTL" verify
}

fill_up "same fuzzd"
: >"$T/space"
assert_exit "same fuzzd: the verdict comes when there is space" 10 "$FUZZCTL" wait late --timeout 60s
nothing_pending "same fuzzd"
daemon_end

rm -rf "$FZ_STATE/campaigns" "$FZ_STATE"/state.db* "$FZ_STATE/store" "$FZ_STATE/bundles"
fill_up "next fuzzd"
daemon_end
assert_exit "next fuzzd: the verdict comes by itself" 10 "$FUZZCTL" wait late --timeout 60s
nothing_pending "next fuzzd"
