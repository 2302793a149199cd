#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A state directory without space: below the floor, and with not a block left, the campaign stands still, nothing
# half-written counts, afl-fuzz that died of it is not given up; with space again it all goes on by itself.
# limit: 375
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage plants/CHUNK_MAX_PLUS1/chunk_frame/afl

small_disk "no space"

cat >"$T/tight.ini" <<END
[campaign]
name = tight
root = $TOP
budget = 10m
cores = 1

[limits]
disk_floor = 4M
log_max = 64K

[target planted]
harness = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/afl
sanitizer = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/asan
replay = $PLANTS/CHUNK_MAX_PLUS1/chunk_frame/replay
seeds = seeds/chunk_frame-min
instances = 1
END

status() {
    "$FUZZCTL" status tight --json | jq -r ".campaigns[0] | $1"
}
instance=".targets[0].instances[0]"
is() {
    [ "$(status "$instance.state")" = "$1" ]
}
frozen() {
    [ "$(status .state)" = frozen ]
}
running() {
    [ "$(status .state)" = running ] && is fuzzing
}
why() {
    status '.frozen[]? | select(.now) | .why'
}
found() {
    [ "$(status '.targets[0].crashes')" -gt 0 ]
}
counting() {
    [ "$(status "$instance.execs_done")" -gt "$1" ]
}
triaged() {
    [ "$(status '.targets[0].pending')" -eq 0 ]
}
fill() { # to the last block
    dd if=/dev/zero of="$FZ_STATE/filler" bs=64k oflag=append conv=notrunc 2>/dev/null
    dd if=/dev/zero of="$FZ_STATE/filler" bs=4k oflag=append conv=notrunc 2>/dev/null
}
room_gone() { # fills again what others gave back, until the campaign stands still
    fill
    frozen
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/tight.ini"
check "it fuzzes" wait_for 40 running
check "it finds the crash" wait_for 40 found
check "which is triaged" wait_for 30 triaged

# ---- below the floor -------------------------------------------------------------------------
free=$(df -k --output=avail "$FZ_STATE" | tail -n 1)
head -c $(((free - 3000) * 1024)) /dev/zero >"$FZ_STATE/filler"
check "below the floor it is frozen" wait_for 5 frozen
assert_match "with the figures" "free in $FZ_STATE, at least 4M stay free" "$(why)"
pid=$(status "$instance.pid")
assert_exit "what was found is whole" 0 "$FUZZCTL" verify
rm "$FZ_STATE/filler"
check "with space again it goes on" wait_for 10 running
assert_eq "without a restart" "$pid" "$(status "$instance.pid")"

verified() {
    "$FUZZCTL" verify >/dev/null 2>&1
}

# ---- not a block left ------------------------------------------------------------------------
# At once, from below the sight of the guard: the floor is looked at once a second.
fill
check "on a full disk it is frozen" wait_for 20 room_gone
assert_match "with words for it" "no space left in $FZ_STATE|free in $FZ_STATE" "$(why)"
# What AFL++ saves on the full disk has no row before there is space; nothing else may differ.
"$FUZZCTL" verify >"$T/out" 2>&1
assert_eq "a full disk breaks nothing that was found" "" \
    "$(grep -v -e ' is on disk and not recorded$' -e ' is empty and not recorded as lost$' -e '^note: ' -e '^[0-9]* files*, ' "$T/out")"
sleep 3
check "it stays so" frozen
rm "$FZ_STATE/filler"
check "with space it goes on by itself" wait_for 30 running
check "and takes what was kept out" wait_for 20 verified
before=$(status "$instance.execs_done")
check "and executes" wait_for 10 counting "$before"

# ---- afl-fuzz dies on it ---------------------------------------------------------------------
# What it saved there, if anything, is taken in before it can back off: with space, then.
down() {
    is backing-off || is collecting
}
fill
pid=$(status "$instance.pid")
[ "$pid" -gt 1 ] && kill -KILL "$pid"
back_off() {
    room_gone && down
}
check "one that ended on a full disk is not started on it" wait_for 20 back_off
sleep 3
check "nor given up" down
rm "$FZ_STATE/filler"
check "with space it is started again" wait_for 30 running

# ---- a fuzzd that dies on it -----------------------------------------------------------------
fill
check "frozen once more" wait_for 20 room_gone
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
rm "$FZ_STATE/filler"
check "the next fuzzd goes on when there is space" wait_for 40 running
assert_exit "stop succeeds" 0 "$FUZZCTL" stop tight
assert_exit "every file found is accounted for" 0 "$FUZZCTL" verify
assert_eq "the verdict knows the finding" findings "$(status .verdict)"
assert_match "the report tells of it" "frozen .*(free in|no space left)" "$("$FUZZCTL" report tight)"
