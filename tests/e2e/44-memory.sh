#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A target that takes more memory than its limit, and gets on without it when malloc says no: the
# kill is counted while it runs and afterwards, the input is an oom that reproduces, here and
# from its bundle. A static target gets no memory group, and status and report say so.
# limit: 750
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so

cat >"$T/hog.c" <<'EOF'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void)
{
    unsigned char *buf = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000)) {
        int n = __AFL_FUZZ_TESTCASE_LEN;
        if (n >= 2 && buf[0] == 'H' && buf[1] == 'G')
            for (int i = 0; i < 512; i++) {
                char *volatile p = malloc(1 << 20);
                if (p || NAIVE) memset(p, buf[0], 1 << 20);
            }
        if (n >= 3 && buf[0] == 'a' && buf[1] == 'b' && buf[2] == 'c') (void)getppid();
    }
    return 0;
}
EOF
AFL_QUIET=1 afl-clang-fast -O1 -DNAIVE=0 -o "$T/hog" "$T/hog.c" >"$T/cc" 2>&1
AFL_QUIET=1 afl-clang-fast -O1 -DNAIVE=1 -o "$T/naive" "$T/hog.c" >>"$T/cc" 2>&1
AFL_QUIET=1 afl-clang-fast -O1 -DNAIVE=0 -static -o "$T/hog-static" "$T/hog.c" >>"$T/cc" 2>&1
check "the targets are built" [ -x "$T/hog" ] && [ -x "$T/naive" ] && [ -x "$T/hog-static" ]
mkdir "$T/seeds"
printf HF >"$T/seeds/a"
spec() { # HARNESS BUDGET
    printf '[campaign]\nbudget = %s\ncores = 1\n[limits]\nmemory = 64M\n[target t]\nharness = %s\nseeds = seeds\n' "$2" "$1"
}
spec hog 12s >"$T/hog.ini"
spec naive 8s >"$T/naive.ini"
spec hog-static 3s >"$T/static.ini"

kills() {
    "$FUZZCTL" status hog --json | jq -r '[.campaigns[].targets[].instances[] | select(.state == "fuzzing") | .oom_kills] | add'
}
some_kills() { [ "$(kills)" -gt 0 ] 2>/dev/null; }
assert_exit "it starts" 0 "$FUZZCTL" start "$T/hog.ini"
check "a kill is counted while it runs" wait_for 100 some_kills
assert_exit "it ends with findings" 10 "$FUZZCTL" wait hog
"$FUZZCTL" report hog --json >"$T/report.json"
check "the report counts the kills" [ "$(jq '.targets[0].oom_kills' "$T/report.json")" -gt 0 ]
assert_eq "the input is an oom, though malloc's NULL would not hurt it" "oom 3/3" \
    "$(jq -r '.buckets[] | "\(.class) \(.reproduced)"' "$T/report.json")"
assert_eq "and the artifact says so" oom "$("$FUZZCTL" artifacts hog --json | jq -r '.artifacts[0].class')"
bundle=$(find "$FZ_STATE/bundles" -name '*.tar.zst')
assert_exit "its bundle unpacks" 0 "$FUZZCTL" bundle unpack "$bundle" "$T/unpacked"
assert_exit "and reproduces it" 0 sh "$T/unpacked/repro.sh"

assert_exit "a target that would crash on NULL ends with findings, too" 10 "$FUZZCTL" run "$T/naive.ini"
assert_eq "and with an oom, as in the campaign" "oom 3/3" \
    "$("$FUZZCTL" report naive --json | jq -r '.buckets[] | "\(.class) \(.reproduced)"')"

assert_exit "a static target is a warning" 0 "$FUZZCTL" check "$T/static.ini"
assert_match "with what it means" 'hog-static is static: no own memory group; the instance.s limit holds instead' "$(cat "$T/out")"
assert_exit "it starts" 0 "$FUZZCTL" start "$T/static.ini"
assert_match "status says it" '^t/main: the program shares the cgroup of its afl-fuzz.*only the instance.s limits hold' \
    "$("$FUZZCTL" status static --json | jq -r '.campaigns[].isolation.why[]')"
"$FUZZCTL" wait static >"$T/out" 2>&1
assert_match "the report says it" '^t/main: the program shares the cgroup of its afl-fuzz' \
    "$("$FUZZCTL" report static --json | jq -r '.isolation.why[]')"
