#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzzctl init: real builds of one program become a spec that checks and runs; what afl-fuzz
# cannot drive is refused in one line that says what to do.
# limit: 400
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd harnesses/chunk_frame/afl harnesses/chunk_frame/replay
command -v afl-clang-fast >/dev/null || { skip init "no afl-clang-fast"; exit 0; }

cd "$T" || exit 1
cc_afl() {
    AFL_QUIET=1 afl-clang-fast -O1 "$@" >>"$T/cc.log" 2>&1
}

cat >file.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return 1;
    if (fgetc(f) == 'b' && fgetc(f) == 'u')
        abort();
    return 0;
}
END
sed 's/argc > 1 ? .* : NULL;/argc > 0 \&\& argv ? stdin : NULL;/' file.c >stdin.c
cat >entry.c <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)
{
    if (n > 1 && d[0] == 'b' && d[1] == 'u')
        abort();
    return 0;
}
END

# value KEY FILE: what the spec's target sets
value() {
    sed -n "s/^$1 = //p" "$2"
}

# finds NAME SPEC: the campaign that was written ends with a finding. The seeds are a bit away from it; the time is for
# hosts that are busy.
finds() {
    sed 's/^budget = .*/budget = 90s\nstop_on = first/' "$2" >"finds-$2"
    assert_exit "$1" 10 "$FUZZCTL" run "finds-$2"
}

# ---- builds beside each other -------------------------------------------------------------
cc_afl -o file-afl file.c
AFL_LLVM_CMPLOG=1 cc_afl -o file-cmplog file.c
AFL_USE_ASAN=1 cc_afl -o file-asan file.c
cc -o file file.c
CLANG=$(command -v clang || command -v clang-14)
"$CLANG" -fprofile-instr-generate -fcoverage-mapping -o file-cov file.c
assert_exit "a program with its builds becomes a spec" 0 "$FUZZCTL" init ./file-afl
assert_eq "the harness is the plain build" "file-afl" "$(value harness file.ini)"
assert_eq "the cmplog build is found" "file-cmplog" "$(value cmplog file.ini)"
assert_eq "the sanitizer build is found" "file-asan" "$(value sanitizer file.ini)"
assert_eq "the plain compiler's build is found" "file" "$(value replay file.ini)"
assert_eq "the coverage build is found" "file-cov" "$(value coverage file.ini)"
assert_eq "a program that opens its file gets @@" "@@" "$(value args file.ini)"
assert_match "the missing seeds are told on stderr" '^note: seeds/file needs at least one file' "$(cat err)"
assert_match "and in the spec" '^# Note: seeds/file needs at least one file' "$(cat file.ini)"
assert_exit "without seeds check says what is missing" 2 "$FUZZCTL" check file.ini
mkdir -p seeds/file
echo bt >seeds/file/one
assert_exit "with a seed it passes" 0 "$FUZZCTL" check file.ini
assert_exit "and is planned" 0 "$FUZZCTL" plan file.ini
finds "it runs, to its finding" file.ini
assert_match "which is confirmed" 'crash +[0-9a-f]{12}' "$("$FUZZCTL" artifacts file)"

cp file.ini before.ini
assert_exit "an existing spec is not replaced" 1 "$FUZZCTL" init ./file-afl
assert_match "which is said" 'file.ini is there already; --force replaces it' "$(cat err)"
check "it is as it was" cmp before.ini file.ini
assert_exit "--force replaces it" 0 "$FUZZCTL" init ./file-afl --force
if cmp -s before.ini file.ini; then not_ok "now with the seeds that are there"; else ok "now with the seeds that are there"; fi
assert_eq "no temporary is left" "" "$(find . -maxdepth 1 -name '.fuzzctl-init*')"

for place in file-afl file-asan seeds/file/one; do
    was=$(sha256sum <$place)
    assert_exit "a program or seed is not replaced, also by force: $place" 2 "$FUZZCTL" init ./file-afl --force -o $place
    assert_eq "and stays: $place" "$was" "$(sha256sum <$place)"
done

# Any build of the set leads to the same spec.
for build in file file-asan file-cmplog; do
    assert_exit "$build leads there too" 0 "$FUZZCTL" init ./$build -o $build.x.ini
    check "to the same spec" cmp file.ini $build.x.ini
