#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl replay, the gate: a plain compiler and no AFL++, every failure told with the command that
# repeats it, nothing that was not run taken for passed.
# limit: 400
# cores: none
. tests/e2e/lib.sh
need fuzzctl harnesses/chunk_frame/replay

# ---- without AFL++, with both compilers ------------------------------------------------------
mkdir "$T/bin"
for dir in /usr/local/bin /usr/bin /bin; do
    for tool in "$dir"/*; do
        case ${tool##*/} in afl-* | fuzz*) ;; *) ln -sf "$tool" "$T/bin/" ;; esac
    done
done
bare() {
    PATH=$T/bin "$@"
}
if bare sh -c 'command -v afl-fuzz || command -v afl-clang-fast'; then
    not_ok "the PATH of this test has no AFL++"
fi
plan=$(bare make -n BUILD="$T/none" replay-builds 2>&1)
assert_match "replay-builds knows what to do without AFL++" 'none/harnesses/chunk_frame/replay' "$plan"
assert_eq "and names no program of it" "" "$(printf '%s\n' "$plan" | grep -E 'afl-(clang|cc|gcc)|install-deps')"

spec() { # FILE REPLAY SEEDS [LINE...]
    file=$1
    {
        printf '[campaign]\nroot = %s\n[target chunk_frame]\nreplay = %s\nseeds = %s\n' "$TOP" "$2" "$3"
        shift 3
        for line in "$@"; do echo "$line"; done
    } >"$file"
}
for cc in gcc clang; do
    command -v "$cc" >/dev/null || { skip "replay built by $cc" "no $cc"; continue; }
    bare make -s BUILD="$T/$cc" CC="$cc" NODEPS=1 "$T/$cc/harnesses/chunk_frame/replay" >"$T/make.out" 2>&1 ||
        sed 's/^/  | /' "$T/make.out"
    spec "$T/$cc.ini" "$T/$cc/harnesses/chunk_frame/replay" seeds/chunk_frame
    assert_exit "every seed passes in the build of $cc" 0 bare "$FUZZCTL" replay "$T/$cc.ini"
    assert_eq "all of them, with $cc" "132 passed, 0 failed" "$(tail -n 1 "$T/out")"
    assert_match "and reach all that is required" '13 of 13 required ids' "$(cat "$T/out")"
done

# ---- one byte changed ------------------------------------------------------------------------
mkdir "$T/lib" "$T/seeds"
# shellcheck disable=SC2046
kit() { # OUT SOURCE FLAGS...
    out=$1 src=$2
    shift 2
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -O1 -g "$@" -Iharnesses -o "$out" "$src" \
        $(find harnesses/sdk -name 'fz_*.c') harnesses/sdk/main_replay.c || exit 1
}
sed 's/"seen", "never", NULL/"seen", NULL/' tests/fixtures/harness/behaviours.c >"$T/lib/b.c"
kit "$T/b" "$T/lib/b.c"
printf z >"$T/seeds/001-one"
printf z >"$T/seeds/002-two"
spec "$T/b.ini" "$T/b" "$T/seeds"
assert_exit "a folder of good seeds is 0" 0 "$FUZZCTL" replay "$T/b.ini"
printf A >"$T/seeds/002-two"
assert_exit "one byte changed is 10" 10 "$FUZZCTL" replay "$T/b.ini" --junit "$T/junit.xml"
line=$(grep '^FAIL ' "$T/out")
assert_match "told with target, file, class, invariant and detail" \
    '^FAIL chunk_frame .*002-two: invariant B1: plain; again: ' "$line"
assert_eq "in one line" 1 "$(printf '%s\n' "$line" | wc -l)"
mkfifo "$T/junit.pipe"
cat "$T/junit.pipe" >"$T/junit.piped" &
assert_exit "a report for a pipe goes into it" 10 "$FUZZCTL" replay "$T/b.ini" --junit "$T/junit.pipe"
wait $!
assert_match "whole" '</testsuites>' "$(cat "$T/junit.piped")"
check "and leaves it there" test -p "$T/junit.pipe"
sh -c "${line##*; again: }" >"$T/again" 2>&1
assert_eq "its command dies by the same signal" 134 $?
assert_match "for the same reason" 'inv=B1' "$(cat "$T/again")"
mkdir "$T/reg"
printf z >"$T/reg/file"
ln -s "$T/seeds/003-made" "$T/junit.link"
mkdir "$T/one"
ln "$T/seeds/001-one" "$T/one/file"
spec "$T/reg.ini" "$T/b" "$T/seeds" "regressions =" "    $T/reg" "    $T/one/file"
for place in seeds/junit.xml seeds/001-one reg/sub.xml one/file junit.link; do
    assert_exit "a report as an input is refused: $place" 2 "$FUZZCTL" replay "$T/reg.ini" --junit "$T/$place"
    assert_match "with what to do: $place" '--junit .*: (would be among the inputs in|is itself an input)' "$(cat "$T/err")"
    assert_eq "before anything is run: $place" "" "$(cat "$T/out")"
