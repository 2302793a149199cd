#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Verbs on a disk that is full to the last block: none says "done" of what could not be stored. A pause
# freezes and says that it is not stored; it is once there is space. A start makes nothing, and says why.
# limit: 225
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

small_disk "unstored"

chunk_spec one 10m "disk_floor = 0" "pressure = 100" "log_max = 64K"
sed 's/name = one/name = two/; s/target chunk_frame/target second/' "$T/one.ini" >"$T/two.ini"

status() {
    "$FUZZCTL" status one --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
user_froze() {
    [ "$(status '.frozen[]? | select(.now and .cause == "user") | .cause')" = user ]
}
unstored() {
    [ "$(status .unstored)" != null ]
}
stored() {
    [ "$(status .unstored)" = null ]
}
fill() { # to the last block, and the last page that others give back
    dd if=/dev/zero of="$FZ_STATE/filler" bs=64k oflag=append conv=notrunc 2>/dev/null
    dd if=/dev/zero of="$FZ_STATE/filler" bs=4k oflag=append conv=notrunc 2>/dev/null
}
full() { # no row can be written
    fill
    unstored
}
kill_daemon() {
    daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
    case $daemon in "" | *[!0-9]* | 0 | 1) not_ok "there is a fuzzd: $daemon" ;; *) kill -KILL "$daemon" ;; esac
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/one.ini"
check "it fuzzes" wait_for 40 fuzzing
check "what it is can be stored" stored

# ---- pause -----------------------------------------------------------------------------------
check "the disk is full" wait_for 20 full
fill
assert_exit "a pause that cannot be stored is no success" 1 "$FUZZCTL" pause one
assert_match "and says so" "fuzzctl pause: done, but it could not be stored, .*(full|space)" "$(cat "$T/err")"
check "it holds all the same" user_froze
assert_match "status says so" "cannot be stored: .*(full|space)" "$("$FUZZCTL" status one)"
assert_exit "a second one says the same" 1 "$FUZZCTL" pause one
rm "$FZ_STATE/filler"
check "with space it is stored" wait_for 10 stored
kill_daemon
check "and outlives the fuzzd it was asked of" wait_for 10 user_froze
assert_exit "then a pause succeeds" 0 "$FUZZCTL" pause one

# ---- resume ----------------------------------------------------------------------------------
fill
assert_exit "a resume that cannot be stored is no success either" 1 "$FUZZCTL" resume one
assert_match "and says so" "fuzzctl resume: done, but it could not be stored" "$(cat "$T/err")"

# ---- start -----------------------------------------------------------------------------------
assert_exit "a start that cannot be stored fails" 1 "$FUZZCTL" start "$T/two.ini"
assert_match "with the reason" "full|[Nn]o space" "$(cat "$T/err")"
assert_eq "and nothing of it runs" "" "$(find /sys/fs/cgroup -path '*/fuzzd-*/two/*' -name cgroup.procs 2>/dev/null |
    grep -F "$(basename "$(state_cgroups | head -1)")")"

# ---- stop, and a fuzzd that dies over it -------------------------------------------------------
("$FUZZCTL" stop one >"$T/stop.out" 2>"$T/stop.err"; echo $? >"$T/stop.rc") &
behind=$!
sleep 1
kill_daemon
sleep 1
rm "$FZ_STATE/filler"
wait "$behind"
assert_eq "a stop that says done is done" 0 "$(cat "$T/stop.rc")"
assert_eq "and stored" interrupted "$(status .verdict)"
assert_exit "a start succeeds with space" 0 "$FUZZCTL" start "$T/two.ini"
fill
assert_exit "a stop that cannot be stored says so" 1 "$FUZZCTL" stop two
rm "$FZ_STATE/filler"
assert_exit "and comes to its end" 13 "$FUZZCTL" wait two --timeout 30s
refill_and_resume() {
    dd if=/dev/zero of="$FZ_STATE/filler" bs=4k 2>/dev/null
    "$FUZZCTL" resume one
}
assert_exit "a run that is resumed on a full disk is refused" 1 refill_and_resume
assert_match "with the reason" "full|[Nn]o space" "$(cat "$T/err")"
rm "$FZ_STATE/filler"
assert_eq "and stays as it ended" interrupted "$(status .verdict)"
assert_exit "everything is accounted for" 0 "$FUZZCTL" verify
