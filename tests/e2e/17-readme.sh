#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What harnesses/README.md shows works: its files and commands are taken out of it, built and fuzzed.
# limit: 500
# cores: none
. tests/e2e/lib.sh
need fuzzctl fuzzd
command -v afl-clang-fast >/dev/null || { skip readme "no afl-clang-fast"; exit 0; }

readme=$TOP/harnesses/README.md
# block FIRST: the fenced block whose first line begins so
block() {
    awk -v first="$1" '
        /^```/ { if (on) exit; fence = !fence; at = 1; next }
        fence && at { at = 0; on = index($0, first) == 1 }
        on { print }' "$readme"
}
block "/* rle.c:" >"$T/rle.c"
block "// entry.cc:" >"$T/entry.cc"
block "/* plain.c:" >"$T/plain.c"
for name in rle entry plain; do
    block "# build: $name" >"$T/build-$name.sh"
    check "the page tells how to build $name" test -s "$T/build-$name.sh"
done
check "the page is one" test "$(sed '/^## What is here/,$d' "$readme" | wc -l)" -le 150

cd "$T" || exit 1
# build NAME KIT
build() {
    KIT=$2 AFL_QUIET=1 sh -e "build-$1.sh" >"$1.log" 2>&1 || { tail -n 5 "$1.log"; return 1; }
    if grep -iE 'warning|error' "$1.log" | grep -v '^\[' | grep .; then return 1; fi
}
# finds NAME SPEC: a campaign that ends with its first finding; the seeds are a bit away from it, and the time is for
# hosts that are busy.
finds() {
    sed 's/^budget = .*/budget = 90s\nstop_on = first/' "$2" >"finds-$2"
    assert_exit "$1" 10 "$FUZZCTL" run "finds-$2"
}
mkdir -p seeds/rle seeds/entry seeds/plain
printf aaab >seeds/rle/runs
head -c 300 /dev/zero >seeds/rle/zeros
printf "hi " >seeds/entry/one
printf "btmp" >seeds/plain/one

# ---- the kit ----------------------------------------------------------------------------------
check "the kit's example builds, without a word of the compilers" build rle "$TOP/harnesses"
assert_exit "its seeds pass" 0 ./rle seeds/rle
assert_exit "init finds its four builds" 0 "$FUZZCTL" init rle-afl
assert_eq "and no more to wish" "" "$(cat err)"
assert_exit "it is clean" 0 "$FUZZCTL" run rle.ini --budget 4s
assert_match "having reached what it must" 'reach +1 of 1 required' "$("$FUZZCTL" report rle)"
# What it requires is asked of whichever build there is: with inputs too short for the place none is clean.
sed -e '/^replay = /d;/^sanitizer = /d;/^cmplog = /d' -e 's/^harness = .*/&\nmax_len = 200/' -e 's/^name = .*/name = short/' \
    -e 's,^seeds = .*,seeds = seeds/short,' rle.ini >short.ini
mkdir seeds/short
printf aaab >seeds/short/runs
assert_exit "a harness alone that does not get there is vacuous" 11 "$FUZZCTL" run short.ini --budget 2s
assert_match "by the place's name" 'longest_run' "$("$FUZZCTL" report short)"
# The invariants are no decoration: with a run too long for its count they fail.
sed 's/run < 255/run < 257/' rle.c >wrong.c
sed 's/rle\.c/wrong.c/;s/-o rle/-o wrong/' build-rle.sh >build-wrong.sh
cp -R seeds/rle seeds/wrong
rm seeds/wrong/zeros
head -c 254 /dev/zero >seeds/wrong/zeros
check "with a bug it builds as well" build wrong "$TOP/harnesses"
assert_exit "init" 0 "$FUZZCTL" init wrong-afl
finds "and is found" wrong.ini
assert_match "by its id" 'invariant rle R2' "$("$FUZZCTL" report wrong)"
# Another prefix links the programs anew: in a build of its own, as other tests run those of $BUILD.
mkdir -p "$T/build/obj"
cp -a "$BUILD"/.stamp-* "$BUILD"/fuzz* "$BUILD"/lib* "$T/build/"
cp -a "$BUILD/obj/orchestrator" "$T/build/obj/"
if make -s -C "$TOP" NODEPS=1 BUILD="$T/build" DESTDIR="$T/inst" PREFIX=/usr install >install.log 2>&1; then
    mkdir away
    cp rle.c build-rle.sh away/
    ln -s "$T/inst/usr/share/fuzzd" "$T/the kit"
    (cd away && cp ../build-rle.sh . && KIT="$T/the kit" AFL_QUIET=1 sh -e build-rle.sh) >away.log 2>&1
    assert_exit "with an installed kit, in a folder with a blank, it builds, too" 0 away/rle seeds/rle
else
    skip "an installed kit" "make install does not work here"
fi

# ---- others ---------------------------------------------------------------------------------
if command -v afl-clang-fast++ >/dev/null && build entry "$TOP/harnesses"; then
    ok "a C++ LLVMFuzzerTestOneInput builds"
    assert_exit "init" 0 "$FUZZCTL" init entry-afl
    finds "its exception is found" entry.ini
    assert_match "and confirmed" '^crash +[0-9a-f]{12}' "$("$FUZZCTL" artifacts entry)"
else
    skip "a C++ LLVMFuzzerTestOneInput" "$(tail -n 1 entry.log)"
fi
check "a plain program builds" build plain "$TOP/harnesses"
assert_exit "init" 0 "$FUZZCTL" init plain-afl
assert_match "sees that it opens a file" '^args = @@$' "$(cat plain.ini)"
finds "its bug is found in a file" plain.ini
sed 's/^args = @@$//;s/^name = .*/name = plain-stdin/' plain.ini >stdin.ini
finds "and on standard input" stdin.ini
assert_match "and confirmed there" '^crash +[0-9a-f]{12}' "$("$FUZZCTL" artifacts plain-stdin)"

# A Rust harness needs cargo-afl and its crates, which not every machine has.
if command -v cargo-afl >/dev/null 2>&1; then
    mkdir -p rust/src seeds/harness
    printf '[package]\nname = "harness"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nafl = "*"\n' >rust/Cargo.toml
    printf 'fn main() { afl::fuzz!(|d: &[u8]| { if d.starts_with(b"bu") { panic!("found") } }); }\n' >rust/src/main.rs
    echo hello >seeds/harness/one
    if (cd rust && cargo afl build --release --offline) >rust.log 2>&1; then
        assert_exit "a Rust harness: init" 0 "$FUZZCTL" init rust/target/release/harness --seeds seeds/harness
    else
        echo "# a Rust harness is not built: $(tail -n 1 rust.log)"
    fi
else
    echo "# a Rust harness is not built: no cargo-afl on this machine"
fi
cd "$TOP" || exit 1