done
assert_eq "and nothing is written" "reg/file seeds/001-one seeds/002-two z" \
    "$(cd "$T" && echo "$(find seeds reg -type f | sort | paste -sd' ') $(cat one/file)")"
ln -s "$T/reg.ini" "$T/reg.link"
ln "$T/b" "$T/b.hard"
for place in reg.ini reg.link b.hard; do
    was=$(sha256sum <"$T/$place")
    assert_exit "nor may it be what is read: $place" 2 "$FUZZCTL" replay "$T/reg.ini" --junit "$T/$place"
    assert_match "which is said: $place" '--junit .*: is .*, which is read; name another' "$(cat "$T/err")"
    assert_eq "and stays: $place" "$was" "$(sha256sum <"$T/$place")"
done
cat >"$T/junit.py" <<'END'
import sys
import xml.etree.ElementTree as tree
top = tree.parse(sys.argv[1]).getroot()
assert top.tag == "testsuites", top.tag
for suite in top:
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases)
    for what in ("failure", "error"):
        assert int(suite.get(what + "s")) == len(suite.findall("testcase/" + what)), what
for case in top.iter("testcase"):
    for bad in list(case.findall("failure")) + list(case.findall("error")):
        print(case.get("classname"), case.get("name").split("/")[-1], bad.tag, bad.get("type"), bad.get("message"))
END
assert_eq "the JUnit file parses and shows it" "chunk_frame 002-two failure invariant invariant B1: plain" \
    "$(python3 "$T/junit.py" "$T/junit.xml")"
"$FUZZCTL" replay "$T/b.ini" --json >"$T/json"
assert_eq "--json tells the same" "10 1 1 B1" \
    "$(jq -r '"\(.exit_code) \(.passed) \(.failed) " + ([.targets[].inputs[] | select(.class != "pass").inv] | join(","))' "$T/json")"

# An endless loop is repeated with a time limit.
printf t >"$T/seeds/002-two"
assert_exit "an endless loop is 10" 10 "$FUZZCTL" replay "$T/b.ini" --timeout 300ms
line=$(grep '^FAIL ' "$T/out")
assert_match "as a timeout" '002-two: timeout; again: ' "$line"
sh -c "${line##*; again: }" >"$T/again" 2>&1
assert_eq "and its command comes back" 1 $?

# ---- odd names, unreadable files, folders in folders -----------------------------------------
rm "$T/seeds"/*
odd=$T/seeds/$(printf 'q"\\\001\377 <&>%%s'\''')
printf A >"$odd"
mkdir "$T/seeds/sub"
printf z >"$T/seeds/sub/inner"
printf A >"$T/seeds/.hidden"
printf A >"$T/seeds/README.txt"
assert_exit "an odd name fails as any other" 10 "$FUZZCTL" replay "$T/b.ini" --junit "$T/junit.xml"
line=$(grep '^FAIL ' "$T/out")
sh -c "${line##*; again: }" >"$T/again" 2>&1
assert_eq "and is repeated by its command" 134 $?
assert_eq "no byte of it reaches the terminal" 0 "$(LC_ALL=C grep -c "$(printf '[\001\377]')" "$T/out")"
check "nor breaks the XML" python3 "$T/junit.py" "$T/junit.xml" >"$T/junit.out"
assert_eq "folders in folders count, hidden files and README.txt do not" "1 passed, 1 failed" "$(tail -n 1 "$T/out")"
rm "$odd"
ln -s "$T/nowhere" "$T/seeds/link"
mkfifo "$T/seeds/fifo"
assert_exit "what cannot be read is an error" 1 "$FUZZCTL" replay "$T/b.ini"
assert_match "a link to nowhere is told" '^ERROR chunk_frame: .*/link: No such file' "$(cat "$T/out")"
assert_match "a fifo, too" '^ERROR chunk_frame: .*/fifo: is not a regular file' "$(cat "$T/out")"
assert_match "the rest is run" '^1 passed, 0 failed' "$(cat "$T/out")"
rm "$T/seeds/link" "$T/seeds/fifo"

