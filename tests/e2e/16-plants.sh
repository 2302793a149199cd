#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl selftest: planted bugs are found within their budgets, a clean target stays clean, what is
# not as it should be is told, and nothing of it is left behind.
# limit: 600
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

if ! command -v "${AFL_CC:-afl-clang-fast}" >/dev/null; then
    skip 16-plants "no afl-clang-fast" && exit 0
fi
TMPDIR=$T
export TMPDIR
own_dirs() {
    find "$T" -maxdepth 1 -name 'fuzzctl-selftest.*' | wc -l
}
no_own_dir() {
    [ "$(own_dirs)" -eq 0 ]
}
item() { # PLANT KEY
    jq -r --arg p "$1" ".items[] | select(.plant == \$p) | .$2" "$T/out"
}

# ---- Six of ours, each of another kind ---------------------------------------------------------
six="CHUNK_NO_TYPE_CHECK CHUNK_MAX_PLUS1 CHUNK_ALLOC_FIRST CHUNK_OVERREAD CHUNK_EOF_SPIN CHUNK_STATE_LEAK"
cat >"$T/six.ini" <<END
[campaign]
root = $TOP
plants = $T/plants.ini
[target chunk_frame]
harness = $HARNESSES/chunk_frame/afl
sanitizer = $HARNESSES/chunk_frame/asan
cmplog = $HARNESSES/chunk_frame/cmplog
replay = $HARNESSES/chunk_frame/replay
seeds = seeds/chunk_frame
dictionary = dictionaries/chunk_frame.dict
END
# The project's own file, without the plants of other targets.
# All are found in some thousand executions; the control then needs no more than this.
awk 'BEGIN { RS = ""; ORS = "\n\n" } /target = chunk_frame/' harnesses/plants.ini |
    sed 's/^execs = .*/execs = 100000/' >"$T/plants.ini"
if [ "$BUILD" != "$TOP/build" ]; then
    sed -i "s,^target = chunk_frame,&\nbuild = make NODEPS=1 BUILD=$BUILD plant PLANT=\$FUZZ_PLANT," "$T/plants.ini"
    # In another build folder: its own name for each plant.
    sed -i "s,^\[\(.*\)\]$,&\ndir = $PLANTS/\1/chunk_frame," "$T/plants.ini"
fi
# shellcheck disable=SC2046
assert_exit "six plants are found, the target itself is clean" 0 "$FUZZCTL" selftest "$T/six.ini" --json \
    $(for id in $six; do echo "--plant $id"; done)
assert_eq "all seven are counted" "7 0" "$(jq -r '"\(.passed) \(.failed)"' "$T/out")"
assert_eq "by its own verdict: an invariant" invariant:C3 "$(item CHUNK_MAX_PLUS1 found)"
assert_eq "the allocation guard" oom:GUARD "$(item CHUNK_ALLOC_FIRST found)"
assert_eq "a sanitizer" memory:ASAN "$(item CHUNK_OVERREAD found)"
assert_eq "a hang" timeout "$(item CHUNK_EOF_SPIN found)"
assert_match "two inputs in one process" 'SIGABRT, not alone' "$(item CHUNK_STATE_LEAK found)"
assert_eq "each within its executions" true "$(jq '[.items[] | select(.plant != null) | .found_execs <= .execs] | all' "$T/out")"
assert_eq "the clean target had as many as its plants may take" true \
    "$(jq '(.items[] | select(.plant == null) | .execs_done) >= ([.items[].execs] | max)' "$T/out")"
check "nothing of it is left" no_own_dir
assert_eq "nor anything in the user's state directory" "" "$(ls "$FZ_STATE")"

# ---- Own plants in a spec: what fails, and how it is told -------------------------------------
cat >"$T/t.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char c[8] = "";
    long n = read(0, c, sizeof(c));
#ifdef BUG
    if (n > 0 && c[0] == BUG)
        abort();
