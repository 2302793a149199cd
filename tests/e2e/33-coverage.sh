#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl coverage: edges and lines over a corpus, programs of the kit and others, inputs that crash and hang, tools that are not there.
# limit: 240
# cores: none
# shellcheck disable=SC2016 # expanded by the inner shell
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/chunk_frame/cov
CLANG=$(command -v clang || command -v clang-14)

# value EXPR: of the JSON in $T/out, d being the first target's
value() {
    python3 -c '
import json, sys
doc = json.load(open(sys.argv[1]))
d = doc["targets"][0]
s = d["source"]
print(eval(sys.argv[2]))' "$T/out" "$1"
}

# ---- a target of the kit ----
cat >"$T/kit.ini" <<END
[campaign]
name = kit
root = $TOP
[target chunk_frame]
harness = build/harnesses/chunk_frame/afl
coverage = build/harnesses/chunk_frame/cov
seeds = seeds/chunk_frame
instances = 1
END
sed -i "s,build/harnesses,$HARNESSES,g" "$T/kit.ini"
assert_exit "the committed seeds are measured" 0 "$FUZZCTL" coverage "$T/kit.ini"
assert_match "with edges" 'edges +[0-9.]+ %  [0-9]+ of a map of' "$(cat "$T/out")"
assert_match "and lines of the library" 'lines +9[0-9.]+ %  [0-9]+ of [0-9]+' "$(cat "$T/out")"
assert_exit "as JSON" 0 "$FUZZCTL" --json coverage "$T/kit.ini"
lines=$(value 's["parts"]["library"]["lines"]["covered"]')
assert_eq "the kit is told from the library" "True" "$(value 'all(("sdk/" in f["file"]) == (f["part"] == "kit") for f in s["files"])')"
assert_eq "and the invariants, too" "harness" "$(value '[f["part"] for f in s["files"] if "invariants" in f["file"]][0]')"
# What llvm-cov says by itself of the same inputs.
LLVM_PROFILE_FILE="$T/own.profraw" "$HARNESSES/chunk_frame/cov" --one seeds/chunk_frame/000-* >/dev/null 2>&1
mkdir "$T/one"
cp seeds/chunk_frame/000-* "$T/one/"
PROFDATA=$(command -v llvm-profdata || command -v llvm-profdata-14)
"$PROFDATA" merge -o "$T/own.profdata" "$T/own.profraw"
want=$("$(echo "$PROFDATA" | sed 's/profdata/cov/')" export -instr-profile="$T/own.profdata" "$HARNESSES/chunk_frame/cov" |
    python3 -c 'import json,sys
print([f["summary"]["lines"]["covered"] for f in json.load(sys.stdin)["data"][0]["files"] if f["filename"].endswith("/chunk_frame.c")][0])')
assert_exit "one input instead of the seeds" 0 "$FUZZCTL" --json coverage "$T/kit.ini" --corpus "$T/one"
assert_eq "covers what llvm-cov says" "$want" "$(value 's["parts"]["library"]["lines"]["covered"]')"
check "less than the seeds do" test "$want" -lt "$lines"
assert_match "what it does not call comes first" 'False' "$(value 's["functions"][0]["covered"]')"
assert_eq "the library before the rest" "True" "$(value '(lambda p: p == sorted(p, key=["library", "harness", "kit"].index))([f["part"] for f in s["functions"] if not f["covered"]])')"
check "many inputs are many chunks" sh -c '
    mkdir "$T/many" && i=0
    while [ $i -lt 700 ]; do cp "$T"/one/* "$T/many/$i"; i=$((i + 1)); done'
assert_exit "700 inputs" 0 "$FUZZCTL" --json coverage "$T/kit.ini" --corpus "$T/many"
assert_eq "cover no more" "$want 700" "$(value 's["parts"]["library"]["lines"]["covered"]') $(value 's["run"]')"

# ---- packed ----
both() {
    value '(d["inputs"], d["edges"]["covered"], d["edges"]["tuples"], s["run"], s["parts"]["library"], [f["name"] for f in s["functions"]])'
}
assert_exit "a folder" 0 "$FUZZCTL" --json coverage "$T/kit.ini" --corpus seeds/chunk_frame
as_folder=$(both)
for packed in corpus.tar corpus.tar.zst; do
    assert_exit "packed as $packed" 0 "$FUZZCTL" corpus pack seeds/chunk_frame -o "$T/$packed"
    assert_exit "$packed is measured" 0 "$FUZZCTL" --json coverage "$T/kit.ini" --corpus "$T/$packed"
    assert_eq "$packed has the inputs, edges, lines and functions of the folder" "$as_folder" "$(both)"
    assert_exit "$packed beside a folder" 0 "$FUZZCTL" --json coverage "$T/kit.ini" --corpus "$T/$packed" --corpus "$T/one"
    assert_eq "$packed beside a folder: one input more" "$(($(echo "$as_folder" | tr -dc '0-9,' | cut -d, -f1) + 1))" "$(value 'd["inputs"]')"
done
head -c 2000 "$T/corpus.tar" >"$T/cut.tar"
assert_exit "one that is cut short is an error" 1 "$FUZZCTL" coverage "$T/kit.ini" --corpus "$T/cut.tar"
assert_eq "and named, and nothing else said" "fuzzctl coverage: chunk_frame: $T/cut.tar: the file is cut short: it has no end mark" "$(cat "$T/err")"

# ---- no campaign file named ----
mkdir "$T/empty"
check "without one there it is asked for" sh -c 'cd "$T/empty" && ! "$FUZZCTL" coverage 2>"$T/err"'
assert_match "and said which is meant" 'name a campaign file: there is no conf/campaigns/prerelease.ini, which is taken' "$(cat "$T/err")"
assert_exit "a target of none" 2 "$FUZZCTL" coverage nosuch
assert_match "of the one that is taken" 'prerelease.ini: no target named nosuch; there are: .*chunk_frame' "$(cat "$T/err")"
for verb in coverage replay; do
    assert_exit "$verb: a word where there is no such file" 2 env -C "$T/empty" "$FUZZCTL" $verb nosuch
    assert_match "$verb: it is the word that is told of" "^fuzzctl $verb: nosuch: no such campaign file, and " "$(cat "$T/err")"
done

# ---- pages ----
assert_exit "pages are made" 0 "$FUZZCTL" coverage "$T/kit.ini" --html "$T/html"
check "with an index" grep -q 'chunk_frame/index.html' "$T/html/index.html"
check "and the sources" sh -c 'find "$T/html/chunk_frame" -name "chunk_frame.c.html" | grep -q .'
assert_exit "pages that are there are left alone" 2 "$FUZZCTL" coverage "$T/kit.ini" --html "$T/html"
check "and nothing is left beside them" sh -c '[ -z "$(ls -d "$T"/html.tmp* 2>/dev/null)" ]'

# ---- a program without the kit ----
cat >"$T/user.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
__attribute__((noinline)) void never(void) { abort(); }
__attribute__((noinline)) int good(int c) { return c == 'g' ? 7 : 9; }
int main(int argc, char **argv)
{
    char b[8] = {0};
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : 0;
    if (read(fd, b, sizeof(b)) <= 0) return 1;
    if (b[0] == 'C') abort();
    if (b[0] == 'H') for (;;) pause();
    if (b[0] == '\001' && b[1] == '\002') never();
    return good(b[0]);
}
END
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/user-afl" "$T/user.c" 2>/dev/null
"$CLANG" -O0 -fprofile-instr-generate -fcoverage-mapping -o "$T/user-cov" "$T/user.c"
mkdir "$T/in"
printf g >"$T/in/good"
printf x >"$T/in/other"
printf C >"$T/in/crash"
printf H >"$T/in/hang"
: >"$T/in/empty"
printf g >"$T/in/odd
name"
user_spec() {
    cat >"$T/user.ini" <<END
[campaign]
name = user
root = $T
[limits]
timeout = 100ms
hang_timeout = 200ms
[target u]
harness = user-afl
coverage = $1
seeds = in
$2
END
}
for way in "" "args = @@"; do
    user_spec user-cov "$way"
    assert_exit "a program that crashes and hangs (${way:-stdin})" 0 "$FUZZCTL" --json coverage "$T/user.ini"
    assert_eq "keeps what the other inputs cover" "True" "$(value '[f["covered"] for f in s["functions"] if f["name"] == "good"][0]')"
    assert_eq "what nobody calls is first" "never" "$(value 's["functions"][0]["name"]')"
    assert_eq "the crash is said" "['signal 6']" "$(value '[x["why"] for x in s["lost"]]')"
    assert_eq "and the hang" "1" "$(value 'len([x for x in d["edges"]["set_aside"] if x["why"] == "timeout"])')"
    assert_eq "all of it is library" "True" "$(value 'all(f["part"] == "library" for f in s["files"])')"
done
assert_exit "for people" 0 "$FUZZCTL" coverage "$T/user.ini"
assert_exit "quiet" 0 "$FUZZCTL" -q coverage "$T/user.ini"
assert_eq "totals are left, and no lists" "1 0" "$(grep -c '^  lines ' "$T/out") $(grep -c 'never called' "$T/out")"
assert_exit "for people, again" 0 "$FUZZCTL" coverage "$T/user.ini"
assert_match "never called is named with its place" 'user.c:[0-9]+ never' "$(cat "$T/out")"
rm "$T/in/good" "$T/in/other" "$T/in/odd"* "$T/in/empty" "$T/in/hang"
assert_exit "when every input crashes" 1 "$FUZZCTL" coverage "$T/user.ini"
assert_match "it is said that no profile came" 'wrote no profile: no input came to its end$' "$(cat "$T/err")"
mkdir "$T/big"
head -c 1048577 /dev/zero >"$T/big/big"
assert_exit "when every input is too large" 1 "$FUZZCTL" coverage "$T/user.ini" --corpus "$T/big"
assert_eq "it is no matter of the build" "u: 1 of 1 input could not be run,u: no lines: none of its inputs can be run" \
    "$(sed 's/^fuzzctl coverage: //' "$T/err" | paste -sd,)"
assert_match "and said why" "not run: .*/big: over 1 MiB$" "$(cat "$T/out")"
printf g >"$T/in/good"

# ---- C++ ----
cat >"$T/cxx.cc" <<'END'
#include <unistd.h>
namespace shapes {
template <class T> struct box { T get(T v) const { return v + 1; } };
static int never(int a, long b) { return a + (int)b; }
static int inner(char c) { return box<int>().get(c) + (int)box<long>().get(c); }
}
int main(int argc, char **)
{
    char c = 0;
    if (read(0, &c, 1) < 0 || argc > 9)
        return shapes::never(argc, 2);
    return shapes::inner(c) == 77 ? 0 : 0;
}
END
AFL_QUIET=1 afl-clang-fast++ -O0 -o "$T/cxx-afl" "$T/cxx.cc" 2>/dev/null
clang++ -O0 -fprofile-instr-generate -fcoverage-mapping -o "$T/cxx-cov" "$T/cxx.cc"
printf g >"$T/in/good"
user_spec cxx-cov ""
sed -i 's/user-afl/cxx-afl/' "$T/user.ini"
assert_exit "a program in C++" 0 "$FUZZCTL" --json coverage "$T/user.ini" --html "$T/cxx-html"
assert_eq "has its names as they are written" "True" \
    "$(value '"shapes::never(int, long)" in [f["name"] for f in s["functions"]]')"
assert_eq "none as the linker has them" "[]" "$(value '[f["name"] for f in s["functions"] if f["name"].startswith("_Z")]')"
check "in the pages, too" grep -rqs 'shapes::box' "$T/cxx-html"

# ---- what is missing ----
user_spec user-afl ""
assert_exit "a build without coverage" 1 "$FUZZCTL" coverage "$T/user.ini"
assert_match "is told what it needs" 'fprofile-instr-generate' "$(cat "$T/err")"
assert_match "and its edges are there" 'edges +[0-9.]+ %' "$(cat "$T/out")"
user_spec gone "build = make the-coverage-build"
assert_exit "a build that is not there" 1 "$FUZZCTL" coverage "$T/user.ini"
assert_match "is told with the command that makes it" 'make the-coverage-build' "$(cat "$T/err")"
assert_exit "which no campaign waits for" 0 "$FUZZCTL" plan "$T/user.ini"
sed -i '/^coverage/d' "$T/user.ini"
assert_exit "without the key there are edges" 0 "$FUZZCTL" coverage "$T/user.ini"
assert_match "and a word about it" 'no coverage = PROGRAM' "$(cat "$T/out")"
user_spec user-cov ""
mkdir "$T/bin"
if [ ! -d /usr/lib/llvm-14/bin ] || [ ! -w /usr ]; then
    :
else
    # Only the folders of PATH and /usr/lib/llvm-N/bin are looked in; a mount hides the latter from this run.
    hidden=$(find /usr/lib -maxdepth 1 -name 'llvm-*' | sed 's,$,/bin,')
    mkdir "$T/void"
    assert_exit "without llvm" 1 unshare -m sh -c '
        for d in $3; do mount --bind "$2" "$d" || exit 9; done
        PATH="$2" exec "$0" coverage "$1"' "$FUZZCTL" "$T/user.ini" "$T/void" "$hidden"
    assert_match "it is told how to get it" 'apt-get install llvm' "$(cat "$T/err")"
fi
assert_exit "an unknown target" 2 "$FUZZCTL" coverage "$T/user.ini" nobody
assert_exit "an unknown option" 2 "$FUZZCTL" coverage "$T/user.ini" --nothing
mkdir "$T/none"
assert_exit "no inputs" 11 "$FUZZCTL" coverage "$T/user.ini" --corpus "$T/none"
assert_exit "no such place" 2 "$FUZZCTL" coverage "$T/user.ini" --corpus "$T/gone"
assert_match "is told" "--corpus .*/gone: No such file" "$(cat "$T/err")"
assert_exit "pages among the inputs" 2 "$FUZZCTL" coverage "$T/user.ini" --corpus "$T/in" --html "$T/in/html"
assert_exit "or the seeds" 2 "$FUZZCTL" coverage "$T/user.ini" --html "$T/in/html"
assert_match "are refused" "--html .*/in/html: would be among the inputs in .*/in from then on" "$(cat "$T/err")"
check "no private folder is left" sh -c '[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name "fuzzctl-replay.*" -newer "$T/kit.ini" -empty)" ]'
