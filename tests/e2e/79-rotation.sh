#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An instance that comes near the number of crashes or hangs that AFL++ saves in one folder goes on in another, with its
# queue: nothing found is lost or counted twice, the figures go on, and a fuzzd that is killed at any instant of it is none the worse.
# limit: 550
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage
for tool in afl-clang-fast sqlite3; do
    if ! command -v $tool >/dev/null; then
        skip 79-rotation "no $tool"
        exit 0
    fi
done
private_locks
crasher_campaign
sed -i 's/^budget = .*/budget = 10m/' "$T/k.ini"

one=".targets[0].instances[0]"
status() {
    "$FUZZCTL" status k --json | jq -r ".campaigns[0] | $1"
}
fuzzing() {
    [ "$(status "$one.state")" = fuzzing ]
}
rotated() { # N times at least
    [ "$(status "$one.rotations // 0")" -ge "$1" ]
}
execs() {
    status "$one.execs_done"
}
index() { # SQL
    sqlite3 -cmd '.timeout 3000' "$FZ_STATE/state.db" "$1"
}
folders() { # of the instance named $1, oldest first
    find "$FZ_STATE"/campaigns/k/*/out/a -mindepth 1 -maxdepth 1 -type d \( -name "$1" -o -name "$1_r*" \) | sort -V
}
newest() {
    folders "$1" | tail -n 1
}
dead() {
    ! alive "$1"
}
kill_daemon() {
    kpid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
    case $kpid in
    "" | *[!0-9]* | 0 | 1) not_ok "a pid to kill is known: $kpid" ;;
    *) kill -KILL "$kpid" ;;
    esac
    wait_for 5 dead "$kpid"
}
queues() { # folders that have a queue
    for d in $(folders main); do
        [ ! -d "$d/queue" ] || echo "$d"
    done
}
n_afl() { # afl-fuzz processes of this state directory
    n=0
    for p in $(state_pids); do
        case $(cat "/proc/$p/comm" 2>/dev/null) in afl-fuzz) n=$((n + 1)) ;; esac
    done
    echo $n
}
# It rotates every second or so: each of these holds between two rotations, and more than one of anything never does.
one_afl() {
    n=$(n_afl)
    [ "$n" -le 1 ] || not_ok "two afl-fuzz at a time"
    [ "$n" = 1 ]
}
one_queue() {
    [ "$(queues)" = "$(newest main)" ]
}
one_main() {
    [ "$(find "$FZ_STATE"/campaigns/k/*/out/a -name is_main_node | wc -l)" = 1 ]
}
has_seed() {
    find "$(newest main)/queue" -name '*orig:one*' 2>/dev/null | grep -q .
}
named() {
    tr '\0' ' ' 2>/dev/null <"/proc/$(status "$one.pid")/cmdline" | grep -Eq -- "-M main_r[0-9]+ .*-T k/a/main "
}
end_daemon() {
    "$FUZZCTL" stop --all >/dev/null 2>&1
    kpid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
    [ "$kpid" -gt 1 ] && kill -TERM "$kpid" 2>/dev/null
    wait_for 10 dead "$kpid"
}

FUZZ_ROTATE_AT=7 "$FUZZD" --state "$FZ_STATE" --foreground >"$T/out" 2>&1
assert_match "an odd threshold is refused" 'FUZZ_ROTATE_AT: "7" is not CRASHES,HANGS' "$(cat "$T/out")"

# ---- by crashes, several times ---------------------------------------------------------------
export FUZZ_ROTATE_AT=10,400
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/k.ini"
check "it rotates" wait_for 60 rotated 1
at=$(execs) fuzz_s=$(status '.targets[0].fuzz_s')
first=$(folders main | head -n 1)
assert_eq "into the folder main_r2" main_r2 "$(basename "$(folders main | sed -n 2p)")"
check "again and again" wait_for 60 rotated 4
check "it fuzzes" wait_for 20 fuzzing
check "its queue is in the newest folder alone" wait_for 20 one_queue
check "the first seed is still in it" wait_for 20 has_seed
check "the first folder has its crashes" test -n "$(find "$first" -path '*/crashes*/id*' | head -n 1)"
if [ "$(execs)" -gt "$at" ]; then ok "executions add up"; else not_ok "executions add up"; fi
if [ "$(status '.targets[0].fuzz_s')" -ge "$fuzz_s" ]; then ok "the clock goes on"; else not_ok "the clock goes on"; fi
assert_eq "none of that is a restart" 0 "$(status "$one.restarts")"
assert_match "status shows the folder" "rotated to main_r[0-9]+" "$("$FUZZCTL" status k)"
check "one afl-fuzz runs" wait_for 20 one_afl
check "under the folder's name, and with its instance's for StatsD" wait_for 20 named
check "it is the main instance of its target" wait_for 10 sh -c "ls '$(dirname "$first")'/main*/is_main_node >/dev/null"
check "as the only one" wait_for 20 one_main

