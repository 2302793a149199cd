#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The restart ladder with real ends of afl-fuzz: what a killed one leaves, a harness that is missing for
# a while, a lost fork server, a folder in use. Each is told in its own words, and each is survived.
# limit: 375
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage

for tool in afl-clang-fast flock; do
    [ "$tool" = afl-clang-fast ] && [ -n "${FZ_CRASHER-}" ] && continue
    if ! command -v $tool >/dev/null; then
        skip 45-restarts "no $tool"
        exit 0
    fi
done
crasher_campaign

status() {
    "$FUZZCTL" status k --json | jq -r ".campaigns[0].targets[0].instances[0].$1"
}
fuzzing() {
    [ "$(status state)" = fuzzing ]
}
new_afl() {
    [ "$(status pid)" != "$pid" ] && fuzzing
}
says() {
    seen=$(status reason)
    case $seen in *"$1"*) ;; *) return 1 ;; esac
}
kill_afl() {
    pid=$(status pid)
    case $pid in "" | *[!0-9]* | 0 | 1) not_ok "afl-fuzz has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
}
started() {
    assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/k.ini"
    check "it fuzzes" wait_for 10 fuzzing
    out=$(find "$FZ_STATE/campaigns/k" -path '*/out/a/main' -type d | sort | tail -1)
}

# ---- what a killed one leaves ----------------------------------------------------------------
started
touch "$out/../.affinity_lock"
kill_afl
check "it is told as killed" wait_for 5 says "killed by signal 9 (SIGKILL)"
check "a stale .affinity_lock and is_main_node do not keep it down" wait_for 15 new_afl
assert_eq "the lock is gone" "" "$(find "$out/.." -maxdepth 1 -name .affinity_lock)"
assert_eq "its reason, too, once it fuzzes" null "$(status reason)"

# ---- no harness ------------------------------------------------------------------------------
mv "$T/crasher" "$T/away"
kill_afl
check "a missing harness is told as that" wait_for 10 says "the harness is missing or cannot be run"
mv "$T/away" "$T/crasher"
check "with the harness back it fuzzes again" wait_for 20 new_afl
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k

# ---- the fork server -------------------------------------------------------------------------
started
pid=$(status pid)
server=$(ps -o pid= --ppid "$pid" | tr -d ' ' | head -1)
case $server in "" | 0 | 1) not_ok "a fork server is there" ;; *) kill -KILL "$server" ;; esac
check "a lost fork server is told as that" wait_for 5 says "the target's fork server died"
check "and replaced" wait_for 15 new_afl

# ---- in use ----------------------------------------------------------------------------------
# afl-fuzz tells a folder in use by flock on it.
flock -x "$out" sleep 7 &
lock=$!
kill_afl
check "a folder in use is told as that" wait_for 12 says "another afl-fuzz works in its folder"
wait "$lock"
check "and waited for" wait_for 20 new_afl
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k
assert_exit "no file is lost on the way" 0 "$FUZZCTL" verify
