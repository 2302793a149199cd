#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A keeper's record is a file, and the kernel knows better: one that tells of an end while the cgroup is
# populated is not believed, and one that ended in the future is no fuzzing time.
# limit: 150
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage

for tool in python3 afl-clang-fast; do
    if ! command -v $tool >/dev/null; then
        skip 48-records "no $tool"
        exit 0
    fi
done
crasher_campaign

instance=".targets[0].instances[0]"
status() {
    "$FUZZCTL" status k --json | jq -r ".campaigns[0] | $1"
}
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
dead() {
    ! alive "$1"
}
kill_pid() {
    case $1 in
    "" | *[!0-9]* | 0 | 1) not_ok "a pid to kill is known: $1" ;;
    *)
        kill -KILL "$1"
        wait_for 5 dead "$1"
        ;;
    esac
}
new_afl() {
    seen=$(status "$instance | \"\\(.state) \\(.pid)\"")
    case $seen in "fuzzing 0" | "fuzzing $afl") return 1 ;; "fuzzing "*) ;; *) return 1 ;; esac
}
# ended SECONDS: a whole record of an end that many seconds from now.
ended() {
    python3 -c "
import hashlib, sys, time
path, after = sys.argv[1], int(sys.argv[2])
body = f'fuzz-keeper-exit=1\nend=exited\ncode=1\nended_at_ms={int((time.time() + after) * 1000)}\n'
open(path, 'w').write(body + 'sum=' + hashlib.sha256(body.encode()).hexdigest() + '\n')" "${record%.run}.exit" "$1"
}
# both_die: fuzzd, then the keeper, and afl-fuzz with it.
both_die() {
    afl=$(status "$instance.pid")
    keeper=$(status "$instance.keeper_pid")
    kill_pid "$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")"
    kill_pid "$keeper"
    check "$1: afl-fuzz ends with its keeper" wait_for 8 dead "$afl"
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/k.ini"
check "it fuzzes" wait_for 20 fuzzing
record=$(find "$FZ_STATE/campaigns/k" -name 'a.main.run')

# ---- ended by its record, and populated --------------------------------------------------------
leaves=$(for c in $(state_cgroups); do find "$c" -path '*/a.main/afl/cgroup.procs'; done)
if [ -z "$leaves" ]; then
    skip "a populated cgroup" "there are no cgroups here"
else
    sleep $((600 * ${FZ_SLOW:-1})) &
    left=$!
    for leaf in $leaves; do
        echo $left >"$leaf"
    done
    both_die "populated"
    ended 0
    check "what is in the cgroup lives until somebody looks" alive $left
    check "the next fuzzd starts the instance again" wait_for 20 new_afl
    check "and not beside what was left in its cgroup" dead $left
    dead $left || kill $left
fi

# ---- ended in the future -----------------------------------------------------------------------
check "it fuzzes" wait_for 20 fuzzing
sleep 6 # its figures are stored every 5 s
both_die "future"
ended 864000
check "with an end that is ten days off it is started again" wait_for 20 new_afl
spent=$(status '.targets[0].fuzz_s')
if [ "$spent" -lt 60 ]; then ok "and its budget is not spent"; else not_ok "and its budget is not spent: $spent s"; fi
assert_eq "it runs" running "$(status '.targets[0].state')"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop k
assert_exit "everything is accounted for" 0 "$FUZZCTL" verify
