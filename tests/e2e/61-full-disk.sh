#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A state directory on a file system that fills up under a campaign: the stop says that the
# campaign cannot be finished, and when there is space again the verdict comes by itself, nothing lost.
# limit: 375
# cores: shared
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

small_disk "full disk"

chunk_spec full 100s "disk_floor = 0"

status() {
    "$FUZZCTL" status full --json | jq -r ".campaigns[0] | $1"
}
fuzzing() {
    [ "$(status ".targets[0].instances[0].state")" = fuzzing ]
}
ended() {
    [ "$(status .state)" = ended ]
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/full.ini"
check "it fuzzes" wait_for 40 fuzzing
crashes=$(echo "$FZ_STATE"/campaigns/full/*/out/chunk_frame/main/crashes)
# A crash that there is no space to keep: its bytes are on the disk, the copy is not.
head -c 4000000 /dev/urandom >"$crashes/.big" # taken by no one until it has its name
dd if=/dev/zero of="$FZ_STATE/filler" bs=64k 2>/dev/null
dd if=/dev/zero of="$FZ_STATE/filler" bs=4k oflag=append conv=notrunc 2>/dev/null
mv "$crashes/.big" "$crashes/big"
troubled() {
    [ "$(status .trouble)" != null ]
}
check "peers 11: status says what cannot be kept" wait_for 5 troubled
# Nothing of it lives, and its files cannot be gathered: what is shown is true all the same.
pids=$(status '.targets[0].instances[0] | "\(.keeper_pid) \(.pid)"')
for pid in $pids; do
    case $pid in "" | *[!0-9]* | 0 | 1) not_ok "it has pids: $pids" ;; *) kill -KILL "$pid" ;; esac
done
shown_dead() {
    [ "$(status '.targets[0].instances[0] | "\(.state) \(.keeper_pid) \(.pid) \(.execs_per_sec)"')" = "collecting 0 0 0" ]
}
check "an instance that is dead and not gathered is shown as that" wait_for 10 shown_dead
daemon=$("$FUZZCTL" status --json | jq .fuzzd.pid)
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
check "by the next fuzzd, too" wait_for 10 shown_dead
assert_exit "a stop says when the campaign cannot be finished" 1 "$FUZZCTL" stop full
assert_match "and why" 'full has stopped, but cannot be finished: .*(full|space)' "$(cat "$T/err")"
rm -f "$FZ_STATE/filler"
check "with space again the run ends" wait_for 30 ended
assert_eq "its verdict knows the input" findings "$(status .verdict)"
assert_exit "peers 11: no file is unaccounted for" 0 "$FUZZCTL" verify
