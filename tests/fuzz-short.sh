#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes our own parsers with libFuzzer, one after the other.
#
#   sh tests/fuzz-short.sh SECONDS NAME…     harnesses/selftest/NAME.c, SECONDS each
#
# New inputs and what fails stay in $BUILD/fuzz-short/NAME. Ends with "N passed, N failed".

set -u
BUILD=${BUILD-build}
seconds=$1
shift
passed=0
failed=0
# In memory where there is such a place: the bundle harness unpacks into it.
tmp=$(mktemp -d /dev/shm/fuzz-short.XXXXXX 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
for name in "$@"; do
    dir=$BUILD/fuzz-short/$name
    mkdir -p "$dir/corpus"
    set --
    for seeds in "seeds/selftest-$name" "tests/fixtures/fuzz-regressions/selftest-$name"; do
        [ -d "$seeds" ] && set -- "$@" "$seeds"
    done
    if ASAN_OPTIONS=abort_on_error=1:symbolize=1:detect_leaks=1 TMPDIR=$tmp \
        "$BUILD/harnesses/selftest-$name/libfuzzer" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=16384 -close_fd_mask=1 -print_final_stats=1 \
        -artifact_prefix="$dir/" "$dir/corpus" "$@" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log") executions"
    else
        failed=$((failed + 1))
        echo "not ok $name"
        grep -a -e '^FZ-FAIL ' -e 'ERROR: ' -e 'runtime error' -e '    #[0-9] ' -e 'Test unit written' "$dir/log" | head -n 20
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
