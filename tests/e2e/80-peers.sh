#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What went wrong in other orchestrators, each a test named "peers N: …".
#
#    1 same file name, other bytes: in two instances, and again in crashes.DATE      here
#    2 a stop called by the script that started the campaign                         here
#    3 SIGKILL of afl-fuzz while its persistent child is busy                        here
#    4 figures in the first minute, and after a crash, from files                    here
#    5 two aborts without a sanitizer's stack are two buckets                        here
#    6 triage that does not work is an error                                         here
#    7 a start deletes nothing, a resume keeps counters and crashes.DATE             here
#    8 one dead instance restarts, the others keep running                           here
#    9 fuzzd killed: same pids, nothing started twice                                here
#   10 a pid on record that is somebody else's by now                                44-adopt.sh
#   11 a full disk while collecting                                                  61-full-disk.sh
#   12 a flood of output                                                             here
#   13 only options that this afl-fuzz has                                           here
#   14 blanks in the target's path and arguments                                     here
#   15 a seed that fails is a finding                                                51-seeds-fail.sh
#   16 a crash that comes one time in three                                          here
#   17 a hang's replay ends with its whole tree                                      here
#   18 instances on cores of their own                                               here
#   19 a target that writes files where it stands                                    here
#   20 a state directory below /tmp                                                  here
#
# The last test counts the names.
# limit: 450
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage

for tool in afl-clang-fast afl-fuzz; do
    if ! command -v $tool >/dev/null; then
        skip 80-peers "no $tool"
        exit 0
    fi
done
if [ "$(nproc)" -lt 2 ]; then
    skip 80-peers "one core only"
    exit 0
fi
mkdir "$T/a folder" "$T/seeds"
printf x >"$T/seeds/one"
AFL_QUIET=1 afl-clang-fast -O1 -g -o "$T/a folder/the target" tests/fixtures/peers/target.c >/dev/null 2>&1
cc -D_GNU_SOURCE -DREPLAY -O1 -g -fno-omit-frame-pointer -o "$T/a folder/the replay" tests/fixtures/peers/target.c
cat >"$T/peers.ini" <<SPEC
[campaign]
name = peers
root = $T
budget = 14s
cores = 2

[limits]
log_max = 1M

[target a]
harness = a folder/the target
replay = a folder/the replay
args =
    an argument
    @@
env =
    PEERS_COUNT=$T/count
    AFL_DEBUG_CHILD=1
seeds = seeds
instances = 2
timeout = 60ms
hang_timeout = 200ms
SPEC

