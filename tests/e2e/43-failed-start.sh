#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A start that cannot work fails within seconds, in afl-fuzz's own words.
# limit: 60
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl harnesses/chunk_frame/afl

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
