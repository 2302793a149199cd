#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# user = NAME when fuzzd is root: afl-fuzz, the program under test and its replays are that user's, who
# can write to nothing else; what is found is collected, and a resume goes on in his folders.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl harnesses/chunk_frame/afl

if [ "$(id -u)" -ne 0 ]; then
    printf '[campaign]\nuser = nobody\n[target a]\nharness = %s\nseeds = seeds/chunk_frame-min\n' \
        "$HARNESSES/chunk_frame/afl" >"$T/no.ini"
    sed -i "1a root = $TOP" "$T/no.ini"
    assert_exit "not root: refused" 2 "$FUZZCTL" check "$T/no.ini"
    assert_match "in one line" 'user: only root can run targets as another user' "$(cat "$T/out" "$T/err")"
    exit 0
fi

# The folders above the state directory, and the builds, are for the user to pass.
chmod 711 "$T" "$FZ_STATE"
[ -z "${FZ_RUN_DIR-}" ] || chmod 711 "$FZ_RUN_DIR" "$FZ_RUN_DIR/tmp"
mkdir "$T/bin" && chmod 755 "$T/bin"
for v in afl asan replay; do
    cp "$PLANTS/CHUNK_MAX_PLUS1/chunk_frame/$v" "$T/bin/$v"
done
cp -r seeds/chunk_frame-min "$T/bin/seeds"
chmod -R a+rX "$T/bin"
cat >"$T/us.ini" <<END
[campaign]
name = us
root = $T/bin
budget = 90s
cores = 1
user = nobody

[target planted]
harness = afl
sanitizer = asan
replay = replay
seeds = seeds
instances = 1
END
status() {
    "$FUZZCTL" status us --json | jq -r ".campaigns[0].targets[0]$1"
}
fuzzing() {
    [ "$(status '.instances[0].state')" = fuzzing ]
}
judged() {
    [ "$(status .buckets)" -gt 0 ]
}
ids() { # of a process: its user and group, real, effective, saved, file system; and further groups
    awk '/^Uid:|^Gid:|^Groups:/ { $1 = $1; print }' "/proc/$1/status" | tr '\n' ' '
}
uid=$(id -u nobody) gid=$(id -g nobody)
want="Uid: $uid $uid $uid $uid Gid: $gid $gid $gid $gid Groups: $gid "

for bad in "no-such-user:there is no user \"no-such-user\"" "root:\"root\" has the rights of root"; do
    sed "s/^user = .*/user = ${bad%%:*}/" "$T/us.ini" >"$T/bad.ini"
    assert_exit "user ${bad%%:*} is refused" 2 "$FUZZCTL" start "$T/bad.ini"
    assert_match "in one line" "bad.ini:6: \[campaign\] user: ${bad#*:}" "$(cat "$T/err")"
done
chmod 700 "$T/bin/asan"
assert_exit "a program that he may not read is refused" 2 "$FUZZCTL" start "$T/us.ini"
assert_match "by name" "user: $T/bin/asan: the user may not read it: chmod o.rx $T/bin/asan$" "$(cat "$T/err")"
chmod 744 "$T/bin/asan"
assert_exit "so is one that he may not start" 2 "$FUZZCTL" check "$T/us.ini"
assert_match "in its words" "user: $T/bin/asan: the user may not run it: chmod o.rx $T/bin/asan$" "$(cat "$T/out" "$T/err")"
chmod 755 "$T/bin/asan"

# Seeds that he may not read: one fault a folder.
mkdir "$T/bin/seeds/below"
seed=$(find "$T/bin/seeds" -type f ! -name README.txt | sort | head -n 1)
cp "$seed" "$T/bin/seeds/below/z"
: >"$T/bin/seeds/.hidden"
chmod 600 "$seed" "$T/bin/seeds/.hidden"
for verb in check plan run; do
    assert_exit "$verb: a seed that he may not read is refused" 2 "$FUZZCTL" $verb "$T/us.ini"
    assert_match "$verb: by name, with what mends it" \
        "us.ini:6: \[campaign\] user: $seed: the user may not read it: chmod o.r $seed$" "$(cat "$T/out" "$T/err")"
