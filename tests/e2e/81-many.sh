#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 64 instances of a stand-in afl-fuzz on whatever cores there are: all come up, are told apart, by the banner in their figures or, as
# with AFL++ 4.2x, by the socket of the sender, and nothing is left.
# limit: 180
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd harnesses/chunk_frame/afl tests/bench/standin

# It says that it is of the version that the harnesses were built with.
version=$(afl-fuzz -h 2>&1 | sed -n 's/.*afl-fuzz\(++[0-9]\.[0-9][0-9][a-z]\).*/\1/p' | head -n 1)
LC_ALL=C sed "s/++4\.04c/${version:-++4.04c}/g" "$BUILD/tests/bench/standin" >"$T/standin"
chmod 755 "$T/standin"
AFL_FUZZ=$T/standin
export AFL_FUZZ
cat >"$T/many.ini" <<END
[campaign]
name = many
root = $TOP
budget = 10m
cores = 1
corpus = drop

[target a]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = 32
timeout = 100ms

[target b]
harness = $HARNESSES/chunk_frame/afl
seeds = seeds/chunk_frame-min
instances = 32
timeout = 100ms
env = SIM_TAG=id
END

# states: STATE PID KEEPER 0|1 of each instance, 1: it has figures of more than its first file.
states() {
    "$FUZZCTL" status --json many | python3 -c '
import json, sys
for t in json.load(sys.stdin)["campaigns"][0]["targets"]:
    for i in t["instances"]:
        print(i["state"], i["pid"], i["keeper_pid"], int(i["execs_done"] > 1500))'
}

# shellcheck disable=SC2317 # called by wait_for
all_fuzz() {
    [ "$(states | grep -c '^fuzzing .* 1$')" -eq 64 ]
}

assert_exit "more instances than cores are refused" 2 "$FUZZCTL" start "$T/many.ini"
assert_match "in words" '32 instances at one core each' "$(cat "$T/err")"

assert_exit "for a test they start" 0 "$FUZZCTL" start "$T/many.ini" --oversubscribe
check "all 64 fuzz, each with figures of its own" wait_for 60 all_fuzz
states >"$T/states"
assert_eq "each is a process of its own" 64 "$(awk '{ print $2 }' "$T/states" | sort -u | wc -l)"

# One fuzzd takes over from another, with as many.
pid=$("$FUZZCTL" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["fuzzd"]["pid"])')
case $pid in '' | 0 | null | *[!0-9]*) not_ok "fuzzd has a pid" ;; *) kill -KILL "$pid" ;; esac
check "the next fuzzd has all 64" wait_for 60 all_fuzz
states >"$T/again"
assert_eq "the very same processes" "$(awk '{ print $2, $3 }' "$T/states")" "$(awk '{ print $2, $3 }' "$T/again")"

assert_exit "they stop" 0 "$FUZZCTL" stop many
# Those that the next fuzzd took over are not its children: who reaps them is not ours.
left=0
while read -r _ p keeper _; do
    for q in "$p" "$keeper"; do
        case $(sed -n 's/^Name:.//p; s/^State:.//p' "/proc/$q/status" 2>/dev/null | tr '\n' ' ') in
        standin\ [!ZX]* | fuzz-keeper\ [!ZX]*) left=$((left + 1)) ;;
        esac
    done
done <"$T/again"
assert_eq "no process is left" 0 "$left"

# A host that does not give enough files says so before anything starts.
wait_for 30 sh -c "! '$FUZZCTL' status --json | grep -q '\"pid\"'" || true
FUZZ_STATE=$T/small
mkdir -m 700 "$FUZZ_STATE"
export FUZZ_STATE
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -n 200 && "$FUZZCTL" start "$T/many.ini" --oversubscribe) >"$T/out" 2>"$T/err"
assert_eq "too few open files are refused" 1 $?
assert_match "in one line that says what to raise" '64 instances need 256 open files.*ulimit -Hn' "$(cat "$T/err")"
p=$(sed 's/pid \([0-9]*\).*/\1/' "$FUZZ_STATE/fuzzd.lock")
case $p in '' | 0 | 1 | *[!0-9]*) ;; *) kill -TERM "$p" 2>/dev/null ;; esac
FUZZ_STATE=$FZ_STATE
export FUZZ_STATE
exit $FZ_FAILED
