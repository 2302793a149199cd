#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl corpus add: inputs for a campaign that runs are taken, told apart from those that are new to nobody, and survive a restart.
# limit: 420
# shellcheck disable=SC2016 # expanded by the inner shell
. tests/e2e/lib.sh
need fuzzctl fuzzd

cat >"$T/t.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
static volatile int x;
int main(void)
{
    __AFL_INIT();
    unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        int n = __AFL_FUZZ_TESTCASE_LEN, i = 0;
        static const unsigned char k[] = {0xde, 0xad, 0xbe, 0xef, 0x11, 0x77, 0x99, 0x31, 0x42};
        while (i < n && i < 9 && b[i] == k[i]) i++;
        if (i == 9) {
            for (int j = 9; j < n; j++) {
                if (b[j] == 'y') x += 3;
                else if (b[j] == 'z') x *= 7;
            }
            if (n > 9 && b[9] == 'C') abort();
        }
        if (n > 8 && memcmp(b, "\x7f\x01\xfe\x33\xcc\x55\xaa\x99", 8) == 0)
            x += 5;
    }
}
END
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/t" "$T/t.c" >/dev/null 2>&1
mkdir "$T/seeds" "$T/in"
echo hello >"$T/seeds/one"
KEY='\336\255\276\357\021\167\231\061\102'
# shellcheck disable=SC2059
{
    printf "$KEY" >"$T/in/key"
    printf "${KEY}zzzz" >"$T/in/second"
    printf "${KEY}C" >"$T/in/crash"
    printf '\177\001\376\063\314\125\252\231y' >"$T/in/odd
name"
}
printf 'hello\n' >"$T/in/seed-again"
head -c 1048577 /dev/zero >"$T/in/large"
: >"$T/in/empty"
ln -s key "$T/in/link"
assert_exit "a campaign that never was" 6 "$FUZZCTL" corpus add nope t "$T/in/key"
assert_match "is told from one that does not run" "^fuzzctl corpus: add: there is no campaign nope$" "$(cat "$T/err")"
assert_exit "a file in its place" 6 "$FUZZCTL" corpus add "$T/t.c" t "$T/in/key"
assert_match "is told as such" "there is no campaign .*/t.c, that is a file; wanted is the name" "$(cat "$T/err")"
cat >"$T/a.ini" <<END
[campaign]
name = adding
root = $T
budget = 300s
cores = 1
[target t]
harness = t
seeds = seeds
instances = 1
END
# state FILE: what came of it, of the JSON in $T/out
state() {
    python3 -c '
import json, sys
print([f["state"] for f in json.load(open(sys.argv[1]))["files"] if f["file"].endswith(sys.argv[2])][0])' "$T/out" "$1"
}

assert_exit "nothing can be added before it runs" 6 "$FUZZCTL" corpus add adding t "$T/in/key"
check "the main instance is told a folder" sh -c '"$FUZZCTL" plan "$T/a.ini" | grep -q -- "-F .*/add/t/added"'
assert_exit "a campaign" 0 "$FUZZCTL" start "$T/a.ini"
OUT=$(echo "$FZ_STATE"/campaigns/adding/*/out/t/main)
check "fuzzes" wait_for 60 sh -c 'ls "$1"/queue/id:* >/dev/null 2>&1' sh "$OUT"
assert_exit "inputs are added" 0 timeout 150 "$FUZZCTL" --json corpus add adding t "$T/in/key" "$T/in/seed-again" "$T/in/odd
name"
assert_eq "what is new is taken" taken "$(state key)"
assert_eq "what is not has no new coverage" "nothing new" "$(state seed-again)"
assert_eq "a name with a newline is a name" taken "$(state name)"
check "its entry says where it is from" sh -c 'ls "$1"/queue | grep -q "sync:added_0"' sh "$OUT"
begun=$(date +%s)
assert_exit "and more, later" 0 timeout 150 "$FUZZCTL" --json corpus add adding t "$T/in/second"
assert_match "is seen, too" 'taken|nothing new' "$(state second)"
check "within a minute or so ($(($(date +%s) - begun)) s)" test $(($(date +%s) - begun)) -lt 100
assert_exit "once more" 0 "$FUZZCTL" corpus add adding t "$T/in/second"
assert_match "is known" 'was added before|: taken as' "$(cat "$T/out")"
assert_exit "without waiting" 0 "$FUZZCTL" corpus add adding t "$T/in/crash" --wait 0s
assert_match "it is said that nobody has seen it" 'not seen yet' "$(cat "$T/out")"
assert_exit "what cannot be added" 1 "$FUZZCTL" corpus add adding t "$T/in/large" "$T/in/empty" "$T/in/link" --wait 0s
assert_match "a large file" 'large: over 1 MiB' "$(cat "$T/err")"
assert_match "an empty one" 'empty: is empty' "$(cat "$T/err")"
assert_match "a link" 'link: is a link' "$(cat "$T/err")"
assert_exit "an unknown target" 2 "$FUZZCTL" corpus add adding nobody "$T/in/key"
assert_exit "an unknown campaign" 6 "$FUZZCTL" corpus add nobody t "$T/in/key"
assert_eq "only whole files lie there, by content" "" "$(find "$FZ_STATE"/campaigns/adding/*/add -type f | grep -Ev '/added/[0-9a-f]{64}$')"
assert_eq "the sources are untouched" 8 "$(find "$T/in" -mindepth 1 -printf x | wc -c)"
check "the crash is found" wait_for 90 sh -c '"$FUZZCTL" --json artifacts adding 2>/dev/null | grep -q sha256'

# ---- what a bad peer sends ----
python3 - "$FZ_STATE/fuzzd.sock" >"$T/peer" <<'PY'
import json, socket, sys
def ask(**kw):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(sys.argv[1])
    s.sendall((json.dumps(dict(version=1, id=1, verb="add", **kw)) + "\n").encode())
    got = b""
    while not got.endswith(b"\n"):
        b = s.recv(65536)
        if not b:
            return "closed"
        got += b
    return json.loads(got).get("error", "ok")
for kw in [dict(), dict(target=3), dict(target="../t"), dict(target="t", data="a"), dict(target="t", data="!!!!"),
           dict(target="t", data=[1]), dict(target="t", data=""), dict(target="t", data="A" * 4000000),
           dict(name="../x", target="t", data="aGk=")]:
    print(ask(**kw))
PY
assert_eq "nothing of it is taken" "" "$(grep -xn ok "$T/peer")"
assert_eq "and all of it answered" 9 "$(wc -l <"$T/peer")"

# ---- a restart of the instance ----
pid=$(sed -n 's/^fuzzer_pid *: //p' "$OUT/fuzzer_stats")
[ -n "$pid" ] && [ "$pid" -gt 1 ] && kill -KILL "$pid"
sleep 1
# shellcheck disable=SC2059
printf "${KEY}C%s" more >"$T/in/after"
# shellcheck disable=SC2059
printf "${KEY}yzyzyz" >"$T/in/after2"
assert_exit "after the instance was killed" 0 timeout 200 "$FUZZCTL" --json corpus add adding t "$T/in/after2"
assert_match "it is still read" 'taken|nothing new' "$(state after2)"
assert_exit "the campaign is stopped" 0 "$FUZZCTL" stop adding
assert_exit "and takes nothing any more" 6 "$FUZZCTL" corpus add adding t "$T/in/key"