done
chmod 600 "$T/bin/seeds/below/z"
chmod 700 "$T/bin/seeds/below"
sed 's/^\[target planted\]/[target more]/' "$T/us.ini" | sed -n '/^\[target/,$p' >"$T/more"
cat "$T/us.ini" "$T/more" >"$T/two.ini"
assert_exit "several are" 2 "$FUZZCTL" check "$T/two.ini"
assert_match "counted, with the first" \
    "user: $T/bin/seeds: the user may not read 3 of the files and folders in it, the first is ${seed##*/}: chmod -R o.rX $T/bin/seeds$" \
    "$(cat "$T/out" "$T/err")"
assert_eq "and told once a folder" 1 "$(cat "$T/out" "$T/err" | grep -c 'may not')"
chmod -R o+rX "$T/bin/seeds"
assert_exit "what is said mends them" 0 "$FUZZCTL" check "$T/us.ini"
cp "$seed" "$T/away"
chmod 600 "$T/away"
ln -s "$T/away" "$T/bin/seeds/link"
assert_exit "a link to one is refused" 2 "$FUZZCTL" check "$T/us.ini"
assert_match "by name" "user: .*: the user may not read it: chmod o.r " "$(cat "$T/out" "$T/err")"
rm -r "$T/bin/seeds/link" "$T/bin/seeds/below" "$T/bin/seeds/.hidden" "$T/away"

mkdir -m 700 "$T/shut"
mkdir -m 711 "$T/shut/between"
for verb in check plan start; do
    assert_exit "$verb: a state directory that he cannot get to is refused" 2 \
        "$FUZZCTL" --state "$T/shut/between/state" $verb "$T/us.ini"
    assert_match "$verb: with the folder that is in the way, and what mends it" \
        "us.ini:6: \[campaign\] user: the state directory $T/shut/between/state: the user may not enter $T/shut: chmod o.x $T/shut$" \
        "$(cat "$T/out" "$T/err")"
    assert_exit "$verb: or that will be made so" 2 "$FUZZCTL" --state "$T/new/state" $verb "$T/us.ini"
    assert_match "$verb: in the same way" "$T/new is not there.*: install -d -m 711 $T/new$" "$(cat "$T/out" "$T/err")"
done
check "nothing is begun there" test ! -e "$T/new" -a ! -e "$T/shut/between/state"
chmod o+x "$T/shut"
assert_exit "what is said mends it" 0 "$FUZZCTL" --state "$T/shut/between/state" check "$T/us.ini"

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/us.ini"
check "it fuzzes" wait_for 40 fuzzing
afl=$(status '.instances[0].pid')
assert_eq "afl-fuzz is the user's" "$want" "$(ids "$afl")"
server=$(pgrep -P "$afl" | head -n 1)
assert_match "there is a program under test" '^[0-9]+$' "$server"
assert_eq "and so is it" "$want" "$(ids "$server")"
assert_match "without a capability" '^CapEff:.0000000000000000$' "$(grep CapEff "/proc/$server/status")"
assert_match "and none to be had from a set-user-ID program" '^NoNewPrivs:.1$' "$(grep NoNewPrivs "/proc/$server/status")"
keeper=$(status '.instances[0].keeper_pid')
assert_match "their keeper is root's" '^Uid: 0 0 0 0 ' "$(ids "$keeper")"
check "its inputs are judged" wait_for 60 judged
assert_match "as a finding of the plant" 'C3' "$("$FUZZCTL" report us)"

# ---- what he can write to --------------------------------------------------------------------
writable=$(setpriv --reuid=nobody --regid="$gid" --clear-groups find "$FZ_STATE" -writable 2>/dev/null | sed "s,$FZ_STATE/,,")
assert_eq "only his own folders are his to write to" "" \
    "$(printf '%s\n' "$writable" | grep -Ev '^campaigns/us/[^/]+/(out/planted|scratch/planted\.main)(/|$)')"
assert_match "which are" 'out/planted/main' "$(find "$FZ_STATE" -user nobody)"
assert_eq "nor can he read what else is there" "" \
    "$(setpriv --reuid=nobody --regid="$gid" --clear-groups find "$FZ_STATE" -type f -readable -not -user nobody 2>/dev/null)"

# ---- stop and resume ---------------------------------------------------------------------------
execs=$(status '.instances[0].execs_done')
assert_exit "stop succeeds" 0 "$FUZZCTL" stop us
assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify
assert_exit "resume succeeds" 0 "$FUZZCTL" resume us
check "it fuzzes again" wait_for 40 fuzzing
assert_eq "as the user" "$want" "$(ids "$(status '.instances[0].pid')")"
went_on() {
    [ "$(status '.instances[0].execs_done')" -gt "$execs" ]
}
check "from where it was" wait_for 30 went_on

