#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is lost under a running campaign: its plan, its whole state directory. No afl-fuzz fuzzes on
# that nobody can stop any more.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec lost 90s

status() {
    "$FUZZCTL" status lost --json | jq -r "$1"
}
instance=".campaigns[0].targets[0].instances[0]"
fuzzing() {
    [ "$(status "$instance.state")" = fuzzing ]
}
gone() {
    ! alive "$1"
}

# ---- the plan --------------------------------------------------------------------------------
for part in plan.json exit; do
    assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/lost.ini"
    check "it fuzzes" wait_for 40 fuzzing
    pid=$(status "$instance.pid")
    keeper=$(status "$instance.keeper_pid")
    daemon=$(status .fuzzd.pid)
    assert_match "pids are known" '^[1-9][0-9]* [1-9][0-9]* [1-9][0-9]*$' "$pid $keeper $daemon"
    [ "$daemon" -gt 1 ] && kill -KILL "$daemon"
    rm -rf "$FZ_STATE"/campaigns/lost/*/"$part"
    [ "$part" = plan.json ] || rm -f "$FZ_STATE"/campaigns/lost/*/plan.json
    wait_for 5 gone "$daemon"
    assert_eq "without its $part the run ends as interrupted" interrupted \
        "$(status '.campaigns[0].verdict')"
    check "and its afl-fuzz with it" wait_for 5 gone "$pid"
    check "and its keeper" wait_for 5 gone "$keeper"
done

# ---- a copy, and a stranger ------------------------------------------------------------------
# A copied state directory holds records of processes that are not its own.
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/lost.ini"
check "it fuzzes" wait_for 40 fuzzing
pid=$(status "$instance.pid")
keeper=$(status "$instance.keeper_pid")
cp -a "$FZ_STATE" "$T/copy"
FUZZ_STATE=$T/copy "$FUZZCTL" list >"$T/out" 2>&1
sleep 1
check "a look at a copy leaves the afl-fuzz of the original alone" alive "$pid"
check "and its keeper" alive "$keeper"
assert_exit "stop succeeds" 0 "$FUZZCTL" stop lost
rm -rf "$T/copy"

# A record names whoever it likes; nobody dies of that.
sleep $((1000 * ${FZ_SLOW:-1})) &
stranger=$!
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/lost.ini"
check "it fuzzes" wait_for 40 fuzzing
daemon=$(status .fuzzd.pid)
keeper=$(status "$instance.keeper_pid")
[ "$daemon" -gt 1 ] && kill -KILL "$daemon"
[ "$keeper" -gt 1 ] && kill -KILL "$keeper"
wait_for 5 gone "$daemon"
run=$(find "$FZ_STATE/campaigns/lost" -name '*.run' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
python3 - "$run" "$stranger" <<'END'
import hashlib, re, sys
path, pid = sys.argv[1:3]
start = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]
text = open(path).read()
body = re.sub(r"(keeper|afl)=\d+ \d+ ", rf"\g<1>={pid} {start} ", text[:text.rindex("sum=")])
open(path, "w").write(body + "sum=" + hashlib.sha256(body.encode()).hexdigest() + "\n")
END
rm -f "$(dirname "$run")/../plan.json"
assert_eq "with a forged record and no plan the run ends" interrupted "$(status '.campaigns[0].verdict')"
check "and the stranger lives" alive "$stranger"
kill "$stranger"

# ---- the state directory ---------------------------------------------------------------------
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/lost.ini"
check "it fuzzes" wait_for 40 fuzzing
pid=$(status "$instance.pid")
daemon=$(status .fuzzd.pid)
mv "$FZ_STATE" "$T/moved"
mkdir -m 700 "$FZ_STATE"
echo mine >"$FZ_STATE/fuzzd.sock"
check "without its state directory fuzzd ends" wait_for 30 gone "$daemon"
check "and its afl-fuzz with it" wait_for 5 gone "$pid"
assert_eq "what is there now is let be" mine "$(cat "$FZ_STATE/fuzzd.sock")"

rm -rf "$FZ_STATE" && mv "$T/moved" "$FZ_STATE"
assert_eq "moved back, the run has its verdict" interrupted "$(status '.campaigns[0].verdict')"
