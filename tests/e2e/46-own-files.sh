#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# State files of afl-fuzz that it refuses, or would take for a reason to empty its folder: fuzzing goes
# on with the whole queue, what was unfit lies aside, and a link out of the folder is refused.
# limit: 375
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec own 120s "disk_floor = 0" "pressure = 100"

status() {
    "$FUZZCTL" status own --json | jq -r ".campaigns[0].targets[0].instances[0] | $1"
}
fuzzing() {
    [ "$(status .state)" = fuzzing ]
}
new_afl() {
    seen=$(status '"\(.state) \(.pid)"')
    case $seen in fuzzing*[!0-9]0 | fuzzing*[!0-9]"$pid") return 1 ;; fuzzing*) ;; *) return 1 ;; esac
}
cases() {
    find "$out/queue" -maxdepth 1 -name 'id:*' | wc -l
}
grown() {
    [ "$(cases)" -ge 40 ]
}
kill_afl() {
    pid=$(status .pid)
    had=$(cases)
    case $pid in "" | *[!0-9]* | 0 | 1) not_ok "afl-fuzz has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
}
# goes_on NAME: another afl-fuzz fuzzes, and has no entry less.
goes_on() {
    check "$1: it fuzzes again" wait_for 20 new_afl
    if [ "$(cases)" -ge "$had" ]; then ok "$1: with its queue"; else not_ok "$1: $(cases) of $had entries left"; fi
}
aside() {
    find "$out/set-aside" -name "*-$1" 2>/dev/null | grep -q .
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/own.ini"
check "it fuzzes" wait_for 40 fuzzing
out=$(echo "$FZ_STATE"/campaigns/own/*/out/chunk_frame/main)
check "it has a queue" wait_for 20 grown

# ---- while it runs ---------------------------------------------------------------------------
echo garbage >"$out/fuzzer_stats"
kill_afl
goes_on "a fuzzer_stats that cannot be read"
check "which lies aside" aside fuzzer_stats

rm "$out/fuzzer_stats"
kill_afl
goes_on "no fuzzer_stats"

kill_afl
rm -f "$out/fuzz_bitmap"
mkdir "$out/fuzz_bitmap"
goes_on "a fuzz_bitmap that is a folder"

# ---- at a resume -----------------------------------------------------------------------------
assert_exit "stop succeeds" 0 "$FUZZCTL" stop own
had=$(cases) pid=0
head -c 300 /dev/urandom >"$out/fuzzer_stats"
head -c 300 /dev/urandom >"$out/fastresume.bin"
: >"$out/fuzz_bitmap"
assert_exit "resume with garbage in three files" 0 "$FUZZCTL" resume own
goes_on "garbage in three files"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop own
had=$(cases) pid=0
mkdir "$out/queue/.state/foreign"
assert_exit "resume of a folder that afl-fuzz cannot clear" 0 "$FUZZCTL" resume own
goes_on "a folder that afl-fuzz cannot clear"
assert_match "which is told as that" "afl-fuzz refuses a state file of its own; afl-fuzz: _resume directory" \
    "$(cat "$FZ_STATE/fuzzd.log")"
if aside foreign || aside .state || aside _resume; then ok "and lies aside"; else not_ok "and lies aside"; fi
assert_exit "stop again" 0 "$FUZZCTL" stop own

# ---- links: peers of the folder must not be reached --------------------------------------------
had=$(cases) pid=0
for name in queue crashes; do
    mkdir "$T/elsewhere"
    echo precious >"$T/elsewhere/id:000000,precious"
    [ ! -e "$out/$name" ] || mv "$out/$name" "$T/kept"
    ln -s "$T/elsewhere" "$out/$name"
    assert_exit "$name as a link is refused" 12 "$FUZZCTL" resume own
    assert_match "and named as the reason" "symbolic link in it, refused" "$(cat "$T/err")"
    assert_eq "what it leads to is untouched" precious "$(cat "$T"/elsewhere/*)"
    rm "$out/$name"
    [ ! -e "$T/kept" ] || mv "$T/kept" "$out/$name"
    rm -r "$T/elsewhere"
done
mv "$out" "$T/moved"
ln -s "$T/moved" "$out"
assert_exit "its folder as a link is refused" 12 "$FUZZCTL" resume own
assert_match "and named as the reason" "symbolic link in it, refused" "$(cat "$T/err")"
rm "$out"
mv "$T/moved" "$out"
logs=$(find "$FZ_STATE/campaigns/own" -type d -name log)
mv "$logs" "$T/moved"
ln -s "$T/moved" "$logs"
before=$(wc -l <"$FZ_STATE/fuzzd.log")
assert_exit "its folder of logs as a link is refused" 12 "$FUZZCTL" resume own
assert_match "and named as the reason" "symbolic link in it, refused" "$(cat "$T/err")"
assert_eq "at once: it does not heal by waiting" 0 \
    "$(tail -n +$((before + 1)) "$FZ_STATE/fuzzd.log" | grep -c 'starting again')"
rm "$logs"
mv "$T/moved" "$logs"
assert_exit "a run that failed can be resumed when its cause is gone" 0 "$FUZZCTL" resume own
goes_on "the cause is gone"
assert_exit "the last stop" 0 "$FUZZCTL" stop own
assert_exit "no file is unaccounted for" 0 "$FUZZCTL" verify