# ---- something in the place of the next ones -------------------------------------------------------
n=$(newest main) && n=${n##*_r}
mkdir "$T/elsewhere"
echo junk >"${first}_r$((n + 3))"
ln -s "$T/elsewhere" "${first}_r$((n + 4))"
beyond() {
    m=$(newest main)
    [ "${m##*_r}" -gt $((n + 4)) ] && one_queue
}
check "what lies in the way of a rotation is gone around, with the queue" wait_for 60 beyond
check "and fuzzed on" wait_for 20 fuzzing
assert_eq "as no restart" 0 "$(status "$one.restarts")"
assert_eq "nothing is put elsewhere" "" "$(ls "$T/elsewhere")"
rm "${first}_r$((n + 4))"

# ---- killed at any instant of it -------------------------------------------------------------
for pause in 0 0.05 0.1 0.2 0.3 0.5 0.8; do
    at=$(execs)
    # From the log's next word of a rotation on.
    lines=$(grep -c 'going on in another' "$FZ_STATE/fuzzd.log")
    for _ in $(seq 600); do
        [ "$(grep -c 'going on in another' "$FZ_STATE/fuzzd.log")" -gt "$lines" ] && break
        sleep 0.05
    done
    sleep $pause
    kill_daemon
    check "killed $pause s into a rotation, it fuzzes again" wait_for 40 fuzzing
    check "with one afl-fuzz" wait_for 20 one_afl
    check "and one queue, in the newest folder" wait_for 20 one_queue
    if [ "$(execs)" -ge "$at" ]; then ok "no execution is forgotten"; else not_ok "no execution is forgotten"; fi
done
check "the first seed is still there" wait_for 20 has_seed
assert_eq "no restart but those of the kills" ok "$([ "$(status "$one.restarts")" -le 7 ] && echo ok)"

# ---- a folder that was made, and no more -----------------------------------------------------
check "it fuzzes" wait_for 20 fuzzing
kill_daemon
keeper=$(sed -n 's/^keeper=\([0-9]*\) .*/\1/p' "$(find "$FZ_STATE/campaigns/k" -name a.main.run)")
case $keeper in
"" | *[!0-9]* | 0 | 1) not_ok "a keeper to kill is known" ;;
*) kill -KILL "$keeper" && wait_for 5 dead "$keeper" ;;
esac
before=$(newest main)
mkdir -m 700 "${first}_r$((${before##*_r} + 1))"
check "a rotation that was cut off is gone on with" wait_for 30 fuzzing
check "with the queue in the new folder or a newer" test "$(basename "$(newest main)" | sed 's/.*_r//')" -gt "${before##*_r}"

# ---- an end, and a resume --------------------------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k
assert_exit "verify finds every file recorded, once" 0 "$FUZZCTL" verify
assert_eq "of every folder" "$(find "$FZ_STATE"/campaigns/k/*/out/a -path '*/main*/crashes*/id*' -o -path '*/main*/hangs*/id*' | wc -l)" \
    "$(index "SELECT count(*) FROM occurrences WHERE instance LIKE 'main%'")"
assert_match "the report tells of it" "main went on in another folder [0-9]+ times" "$("$FUZZCTL" report k)"
last=$(newest main)
assert_exit "resume goes on" 0 "$FUZZCTL" resume k
check "and fuzzes" wait_for 30 fuzzing
check "from the newest folder" test "${last##*_r}" -le "$(basename "$(newest main)" | sed 's/.*_r//')"
check "which has the queue" wait_for 20 one_queue
end_daemon
assert_exit "all is accounted for" 0 "$FUZZCTL" verify

