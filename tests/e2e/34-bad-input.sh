#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs and files that replay, distill and stability must survive: a plain message, an exit code that is not 0, within the time
# limit, and no process, segment or folder left behind.
# limit: 600
# cores: none
. tests/e2e/lib.sh
need tests/engine/hostile tests/engine/persistent
mkdir "$T/bin" "$T/one" "$T/tmp"
cp "$BUILD/tests/engine/hostile" "$T/bin/hostile"
H=$T/bin/hostile
echo abc >"$T/one/abc"
TMPDIR=$T/tmp
export TMPDIR
SECS=40 # a greeting that does not come is waited for 10 s

# left PID: what is there of fuzzctl PID and its program
left() {
    find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$H*" 2>/dev/null
    awk -v pid="$1" 'NR > 1 && $5 == pid { print "segment " $2 }' /proc/sysvipc/shm
    find "$T/tmp" -mindepth 1
    find /sys/fs/cgroup -type d -name "replay.$1.*" 2>/dev/null
}

nothing_left() {
    [ -z "$(left "$1")" ]
}

# run ARGS...: fuzzctl with a time limit; its exit code in $rc, its pid in $pid
run() {
    # shellcheck disable=SC2016
    timeout -k 5 "$SECS" sh -c 'echo $$ >"$0"; exec "$@"' "$T/pid" "$FUZZCTL" "$@" >"$T/out" 2>"$T/err" </dev/null
    rc=$?
    pid=$(cat "$T/pid")
}

# told NAME CODES ERE: run ended with one of CODES, said ERE in one line of words, and left nothing
told() {
    name=$1
    case " $2 " in
    *" $rc "*) ok "$name: exit code $rc" ;;
    *)
        not_ok "$name: exit code $rc, want $2"
        sed 's/^/  | /' "$T/out" "$T/err" | head -n 20
        ;;
    esac
    assert_match "$name: it is said" "$3" "$(cat "$T/out" "$T/err")"
    wait_for 3 nothing_left "$pid" || not_ok "$name: it leaves $(left "$pid" | tr '\n' ' ')"
}

# ---- programs that do not come up ---------------------------------------------------------------
while IFS='|' read -r how words; do
    [ -n "$how" ] || continue
    rm -f "$T/mem"
    run replay --engine fork --harness "$H" --timeout 300ms "$T/one" -- "$how" "$T/mem"
    told "replay: $how" 1 "$words"
    # Those that are only waited for are waited for once.
    case $how in *silent* | *stuck* | prints) continue ;; esac
    for verb in distill stability; do
        rm -rf "$T/mem" "$T/o"
        if [ $verb = distill ]; then
            run distill --harness "$H" --timeout 300ms "$T/one" -o "$T/o" -- "$how" "$T/mem"
        else
            run stability --harness "$H" --timeout 300ms "$T/one" -- "$how" "$T/mem"
        fi
        told "$verb: $how" 1 "$words"
        check "$verb: $how: writes nothing" test ! -e "$T/o"
    done
done <<'END'
silent|no fork server answered within 10000 ms
exit|ended before its fork server was up: .*exit code 3
abort|ended before its fork server was up: .*signal 6
segv|ended before its fork server was up: .*signal 11
half|ended before its fork server was up
newer|speaks version 2 of the protocol
between|ended before its fork server was up
stuck|no fork server answered
between-stuck|no fork server answered
prints|first word is 0x[0-9a-f]*, which no fork server says: .*199
closes|closed file descriptor 199, on which its fork server is to speak
no-shm|its fork server gave up: it cannot open the shared memory|cannot open the shared memory
huge|coverage map is said to have 2147483647 bytes
away-first|ended before its fork server was up
map-size|another size
END

# ---- programs that do not run ----------------------------------------------------------------------
while IFS='|' read -r how codes words; do
    [ -n "$how" ] || continue
    # Memory is to be what ends it, on a slow machine too.
    [ "$how" = run-eats ] && limit=5s || limit=300ms
    run replay --engine fork --harness "$H" --timeout "$limit" --memory 64M "$T/one" -- "$how"
    told "replay: $how" "$codes" "$words"
    rm -rf "$T/o"
    run distill --harness "$H" --timeout 300ms --memory 64M "$T/one" -o "$T/o" -- "$how"
    told "distill: $how" "0" "[01] of 1 input,"
    run stability --harness "$H" --timeout 300ms --memory 64M "$T/one" -- "$how"
    # For want of memory or of time, whichever is first.
    [ "$how" = run-eats ] && flaky=10 || flaky=
    told "stability: $how" "0 1 $flaky" "abc|1 input run"
