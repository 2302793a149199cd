#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What systemd needs to give a scope is taken away, one thing at a time: doctor names each with the command that mends
# it, and when that command was run, it finds the scope.
# modes: root
# limit: 200
. tests/e2e/lib.sh
need fuzzctl fuzz-keeper fuzz-preload.so

home=/home/fuzzer/m
mkdir $home && chown fuzzer: $home
doctor="env FUZZ_STATE=$home/state '$FUZZCTL' doctor --json"
session() { # COMMAND as the user, in a session of his own that ends with it
    su -l fuzzer -c "$1"
}
bare() { # the same without PAM, as from a cron job or where there is no libpam-systemd
    setpriv --reuid=fuzzer --regid=fuzzer --init-groups env -i HOME=/home/fuzzer PATH="$PATH" sh -c "$1"
}
told() { # NAME FIELD, of the last answer
    jq -r --arg n "$1" --arg f "$2" '[.checks[] | select(.name == $n) | .[$f]] | join(",")' "$T/doc"
}
manager() {
    systemctl --quiet is-active user@1500.service
}
no_manager() {
    ! manager
}
bus() {
    [ -S /run/user/1500/bus ]
}
log_out() {
    loginctl disable-linger fuzzer
    loginctl terminate-user fuzzer 2>/dev/null
    check "nobody is logged in" wait_for 30 no_manager
    # Whose folder goes some time after his manager.
    check "and nothing of it is left" wait_for 30 test ! -e /run/user/1500
}
# mend NAME: runs, as root, the command that was told.
mend() {
    command=$(told "$1" mend | sed 's/ (as root).*//')
    assert_exit "$command" 0 sh -c "$command"
}

# ---- no session, no linger -----------------------------------------------------------------------
log_out
bare "$doctor" >"$T/doc"
assert_eq "a user without a manager has no scope" warn "$(told scope level)"
assert_match "which is told with what mends it" '^loginctl enable-linger fuzzer ' "$(told scope mend)"
assert_match "and with what it costs" 'no limits' "$(told scope means)"
# As a manager leaves it that is just gone, or was killed: sockets where nobody listens.
mkdir -p /run/user/1500/systemd
python3 -c 'import socket, sys
for path in sys.argv[1:]: socket.socket(socket.AF_UNIX).bind(path)' /run/user/1500/bus /run/user/1500/systemd/private
chown -R fuzzer: /run/user/1500
bare "$doctor" >"$T/doc"
assert_match "nor has he one whose manager left its sockets" '^loginctl enable-linger fuzzer ' "$(told scope mend)"
rm -rf /run/user/1500
mend scope
check "his manager runs" wait_for 30 bus
bare "$doctor" >"$T/doc"
assert_eq "then he has a scope, and lingers" "ok ok" "$(told scope level) $(told linger level)"
assert_eq "with limits" "ok ok" "$(told memory level) $(told pids level)"

# ---- a session without linger --------------------------------------------------------------------
log_out
session "$doctor" >"$T/doc"
assert_eq "a session has a scope, that ends with it" "ok warn" "$(told scope level) $(told linger level)"
assert_eq "what mends it" "loginctl enable-linger fuzzer" "$(told linger mend)"
mend linger
session "$doctor" >"$T/doc"
assert_eq "then he lingers" ok "$(told linger level)"

# ---- no dbus-user-session ------------------------------------------------------------------------
log_out
files=$(dpkg -L dbus-user-session | while read -r f; do [ ! -f "$f" ] || echo "$f"; done)
assert_match "the package has the user's bus" '/systemd/user/dbus.socket' "$files"
# shellcheck disable=SC2086 # a list of paths
tar -C / -cf "$T/package.tar" $files 2>/dev/null && rm $files
session "$doctor" >"$T/doc"
assert_eq "without that package there is no scope" warn "$(told scope level)"
assert_match "it is named, with how it comes into use" \
    '^apt-get install dbus-user-session \(as root\), then loginctl terminate-user fuzzer$' "$(told scope mend)"
tar -C / -xf "$T/package.tar"
command=$(told scope mend | sed 's/.* then //')
sh -c "$command" 2>/dev/null
wait_for 30 no_manager
session "$doctor" >"$T/doc"
assert_eq "installed, it gives a scope" ok "$(told scope level)"

# ---- root, without the system's bus --------------------------------------------------------------
unshare -m sh -c "mount -t tmpfs none /run/dbus && '$FUZZCTL' doctor --json" >"$T/doc"
assert_eq "without a bus root has no scope" warn "$(told scope level)"
assert_match "what mends it" '^apt-get install dbus; systemctl start dbus.socket$' "$(told scope mend)"
assert_eq "but limits, in the tree" "ok ok" "$(told memory level) $(told pids level)"
assert_exit "$(told scope mend | sed 's/.*; //')" 0 sh -c "$(told scope mend | sed 's/.*; //')"
"$FUZZCTL" doctor --json >"$T/doc"
assert_eq "with it, it has" ok "$(told scope level)"
log_out
rm -rf $home
