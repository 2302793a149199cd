#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The instance that has CmpLog solves comparisons that mutation does not, within a small budget.
# limit: 200
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so

cat >"$T/magic.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void)
{
    unsigned char *d;

    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        if (__AFL_FUZZ_TESTCASE_LEN >= 10 && memcmp(d + 1, "XYZZYQPLA", 9) == 0)
            abort();
    }
    return 0;
}
END
AFL_QUIET=1 afl-clang-fast -O1 -w -o "$T/plain" "$T/magic.c" >/dev/null 2>&1
AFL_QUIET=1 AFL_LLVM_CMPLOG=1 afl-clang-fast -O1 -w -o "$T/cmplog" "$T/magic.c" >/dev/null 2>&1
mkdir "$T/seeds"
printf 'some twenty bytes...' >"$T/seeds/a"
cat >"$T/c.ini" <<END
[campaign]
root = $T
budget = 90s
cores = all
stop_on = first
[target magic]
harness = plain
cmplog = cmplog
seeds = seeds
instances = 2
END
assert_exit "plan" 0 "$FUZZCTL" plan "$T/c.ini" --json
assert_eq "the instance's own program is the cmplog build" '["cmplog1","cmplog","0"]' \
    "$(jq -c '.targets[0].instances[] | select(.role == "cmplog") |
        [.name, (.binary | split("/") | last), .argv[(.argv | index("-c")) + 1]]' "$T/out")"
assert_exit "the comparison is solved" 10 "$FUZZCTL" run "$T/c.ini"
check "by that instance" sh -c "'$FUZZCTL' artifacts c --json | jq -e '.artifacts[] | select(.instance == \"cmplog1\")' >/dev/null"
