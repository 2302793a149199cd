#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twenty-four seeds of the kill matrix: every state of an instance twice, every kind of process alone and
# most pairs. `make check-kill` has 200, `make soak` as many as N says.
# limit: 1000
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage

for tool in python3 afl-clang-fast; do
    if ! command -v $tool >/dev/null; then
        skip 70-kills "no $tool"
        exit 0
    fi
done
python3 tests/kill/kill.py --build "$BUILD" --seeds 0-23 --tap || FZ_FAILED=1
