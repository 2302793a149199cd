#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl plan: what would run is printed, starts nothing, leaves nothing, is the same twice,
# and its command line is one that the installed afl-fuzz takes.
# limit: 60
# cores: none
. tests/e2e/lib.sh
need fuzzctl harnesses/chunk_frame/afl harnesses/chunk_frame/replay

cat >"$T/good.ini" <<EOF
[campaign]
root = $TOP
name = shown
cores = 1
[target chunk_frame]
harness = $BUILD/harnesses/chunk_frame/afl
replay = $BUILD/harnesses/chunk_frame/replay
seeds = seeds/chunk_frame-min
dictionary = dictionaries/chunk_frame.dict
env =
    MINE=two words
    AFL_NO_SUCH_NAME=1
EOF

rm -rf "$FZ_STATE"
assert_exit "a good spec is planned" 0 "$FUZZCTL" plan "$T/good.ini" --seed 5
assert_match "its instance by full name" '^  shown/chunk_frame/main  \(main, CPU [0-9]+\)$' "$(cat "$T/out")"
assert_match "the seed given" '^ +-s 5 ' "$(cat "$T/out")"
assert_match "quoted for a shell" "^ +'MINE=two words'\$" "$(cat "$T/out")"
assert_match "a variable that is dropped is told" \
    'warning: \[target chunk_frame\] env: AFL_NO_SUCH_NAME is not known' "$(cat "$T/out")"
check "no state folder is made" [ ! -e "$FZ_STATE" ]

"$FUZZCTL" plan "$T/good.ini" --seed 5 --json >"$T/one" 2>/dev/null
"$FUZZCTL" plan "$T/good.ini" --seed 5 --json >"$T/two" 2>/dev/null
check "twice the same bytes" cmp "$T/one" "$T/two"
check "and not nothing" grep -q '"hash"' "$T/one"
assert_match "the ids that inputs must reach are in it" '"reach_required": ?\[ *$|"ok_t0"' "$(cat "$T/one")"

# No build but the harness, or a replay build of another kind: the harness is asked for them then.
sed '/^replay = /d' "$T/good.ini" >"$T/alone.ini"
assert_match "without a replay build as well" '"ok_t0"' "$("$FUZZCTL" plan "$T/alone.ini" --json | jq -c '.targets[0].reach_required')"
sed 's,^replay = .*,replay = /bin/true,' "$T/good.ini" >"$T/other.ini"
assert_match "and with one that has none of the kit" '"ok_t0"' "$("$FUZZCTL" plan "$T/other.ini" --json | jq -c '.targets[0].reach_required')"

# The command as printed, but for where it writes and with an end of its own. The printed
# environment goes first; afl-fuzz sleeps on and names every variable it does not know.
awk '/^    command   /{on=1} on{sub(/^    command   /, ""); print} on && !/\\$/{exit}' "$T/out" |
    sed -e "s,-o [^ ]*,-o '$T/afl-out'," -e 's,-s 5 ,-s 5 -E 200 ,' >"$T/command"
sed -n -e 's/^    env       //p' -e "s/^              \\(['A-Za-z_]*.*=\\)/\\1/p" "$T/out" |
    sed -e 's/@STATSD_PORT@/9/' -e "s,^TMPDIR=.*,TMPDIR=$T," >"$T/env"
check "the command was found" grep -q -- '-M main' "$T/command"
check "so was the environment" grep -q '^AFL_AUTORESUME=1$' "$T/env"
{
    printf '%s\n' "exec env -i \\"
    sed 's/$/ \\/' "$T/env"
    cat "$T/command"
} >"$T/run.sh"
assert_exit "afl-fuzz takes the printed command" 0 timeout 30 sh "$T/run.sh"
assert_eq "and knows every variable" "" "$(grep -a 'istyped' "$T/out" "$T/err")"
check "it ran the harness" grep -q '^execs_done  *: [1-9]' "$T/afl-out/main/fuzzer_stats"

# A harness of the newer protocol is refused before anything starts, where afl-fuzz does not speak it.
printf '%s\n' 'const char w[] = "__AFL_SHM_ID\0wrong forkserver message from AFL++ tool";' \
    'int main(void) { return w[0] == 1; }' >"$T/new.c"
check "a program with the words of a newer AFL++ is built" cc -o "$T/new" "$T/new.c"
printf '[target t]\nharness = new\nseeds = %s\n' "$TOP/seeds/chunk_frame-min" >"$T/new.ini"
if afl-fuzz -h 2>/dev/null | grep -aqE '\+\+4\.(0|1)'; then
    assert_exit "a harness of a newer AFL++ is refused" 2 "$FUZZCTL" plan "$T/new.ini"
    assert_match "with line and reason" '^[^ ]*new.ini:2: \[target t\] harness: .*new fork-server protocol' \
        "$(cat "$T/err")"
else
    assert_exit "this afl-fuzz drives both kinds" 0 "$FUZZCTL" plan "$T/new.ini"
fi
assert_exit "no file is wrong usage" 2 "$FUZZCTL" plan
assert_exit "a missing file too" 2 "$FUZZCTL" plan "$T/none.ini"
assert_exit "that there is no afl-fuzz is not" 1 env AFL_FUZZ=/none "$FUZZCTL" plan conf/campaigns/demo.ini
assert_match "and is said" '/none is not installed' "$(cat "$T/err")"
# What an option asks for is the option's fault, and of no line of the file.
assert_exit "more cores than there are, by an option" 2 "$FUZZCTL" plan "$T/good.ini" --cores 4096
assert_match "the option is named" '^[^ ]*good.ini: --cores: 4096 cores, but this host' "$(cat "$T/err")"