done <<'END'
run-exits|10|abc: lost: the program's fork server died of it
run-silent|10|abc: lost: the program's fork server fell silent
run-no-end|10|abc: (lost|timeout)
run-init|0|1 passed
run-lies|10|abc: lost: the program's fork server said what none says
run-away-server|10|abc: lost
run-eats|10|abc: (oom|crash)
run-closes|10|abc: timeout
run-hangs|10|abc: timeout
run-forks|0|1 passed
run-away|0|1 passed
END
mkdir "$T/many"
i=0
while [ $i -lt 60 ]; do
    echo $i >"$T/many/$i"
    i=$((i + 1))
done
run replay --engine fork --harness "$H" --timeout 300ms --jobs 1 "$T/many" -- run-silent
told "replay: a server that never runs anything is given up" "1 10" "each of its first 16 runs"
for verb in replay "distill -o $T/o3"; do
    rm -f "$T/mem"
    # shellcheck disable=SC2086
    run $verb --harness "$H" --timeout 300ms --jobs 2 "$T/many" -- run-sizes "$T/mem"
    told "${verb%% *}: two servers whose maps differ in size" 1 "started twice, its coverage map has another size"
    check "${verb%% *}: and nothing is written" test ! -e "$T/o3"
done
run replay --engine fork --harness /bin/cat --timeout 300ms "$T/one"
told "replay: not instrumented" "1 2" "has no fork server|no fork server answered|ended before its fork server was up"
for verb in stability "distill -o $T/o2"; do
    # shellcheck disable=SC2086
    run $verb --harness /bin/cat "$T/one"
    told "${verb%% *}: not instrumented" 2 "--harness /bin/cat has no fork server; build it"
done

# ---- files --------------------------------------------------------------------------------------------
P=$BUILD/tests/engine/persistent
mkdir "$T/long" "$T/long/a" "$T/long/b"
L=$(printf '%0255d' 0)
echo abc >"$T/long/a/$L"
echo zzz >"$T/long/b/$L"
run distill --harness "$P" "$T/long" --keep "$T/long/a" --keep "$T/long/b" -o "$T/longest"
told "distill: names as long as they may be" 0 "^2 of 4 inputs|^[34] of 4 inputs"
check "distill: both are there" test "$(cat "$T/longest"/* | sort -u | wc -l)" -eq 2
F=$T/files
mkdir "$F" "$F/folder"
echo abc >"$F/-rf"
echo abd >"$F/--harness"
echo abe >"$F/$(printf 'new\nline')"
echo abf >"$F/$(printf 'not\377utf8')"
echo abg >"$F/$(printf 'esc\033[31m')"
echo abh >"$F/quo\"te'"
echo abi >"$F/folder/deep"
: >"$F/empty"
head -c 1048577 /dev/zero >"$F/large"
ln -s nowhere "$F/dangling"
ln -s /dev/zero "$F/link"
mkfifo "$F/fifo"
mknod "$F/device" c 1 5 2>/dev/null
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$F/sock"
SECS=20

run replay --harness "$P" --json "$F"
told "replay: a folder of odd names" 1 '"unread"'
check "replay: JSON all the same" jq -es 'length == 10' "$T/out"
assert_eq "replay: what was run, and what was not" "8 1" \
    "$(jq -s -r '.[-1] | "\(.passed) \(.unread)"' "$T/out")"
run replay --harness "$P" "$F"
assert_match "replay: the large one is told" "large: not run: over 1 MiB$" "$(cat "$T/out")"
run distill --harness "$P" --json "$F" -o "$T/o3"
told "distill: a folder of odd names" 0 '"unread"'
check "distill: JSON all the same" jq -e '.inputs == 9 and (.set_aside | length) == 1' "$T/out"
run distill --harness "$P" "$F" -o "$T/o4"
assert_match "distill: the large one is told" "set aside, unread: .*large: over 1 MiB$" "$(cat "$T/out")"
check "distill: no control characters" test -z "$(tr -d '\n\040-\176' <"$T/out")"
check "distill: what was kept has a file each" test "$(find "$T/o3" -type f | wc -l)" -ge 1
run stability --harness "$P" --json "$F"
told "stability: a folder of odd names" 1 '"unread_files"'
check "stability: JSON all the same" jq -e '.targets[0].checked == 8 and .targets[0].unread == 1' "$T/out"
run stability --harness "$BUILD/tests/engine/stateful" "$F"
check "stability: no control characters" test -z "$(tr -d '\n\040-\176' <"$T/out")"

# Named one by one, each is told and none blocks.
for f in fifo device sock link dangling; do
    run replay --harness "$P" "$F/$f" "$F/empty"
    told "replay: $f" "1 2" "$f"
    run distill --harness "$P" "$F/$f" "$F/empty" -o "$T/o-$f"
    told "distill: $f" "0 2" "$f"
    run stability --harness "$P" "$F/$f" "$F/empty"
    told "stability: $f" "1 2" "$f"
