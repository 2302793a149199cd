#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sanitizer sweep: a campaign of one plain instance finds a memory error that does not crash it; nothing is lost or
# counted twice when fuzzd is killed in the middle; what could not be swept is told and is not clean.
# limit: 300
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_OVERREAD/chunk_frame/afl plants/CHUNK_OVERREAD/chunk_frame/asan
if ! command -v afl-clang-fast >/dev/null; then
    skip 54-sweep "no afl-clang-fast"
    exit 0
fi

# spec NAME HARNESS SANITIZER SEEDS BUDGET LINE...
spec() {
    printf '[campaign]\nname = %s\nroot = %s\nbudget = %s\ncores = 1\nseed = 7\n\n[target %s]\nharness = %s\nsanitizer = %s\nseeds = %s\ninstances = 1\n' \
        "$1" "$TOP" "$5" "$1" "$2" "$3" "$4" >"$T/$1.ini"
    name=$1
    shift 5
    for line in "$@"; do printf '%s\n' "$line"; done >>"$T/$name.ini"
}
report() { # NAME FILTER
    "$FUZZCTL" report "$1" --json | jq -r "$2"
}
sweep() { # NAME FIELD
    "$FUZZCTL" status "$1" --json | jq -r ".campaigns[0].targets[0].sweep.$2 // 0"
}
folder() {
    find "$FZ_STATE/campaigns/$1" -path "*/$2" | sort | tail -n 1
}
fuzzd_pid() {
    "$FUZZCTL" status --json | jq -r '.fuzzd.pid // 0'
}

# Reads one byte too far where the second is an x; slowly when a file says so.
cat >"$T/over.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef __has_feature
#define __has_feature(x) 0
#endif
int main(void)
{
    unsigned char buf[64], *p;
    volatile unsigned char sum = 0;
    ssize_t n = read(0, buf, sizeof(buf));
    if (n < 2)
        return 1;
    for (ssize_t i = 0; i < n && i < 8; i++)
        switch (buf[i] & 7) {
        case 0: sum += 1; break;
        case 1: sum += 2; break;
        case 2: sum += 3; break;
        case 3: sum ^= 4; break;
        case 4: sum ^= 5; break;
        default: break;
        }
#if __has_feature(address_sanitizer)
    if (access(SLOW, F_OK) == 0)
        usleep(300000);
    if (buf[0] == 'H' && access(SLOW ".hang", F_OK) == 0)
        sleep(2);
#endif
    p = malloc((size_t)n);
    memcpy(p, buf, (size_t)n);
    if (buf[1] == 'x' && READS)
        sum += p[n];
    free(p);
    return sum == 77 ? 3 : 0;
}
END
build() { # OUT READS
    AFL_QUIET=1 afl-clang-fast -O1 -DREADS="$2" -DSLOW="\"$T/slow\"" -o "$T/$1" "$T/over.c" >/dev/null 2>&1
    AFL_QUIET=1 AFL_USE_ASAN=1 afl-clang-fast -O1 -DREADS="$2" -DSLOW="\"$T/slow\"" -o "$T/$1-asan" "$T/over.c" >/dev/null 2>&1
}
build over 1
build odd 0
mkdir "$T/in" "$T/clean"
printf 'abc' >"$T/in/one"
printf 'abc' >"$T/clean/one"

# ---- the plant of the kit: a plain instance, and what it does not see ------------------------
spec plant "$PLANTS/CHUNK_OVERREAD/chunk_frame/afl" "$PLANTS/CHUNK_OVERREAD/chunk_frame/asan" seeds/chunk_frame-min 6s
assert_exit "a plain instance and a sweep find CHUNK_OVERREAD" 10 "$FUZZCTL" run "$T/plant.ini"
assert_match "what is found is a queue entry" '^crash .* sweep/crashes/main,id:[0-9]{6}' "$("$FUZZCTL" artifacts plant)"
assert_match "by the report of the sanitizer" 'heap-buffer-overflow' "$(report plant '.buckets[].signature')"
assert_eq "every entry was swept" 0 "$(report plant '.targets[0].sweep.left')"
check "the report says how many" [ "$(report plant '.targets[0].sweep.swept')" -gt 3 ]
assert_match "in words too" 'sweep +[0-9]+ queue entr(y|ies) run in the sanitizer build, [0-9]+ failed' "$("$FUZZCTL" report plant)"
assert_match "and in Markdown" '[0-9]+ queue entr(y|ies) run in the sanitizer build, 0 left' "$(cat "$(folder plant report/report.md)")"
assert_match "status too" 'swept [0-9]+ queue entr(y|ies), 0 left' "$("$FUZZCTL" status plant)"
assert_exit "verify accounts for all of it" 0 "$FUZZCTL" verify

