#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install puts all that runs and all that explains it, units name the programs where they then are, and
# make uninstall leaves no file.
# limit: 240
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so

to() { # GOAL
    make -s NODEPS=1 BUILD="$BUILD" DESTDIR="$T/i" "$1"
}
built=$(stat -c '%n %y' "$FUZZD" "$FUZZCTL")
assert_exit "make install" 0 to install
assert_eq "builds nothing anew" "$built" "$(stat -c '%n %y' "$FUZZD" "$FUZZCTL")"
assert_eq "all files are there" "bin/fuzzctl
lib/systemd/system/fuzz-campaign@.service
lib/systemd/system/fuzz-campaign@.timer
lib/systemd/system/fuzz.slice
lib/systemd/system/fuzzd.service
lib/systemd/user/fuzz.slice
lib/systemd/user/fuzzd.service
lib/tmpfiles.d/fuzzd.conf
libexec/fuzzd/fuzz-keeper
libexec/fuzzd/fuzz-preload.so
libexec/fuzzd/fuzz-triage
sbin/fuzzd
share/man/man1/fuzzctl.1
share/man/man5/fuzzd-campaign.5
share/man/man8/fuzzd.8" "$(cd "$T/i/usr/local" && find . -type f ! -path './share/fuzzd/sdk/*' | sed 's,^\./,,' | LC_ALL=C sort)"
assert_eq "and the kit for harnesses" "$(find harnesses/sdk -name '*.[ch]' -o -name '*.txt' | sed 's,.*/,,' | LC_ALL=C sort)" \
    "$(find "$T/i/usr/local/share/fuzzd/sdk" -type f | sed 's,.*/,,' | LC_ALL=C sort)"
assert_eq "no unit has a name left open" "" "$(grep -rE '@[A-Z]+@' "$T/i/usr/local/lib")"
programs=$(grep -rhoE '^Exec[A-Za-z]*=-?"/[^"]*' "$T/i/usr/local/lib/systemd" | sed 's/^[^/]*//' | sort -u)
assert_match "units start programs" '/sbin/fuzzd$' "$programs"
for program in $programs; do
    check "$program is where a unit has it" test -x "$T/i$program"
done
assert_exit "what is installed runs" 0 "$T/i/usr/local/bin/fuzzctl" version
assert_exit "make uninstall" 0 to uninstall
assert_eq "no file is left" "" "$(find "$T/i" ! -type d)"

# Wherever that is; for systemd the programs, which would be built anew, are stand-ins.
odd="$T/a b&c,d%e"
assert_exit "units for an odd place" 0 make -s NODEPS=1 BUILD="$BUILD" DESTDIR= PREFIX="$odd" install-units
assert_eq "name it in systemd's words" "ExecStart=\"$T/a b&c,d%%e/sbin/fuzzd\" --foreground" \
    "$(grep '^Exec' "$odd/lib/systemd/user/fuzzd.service")"
if command -v systemd-analyze >/dev/null; then
    mkdir "$odd/sbin" "$odd/bin"
    cp /bin/true "$odd/sbin/fuzzd"
    cp /bin/true "$odd/bin/fuzzctl"
    assert_eq "and systemd finds what it starts" "" \
        "$(cd "$odd/lib/systemd/system" && systemd-analyze verify --man=no ./fuzzd.service ./fuzz-campaign@x.service 2>&1)"
fi