# ---- inputs that are added meanwhile -----------------------------------------------------------
# A slow program with some inputs: afl-fuzz looks for others at the end of a round of its queue, too, which is then long.
cat >"$T/t.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
static volatile int x;
#define EDGE(i) static void edge##i(void) { x += i + 1; }
EDGE(0) EDGE(1) EDGE(2) EDGE(3) EDGE(4) EDGE(5) EDGE(6) EDGE(7)
static void (*const edges[])(void) = {edge0, edge1, edge2, edge3, edge4, edge5, edge6, edge7};
static int begins(const unsigned char *b, int n, const char *key)
{
    int i = 0;
    while (i < n && i < 8 && b[i] == (unsigned char)key[i]) i++;
    return i == 8;
}
int main(void)
{
    __AFL_INIT();
    unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        int n = __AFL_FUZZ_TESTCASE_LEN;
        if (begins(b, n, "y3k.Vq0]")) x += 3;
        if (begins(b, n, "zP7;m~Wd")) x *= 7;
        for (int i = 0; i < 8; i++)
            if (n == 9 + i) edges[i]();
        if (n > 1 && b[0] == '!' && access("GO", F_OK) == 0) abort();
        if (access("SLOW", F_OK) == 0) usleep(9000);
    }
}
END
sed -i "s,GO,$T/go,; s,SLOW,$T/slow," "$T/t.c"
: >"$T/slow" # a round of the queue takes long, and what is added before it rotates is not read yet
AFL_QUIET=1 afl-clang-fast -O1 -o "$T/t" "$T/t.c" >/dev/null 2>&1
sed -e 's/^name = .*/name = added/' -e 's/^harness = .*/harness = t/' -e '/timeout = /d' "$T/k.ini" >"$T/added.ini"
printf 'y3k.Vq0]' >"$T/y"
printf 'zP7;m~Wd' >"$T/z"
for n in 0 1 2 3 4 5 6 7; do
    printf '!%0*d' $((n + 8)) 0 >"$T/seeds/crashes-later-$n"
done
export FUZZ_ROTATE_AT=1,400
assert_exit "a campaign that takes inputs" 0 "$FUZZCTL" start "$T/added.ini"
added() { # EXPRESSION
    "$FUZZCTL" status added --json | jq -r ".campaigns[0].targets[0].instances[0] | $1"
}
goes_on() {
    [ "$(added '"\(.state) \((.rotations // 0) > 0)"')" = "fuzzing $1" ]
}
check "fuzzes" wait_for 60 goes_on false
timeout 200 "$FUZZCTL" --json corpus add added a "$T/y" --wait 150s >"$T/before" 2>&1 &
adding=$!
# shellcheck disable=SC2016 # expanded by the inner shell
check "an input lies there" wait_for 20 sh -c 'ls "$1"/campaigns/added/*/add/a/added/* >/dev/null 2>&1' sh "$FZ_STATE"
touch "$T/go"
check "it rotates" wait_for 60 goes_on true
rm "$T/go" "$T/slow"
assert_exit "one that is added now is taken" 0 timeout 200 "$FUZZCTL" --json corpus add added a "$T/z" --wait 150s
assert_eq "which is told" taken "$(jq -r '.files[0].state' "$T/out")"
wait $adding
assert_eq "so is the one of before, to him who has waited since" "0 taken" "$? $(jq -r '.files[0].state' "$T/before")"
newest_of_it=$(find "$FZ_STATE"/campaigns/added/*/out/a -mindepth 1 -maxdepth 1 -name 'main_r*' | sort -V | tail -n 1)
# In .state below it afl-fuzz keeps marks of the same names.
assert_eq "the folder gone on in has both" 2 "$(find "$newest_of_it/queue" -maxdepth 1 -name '*sync:added_0*' | wc -l)"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop added
end_daemon

# ---- by hangs, with a partner ----------------------------------------------------------------
if [ "$(nproc)" -lt 2 ]; then
    skip "with a partner" "two cores are needed"
    exit 0
fi
export FUZZ_ROTATE_AT=8000,1
sed -i -e 's/^cores = 1/cores = 2/' -e 's/^instances = 1/instances = 2/' "$T/k.ini"
echo 'env = AFL_SYNC_TIME=1' >>"$T/k.ini"
rm -rf "$FZ_STATE/corpora" "$T"/seeds/crashes-later-*
printf '?\374zz' >"$T/seeds/two"
printf '?zzz' >"$T/seeds/three"
rm "$T/seeds/two"
assert_exit "two instances start" 0 "$FUZZCTL" start "$T/k.ini"
some_rotated() {
    [ "$(status '[.targets[0].instances[].rotations // 0] | max')" -ge 1 ]
}
if wait_for 90 some_rotated; then
    ok "one rotates for its hangs"
    both_fuzz() {
        [ "$(status '[.targets[0].instances[].state] | unique | join(" ")')" = fuzzing ]
    }
    check "both fuzz" wait_for 60 both_fuzz
    assert_eq "nothing was restarted" 0 "$(status '[.targets[0].instances[].restarts] | add')"
else
    not_ok "one rotates for its hangs"
fi
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k
assert_exit "all is accounted for" 0 "$FUZZCTL" verify
