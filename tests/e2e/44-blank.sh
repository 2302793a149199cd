#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs in a folder whose name the loader cannot read (a blank, a colon, $LIB): fuzz-preload.so is loaded by a link
# with a better name, so that targets sit in a group of their own, also those of another user, and again when the link
# was lost. Where no such link can be made they share the group of afl-fuzz, and doctor and report say so.
# limit: 300
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so harnesses/chunk_frame/afl

# shellcheck disable=SC2016 # the name itself
A=$T/'a b:$LIB'
chmod 711 "$T" "$FZ_STATE" # for the other user to pass
[ -z "${FZ_RUN_DIR-}" ] || chmod 711 "$FZ_RUN_DIR" "$FZ_RUN_DIR/tmp"
mkdir -m 755 "$A" "$T/bin"
for p in fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so; do cp "$BUILD/$p" "$A/"; done
cp "$HARNESSES/chunk_frame/afl" "$T/bin/afl"
cp -r seeds/chunk_frame-min "$T/bin/seeds"
chmod -R a+rX "$A" "$T/bin"
FUZZCTL=$A/fuzzctl
spec() { # NAME BUDGET [LINE]
    printf '[campaign]\nname = %s\nroot = %s\nbudget = %s\ncores = 1\n%s\n' "$1" "$T/bin" "$2" "${3-}"
    printf '[target t]\nharness = afl\nseeds = seeds\ninstances = 1\n'
}
status() { # CAMPAIGN FIELD
    "$FUZZCTL" status "$1" --json | jq -r ".campaigns[0].targets[0].instances[0].$2"
}
fuzzing() {
    [ "$(status "$1" state)" = fuzzing ]
}
groups() { # CAMPAIGN: of its fork server, below the campaign's, each once; where controllers are v1, cpu's is the instance's
    cat "/proc/$(status "$1" pid)/task"/*/children | tr ' ' '\n' |
        while read -r child; do cat "/proc/$child/cgroup"; done |
        sed -n "s,.*/fuzzd-[^/]*/$1/t.main/,,p" | sort -u
}
in_own_group() {
    fuzzing "$1" && [ "$(groups "$1")" = t ]
}
why() { # CAMPAIGN: what its report says of isolation
    "$FUZZCTL" report "$1" --json | jq -r '.isolation.why[]'
}

assert_exit "doctor" 0 "$FUZZCTL" doctor --json
preload=$(jq -r '.checks[] | select(.name == "fuzz-preload.so") | "\(.level) \(.text)"' "$T/out")
link=${preload##* }
assert_eq "tells by which name it is loaded" "ok $A/fuzz-preload.so, loaded as $link" "$preload"
assert_match "which the loader can read" '^(/[A-Za-z0-9_.+-]*)+/fuzz-preload\.so\.[0-9a-f]{16}$' "$link"
assert_eq "a link to it" "$A/fuzz-preload.so" "$(readlink "$link")"
assert_eq "in a folder that others do not write to" "" "$(find "${link%/*}" -maxdepth 0 -perm /022)"

spec own 60s >"$T/own.ini"
assert_exit "a campaign starts" 0 "$FUZZCTL" start "$T/own.ini"
check "its target sits in a group of its own" wait_for 20 in_own_group own
assert_eq "as planned" "$link" "$("$FUZZCTL" plan "$T/own.ini" --json | jq -r '.targets[0].instances[0].env[]' | sed -n 's/^AFL_PRELOAD=//p')"
pid=$(status own pid)
rm "$link"
case $pid in "" | *[!0-9]* | 0 | 1) not_ok "afl-fuzz has a pid: $pid" ;; *) kill -KILL "$pid" ;; esac
another() {
    [ "$(status own pid)" != "$pid" ] && in_own_group own
}
check "so it does when the link was lost and afl-fuzz is started again" wait_for 30 another
assert_exit "stop" 0 "$FUZZCTL" stop own
assert_eq "the report has nothing to say of it" "" "$(why own | grep 'shares the cgroup')"

rm -f "$link"
rmdir "${link%/*}" 2>/dev/null # unless it has those of others

[ "$(id -u)" -eq 0 ] || exit 0
spec other 60s "user = nobody" >"$T/other.ini"
assert_exit "a campaign of another user starts" 0 "$FUZZCTL" start "$T/other.ini"
check "his target sits in a group of its own, too" wait_for 20 in_own_group other
assert_exit "stop" 0 "$FUZZCTL" stop other

# A library that this user may not read is planned without.
chmod 700 "$A"
spec shut 2s "user = nobody" >"$T/shut.ini"
"$FUZZCTL" run "$T/shut.ini" >"$T/out" 2>&1 # what it came to in two seconds is all the same
assert_match "the campaign of one who may not read it is told to be without" '^t/main: the program shares the cgroup of its afl-fuzz' "$(why shut)"
chmod 755 "$A"
rm -f "$link"
rmdir "${link%/*}" 2>/dev/null

# Neither place will do: one is open to all, the other cannot be made.
if ! unshare -m true 2>/dev/null; then
    skip "where no link can be made" "no mount namespaces here"
    exit 0
fi
check "fuzzd leaves" wait_for 20 no_state_pids
spec closed 2s | sed "s,$T,/mnt," >"$T/closed.ini"
cat >"$T/closed" <<'END'
mount --bind "$1" /mnt && mount -t tmpfs -o ro none /tmp && mount -t tmpfs none /run || exit 99
mkdir -m 1777 /run/lock && mkdir -m 777 /run/fuzzd && mkdir -p /mnt/tmp
export FUZZ_STATE=/mnt/state TMPDIR=/mnt/tmp
cd /mnt || exit 99
"$2/fuzzctl" doctor --json >doctor.json
"$2/fuzzctl" run closed.ini
"$2/fuzzctl" report closed --json >report.json
END
# shellcheck disable=SC2016 # the name itself
unshare -m sh "$T/closed" "$T" '/mnt/a b:$LIB' >"$T/out" 2>&1
assert_match "where no link can be made doctor warns" '^warn .*: the loader takes no path with a blank, a colon or .LIB, and no link to it can be made in /run/fuzzd or /tmp/fuzzd-0$' \
    "$(jq -r '.checks[] | select(.name == "fuzz-preload.so") | "\(.level) \(.text)"' "$T/doctor.json")"
assert_match "and the report of a campaign says what it means" '^t/main: the program shares the cgroup of its afl-fuzz' \
    "$(jq -r '.isolation.why[]' "$T/report.json")"
