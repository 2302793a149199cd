#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl doctor: a line for each fact, by what was tried and not by what is said to be there;
# hosts that lack something are made by mounts of our own that nobody else sees.
# limit: 60
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzz-keeper fuzz-preload.so

level() { # NAME: its level in the last JSON answer
    jq -r --arg n "$1" '[.checks[] | select(.name == $n) | .level] | unique | join(",")' "$T/out"
}

assert_exit "a host that holds all is told so" 0 "$FUZZCTL" doctor
assert_eq "each line has a level" "" "$(grep -Ev '^(ok|warn|bad)  |^      ' "$T/out")"
assert_match "AFL++ and its version" '^ok +afl-fuzz +/.*afl-fuzz, version [0-9]' "$(cat "$T/out")"
assert_exit "the same as JSON" 0 "$FUZZCTL" doctor --json
assert_eq "versioned, with the verdict" "1 true" "$(jq -r '"\(.version) \(.ok)"' "$T/out")"
for name in kill pause memory pids seal ipc; do
    assert_eq "$name holds here" ok "$(level $name)"
done
assert_eq "no group of the trial is left" "" "$(find /sys/fs/cgroup -maxdepth 6 -type d -name 'fuzzd-doctor*')"
assert_exit "arguments are refused" 2 "$FUZZCTL" doctor now

AFL_FUZZ=$T/none
export AFL_FUZZ
assert_exit "no afl-fuzz is bad" 1 "$FUZZCTL" doctor --json
assert_eq "and named" bad "$(level afl-fuzz)"
assert_match "with what mends it" 'apt-get install' "$(jq -r '.checks[] | select(.name == "afl-fuzz") | .mend' "$T/out")"
unset AFL_FUZZ

echo >"$T/file"
assert_exit "a state folder that cannot be is bad" 1 "$FUZZCTL" --state "$T/file" doctor
chmod 777 "$FZ_STATE"
assert_exit "a state folder that all may write to is bad" 1 "$FUZZCTL" doctor --json
assert_eq "and named" bad "$(level state)"
chmod 700 "$FZ_STATE"

if ! unshare -m true 2>/dev/null; then
    skip "hosts that lack something" "no mount namespaces here"
    exit 0
fi
cat >"$T/nocg" <<EOF
mount -t tmpfs none /sys/fs/cgroup && exec "$FUZZCTL" doctor --json
EOF
assert_exit "a host without cgroups is bad" 1 unshare -m sh "$T/nocg"
assert_eq "the back-end, the limits" "bad,warn bad" "$(level cgroup) $(level memory)"
assert_match "what it means" 'nothing that a target does is contained' "$(jq -r '.checks[].means' "$T/out")"
# As in a container: root, and a tree that is there and closed.
cat >"$T/closed" <<EOF
awk '\$2 ~ "^/sys/fs/cgroup" { print \$2 }' /proc/mounts | while read -r m; do
    mount --bind "\$m" "\$m" && mount -o remount,bind,ro "\$m"
done
exec "$FUZZCTL" doctor --json
EOF
mend() { # NAME
    jq -r --arg n "$1" '[.checks[] | select(.name == $n) | .mend | select(. != "")] | unique | join(",")' "$T/out"
}
if [ "$(id -u)" -eq 0 ]; then
    assert_match "root is told to mount one" '^mount -t cgroup2' "$(mend cgroup)"
    assert_exit "a tree that cannot be written to is bad" 1 unshare -m sh "$T/closed"
    assert_match "root is told to make it writable" 'mount -o remount,rw /sys/fs/cgroup' "$(mend cgroup)"
    assert_eq "and nobody to be root who is" "" "$(jq -r '.checks[].mend' "$T/out" | grep 'as root')"
fi

# What an ordinary user has: no capability to make a mount namespace with.
assert_exit "a user without capabilities is told what that costs" 0 \
    setpriv --bounding-set -sys_admin --inh-caps -all "$FUZZCTL" doctor --json
assert_eq "a target is not kept from its own cgroup" warn "$(level seal)"
[ "$(id -u)" -ne 0 ] || assert_match "and root is told what he lacks" '^CAP_SYS_ADMIN' "$(mend seal)"

if command -v setpriv >/dev/null && [ "$(id -u)" -eq 0 ] &&
    { [ -d /sys/fs/cgroup/memory ] || [ -f /sys/fs/cgroup/cgroup.controllers ]; }; then
    U=$(mktemp -d /tmp/fz-nobody.XXXXXX) # the folder of the tests is closed to others
    cp "$FUZZCTL" "$BUILD/fuzz-keeper" "$BUILD/fuzz-preload.so" "$U/"
    chmod 755 "$U" "$U"/*
    assert_exit "a user to whom no controller is given" 1 env -i PATH="$PATH" TMPDIR="$U" \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$U/fuzzctl" --state "$U/none" doctor --json
    assert_match "is told that it is not his" "the controller memory is not ours to use" "$(jq -r '.checks[] | select(.name == "memory") | .text' "$T/out")"
    assert_match "and not to boot with it" "as root, or as a user" "$(jq -r '.checks[] | select(.name == "memory") | .mend' "$T/out")"
    rm -rf "$U"
fi

cat >"$T/held" <<EOF
mount -t tmpfs none /run/lock && cd /run/lock || exit 9
for n in \$(seq 0 127); do : >fuzzd-cpu\$n; done
exec 5<fuzzd-cpu\$1
flock -n 5 || exit 8
"$FUZZCTL" doctor 5<&-
EOF
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
assert_exit "cores are looked at without being taken" 0 unshare -m sh "$T/held" "$cpu"
assert_match "a held core has its owner's pid" "^ok +core +core $cpu is held by pid [0-9]+" "$(cat "$T/out")"
assert_match "the others are free" "^(ok|warn) +cores +$(($(nproc) - 1)) of $(nproc) free" "$(cat "$T/out")"

cat >"$T/link" <<EOF
mount -t tmpfs -o mode=\$1 none /run/lock && cd /run/lock || exit 9
[ -z "\${2-}" ] || ln -s nowhere fuzzd-cpu\$2
"$FUZZCTL" doctor --json
EOF
assert_exit "a lock that cannot be had is bad" 1 unshare -m sh "$T/link" 1777 "$cpu"
assert_match "and told with its core" "^the lock of core $cpu cannot be had: Too many levels" \
    "$(jq -r '.checks[] | select(.name == "cores") | .text' "$T/out")"
assert_exit "a folder for locks that is not everybody's is no fault" 0 unshare -m sh "$T/link" 755
assert_eq "but told" warn "$(level "core locks")"
assert_exit "nothing is told where it is" 0 unshare -m sh "$T/link" 1777
assert_eq "of locks" "" "$(level "core locks")"
