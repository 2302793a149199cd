#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twenty thousand files at once in an instance's crashes/: fuzzd takes them in slices and answers in between,
# a kill in the middle loses none and doubles none, and the log stays short.
# limit: 240
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

for tool in python3 sqlite3; do
    if ! command -v $tool >/dev/null; then
        skip 75-flood "no $tool"
        exit 0
    fi
done
N=20000
chunk_spec f 200s

status() {
    "$FUZZCTL" status f --json | jq -r ".campaigns[0].targets[0] | $1"
}
fuzzing() {
    [ "$(status '.instances[0].state')" = fuzzing ]
}
taken() {
    sqlite3 -readonly -cmd '.timeout 3000' "$FZ_STATE/state.db" \
        "SELECT count(*) FROM occurrences WHERE CAST(name AS TEXT) LIKE 'flood%'"
}
all_taken() {
    [ "$(taken)" = $N ]
}
# answered_amid NAME CMD…: the answer is there while files are left to take.
answered_amid() {
    fz_name=$1
    shift
    if ! timeout 10 "$@" >"$T/out" 2>"$T/err"; then
        not_ok "$fz_name: $(tail -n 1 "$T/err")"
        return
    fi
    left=$((N - $(taken)))
    if [ $left -gt 0 ]; then ok "$fz_name"; else not_ok "$fz_name: nothing is left"; fi
}

assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/f.ini"
check "it fuzzes" wait_for 20 fuzzing
out=$(find "$FZ_STATE/campaigns/f" -type d -name crashes)
# Forty contents: it is the files there are many of.
python3 -c "
import os, sys
into, n = sys.argv[1], int(sys.argv[2])
os.mkdir(into)
for i in range(n):
    with open(f'{into}/flood{i:06d}', 'w') as f:
        f.write(f'no frame {i % 40}')
os.rename(into, sys.argv[3] + '.flood')" "$out/../.flood" $N "$out"
touch "$out/one"

begun() {
    [ "$(taken)" -gt 0 ]
}
check "they are being taken" wait_for 10 begun
for i in 1 2 3; do
    answered_amid "status answers meanwhile, $i" "$FUZZCTL" status f --json
done
answered_amid "so does pause" "$FUZZCTL" pause f
answered_amid "and resume" "$FUZZCTL" resume f
pid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
case $pid in "" | *[!0-9]* | 0 | 1) not_ok "fuzzd has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
answered_amid "killed in the middle, the next fuzzd answers" "$FUZZCTL" status f
check "all are taken" wait_for 90 all_taken
fewer() {
    [ "$(grep -c 'flood' "$FZ_STATE/fuzzd.log")" -lt 1000 ]
}
check "the log has no line for each" fewer
assert_match "but their number" 'campaign f: [0-9]+ more inputs found' "$(cat "$FZ_STATE/fuzzd.log")"
assert_exit "stop succeeds" 0 timeout 100 "$FUZZCTL" stop f
assert_eq "none is there twice" $N "$(taken)"
assert_exit "every file is accounted for" 0 "$FUZZCTL" verify