# ---- nothing to prove ------------------------------------------------------------------------
mkdir "$T/empty"
spec "$T/empty.ini" "$T/b" "$T/empty"
assert_exit "an empty folder is 11" 11 "$FUZZCTL" replay "$T/empty.ini"
assert_match "and told" '^VACUOUS chunk_frame: no inputs' "$(cat "$T/out")"
kit "$T/never" tests/fixtures/harness/behaviours.c
spec "$T/never.ini" "$T/never" "$T/seeds"
assert_exit "a required place that no seed reaches is 11" 11 "$FUZZCTL" replay "$T/never.ini" --junit "$T/junit.xml"
assert_match "and named" '^VACUOUS chunk_frame: no input reaches the required id "never"' "$(cat "$T/out")"
assert_match "in JUnit, too" '^chunk_frame reach never failure vacuous' "$(python3 "$T/junit.py" "$T/junit.xml")"
spec "$T/other.ini" /bin/true "$T/seeds" "harness = $T/never"
assert_exit "nor with a replay build that is none of the kit" 11 "$FUZZCTL" replay "$T/other.ini"
assert_match "where the harness is asked" '^VACUOUS chunk_frame: no input reaches the required id "never"' "$(cat "$T/out")"
spec "$T/more.ini" "$T/b" "$T/seeds" "regressions = $T/more"
mkdir "$T/more"
printf A >"$T/more/crash"
assert_exit "regressions are run beside the seeds" 10 "$FUZZCTL" replay "$T/more.ini"

# ---- programs that are none ------------------------------------------------------------------
kit "$T/broken" tests/fixtures/harness/broken.c
spec "$T/s.ini" "$T/broken" "$T/seeds"
assert_exit "a self-test that fails is a failure" 10 "$FUZZCTL" replay "$T/s.ini"
assert_match "in its own words" 'internal SELFTEST: FZ-FAIL target=broken .*the table has 7 entries, expected 8' \
    "$(cat "$T/out")"
# fake NAME CODE: a program that carries the kit's mark and runs CODE instead.
fake() {
    cat >"$T/fake.c" <<END
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
const char mark[] __attribute__((used)) = "FZ-FAIL target=";
int main(void)
{
    $2
    return 0;
}
END
    "${CC:-cc}" -O1 -o "$T/fake-$1" "$T/fake.c"
    spec "$T/fake-$1.ini" "$T/fake-$1" "$T/seeds"
    assert_exit "$1: is 1" 1 "$FUZZCTL" replay "$T/fake-$1.ini" --timeout 100ms
    assert_eq "$1: in one line" 1 "$(grep -c '^ERROR ' "$T/out")"
    assert_match "$1: that says so" "$3" "$(cat "$T/out")"
}
fake hangs 'pause();' '^ERROR chunk_frame: .*fake-hangs hangs: nothing for 10 s after 0 of 1 inputs'
fake dies 'fputs("no licence\n", stderr); abort();' \
    '^ERROR chunk_frame: .*fake-dies ended \(signal 6 \(SIGABRT\)\) after 0 of 1 inputs: no licence'
fake exits '' '^ERROR chunk_frame: .*fake-exits ended \(exit code 0\) after 0 of 1 inputs'
fake babbles 'puts("hello \033[2J"); puts("2 passed, 0 failed");' \
    '^ERROR chunk_frame: .*fake-babbles printed a line that is no result: "hello .x1b.2J"'
fake claims 'puts("{\"file\":\"/x\",\"class\":\"pass\"}"); puts("2 passed, 0 failed");' \
    '^ERROR chunk_frame: .*printed a line that is no result'
fake floods 'for (int i = 0; i < 300000; i++) putchar(120);' '^ERROR chunk_frame: .*printed a line that is no result'
spec "$T/gone.ini" "$T/gone" "$T/seeds" "build = make the-builds"
assert_exit "a build that is not there is 1" 1 "$FUZZCTL" replay "$T/gone.ini"
assert_match "with how it is built" '^ERROR chunk_frame: .*gone.ini:4: replay: .*does not exist.*make the-builds' "$(cat "$T/out")"

