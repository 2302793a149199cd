#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A campaign begins with its seeds and the corpus of the last run, distilled, and leaves its own to the next.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl
if ! command -v afl-clang-fast >/dev/null; then
    skip 55-corpus "no afl-clang-fast"
    exit 0
fi

spec() { # NAME HARNESS SEEDS BUDGET LINE...
    printf '[campaign]\nname = %s\nroot = %s\nbudget = %s\ncores = 1\nseed = 7\n%s\n[target %s]\nharness = %s\nseeds = %s\ninstances = 1\n' \
        "$1" "$TOP" "$4" "${5-}" "$1" "$2" "$3" >"$T/$1.ini"
}
report() { # NAME FILTER
    "$FUZZCTL" report "$1" --json | jq -r "$2"
}
folder() {
    find "$FZ_STATE/campaigns/$1" -path "*/$2" | sort | tail -n 1
}
given() { # NAME: the folder that afl-fuzz was given
    sed -n 's/^command_line .*afl-fuzz .*-i \([^ ]*\) .*/\1/p' "$(folder "$1" "out/$1/main/fuzzer_stats")"
}
kept() { # NAME: files
    find "$FZ_STATE/corpora/$1/$1" -type f | wc -l
}
names_right() { # NAME: each file's name is its hash
    (cd "$FZ_STATE/corpora/$1/$1" && for f in *; do [ "$(sha256sum <"$f" | cut -d' ' -f1)" = "$f" ] || exit 1; done)
}
fuzzd_pid() {
    "$FUZZCTL" status --json | jq -r '.fuzzd.pid // 0'
}

# A ladder: each right byte is an edge, so that what is known of it is worth keeping.
cat >"$T/ladder.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
#ifndef LADDER
#define LADDER "corpus"
#endif
int main(void)
{
    char buf[16] = "";
    volatile int sum = 0;
    if (read(0, buf, sizeof(buf) - 1) < 1)
        return 1;
    if (SLEEPS && getenv("__AFL_SHM_ID") != NULL)
        usleep(SLEEPS);
    if (buf[0] == LADDER[0]) {
        sum++;
        if (buf[1] == LADDER[1]) {
            sum++;
            if (buf[2] == LADDER[2]) {
                sum++;
                if (buf[3] == LADDER[3]) {
                    sum++;
                    if (FAILS)
                        abort();
                }
            }
        }
    }
    return 0;
}
END
build() { # OUT FLAGS...
    out=$1
    shift
    AFL_QUIET=1 afl-clang-fast -O1 "$@" -o "$out" "$T/ladder.c" >"$T/built" 2>&1 && return
    not_ok "${out##*/} is built"
    sed 's/^/  | /' "$T/built"
}
build "$T/ladder" -DSLEEPS=0 -DFAILS=0
mkdir "$T/in"
printf 'aaaa' >"$T/in/one"
printf 'aaaaa' >"$T/in/same"
printf 'bbbb' >"$T/in/same too"
before=$(find "$T/in" -type f -exec sha256sum {} + | sort)

# ---- twice -----------------------------------------------------------------------------------
spec twice "$T/ladder" "$T/in" 6s
"$FUZZCTL" run "$T/twice.ini" >"$T/out" 2>&1
if [ -d "$FZ_STATE/campaigns/twice" ]; then ok "a campaign runs"; else
    not_ok "a campaign runs"
    sed 's/^/  | /' "$T/out"