#endif
    return n > 4 && c[1] == 'x';
}
END
mkdir "$T/seeds" "$T/bad-seeds"
printf 'quiet' >"$T/seeds/quiet"
printf 'Aloud' >"$T/seeds/loud"
printf 'Aloud' >"$T/bad-seeds/loud"
cat >"$T/make" <<'END'
#!/bin/sh
# make DIR CFLAG...
dir=$1
shift
mkdir -p "$dir" && AFL_QUIET=1 ${AFL_CC:-afl-clang-fast} -O1 "$@" -o "$dir/t" t.c && cc -O1 "$@" -o "$dir/plain" t.c
END
chmod +x "$T/make"
(cd "$T" && ./make own) || exit 1
plant() { # NAME ALLOW [LINE]
    printf '[plant %s]\ntarget = t\nallow = %s\nexecs = 3000\nwall = 20s\ndir = made/%s\n%s\n' "$1" "$2" "$1" "${3-}"
}
cat >"$T/own.ini" <<END
[target t]
harness = own/t
replay = own/plain
seeds = seeds
END
{
    cat "$T/own.ini"
    plant found crash "build = ./make made/\$FUZZ_PLANT -DBUG=\"'A'\""
} >"$T/good.ini"
assert_exit "a plant of one's own, built by its own command" 0 "$FUZZCTL" selftest "$T/good.ini" --jobs 1
assert_match "is found from the seed that it passes" '^found +t +plain +ok +crash' "$(cat "$T/out")"
assert_match "its target is clean" '^- +t +control +ok +clean' "$(cat "$T/out")"
assert_eq "the last line counts" "2 passed, 0 failed" "$(tail -n 1 "$T/out")"
assert_exit "quiet" 0 "$FUZZCTL" selftest -q "$T/good.ini" --plant found --jobs 1
assert_eq "says nothing when all is well" "" "$(cat "$T/out" "$T/err")"

{
    cat "$T/own.ini"
    plant not_there crash "build = ./make made/\$FUZZ_PLANT"
    plant otherwise memory "build = ./make made/\$FUZZ_PLANT -DBUG=\"'A'\""
    plant unbuilt crash "build = echo cannot; exit 3"
    plant nothing crash "build = true"
    plant loud crash "build = ./make made/\$FUZZ_PLANT -DBUG=\"'A'\"
seeds = bad-seeds"
} >"$T/bad.ini"
assert_exit "what is not found fails" 10 "$FUZZCTL" selftest "$T/bad.ini"
cp "$T/out" "$T/all"
assert_exit "quiet" 10 "$FUZZCTL" selftest -q "$T/bad.ini" --plant unbuilt
assert_eq "has the table, with what failed and why" "0 1 1" "$(grep -c '^\[' "$T/out") $(grep -c '^unbuilt .*FAILED' "$T/out") \
$(grep -c '^unbuilt: its build failed' "$T/out")"
assert_match "and the sum" '^[0-9]+ passed, 1 failed$' "$(tail -n 1 "$T/out")"
cp "$T/all" "$T/out"
assert_match "a plant that shows nothing" '^not_there: not found in [0-9.k]+ executions' "$(cat "$T/out")"
assert_match "or something else" '^otherwise: found crash instead of what is allowed' "$(cat "$T/out")"
assert_match "a build that fails" '^unbuilt: its build failed, exit code 3: cannot' "$(cat "$T/out")"
assert_match "one that makes nothing" '^nothing: its build command left no .*/made/nothing/t' "$(cat "$T/out")"
assert_match "no seed that it passes" '^loud: .*/bad-seeds has no seed that it passes' "$(cat "$T/out")"
assert_exit "an unknown plant is wrong usage" 2 "$FUZZCTL" selftest "$T/good.ini" --plant nobody
assert_exit "no plant at all is nothing to do" 11 "$FUZZCTL" selftest "$T/own.ini"
check "nothing of these is left" no_own_dir

# ---- Ctrl-C ------------------------------------------------------------------------------------
{
    cat "$T/own.ini"
    plant endless memory "build = ./make made/\$FUZZ_PLANT" | sed 's/^execs.*/execs = 100000000/; s/^wall.*/wall = 10m/'
} >"$T/endless.ini"
"$FUZZCTL" selftest "$T/endless.ini" >"$T/out" 2>"$T/err" &
pid=$!
fuzzing() {
    grep -q 'endless *fuzzing' "$T/out"
}
check "one that takes long fuzzes" wait_for 60 fuzzing
case $pid in
"" | 0 | 1) not_ok "a pid to interrupt is known" ;;
*) kill -TERM "$pid" ;;
esac
wait "$pid"
assert_eq "interrupted it says so" 13 $?
check "and leaves nothing" no_own_dir
left=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$T/fuzzctl-selftest*" 2>/dev/null | wc -l)
assert_eq "no process of it either" 0 "$left"
