#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What fuzzctl says where nothing can be done at once: where nobody takes its output, on a full disk, and while fuzzd answers nobody.
# limit: 150
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec w 100s

# ---- words that are missing, or too many ---------------------------------------------------------
# One line says what, and the usage follows, before anything is looked for.
while IFS='|' read -r line words; do
    # shellcheck disable=SC2086
    assert_exit "$line: is wrong usage" 2 "$FUZZCTL" $line
    assert_eq "$line: and told what" "fuzzctl ${line%% *}: $words" "$(head -n 1 "$T/err")"
    assert_match "$line: with the usage" "^usage: fuzzctl ${line%% *} " "$(sed -n 2p "$T/err")"
    assert_eq "$line: not on standard output" "" "$(cat "$T/out")"
done <<'END'
run|no campaign file is named
start a b|one campaign file at a time: b is one too many
plan|no campaign file is named
plan a b|one campaign file at a time: b is one too many
stop a b|one campaign at a time: b is one too many
stop --all a|--all and a do not go together
pause a b|one campaign at a time: b is one too many
resume a b|one campaign at a time: b is one too many
status a b|one campaign at a time: b is one too many
status --x|unrecognized option '--x'
wait a b|one campaign at a time: b is one too many
list a|a is one too many: there is nothing to name
logs|no campaign is named
logs a b c|c is one too many
artifacts a b|one campaign at a time: b is one too many
report a b|one campaign at a time: b is one too many
report --md --json|--md and --json do not go together
bundle|no subcommand is named
bundle make a b c|make: c is one too many
bundle list a|list: a is one too many: there is nothing to name
bundle show|show: no file or bucket is named
bundle show a b|show: one file or bucket at a time: b is one too many
bundle verify|verify: no file or bucket is named
bundle unpack a|unpack: no folder to unpack into is named
bundle unpack a b c|unpack: c is one too many
selftest a b|one campaign file at a time: b is one too many
verify a b|one campaign at a time: b is one too many
check|no campaign file or folder of them is named
check a --effective --json|--effective and --json do not go together
distill|neither --harness nor --target is given
stability|no campaign file is named
corpus add a b|add: no file is named
corpus merge a|merge: no file or folder of inputs is named behind a
corpus pack|pack: no file or folder of inputs is named
corpus promote a|promote: no input is named
corpus stats|stats: no corpus and no campaign file is named
init|no program is named
doctor a|a is one too many: there is nothing to name
version a|a is one too many: there is nothing to name
help a b c|c is one too many
END

# ---- with --json nothing but that is on standard output, whatever comes of it ------------------------
mkdir "$T/in" "$T/none"
printf abc >"$T/in/abc"
echo x >"$T/bad.ini"
H=$HARNESSES/chunk_frame/afl
while read -r rc line; do
    line=$(printf '%s' "$line" | sed "s|@/|$T/|g; s|@H|$H|g")
    # shellcheck disable=SC2086
    assert_exit "--json: $line" "$rc" "$FUZZCTL" --json $line
    check "--json: $line: nothing else" jq . "$T/out"
done <<'END'
0 version
0 check @/w.ini
2 check @/bad.ini @/none @/gone
0 plan @/w.ini
2 plan @/bad.ini
0 status
0 list
6 wait
6 pause
2 resume
6 report
6 artifacts
6 bundle make
0 bundle list
2 bundle show aaaa
7 bundle verify @/w.ini
7 bundle unpack @/w.ini @/unpacked
11 replay @/w.ini
2 replay @/bad.ini
2 replay @H
0 replay --harness @H @/in
11 replay --harness @H @/none
2 replay --harness @/w.ini @/in
0 distill --harness @H @/in -o @/distilled
11 distill --harness @H @/none -o @/distilled2
2 stability @/bad.ini
0 stability --harness @H @/in -k 2
2 coverage @/bad.ini
11 coverage @/w.ini --corpus @/none
0 coverage @/w.ini --corpus @/in
0 corpus stats @/in
11 corpus stats @/none
0 corpus merge @/merged @/in --harness @H
2 corpus merge @/merged @/in
0 corpus pack @/in -o @/packed.tar
2 corpus pack @/in -o @/packed.tar
6 corpus add w chunk_frame @/in/abc
2 corpus promote chunk_frame @/gone
0 init @H -o @/init.ini
2 selftest @/bad.ini
11 selftest @/w.ini
2 start @/bad.ini
2 run @/bad.ini
END
assert_exit "replay of what is no campaign file" 2 "$FUZZCTL" replay "$H"
assert_eq "has nothing to sum up" "" "$(cat "$T/out")"
assert_exit "and says the same as JSON" 2 "$FUZZCTL" --json replay "$H"
assert_eq "with its exit code" 2 "$(jq .exit_code "$T/out")"

# ---- output that nobody takes ----------------------------------------------------------------
echo abc >"$T/abc"
for line in 'help' 'help run' 'run --help' 'version' 'doctor' 'check w.ini' 'status' 'list' \
    'replay --json --harness chunk abc' 'replay --harness chunk abc' 'corpus stats abc'; do
    # shellcheck disable=SC2016
    set -- sh -c 'cd "$0" && exec "$1" $2' "$T" "$FUZZCTL" "$(echo "$line" | sed "s|chunk|$HARNESSES/chunk_frame/afl|")"
    "$@" >/dev/full 2>"$T/err"
    assert_eq "$line: a full disk is an error" 1 $?
    assert_match "$line: and told" "^fuzzctl: standard output: No space left on device$" "$(cat "$T/err")"
    "$@" >&- 2>"$T/err"
    assert_eq "$line: no output is an error" 1 $?
    assert_match "$line: and told" "^fuzzctl: standard output: Bad file descriptor$" "$(cat "$T/err")"
done

# ---- a full disk -----------------------------------------------------------------------------
mkdir "$T/full"
if mount -t tmpfs -o size=1m,mode=700 tmpfs "$T/full" 2>/dev/null; then
    for left in 0 8 24; do # KiB
        mkdir -m 700 "$T/full/state"
        dd if=/dev/zero of="$T/full/filler" bs=1k count=$((1024 - left - 20)) 2>/dev/null
        assert_exit "start on a disk with some KiB left fails ($left)" 3 "$FUZZCTL" --state "$T/full/state" start "$T/w.ini"
        assert_match "and says that it is full ($left)" "[Nn]o space left|disk is full" "$(cat "$T/err")"
        rm -rf "$T/full/state" "$T/full/filler"
    done
    umount "$T/full"
else
    skip "a full disk" "a tmpfs cannot be mounted here"
fi

# ---- a fuzzd that answers nobody ---------------------------------------------------------------
assert_exit "start succeeds" 0 "$FUZZCTL" start "$T/w.ini"
pid=$(sed 's/pid \([0-9]*\).*/\1/' "$FZ_STATE/fuzzd.lock")
case $pid in
"" | *[!0-9]* | 0 | 1) not_ok "fuzzd has a pid: $pid" ;;
*)
    kill -STOP "$pid"
    "$FUZZCTL" stop w >"$T/out" 2>"$T/said" &
    stop=$!
    said() {
        grep -q "fuzzd (pid $pid, .*) does not answer: waiting" "$T/said"
    }
    check "stop says whom it waits for" wait_for 20 said
    check "and waits" alive $stop
    kill -CONT "$pid"
    wait $stop
    assert_eq "until it is stopped" 0 $?
    assert_eq "having said so once" 1 "$(grep -c . "$T/said")"
    ;;
esac