fi
assert_match "afl-fuzz begins with a folder of the run's" "/campaigns/twice/[^/]*/seeds/twice/start$" "$(given twice)"
assert_eq "of seeds that do the same one is enough" 1 "$(find "$(given twice)" -type f | wc -l)"
assert_eq "the seeds are as they were" "$before" "$(find "$T/in" -type f -exec sha256sum {} + | sort)"
first=$(report twice '.targets[0].corpus.edges')
check "a corpus is kept: $(kept twice) files, $first edges" [ "$(kept twice)" -gt 0 ]
assert_eq "as many as the report says" "$(kept twice)" "$(report twice '.targets[0].corpus.files')"
check "each by the name of its content" names_right twice
assert_match "in words" 'kept +[0-9]+ inputs?, [0-9.]+ ([KMG]iB|bytes?), [0-9]+ edges?, for the next run' "$("$FUZZCTL" report twice)"
"$FUZZCTL" run "$T/twice.ini" --budget 2s >"$T/out" 2>&1
assert_eq "the second run knows of it" "$(report twice '.targets[0].corpus.before.files')" "$(report twice '.targets[0].seeds.start.kept')"
check "and begins with its edges: $(report twice '.targets[0].seeds.start.edges') of $first" \
    [ "$(report twice '.targets[0].seeds.start.edges')" -ge "$first" ]
check "what it keeps covers no less" [ "$(report twice '.targets[0].corpus.edges')" -ge "$first" ]
assert_match "status tells" 'begins with [0-9]+ inputs?, distilled from 3 seeds and [0-9]+ of the last run' "$("$FUZZCTL" status twice)"
assert_exit "verify tells of it" 0 "$FUZZCTL" verify
assert_match "in a line" 'kept corpora: 1, [0-9]+ files, all whole' "$(cat "$T/out")"

# ---- the time of one execution ---------------------------------------------------------------
assert_eq "a fast target has the least" 100 "$(sed -n 's/^exec_timeout *: //p' "$(folder twice out/twice/main/fuzzer_stats)")"
build "$T/slow" -DSLEEPS=60000 -DFAILS=0
spec slow "$T/slow" "$T/in" 3s
"$FUZZCTL" run "$T/slow.ini" >"$T/out" 2>&1
ms=$(sed -n 's/^exec_timeout *: //p' "$(folder slow out/slow/main/fuzzer_stats)")
check "a slow one five times its slowest input: $ms ms" [ "$ms" -ge 300 ] && check "and no more than half of hang_timeout" [ "$ms" -le 1000 ]
assert_match "status tells" "timeout $ms ms, by the slowest input" "$("$FUZZCTL" status slow)"
sed 's/^instances = 1/instances = 1\ntimeout = 77ms/' "$T/twice.ini" >"$T/fixed.ini"
"$FUZZCTL" run "$T/fixed.ini" --budget 1s >"$T/out" 2>&1
assert_eq "a time of the spec's is kept to" 77 "$(sed -n 's/^exec_timeout *: //p' "$(folder twice out/twice/main/fuzzer_stats)")"

# ---- what the last run kept fails now, or is damaged -----------------------------------------
printf 'corp' >"$T/deep"
name=$(sha256sum <"$T/deep" | cut -d' ' -f1)
cp "$T/deep" "$FZ_STATE/corpora/twice/twice/$name"
printf 'changed' >>"$FZ_STATE/corpora/twice/twice/$(printf '%064d' 1)"
build "$T/ladder" -DSLEEPS=0 -DFAILS=1
assert_exit "an input that was kept and fails now is a finding" 10 "$FUZZCTL" run "$T/twice.ini" --budget 2s
assert_match "an artifact" "seed/crashes/$name" "$("$FUZZCTL" artifacts twice)"
assert_match "the report says so" 'the last run kept fails? now' "$("$FUZZCTL" report twice)"
assert_eq "a damaged one is left out" 1 "$(report twice '.targets[0].seeds.start.kept_damaged')"
assert_eq "the campaign ran" budget "$(report twice '.targets[0].end_reason')"
check "it is not kept any more" [ ! -e "$FZ_STATE/corpora/twice/twice/$name" ]
build "$T/ladder" -DSLEEPS=0 -DFAILS=0