done
for f in fifo device sock; do
    [ -e "$F/$f" ] || continue
    for verb in "replay --harness $P" "stability --harness $P" "distill --harness $P -o $T/k-$f" "corpus merge $T/n-$f" "corpus stats"; do
        # shellcheck disable=SC2086
        run $verb "$F/$f" "$F/empty"
        told "${verb%% -*}: why $f is not read" "0 1" "$f: (not run: )?not a regular file"
    done
done
cd "$F" || exit 1
run replay --harness "$P" ./-rf ./--harness "$(printf 'new\nline')" "$(printf 'not\377utf8')"
told "replay: odd names on the command line" 0 "4 passed"
cd "$TOP" || exit 1

# As somebody else, unreadable files are unreadable.
if command -v setpriv >/dev/null && [ "$(id -u)" -eq 0 ]; then
    # The folder of the tests is closed to others.
    U=$(mktemp -d /tmp/fz-nobody.XXXXXX)
    mkdir "$U/in" "$U/tmp"
    echo abc >"$U/in/good"
    echo abd >"$U/in/secret"
    chmod 600 "$U/in/secret"
    mkdir -m 700 "$U/in/closed"
    echo abe >"$U/in/closed/x"
    chown 65534:65534 "$U/tmp"
    chmod 755 "$U" "$U/in"
    cp "$P" "$FUZZCTL" "$BUILD/fuzz-preload.so" "$U/"
    chmod 755 "$U/persistent" "$U/fuzzctl"
    as_nobody() {
        TMPDIR=$U/tmp timeout -k 5 20 setpriv --reuid 65534 --regid 65534 --clear-groups "$U/fuzzctl" "$@" \
            >"$T/out" 2>"$T/err" </dev/null
        rc=$?
        pid=1
    }
    if as_nobody version && [ $rc -eq 0 ]; then
        as_nobody replay --harness "$U/persistent" "$U/in/closed"
        told "replay: a folder that is closed and was named" 2 "closed: Permission denied"
        as_nobody replay --harness "$U/persistent" "$U/in"
        told "replay: a folder that is closed" 1 "closed: not run: Permission denied"
        told "replay: a file that is closed" 1 "secret: not run: Permission denied"
        assert_match "replay: the others are run" "1 passed" "$(cat "$T/out")"
        as_nobody distill --harness "$U/persistent" "$U/in" -o "$U/tmp/o"
        assert_eq "distill: what is closed is set aside" "0 1 1" \
            "$rc $(grep -c 'set aside, unread: .*secret: Permission denied$' "$T/out") $(grep -c 'set aside, unread: .*closed: Permission denied$' "$T/out")"
        as_nobody stability --harness "$U/persistent" "$U/in"
        assert_eq "stability: what is closed is told" "1 1 1" \
            "$rc $(grep -c '^not run: .*secret: Permission denied$' "$T/out") $(grep -c '^not run: .*closed: Permission denied$' "$T/out")"
        for verb in "merge $U/tmp/m" stats; do
            # shellcheck disable=SC2086
            as_nobody --state "$U/tmp/state" corpus $verb "$U/in"
            assert_eq "corpus ${verb%% *}: what is closed is told" "0 1 1 1" \
                "$rc $(grep -c '^not read: .*secret: Permission denied$' "$T/out") $(grep -c '^not read: .*closed: Permission denied$' "$T/out") $(grep -c 'not read: 2' "$T/out")"
        done
        printf '[campaign]\nname = n\nroot = %s\n[target p]\nharness = persistent\nseeds = in\n' "$U" >"$U/n.ini"
        chmod 644 "$U/n.ini"
        as_nobody --state "$U/tmp/state" coverage "$U/n.ini"
        assert_eq "coverage: what is closed is an error" "1 1 1 p: 2 of 3 inputs could not be run" \
            "$rc $(grep -c 'not run: .*secret: Permission denied$' "$T/out") $(grep -c 'not run: .*closed: Permission denied$' "$T/out") $(sed -n 's/^fuzzctl coverage: //p' "$T/err")"
        mkdir -p "$U/afl/one/queue" "$U/afl/two/queue" "$U/afl/three/queue"
        touch "$U/afl/one/fuzzer_setup" "$U/afl/two/fuzzer_setup" "$U/afl/three/fuzzer_setup"
        cp "$U/in/good" "$U/afl/one/queue/"
        cp "$U/in/good" "$U/afl/two/queue/"
        chmod 700 "$U/afl/two"
        chmod 700 "$U/afl/three/queue"
        as_nobody replay --harness "$U/persistent" "$U/afl"
        told "replay: an instance that is closed" 1 "afl/two: not run: Permission denied"
        told "replay: a queue that is closed" 1 "afl/three/queue: not run: Permission denied"
        assert_match "replay: the queue that is open is run" "1 passed" "$(cat "$T/out")"
    else
        not_ok "nobody can run fuzzctl: $(cat "$T/err")"
    fi
    rm -rf "$U"
fi
