#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# As 90-chaos, by a static program: it loads no fuzz-preload.so, so it shares the cgroup of its afl-fuzz. The host
# notices as little, and status and report say that the isolation is weaker.
# limit: 600
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage fuzz-preload.so tests/chaos/static
MEMORY_MB=256 # for both
. tests/e2e/chaos.sh

{
    head_of_spec static "$(each)"
    for fault in oom sleepers forkbomb escape; do
        target "$fault" static
    done
    target parent static FZ_CHAOS_MAX=1
    target cgfds static "FZ_CHAOS_STRANGER=$canary"
} >"$T/static.ini"

assert_exit "a static program is started" 0 "$FUZZCTL" start "$T/static.ini"
assert_match "status says that its isolation is weaker" \
    '/main: the program shares the cgroup of its afl-fuzz' "$(status static '.isolation.why[]')"
before=$(mem_available_mb)
check "its campaign comes to its end" watch_campaign static
host_memory_kept "$before"
for fault in $(faults static); do
    check "static $fault: the fault was set off" test -e "$T/marks/static/$fault.0"
done
check "a static program has no way to move strangers" test ! -e "$T/marks/static/cgfds.stranger"
! wanted cgfds || check "and none is moved when it says that they knock" test -e "$T/marks/static/cgfds.knock"
assert_match "the report says that its isolation is weaker" 'shares the cgroup of its afl-fuzz' "$("$FUZZCTL" report static)"

nothing_left
