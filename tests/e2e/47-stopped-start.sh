#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign that is stopped while its start still waits: start and resume say that, and exit with the
# code of what became of it, 13, not with that of a start that failed. Nor does run leave one behind.
# limit: 150
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage
command -v afl-clang-fast >/dev/null || { skip 47-stopped-start "no afl-clang-fast"; exit 0; }

cat >"$T/slow.c" <<END
#include <unistd.h>
int main(void)
{
    char c;
    usleep(600000);
    return read(0, &c, 1) == 1 && c == 'x';
}
END
AFL_QUIET=1 afl-clang-fast -o "$T/slow" "$T/slow.c" >/dev/null 2>&1
mkdir "$T/seeds"
echo abc >"$T/seeds/one"
cat >"$T/slow.ini" <<END
[campaign]
name = slow
root = $T
budget = 60s
cores = 1

[limits]
disk_floor = 0
pressure = 100

[target slow]
harness = slow
seeds = seeds
instances = 1
timeout = 2s
END

state() {
    "$FUZZCTL" status slow --json | jq -r '.campaigns[0].targets[0].instances[0].state'
}
calibrating() {
    [ "$(state)" = calibrating ]
}
# stopped_meanwhile VERB ARG: exits 13 and says so.
stopped_meanwhile() {
    (
        "$FUZZCTL" "$1" "$2" >"$T/$1.out" 2>"$T/$1.err"
        echo $? >"$T/$1.rc"
    ) &
    behind=$!
    check "$1: it calibrates" wait_for 20 calibrating
    assert_exit "$1: it is stopped meanwhile" 0 "$FUZZCTL" stop slow
    wait "$behind"
    assert_eq "$1 exits with 13" 13 "$(cat "$T/$1.rc")"
    assert_match "$1 says why" "ended before it fuzzed.*: stopped by a user" "$(cat "$T/$1.err")"
}
stopped_meanwhile start "$T/slow.ini"
stopped_meanwhile resume slow
assert_exit "wait agrees" 13 "$FUZZCTL" wait slow

# Ctrl-C of run ends it, however early it comes: also while the start is waited for.
for delay in 0.05 0.5 2; do
    env --default-signal=INT "$FUZZCTL" run "$T/slow.ini" >"$T/run.out" 2>"$T/run.err" &
    behind=$!
    sleep $delay
    [ "$behind" -gt 1 ] && kill -INT "$behind"
    wait "$behind"
    assert_eq "run, interrupted after $delay s" 13 $?
    assert_eq "nothing goes on" 0 "$(sqlite3 "$FZ_STATE/state.db" "SELECT count(*) FROM runs WHERE state != 'ended'")"
done

# Nor where fuzzd is slow to read both, and may take the interrupt first.
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
for times in 1 2 3; do
    [ "$daemon" -gt 1 ] && kill -STOP "$daemon"
    env --default-signal=INT "$FUZZCTL" run "$T/slow.ini" >"$T/run.out" 2>"$T/run.err" &
    behind=$!
    sleep 0.5
    [ "$behind" -gt 1 ] && kill -INT "$behind"
    sleep 0.3
    kill -CONT "$daemon"
    wait "$behind"
    assert_eq "run, interrupted before fuzzd heard of it ($times)" 13 $?
    assert_match "ends before it fuzzes" "ended before it fuzzed" "$(cat "$T/run.err")"
done