# ---- while the campaign runs, and fuzzd is killed in the middle ------------------------------
touch "$T/slow"
spec kill "$T/over" "$T/over-asan" "$T/in" 25s
"$FUZZCTL" start "$T/kill.ini" >"$T/start.out" 2>&1
sweeps() { [ "$(sweep kill swept)" -ge 2 ]; }
check "entries are swept while it fuzzes" wait_for 15 sweeps
assert_eq "and it does fuzz" running "$("$FUZZCTL" status kill --json | jq -r '.campaigns[0].state')"
job() { # in the middle of a job: the record of its working folder is there, and the program runs
    [ -n "$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$T/over-asan" 2>/dev/null)" ]
}
for n in 1 2; do
    check "a sweep is at work ($n)" wait_for 15 job
    pid=$(fuzzd_pid)
    case $pid in "" | *[!0-9]* | 0 | 1) not_ok "fuzzd has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
    "$FUZZCTL" status >/dev/null
done
rm "$T/slow"
assert_exit "the next goes on with it" 10 "$FUZZCTL" wait kill --timeout 120s
assert_match "and finds what there is" '^crash .* sweep/crashes/main,id:[0-9]{6}' "$("$FUZZCTL" artifacts kill)"
assert_eq "every entry was swept" "0 true" "$(report kill '.targets[0].sweep | "\(.left) \(.complete)"')"
entries=$(find "$(folder kill out/kill/main/queue)" -maxdepth 1 -type f -exec sha256sum {} + | cut -d' ' -f1 | sort -u | wc -l)
check "each content once: $(report kill '.targets[0].sweep.swept') of $entries" \
    [ "$(report kill '.targets[0].sweep.swept')" -ge "$entries" ]
sweep_files=$(find "$(folder kill out/kill/sweep)" -path '*/crashes/*' -type f | wc -l)
assert_eq "as many artifacts of the sweep as copies" "$sweep_files" \
    "$("$FUZZCTL" artifacts kill --json | jq '[.artifacts[] | select(.instance == "sweep").count] | add')"
assert_eq "no content is there twice" "$sweep_files" \
    "$(find "$(folder kill out/kill/sweep)" -path '*/crashes/*' -type f -exec sha256sum {} + | cut -d' ' -f1 | sort -u | wc -l)"
assert_exit "verify accounts for all of it" 0 "$FUZZCTL" verify

# ---- slow is not hanging ---------------------------------------------------------------------
# An entry that takes two seconds passes hang_timeout once, and not the patience of a confirmation.
touch "$T/slow.hang"
printf 'Habc' >"$T/clean/two"
spec slow "$T/over" "$T/over-asan" "$T/clean" 2s "hang_timeout = 1s" "timeout = 100ms" "max_len = 4"
"$FUZZCTL" run "$T/slow.ini" >"$T/out" 2>&1
assert_eq "a slow sanitizer makes no hang" 0 \
    "$("$FUZZCTL" artifacts slow --json | jq '[.artifacts[] | select(.kind == "hang")] | length')"
assert_eq "the slow entry was swept" "0 true" "$(report slow '.targets[0].sweep | "\(.left) \(.complete)"')"
rm "$T/clean/two"

