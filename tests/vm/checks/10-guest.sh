#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest is what the tests are about: systemd as PID 1, one pure cgroup v2 tree, and the mode's user.
. tests/e2e/lib.sh

assert_eq "PID 1 is systemd" systemd "$(cat /proc/1/comm)"
assert_eq "the tree is cgroup v2" cgroup2fs "$(stat -fc %T /sys/fs/cgroup)"
assert_match "with memory and pids" '(^| )memory .*pids' "$(cat /sys/fs/cgroup/cgroup.controllers)"
case $FZ_VM_MODE in
root) assert_eq "we are root" 0 "$(id -u)" ;;
user)
    assert_eq "we are an ordinary user" 1500 "$(id -u)"
    assert_match "in a session" 'session-.*\.scope' "$(cat /proc/self/cgroup)"
    check "with a user manager" systemctl --user --quiet is-active basic.target
    ;;
esac