# ---- the next run, from what this one came to --------------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop us
assert_exit "another run starts" 0 "$FUZZCTL" start "$T/us.ini"
check "it fuzzes" wait_for 40 fuzzing
assert_eq "as the user" "$want" "$(ids "$(status '.instances[0].pid')")"

# ---- a link in the place of his folder -----------------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop us
mkdir -m 700 "$T/precious" && echo keep >"$T/precious/is_main_node"
scratch=$(find "$FZ_STATE/campaigns/us" -path '*/scratch/planted.main' | sort | tail -n 1)
out=$(find "$FZ_STATE/campaigns/us" -path '*/out/planted' | sort | tail -n 1)
mv "$out/main" "$out/moved" && ln -s "$T/precious" "$out/main"
chown -h nobody "$out/main"
[ -z "$scratch" ] || { rm -rf "$scratch" && ln -s "$T/precious" "$scratch"; }
"$FUZZCTL" resume us >"$T/out" 2>&1
"$FUZZCTL" stop us >/dev/null 2>&1
assert_eq "a folder elsewhere stays as it was" "keep 0 700" \
    "$(cat "$T/precious/is_main_node" 2>/dev/null) $(stat -c '%u %a' "$T/precious")"
rm "$out/main" && mv "$out/moved" "$out/main"

# ---- all that runs the program, before, beside and after -----------------------------------------
# A guest has no compiler for it, and in user-mode Linux no room where a sanitizer's shadow must lie.
if [ -n "${FZ_CRASHER-}" ] && ! command -v afl-clang-fast >/dev/null; then
    exit 0
fi
mkdir "$T/uids" && chmod 1777 "$T/uids"
cat >"$T/t.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
static volatile int x;
int main(void)
{
    char path[] = "UIDS/0000000000 0 0";
    snprintf(path, sizeof(path), "UIDS/%d %d %d", (int)getuid(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
             prctl(PR_GET_SECCOMP));
    close(open(path, O_WRONLY | O_CREAT, 0600));
    __AFL_INIT();
    unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        int n = __AFL_FUZZ_TESTCASE_LEN;
        if (n > 0 && b[0] == 'a') x += 3;
        if (n > 1 && b[1] == 'b') x *= 7;
        if (n > 2 && b[2] == 'c') abort(); /* its place is looked for under ptrace */
    }
}
END
sed -i "s,UIDS,$T/uids," "$T/t.c"
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/bin/t" "$T/t.c" >/dev/null 2>&1
AFL_USE_ASAN=1 AFL_QUIET=1 afl-clang-fast -O1 -o "$T/bin/t-asan" "$T/t.c" >/dev/null 2>&1
for v in "" -asan; do
    cp "$HARNESSES/chunk_frame/$(echo "${v:--afl}" | cut -c2-)" "$T/bin/kit$v"
done
mkdir "$T/bin/t-seeds" && echo xyz >"$T/bin/t-seeds/one" && chmod -R a+rX "$T/bin"
cat >"$T/all.ini" <<END
[campaign]
name = all
root = $T/bin
budget = 5s
cores = 1
user = nobody

[target kit]
harness = kit
sanitizer = kit-asan
seeds = seeds
instances = 1

[target other]
harness = t
sanitizer = t-asan
seeds = t-seeds
instances = 1
END
"$FUZZCTL" run "$T/all.ini" >"$T/out" 2>&1
done_of() { # TARGET EXPRESSION
    "$FUZZCTL" report all --json | jq -r ".targets[] | select(.name == \"$1\") | $2"
}
for t in kit other; do
    assert_match "$t: what it begins with is distilled" "all/$t: begins with .* distilled" "$(cat "$FZ_STATE/fuzzd.log")"
    assert_eq "$t: its queue is swept" "true 0 null" "$(done_of $t '.sweep | "\(.swept > 0) \(.left) \(.why)"')"
    assert_eq "$t: a corpus is kept" "true null" "$(done_of $t '.corpus | "\(.files > 0) \(.why)"')"
    assert_eq "$t: and shuffled" null "$(done_of $t '.shuffle.why')"
done
assert_match "a crash is found" "signal SIGABRT" "$("$FUZZCTL" report all)"
assert_match "with its place" "t(-asan)?\+0x[0-9a-f]+" "$("$FUZZCTL" report all)"
assert_eq "as the user, with no way to be another, and sealed, each time" "$uid 1 2" "$(ls "$T/uids")"