# ---- a program without the kit ---------------------------------------------------------------
cat >"$T/plain.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : stdin;
    int c = f != NULL ? getc(f) : EOF;
    if (c == 'A')
        abort();
    while (c == 't')
        ;
    return c == 'q' ? 1 : 0;
}
END
"${CC:-cc}" -O1 -o "$T/plain" "$T/plain.c"
printf q >"$T/seeds/reject"
for args in "" "args = @@"; do
    spec "$T/plain.ini" "$T/plain" "$T/seeds" "$args"
    rm -f "$T/seeds/crash"
    assert_exit "a plain program passes what it rejects (${args:-stdin})" 0 "$FUZZCTL" replay "$T/plain.ini"
    printf A >"$T/seeds/crash"
    assert_exit "and fails what it dies of (${args:-stdin})" 10 "$FUZZCTL" replay "$T/plain.ini"
    line=$(grep '^FAIL ' "$T/out")
    sh -c "${line##*; again: }" >"$T/again" 2>&1
    assert_eq "its command repeats it (${args:-stdin})" 134 $?
done
rm "$T/seeds/crash"

# ---- where a spec is found -------------------------------------------------------------------
mkdir -p "$T/tree/conf/campaigns"
cp "$T/b.ini" "$T/tree/conf/campaigns/one.ini"
sed 's/chunk_frame/other/' "$T/b.ini" >"$T/tree/conf/campaigns/two.ini"
cp "$T/b.ini" "$T/tree/conf/campaigns/three.ini"
in_tree() {
    (cd "$T/tree" && "$FUZZCTL" replay "$@")
}
assert_exit "without a file: those of conf/campaigns" 0 in_tree
assert_eq "each target once" "4 passed, 0 failed" "$(tail -n 1 "$T/out")"
assert_exit "a name of one of them" 0 in_tree two
assert_eq "is that file" "2 passed, 0 failed" "$(tail -n 1 "$T/out")"
assert_exit "a target of them" 0 in_tree other
assert_eq "is that target" "2 passed, 0 failed" "$(tail -n 1 "$T/out")"
cp "$T/s.ini" "$T/tree/conf/campaigns/prerelease.ini"
assert_exit "prerelease.ini is what counts when it is there" 10 in_tree
assert_exit "a target that is not there is wrong usage" 2 in_tree conf/campaigns nobody
assert_match "with those there are" 'no target named nobody; there are: chunk_frame other' "$(cat "$T/err")"
assert_exit "a file that is not there, too" 2 in_tree none.ini
printf '[campaign]\nbudget = never\n[target x]\nreplay = %s\nseeds = %s\n' "$T/b" "$T/seeds" >"$T/bad.ini"
assert_exit "and a faulty one" 2 "$FUZZCTL" replay "$T/bad.ini"
assert_exit "no state is asked for" 0 env FUZZ_STATE="$T/b.ini" "$FUZZCTL" replay "$T/b.ini"
assert_eq "and nothing is made" "" "$(ls "$FZ_STATE")"

# ---- an input that kills or stops the program -------------------------------------------------
cat >"$T/parent.c" <<'END'
#include <signal.h>
#include <unistd.h>
#include "sdk/fz.h"
int fz_one(const uint8_t *d, size_t n)
{
    if (n > 0 && (d[0] == 'K' || d[0] == 'S'))
        (void)kill(getppid(), d[0] == 'K' ? SIGKILL : SIGSTOP);
    return 0;
}
const struct fz_target fz_target = {.name = "parent"};
END
# shellcheck disable=SC2046
"${CC:-cc}" -std=c17 -D_GNU_SOURCE -Iharnesses -o "$T/parent" "$T/parent.c" $(find harnesses/sdk -name 'fz_*.c') \
    harnesses/sdk/main_replay.c >"$T/make.out" 2>&1 || sed 's/^/  | /' "$T/make.out"
mkdir "$T/parents"
for f in K S good; do printf %s "$f" >"$T/parents/$f"; done
spec "$T/parent.ini" "$T/parent" "$T/parents"
assert_exit "inputs that kill or stop the program fail" 10 "$FUZZCTL" replay "$T/parent.ini" --timeout 1s
assert_match "the one is named" 'parents/K: crash killed or stopped its parent' "$(cat "$T/out")"
assert_match "the other too" 'parents/S: crash killed or stopped its parent' "$(cat "$T/out")"
assert_match "and the rest is run" '^1 passed, 2 failed' "$(cat "$T/out")"
cat >"$T/stopper.c" <<'END'
#include <signal.h>
#include <unistd.h>
int main(void) { return kill(getppid(), SIGSTOP); }
END
"${CC:-cc}" -o "$T/stopper" "$T/stopper.c"
began=$(date +%s)
assert_exit "natively, too" 10 "$FUZZCTL" replay --harness "$T/stopper" --engine native --timeout 100ms "$T/parents"
check "and at once" [ $(($(date +%s) - began)) -le 5 ]