done

# ---- ways to take the input -----------------------------------------------------------------
cc_afl -o stdin stdin.c
mkdir seeds/stdin seeds/entry seeds/kit
echo bt | tee seeds/stdin/one seeds/entry/one >seeds/kit/one
assert_exit "a program on standard input" 0 "$FUZZCTL" init ./stdin
assert_eq "gets no arguments" "" "$(value args stdin.ini)"
finds "runs to its finding" stdin.ini
assert_exit "given arguments are taken" 0 "$FUZZCTL" init ./stdin -o - -- -v @@
assert_match "one a line" '^    -v$' "$(cat out)"

cc_afl -fsanitize=fuzzer -o entry entry.c
AFL_USE_ASAN=1 cc_afl -fsanitize=fuzzer -o entry-asan entry.c
assert_exit "an LLVMFuzzerTestOneInput with libAFLDriver" 0 "$FUZZCTL" init ./entry
assert_match "is told as such" 'libAFLDriver around LLVMFuzzerTestOneInput' "$(cat entry.ini)"
finds "runs to its finding" entry.ini
assert_match "which is confirmed in its own builds" 'crash +[0-9a-f]{12}' "$("$FUZZCTL" artifacts entry)"

mkdir kit
for v in afl cmplog asan replay cov; do ln "$HARNESSES/chunk_frame/$v" kit/ 2>/dev/null || cp "$HARNESSES/chunk_frame/$v" kit/; done
assert_exit "builds of the kit, named by what they are" 0 "$FUZZCTL" init kit/replay
assert_eq "are named by their folder" "kit/afl" "$(value harness kit.ini)"
assert_eq "all of them are found" "kit/cmplog kit/asan kit/replay kit/cov" \
    "$(value cmplog kit.ini) $(value sanitizer kit.ini) $(value replay kit.ini) $(value coverage kit.ini)"
assert_exit "and pass" 0 "$FUZZCTL" check kit.ini

# ---- one build alone, odd names, other places -----------------------------------------------
mkdir alone "odd name;x" static
cp file-asan alone/only-asan
assert_exit "an ASan build alone is fuzzed itself" 0 "$FUZZCTL" init alone/only-asan -o alone/x.ini
assert_eq "as the harness" "only-asan" "$(value harness alone/x.ini)"
assert_match "with a word on its speed" 'harness is a sanitizer build' "$(cat err)"
cp file-afl "odd name;x/my prog"
assert_exit "a name with blanks and a semicolon" 0 "$FUZZCTL" init "odd name;x/my prog" --seeds seeds/file
assert_exit "gives a spec that passes" 0 "$FUZZCTL" check my_prog.ini
cp file-afl "odd name;x/p ;q"
assert_exit "what a spec would take for a comment is refused" 2 "$FUZZCTL" init "odd name;x/p ;q"
assert_match "with what to do" 'rename it' "$(cat err)"
if [ -e p__q.ini ]; then not_ok "and nothing is written"; else ok "and nothing is written"; fi
assert_exit "a spec elsewhere names its programs by their whole path" 0 "$FUZZCTL" init ./file-afl -o alone/away.ini
assert_eq "that is" "$(realpath .)/file-afl" "$(value harness alone/away.ini)"
if cc_afl -static -o static/prog file.c; then
    assert_exit "a static program" 0 "$FUZZCTL" init static/prog -o static/x.ini
    assert_match "is told as static" 'it is static' "$(cat err)"
else
    skip "a static program" "afl-clang-fast -static does not link here"