# A build that hangs on much: a few hangs are kept and replayed, and the verdict does not wait for the others for hours.
mkdir "$T/hangs"
for i in 0 1 2 3 4 01 12 23 34 0123 4321 00000; do printf 'H%s' "$i" >"$T/hangs/$i"; done
spec hangs "$T/odd" "$T/odd-asan" "$T/hangs" 3s "hang_timeout = 100ms" "timeout = 50ms" "max_len = 6"
assert_exit "what hangs in the sanitizer build is a finding" 10 "$FUZZCTL" run "$T/hangs.ini"
entries=$(find "$(folder hangs out/hangs/main/queue)" -maxdepth 1 -type f -exec sha256sum {} + | cut -d' ' -f1 | sort -u | wc -l)
check "of many: $(report hangs '.targets[0].sweep.failed') of $entries" [ "$(report hangs '.targets[0].sweep.failed')" -gt 4 ]
assert_eq "four are kept" 4 "$("$FUZZCTL" artifacts hangs --json | jq '[.artifacts[] | select(.instance == "sweep")] | length')"
assert_eq "every entry was swept" "0 true" "$(report hangs '.targets[0].sweep | "\(.left) \(.complete)"')"
rm "$T/slow.hang"

# ---- a sanitizer build that does not come up -------------------------------------------------
cp "$T/odd-asan" "$T/broken-asan"
spec broken "$T/odd" "$T/broken-asan" "$T/clean" 6s
"$FUZZCTL" start "$T/broken.ini" >"$T/start.out" 2>&1
printf '#!/bin/sh\nexit 1\n' >"$T/broken.new"
chmod +x "$T/broken.new"
mv "$T/broken.new" "$T/broken-asan"
"$FUZZCTL" wait broken --timeout 120s >/dev/null 2>&1
rc=$?
assert_eq "it is no clean campaign" 13 "$rc"
assert_eq "but a degraded one" degraded "$(report broken .verdict)"
assert_match "which says why" 'broken: (.* queue entr(y was|ies were) not run in the sanitizer build|its queues were not run to the end in the sanitizer build): .*broken-asan' \
    "$(report broken '.reasons[]')"
assert_match "status too" 'sweep: .*broken-asan' "$("$FUZZCTL" status broken)"

# ---- switched off, or nothing to sweep with --------------------------------------------------
spec off "$T/over" "$T/over-asan" "$T/in" 3s "sweep = no"
"$FUZZCTL" run "$T/off.ini" >"$T/out" 2>&1
assert_eq "sweep = no sweeps nothing" null "$(report off '.targets[0].sweep')"
assert_eq "and finds nothing" 0 "$("$FUZZCTL" artifacts off --json | jq '.artifacts | length')"
assert_match "the plan tells what the sanitizer is for" 'over-asan.*no instance runs it, triage only' "$("$FUZZCTL" plan "$T/off.ini")"
assert_match "and with a sweep" 'over-asan.*no instance runs it, sweep and triage only' "$("$FUZZCTL" plan "$T/kill.ini")"
grep -v '^sanitizer' "$T/off.ini" | grep -v '^sweep' | sed 's/name = off/name = none/' >"$T/none.ini"
assert_eq "without one the plan says once what is not seen" 1 \
    "$("$FUZZCTL" plan "$T/none.ini" | grep -c 'no sanitizer build, memory errors that do not crash are not seen')"

# ---- a stop: no longer than for triage -------------------------------------------------------
touch "$T/slow"
spec stop "$T/odd" "$T/odd-asan" "$T/clean" 60s
"$FUZZCTL" start "$T/stop.ini" >"$T/start.out" 2>&1
stopping() { [ "$(sweep stop swept)" -ge 1 ]; }
check "a sweep is under way" wait_for 15 stopping
began=$(date +%s)
assert_exit "a stop ends it" 0 "$FUZZCTL" stop stop
took=$(($(date +%s) - began))
check "within triage's time: $took s" [ $took -le 45 ]
assert_eq "interrupted" interrupted "$(report stop .verdict)"
assert_eq "what was left is told, or nothing was" true \
    "$(report stop '.targets[0].sweep.complete or any(.reasons[]; test("stop: .*not run.* in the sanitizer build"))')"
rm "$T/slow"
assert_exit "verify accounts for all of it" 0 "$FUZZCTL" verify