status() {
    "$FUZZCTL" status peers --json | jq -r "$1"
}
all=".campaigns[0].targets[0].instances[]"
fuzzing() {
    [ "$(status "[$all | select(.state == \"fuzzing\")] | length")" -eq 2 ]
}
pid_of() { # 0|1
    status ".campaigns[0].targets[0].instances[$1].pid"
}
dead() {
    ! alive "$1"
}

# ---- plan and start --------------------------------------------------------------------------
# In the usage text an option is the first word of a line, or the second of "-M/-S".
known=$(afl-fuzz -h 2>&1 | awk '/^ +-/ { print $1 }' | tr '/' '\n' | grep '^-.$' | sort -u)
used=$("$FUZZCTL" plan "$T/peers.ini" --json | jq -r '.targets[].instances[].argv | .[1:index("--")][]' | grep '^-[A-Za-z]$' | sort -u)
unknown=""
for option in $used; do
    echo "$known" | grep -qx -e "$option" || unknown="$unknown $option"
done
assert_match "peers 13: the plan has options" '^-[MS]$' "$used"
assert_eq "peers 13: afl-fuzz knows each of them" "" "$unknown"

assert_exit "peers 14: a target with blanks in path and argument starts" 0 "$FUZZCTL" start "$T/peers.ini"
check "peers 14: and fuzzes" wait_for 15 fuzzing
found() {
    [ "$(status '.campaigns[0].targets[0].execs_done')" -gt 0 ] && [ "$(status '.campaigns[0].targets[0].crashes')" -gt 0 ]
}
check "peers 4: executions and crashes are told long before fuzzer_stats is" wait_for 8 found

one=$(pid_of 0) two=$(pid_of 1)
cores=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$one/status" "/proc/$two/status" | sort -u)
assert_eq "peers 18: two instances have two cores" 2 "$(echo "$cores" | grep -c '^[0-9]*$')"

# ---- killed in the middle --------------------------------------------------------------------
has_child() { # as seen at this instant: one that crashes is replaced
    server=$(ps -o pid= --ppid "$one" | tr -d ' ' | head -1)
    child=$(ps -o pid= --ppid "${server:-0}" | tr -d ' ' | head -1)
    alive "${child:-0}"
}
check "peers 3: a persistent child is there" wait_for 5 has_child
execs=$(status ".campaigns[0].targets[0].instances[0].execs_done")
[ "$one" -gt 1 ] && kill -KILL "$one"
check "peers 3: it does not outlive a killed afl-fuzz" wait_for 5 dead "${child:-0}"
check "peers 8: the other instance keeps running" alive "$two"
came_back() { # seen at one instant
    [ -n "$(status ".campaigns[0].targets[0].instances[0] | select(.state == \"fuzzing\" and .pid > 1 and .pid != $one) | .pid")" ]
}
check "peers 8: the dead one is started again" wait_for 15 came_back
assert_eq "peers 8: and the other is the same as before" "$two" "$(pid_of 1)"
more() {
    [ "$(status ".campaigns[0].targets[0].instances[0].execs_done")" -ge "$execs" ]
}
check "peers 7: the resumed one counts on" wait_for 5 more
run=$(find "$FZ_STATE/campaigns/peers" -mindepth 1 -maxdepth 1 -type d)
main=$(find "$run/out/a" -mindepth 1 -maxdepth 1 -type d | sort | head -1)
second=$(find "$run/out/a" -mindepth 1 -maxdepth 1 -type d | sort | tail -1)

# ---- one name, three contents ----------------------------------------------------------------
name="id:000777,sig:06,src:000000,time:1,execs:1,op:havoc,rep:1"
mkdir -p "$main/crashes.2020-01-01-00:00:00"
printf 'A-first' >"$main/crashes/$name"
printf 'A-second' >"$second/crashes/$name"
printf 'A-third' >"$main/crashes.2020-01-01-00:00:00/$name"

# ---- fuzzd is killed -------------------------------------------------------------------------
one=$(pid_of 0)
daemon=$(status .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
check "peers 9: the next fuzzd finds both fuzzing" wait_for 10 fuzzing
assert_eq "peers 9: by their pids" "$one $two" "$(pid_of 0) $(pid_of 1)"
twice=$(for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe")" = "$(readlink -f "$(command -v afl-fuzz)")" ] && tr '\0' '\n' <"$p/cmdline" | grep -qF "$FZ_STATE" && echo "${p#/proc/}"
done | wc -l)
assert_eq "peers 9: and nothing was started twice" 2 "$twice"
assert_match "peers 19: what the target writes is in its scratch folder" peers-junk "$(find "$run/scratch" -name 'peers-*')"

# ---- the end ---------------------------------------------------------------------------------
"$FUZZCTL" wait peers --timeout 80s >/dev/null 2>&1
assert_eq "peers 14: the verdict of the whole is findings" 10 $?
assert_exit "peers 1: each file has its occurrence" 0 "$FUZZCTL" verify
lost=""
for text in A-first A-second A-third; do
    sha=$(printf %s $text | sha256sum | cut -d' ' -f1)
    [ "$(cat "$FZ_STATE/store/$(echo "$sha" | cut -c1-2)/$sha" 2>/dev/null)" = $text ] || lost="$lost $text"
done
assert_eq "peers 1: one name in two instances and in crashes.DATE, and all bytes are kept" "" "$lost"
assert_match "peers 7: AFL++ itself moved crashes at the resume, and they are kept" 'crashes\.20[2-9]' \
    "$(find "$main" -mindepth 1 -maxdepth 1 -name 'crashes.*')"

"$FUZZCTL" report peers --json >"$T/report.json"
"$FUZZCTL" artifacts peers --json >"$T/artifacts.json"
first_byte() { # LETTER: buckets of the inputs that begin with it
    for sha in $(jq -r '.. | objects | select(has("sha256")) | .sha256' "$T/artifacts.json"); do
        [ "$(head -c 1 "$FZ_STATE/store/$(echo "$sha" | cut -c1-2)/$sha" | tr '\0' .)" = "$1" ] &&
            jq -r --arg s "$sha" '.. | objects | select(.sha256? == $s) | "\(.bucket) \(.class)"' "$T/artifacts.json"
    done | sort -u
}
rule=$(first_byte A) memory=$(first_byte M)
assert_match "peers 5: the first abort has a bucket" '^[0-9a-f]+ ' "$rule"
assert_match "peers 5: so has the second" '^[0-9a-f]+ ' "$memory"
if [ "${rule%% *}" != "${memory%% *}" ]; then ok "peers 5: not the same one"; else not_ok "peers 5: not the same one: $rule"; fi
assert_match "peers 16: a crash that comes one time in three is marked" flaky "$(first_byte F)"
assert_match "peers 17: the hang is a timeout" timeout "$(first_byte S)"
left=$(find /proc -maxdepth 2 -name exe -lname "$T/a folder/*" 2>/dev/null | wc -l)
assert_eq "peers 17: nothing of its tree is left, nor of its replays" 0 "$left"
assert_eq "peers 19: nothing was written elsewhere" "" \
    "$(find "$TOP" /tmp "$T/a folder" "$T/seeds" -maxdepth 1 \( -name peers-junk -o -name peers-tmp \) 2>/dev/null)"
assert_eq "peers 19: and the scratch folders are gone" "" "$(find "$run/scratch" -name 'peers-*')"
big=$(find "$run/log" -type f -size +1100k)
assert_eq "peers 12: logs are bounded" "" "$big"
full=$(find "$run/log" -type f -size +400k)
assert_match "peers 12: though there was more than that" log "$full"
case $FZ_STATE in
/tmp/* | "${TMPDIR:-/tmp}"/*) ok "peers 20: all of this ran below a temporary folder" ;;
*) not_ok "peers 20: all of this ran below a temporary folder: $FZ_STATE" ;;
esac

# ---- started and stopped by one script, twice ---------------------------------------------------
before=$(find "$run/out" -type f -path '*/queue/*' -exec sha256sum {} + | sort | sha256sum)
sh -c "'$FUZZCTL' start '$T/peers.ini' && '$FUZZCTL' stop peers && echo went on" >"$T/went" 2>&1
assert_match "peers 2: a stop does not kill the script that started it" '^went on$' "$(cat "$T/went")"
assert_eq "peers 7: a new start leaves the folders of the run before as they are" "$before" \
    "$(find "$run/out" -type f -path '*/queue/*' -exec sha256sum {} + | sort | sha256sum)"

# ---- a triage that does not work ----------------------------------------------------------------
mkdir "$T/broken"
cp "$BUILD/fuzzctl" "$BUILD/fuzzd" "$BUILD/fuzz-keeper" "$BUILD/fuzz-preload.so" "$T/broken/"
printf '#!/bin/sh\nexit 1\n' >"$T/broken/fuzz-triage"
chmod +x "$T/broken/fuzz-triage"
daemon=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
alive "$daemon" && kill -TERM "$daemon" && wait_for 10 dead "$daemon"
timeout 60 "$T/broken/fuzzctl" run "$T/peers.ini" --budget 3s >"$T/broken.out" 2>&1
rc=$?
if [ $rc -ne 0 ] && [ $rc -lt 124 ]; then ok "peers 6: a broken triage is no success"; else not_ok "peers 6: a broken triage is no success: $rc"; fi
assert_match "peers 6: and the report says what has no result" 'artifacts? not triaged' "$(cat "$T/broken.out")"
assert_exit "peers 6: while no input is lost" 0 "$FUZZCTL" verify

# ---- every case has its test -------------------------------------------------------------------
missing=""
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q "\"peers $n: " tests/e2e/[0-9]*.sh || missing="$missing $n"
done
assert_eq "each of the twenty cases has a test of its name" "" "$missing"