fi
assert_exit "a folder that is not there" 1 "$FUZZCTL" init ./file-afl -o none/x.ini
ls >before.ls
assert_exit "-o names the file, --name the campaign" 0 "$FUZZCTL" init -q ./file-afl -o named.spec.ini --name other
assert_eq "and its target" "name = other [target other]" "$(grep -E '^name = |^\[target' named.spec.ini | paste -sd' ')"
assert_eq "quiet says nothing" "" "$(cat out err)"
assert_eq "no other file is made" "named.spec.ini" "$(ls >after.ls && comm -13 before.ls after.ls | grep -v "\.ls$")"
assert_exit "without -o the file has the name of the campaign" 0 "$FUZZCTL" init ./file-afl --name third
assert_eq "that is" "third.ini name = third" "$(ls third.ini) $(grep '^name = ' third.ini)"
assert_exit "without --name the campaign has that of the program" 0 "$FUZZCTL" init ./file-afl -o fourth.ini
assert_eq "whatever the file is called" "name = file" "$(grep '^name = ' fourth.ini)"
assert_exit "a spec among the seeds is refused" 2 "$FUZZCTL" init ./file-afl -o seeds/file/x.ini
assert_match "with what to do" '-o seeds/file/x.ini: would be among the inputs in .*/seeds/file from then on' "$(cat err)"
check "and not written" test ! -e seeds/file/x.ini
assert_exit "a full device is told" 1 "$FUZZCTL" init ./file-afl --force -o /dev/full/x.ini

# ---- what is refused ------------------------------------------------------------------------
# refused NAME ERE PROGRAM: exit 2, one line, nothing written
refused() {
    assert_exit "$1 is refused" 2 "$FUZZCTL" init "$3" -o refused.ini
    assert_match "$1: what to do" "$2" "$(cat err)"
    assert_eq "$1: in one line" 1 "$(wc -l <err)"
    if [ -e refused.ini ]; then not_ok "$1: nothing is written"; else ok "$1: nothing is written"; fi
}
mkdir bad
cc -o bad/plain file.c
refused "a program without instrumentation" 'not instrumented; build it with CC=afl-clang-fast' bad/plain
if clang -fsanitize=fuzzer -o bad/lf entry.c 2>>cc.log || clang-14 -fsanitize=fuzzer -o bad/lf entry.c 2>>cc.log; then
    refused "a libFuzzer program" 'afl-clang-fast -fsanitize=fuzzer' bad/lf
else
    skip "a libFuzzer program" "clang has no libFuzzer here"
fi
printf '#!/bin/sh\nexec ./file-afl "$@"\n' >bad/script
refused "a script that may not be run" 'is a script; name the instrumented program' bad/script
chmod +x bad/script
refused "a script" 'is a script; name the instrumented program' bad/script
echo hello >bad/text
refused "a text file" 'is no program' bad/text
chmod +x bad/text
refused "an executable text file" 'is no ELF program' bad/text
refused "a folder" 'is a folder; name the program in it' bad
refused "a missing file" 'no such file; build the harness first' bad/none
cp file-afl bad/noexec
chmod -x bad/noexec
refused "a program that may not be run" 'is not executable; chmod' bad/noexec
mkfifo bad/pipe
refused "a pipe" 'not a regular file' bad/pipe
: >bad/empty
chmod +x bad/empty
refused "an empty file" 'is no ELF program' bad/empty
# The same program as another machine's: e_machine and, for 32 bits, the class.
cp file-afl bad/foreign
printf '\267\000' | dd of=bad/foreign bs=1 seek=18 conv=notrunc 2>/dev/null
[ "$(uname -m)" = aarch64 ] && printf '\076\000' | dd of=bad/foreign bs=1 seek=18 conv=notrunc 2>/dev/null
refused "a program of another machine" 'rebuild it here' bad/foreign
if printf '.globl _start\n_start: nop\n' >n.s && as --32 -o n.o n.s 2>>cc.log && ld -m elf_i386 -o bad/bits32 n.o 2>>cc.log; then
    refused "a 32-bit program" '32-bit x86 .*rebuild it here' bad/bits32
else
    skip "a 32-bit program" "the assembler makes none here"
fi
mkfifo out.pipe
assert_exit "an output that is a pipe is refused, also by force" 1 "$FUZZCTL" init ./file-afl -o out.pipe --force
assert_match "and told" 'out.pipe is there and no plain file' "$(cat "$T/err")"
check "and still one" test -p out.pipe
assert_exit "no program at all is wrong usage" 2 "$FUZZCTL" init
assert_exit "a bad name is told" 2 "$FUZZCTL" init ./file-afl --name 'a b'
cd "$TOP" || exit 1