# ---- a harness that went wrong costs no corpus -----------------------------------------------
"$FUZZCTL" run "$T/twice.ini" --budget 2s >"$T/out" 2>&1
before=$(kept twice)
check "a corpus is there: $before files" [ "$before" -gt 1 ]
mv "$T/ladder" "$T/ladder.good"
printf 'int main(void)\n{\n    return 1;\n}\n' >"$T/blind.c"
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/ladder" "$T/blind.c" >/dev/null 2>&1
assert_exit "a harness that reads nothing is vacuous" 11 "$FUZZCTL" run "$T/twice.ini" --budget 2s
assert_eq "and takes nothing from the corpus" "$before" "$(kept twice)"
assert_match "the report says so" 'not renewed: .*what was kept before stays' "$("$FUZZCTL" report twice | tr -s ' \n' ' ')"
mv "$T/ladder.good" "$T/ladder"

# ---- drop ------------------------------------------------------------------------------------
spec drop "$T/ladder" "$T/in" 2s "corpus = drop"
"$FUZZCTL" run "$T/drop.ini" >"$T/out" 2>&1
assert_eq "corpus = drop keeps nothing" null "$(report drop '.targets[0].corpus')"
check "there is no folder of it" [ ! -e "$FZ_STATE/corpora/drop" ]
assert_match "plan tells" 'corpus dropped' "$("$FUZZCTL" plan "$T/drop.ini")"

# ---- stopped, and killed in between ----------------------------------------------------------
spec stop "$T/ladder" "$T/in" 60s
"$FUZZCTL" start "$T/stop.ini" >"$T/out" 2>&1
sleep 3
began=$(date +%s)
assert_exit "a stop" 0 "$FUZZCTL" stop stop
check "waits no longer for it: $(($(date +%s) - began)) s" [ $(($(date +%s) - began)) -le 60 ]
check "and keeps what there is: $(kept stop)" [ "$(kept stop)" -gt 0 ]
check "under the right names" names_right stop

spec killed "$T/slow" "$T/in" 4s
"$FUZZCTL" start "$T/killed.ini" >"$T/out" 2>&1
keeping() { # the job is at work
    [ "$("$FUZZCTL" status killed --json | jq -r '.campaigns[0].state')" = triage ]
}
if wait_for 20 keeping; then
    pid=$(fuzzd_pid)
    case $pid in "" | *[!0-9]* | 0 | 1) not_ok "fuzzd has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
fi
"$FUZZCTL" status >/dev/null
"$FUZZCTL" wait killed --timeout 120s >"$T/out" 2>&1
check "a fuzzd that is killed at the end keeps it later: $(kept killed)" [ "$(kept killed)" -gt 0 ]
check "whole" names_right killed
assert_eq "and nothing lies beside it" 1 "$(find "$FZ_STATE/corpora/killed" -mindepth 1 -maxdepth 1 | wc -l)"

# ---- no space: the old one stays -------------------------------------------------------------
if mkdir "$T/full" && mount -t tmpfs -o size=256k none "$T/full" 2>/dev/null; then
    mkdir -p "$FZ_STATE/corpora/space"
    cp "$(command -v true)" "$T/full/fill" 2>/dev/null
    mkdir "$T/full/space" && printf x >"$T/full/space/$(printf x | sha256sum | cut -d' ' -f1)"
    mount --bind "$T/full" "$FZ_STATE/corpora/space"
    head -c 1M /dev/zero >"$T/full/fill" 2>/dev/null
    spec space "$T/ladder" "$T/in" 2s
    "$FUZZCTL" run "$T/space.ini" >"$T/out" 2>&1
    assert_match "a full disk is told" 'No space left' "$(report space '.targets[0].corpus.why')"
    assert_eq "and the old corpus is as it was" 1 "$(find "$T/full/space" -type f | wc -l)"
    umount "$FZ_STATE/corpora/space"
    umount "$T/full"
else
    ok "a full disk is told (no mount here)"
fi
assert_exit "verify accounts for all of it" 0 "$FUZZCTL" verify
