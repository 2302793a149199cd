#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A corpus in one file: fuzzctl corpus pack, and the same results from it as from the folder, input by input, in every command that takes
# inputs; archives of others, good and bad.
# limit: 240
# cores: none
. tests/e2e/lib.sh
need harnesses/chunk_frame/afl harnesses/chunk_frame/replay tests/engine/persistent
H=$HARNESSES/chunk_frame/afl

# ---- a corpus with everything in it ----
mkdir -p "$T/in/sub/deep" "$T/in/.hidden"
cp seeds/chunk_frame/* "$T/in/"
for c in A S 9 E abc; do printf '%s' "$c" >"$T/in/sub/$c"; done
: >"$T/in/empty"
head -c 1048577 /dev/zero >"$T/in/large"
head -c 1048576 /dev/zero >"$T/in/most"
printf x >"$T/in/.hidden/x"
printf x >"$T/in/README.txt"
printf x >"$T/in/sub.a"
printf nl >"$T/in/$(printf 'odd\nname\377')"
printf deep >"$T/in/sub/deep/$(printf '%0240d' 0)"
ln "$T/in/sub/abc" "$T/in/zz-same"
ln -s /etc/passwd "$T/in/link"
mkfifo "$T/in/fifo"

assert_exit "a folder is packed" 0 "$FUZZCTL" corpus pack "$T/in" -o "$T/in.tar"
assert_exit "and in a frame" 0 "$FUZZCTL" corpus pack "$T/in/" -o "$T/in.tar.zst"
zstd -dqc "$T/in.tar.zst" >"$T/unpacked"
check "which is the same tar" cmp -s "$T/unpacked" "$T/in.tar"
touch "$T/in/sub.a" "$T/in"
chmod 600 "$T/in/sub.a"
assert_exit "again, later" 0 "$FUZZCTL" corpus pack "$T/in" -o "$T/again.tar"
check "byte by byte the same" cmp -s "$T/again.tar" "$T/in.tar"
tar -C "$T" --exclude=fifo -cf "$T/gnu.tar" in
tar -C "$T/in" --exclude=fifo --format=pax -cf "$T/pax.tar" .
(cd "$T/in" && find . ! -name fifo -print0 | sort -rz | tar --null --no-recursion -T - -cf "$T/other-order.tar")

# same NAME COMMAND...: its output over the folder and over each archive, without the names of the places and times
same() {
    name=$1
    shift
    for place in in in.tar in.tar.zst gnu.tar pax.tar other-order.tar; do
        "$@" "$T/$place" >"$T/out.$place" 2>"$T/err.$place"
        echo "exit $?" >>"$T/out.$place"
        sed -E -e "s,$T/$place/,,g; s,$T/$place,PLACE,g; s,\"in/,\",g; s,^in/,,; s,(run: )in/,\1,; s,: in/,: ,g" \
            -e 's/"us":[0-9]+,?//g; s/"ms": ?[0-9]+//g; s/"(oldest|newest)": ?(null|"[^"]*")//g; s/[0-9.km]+ inputs\/s in [0-9.ms]+//; s/, [0-9.]+m?s\)/)/; /^  from .*Z to .*Z$/d; s/"peak_bytes": ?[0-9]+//' \
            "$T/out.$place" >"$T/cmp.$place"
        [ $place = in ] || check "$name: $place as the folder" cmp -s "$T/cmp.in" "$T/cmp.$place"
    done
}

n=$(find "$T/in" -type f ! -path '*/.hidden/*' ! -name README.txt -printf x | wc -c)
for e in batch fork; do
    same "replay, $e" "$FUZZCTL" --json replay --engine $e --harness "$H"
    assert_eq "$e: all inputs" "$((n + 2))" "$(wc -l <"$T/cmp.in")"
done
same "replay, native" "$FUZZCTL" --json replay --engine native --timeout 30s --harness "$HARNESSES/chunk_frame/replay"
same "replay of what ends badly" "$FUZZCTL" replay --timeout 300ms --harness "$BUILD/tests/engine/persistent"
assert_match "is told" 'sub/S' "$(cat "$T/cmp.in.tar")"
same "stats" "$FUZZCTL" corpus stats --harness "$H"
same "stability" "$FUZZCTL" stability --runs 2 --harness "$H"

# ---- distill, merge, coverage ----
for place in in in.tar.zst gnu.tar; do
    assert_exit "distill of $place" 0 "$FUZZCTL" distill --harness "$H" "$T/$place" -o "$T/d.$place"
    assert_exit "merge of $place" 0 "$FUZZCTL" corpus merge "$T/m.$place" "$T/$place"
    (cd "$T/d.$place" && sha256sum -- * | cut -c 1-64 | sort) >"$T/d.$place.sum"
    (cd "$T/m.$place" && sha256sum -- * | cut -c 1-64 | sort) >"$T/m.$place.sum"
    check "distill: $place as the folder" cmp -s "$T/d.in.sum" "$T/d.$place.sum"
    check "merge: $place as the folder" cmp -s "$T/m.in.sum" "$T/m.$place.sum"
done
assert_exit "against a packed corpus" 0 "$FUZZCTL" --json distill --harness "$H" "$T/in" --against "$T/in.tar" -o "$T/none"
assert_match "nothing is new" '"new_tuples": ?0' "$(cat "$T/out")"
mkdir -p "$T/p/queue" "$T/q/queue"
echo 1 >"$T/p/queue/n"
echo 2 >"$T/q/queue/n"
assert_exit "places of one name" 0 "$FUZZCTL" corpus pack "$T/p/queue" "$T/q/queue/" -o "$T/two.tar"
assert_eq "are told apart" "queue-2/n queue/n" "$(tar -tf "$T/two.tar" | sort | tr '\n' ' ' | sed 's/ $//')"
assert_exit "several are packed" 0 "$FUZZCTL" corpus pack "$T/in/sub" "$T/in/sub/deep" "$T/m.in" "$T/two.tar" "$T/in/empty" -o "$T/several.tar"
assert_eq "each below its name" "empty sub/S two.tar/queue-2/n" \
    "$(tar -tf "$T/several.tar" | grep -xE 'two.tar/queue-2/n|sub/S|empty' | sort | tr '\n' ' ' | sed 's/ $//')"
assert_exit "what was too large to be kept" 1 "$FUZZCTL" corpus pack "$T/in.tar" -o "$T/x.tar"
assert_match "is told" "in.tar/large: File too large" "$(cat "$T/err")"

# ---- output ----
before=$(sha256sum <"$T/in.tar")
assert_exit "a file that is there" 2 "$FUZZCTL" corpus pack "$T/in" -o "$T/in.tar"
assert_match "is not replaced" 'is there already' "$(cat "$T/err")"
assert_eq "nor changed" "$before" "$(sha256sum <"$T/in.tar")"
ln -s "$T/elsewhere.tar" "$T/dangling.tar"
assert_exit "nor is a link followed" 2 "$FUZZCTL" corpus pack "$T/in" -o "$T/dangling.tar"
check "to where it points" test ! -e "$T/elsewhere.tar"
assert_exit "another name" 2 "$FUZZCTL" corpus pack "$T/in" -o "$T/in.zip"
assert_exit "no folder" 2 "$FUZZCTL" corpus pack "$T/in" -o "$T/gone/in.tar"
mkdir "$T/nothing"
assert_exit "no inputs" 11 "$FUZZCTL" corpus pack "$T/nothing" -o "$T/x.tar"
assert_exit "no such place" 2 "$FUZZCTL" corpus pack "$T/gone" -o "$T/x.tar"
assert_exit "no place" 2 "$FUZZCTL" corpus pack -o "$T/x.tar"
assert_exit "an input that cannot be read" 1 "$FUZZCTL" corpus pack "$T/in/sub" "$T/in/fifo" -o "$T/x.tar"
assert_eq "is told in one line" "fuzzctl corpus: pack: $T/in/fifo: not a regular file" "$(cat "$T/err")"
assert_eq "and nothing is left" "" "$(find "$T" -maxdepth 1 -name 'x.tar*')"

# ---- archives of others ----
python3 - "$T" <<'PY'
import io, sys, tarfile
t = sys.argv[1]
def make(name, *members, fmt=tarfile.GNU_FORMAT):
    with tarfile.open(f"{t}/{name}.tar", "w", format=fmt) as tar:
        for path, kind, data in members:
            m = tarfile.TarInfo(path)
            m.type, m.size = kind, len(data) if kind == tarfile.REGTYPE else 0
            m.linkname = data.decode() if kind != tarfile.REGTYPE else ""
            tar.addfile(m, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
R = tarfile.REGTYPE
make("bad-up", ("../../etc/cron.d/x", R, b"1"))
make("bad-link", ("a", tarfile.LNKTYPE, b"/etc/passwd"))
make("bad-none")
make("good-odd", ("/abs", R, b"1"), ("s", tarfile.SYMTYPE, b"/etc/passwd"), ("dev", tarfile.CHRTYPE, b""), ("p", tarfile.FIFOTYPE, b""),
     ("d", tarfile.DIRTYPE, b""), ("same", R, b"1"), ("same", R, b"22"), ("l", tarfile.LNKTYPE, b"same"))
whole = open(f"{t}/pax.tar", "rb").read(8192)
open(f"{t}/bad-short.tar", "wb").write(whole)
open(f"{t}/bad-empty.tar", "wb")
open(f"{t}/bad-text.tar", "wb").write(b"this is no tar\n" * 100)
open(f"{t}/bad-text.tar.zst", "wb").write(b"this is no frame\n" * 100)
open(f"{t}/bad-torn.tar.zst", "wb").write(open(f"{t}/in.tar.zst", "rb").read()[:-5])
PY
for f in "$T"/bad-*.tar "$T"/bad-*.zst; do
    name=${f##*/}
    want=2
    [ "$name" != bad-none.tar ] || want=11
    assert_exit "$name is refused" $want "$FUZZCTL" replay --harness "$H" "$f"
    assert_eq "$name: in one line" 1 "$(wc -l <"$T/err")"
    assert_exit "$name: by stats, too" $want "$FUZZCTL" corpus stats "$f"
    assert_exit "$name: by pack, too" $want "$FUZZCTL" corpus pack "$f" -o "$T/y.tar"
done
head -c 2048 /dev/zero >"$T/nothing.tar"
assert_exit "an archive of nothing" 11 "$FUZZCTL" replay --harness "$H" "$T/nothing.tar"
assert_exit "links and devices are passed over" 0 "$FUZZCTL" --json replay --harness "$H" "$T/good-odd.tar"
assert_eq "names may be there twice, a hard link is its file" "abs l same same" \
    "$(grep -o 'good-odd.tar/[a-z]*' "$T/out" | cut -d / -f 2 | tr '\n' ' ' | sed 's/ $//')"
mkdir "$T/folder"
cp "$T/bad-short.tar" "$T/folder/"
assert_exit "in a folder a tar is an input" 0 "$FUZZCTL" --json replay --harness "$H" "$T/folder"
assert_match "of its own" 'folder/bad-short.tar"' "$(cat "$T/out")"
cp -r "$T/folder" "$T/f.tar"
assert_exit "a folder of that name is a folder" 0 "$FUZZCTL" replay --harness "$H" "$T/f.tar"
assert_eq "no private folder is left" "" "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'fuzzctl-replay.*' -newer "$T/in.tar" -user "$(id -un)" -empty)"
