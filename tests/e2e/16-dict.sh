#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dictionaries: what a person wrote stays, what the compiler saw comes behind it, the same two give the
# same file, and afl-fuzz takes what is committed.
# limit: 120
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl

merge() {
    sh harnesses/sdk/dict-merge "$@"
}

cat >"$T/d.dict" <<'END'
# a comment
type="\x01\x02"
quote="say \"hi\" \\ bye"
level@0="deep"

"AB"
END
cp "$T/d.dict" "$T/hand"
cat >"$T/tokens" <<'END'
"\x01\x02"
"zeta"
"x"
"alpha"
"\x41\x42"
"zeta"
"\xe0\xff\xff\xff\xff\xff\xff\xff"
"say \x22hi\x22 \x5c bye"
"\x00\x01\xff\xff"
END
assert_exit "tokens are merged" 0 merge "$T/d.dict" "$T/tokens"
assert_eq "what a person wrote stands first, as it was" "$(cat "$T/hand")" "$(head -n 6 "$T/d.dict")"
assert_eq "behind it, sorted, what is new" '"\x00\x01\xff\xff" "alpha" "zeta"' \
    "$(sed -n '8,$p' "$T/d.dict" | paste -sd ' ')"
cp "$T/d.dict" "$T/once"
assert_exit "a second time" 0 merge "$T/d.dict" "$T/tokens"
check "nothing changes" cmp "$T/once" "$T/d.dict"
sort -r "$T/tokens" >"$T/reversed"
assert_exit "in another order" 0 merge "$T/hand" "$T/reversed" "$T/other"
check "it is the same" cmp "$T/once" "$T/other"
printf 'mine="late"\n# late comment\n' >>"$T/d.dict"
assert_exit "a name added behind the marker" 0 merge "$T/d.dict" "$T/tokens"
check "is kept" grep -q '^mine="late"$' "$T/d.dict"
check "so is a comment" grep -q '^# late comment$' "$T/d.dict"
assert_exit "without tokens" 0 merge "$T/hand" /dev/null "$T/none"
check "nothing is added" cmp "$T/hand" "$T/none"
assert_exit "without a dictionary" 0 merge "$T/new" "$T/tokens"
check "the tokens make one" grep -q '^"zeta"$' "$T/new"
assert_exit "wrong usage" 2 merge "$T/new"

# What is committed is what a merge leaves alone, and afl-fuzz takes it.
mkdir "$T/in"
echo x >"$T/in/x"
for d in dictionaries/*.dict "$T/once"; do
    name=$(basename "$d" .dict)
    grep -v '^ *#' "$d" | grep -c '"' >"$T/count"
    (AFL_NO_UI=1 AFL_NO_AFFINITY=1 timeout -s INT 20 afl-fuzz -i "$T/in" -o "$T/out-$name" -x "$d" -E 200 \
        -- "$HARNESSES/chunk_frame/afl") >"$T/log" 2>&1
    assert_match "afl-fuzz takes $name whole" "Loaded $(cat "$T/count") extra tokens" \
        "$(sed 's/\x1b\[[0-9;]*m//g' "$T/log")"
done

# `make dict` on a copy: what the libraries compare with, once.
if command -v afl-clang-fast >/dev/null; then
    cp -R dictionaries "$T/dicts"
    assert_exit "make dict" 0 make -s NODEPS=1 BUILD="$T/build" DICTS="$T/dicts" dict
    for d in dictionaries/*.dict; do
        assert_eq "keeps every line a person wrote in ${d##*/}" "" "$(grep -v '^"' "$d" | grep -vxFf "$T/dicts/${d##*/}")"
    done
    sed -i '/^# ---- Compared/,$d' "$T/dicts/chunk_frame.dict"
    cp "$T/dicts/chunk_frame.dict" "$T/by-hand"
    assert_exit "make dict, from what a person wrote" 0 make -s NODEPS=1 BUILD="$T/build" DICTS="$T/dicts" dict-chunk_frame
    check "adds the limit that the library compares with" grep -qxF '"\x00\x00\x00\x01"' "$T/dicts/chunk_frame.dict"
    cp -R "$T/dicts" "$T/first"
    assert_exit "make dict again" 0 make -s NODEPS=1 BUILD="$T/build" DICTS="$T/dicts" dict-chunk_frame
    check "changes nothing" diff -r "$T/first" "$T/dicts"
else
    skip "make dict" "no afl-clang-fast"
fi
