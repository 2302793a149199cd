#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A start that cannot work fails within seconds, in afl-fuzz's own words or in those of our engine where afl-fuzz would wait for
# ever; the targets behind it have their turn.
# limit: 150
. tests/e2e/lib.sh
export FUZZ_STALL_WINDOW=6s
need fuzzctl fuzzd fuzz-keeper fuzz-triage tests/engine/hostile

# A harness that dies of every input, but only where afl-fuzz runs it.
cat >"$T/crash.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char c;
    if (read(0, &c, 1) == 1 && getenv("__AFL_SHM_ID") != NULL)
        __builtin_trap();
    return 0;
}
END
if ! command -v afl-clang-fast >/dev/null; then
    skip 43-failed-start "no afl-clang-fast"
    exit 0
fi
AFL_QUIET=1 afl-clang-fast -o "$T/crash" "$T/crash.c" >/dev/null 2>&1
mkdir "$T/seeds"
echo seed >"$T/seeds/a"
cat >"$T/bad.ini" <<END
[campaign]
name = bad
root = $T
budget = 60s
cores = 1

[target crash]
harness = crash
seeds = seeds
instances = 1
END
began=$(date +%s)
assert_exit "a campaign whose seeds all crash fails to start with 12" 12 timeout 40 "$FUZZCTL" start "$T/bad.ini"
assert_match "as they crash in the harness's own build" "no seed is left to begin with: 1 of 1 fail" "$(cat "$T/err")"
took=$(($(date +%s) - began))
if [ $took -le 15 ]; then
    ok "within seconds"
else
    not_ok "within seconds: $took s"
fi
assert_exit "its verdict is findings: the seed is one" 10 "$FUZZCTL" wait bad --timeout 20s

# ---- programs that no client can talk to -----------------------------------------------------------
cp "$BUILD/tests/engine/hostile" "$T/hostile"
cat >"$T/good.c" <<'END'
#include <unistd.h>
int main(void)
{
    char c;
    return read(0, &c, 1) == 1 && c == 'x';
}
END
AFL_QUIET=1 afl-clang-fast -o "$T/good" "$T/good.c" >/dev/null 2>&1

cat >"$T/how.ini" <<END
[campaign]
name = how
root = $T
budget = 2s
cores = 1
END
target() { # NAME HARNESS
    cat >>"$T/how.ini" <<END

[target $1]
harness = $2
args = $1
seeds = seeds
instances = 1
timeout = 200ms
init_timeout = 1s
END
}
for how in newer prints exit stuck run-silent run-silent-afl; do target $how hostile; done
target good good
assert_exit "a campaign with targets that nobody can talk to has failed to start" 12 timeout 100 "$FUZZCTL" run "$T/how.ini"
"$FUZZCTL" report how --json >"$T/report"
# turned_away HOW WORDS
turned_away() {
    assert_match "$1: it is told why" "$2" "$(jq -r ".targets[] | select(.name == \"$1\") | .start_failure" "$T/report")"
}
turned_away newer "speaks version 2 of the protocol; version 1 is known here"
turned_away prints "which no fork server says"
turned_away exit "ended before its fork server was up: .*exit code 3"
turned_away stuck "no fork server answered within 2000 ms"
turned_away run-silent "its fork server comes up, but falls silent when it is to run an input"
# Only below afl-fuzz, which waits for ever.
turned_away run-silent-afl "stuck before its first execution, all of it idle"
assert_eq "the target behind them is fuzzed" true "$(jq '.targets[] | select(.name == "good") | .execs_done > 0' "$T/report")"
