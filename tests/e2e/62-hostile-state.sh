#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A state directory that others may write, that is a link, whose folders are links, or whose index
# is damaged: refused in words, and nothing outside is read, written or removed.
# limit: 250
. tests/e2e/lib.sh
need fuzzctl fuzzd fuzz-keeper fuzz-triage harnesses/chunk_frame/afl

chunk_spec c 3s
mkdir -p "$T/outside/chunk_frame.main"
echo precious >"$T/outside/chunk_frame.main/file"
outside() {
    (cd "$T/outside" && find . -printf '%p %s %T@\n' | sort)
}
before=$(outside)

# refused NAME WORDS: neither fuzzd nor fuzzctl takes the state directory $1 names.
refused() {
    assert_exit "fuzzd refuses $1" 1 timeout 10 "$FUZZD" --foreground
    assert_match "fuzzd says why: $1" "$2" "$(cat "$T/err")"
    for verb in "list" "status" "verify" "start $T/c.ini"; do
        # shellcheck disable=SC2086
        "$FUZZCTL" $verb >"$T/out" 2>"$T/err"
        rc=$?
        assert_match "fuzzctl ${verb%% *} refuses $1 in words" "^1 .*$2" "$rc $(tr '\n' ' ' <"$T/err")"
    done
}

# ---- the directory itself --------------------------------------------------------------------
chmod 770 "$FZ_STATE"
refused "one that its group may write" "can be written by others"
for line in version help corpus "corpus stats seeds/chunk_frame-min" "corpus merge $T/merged seeds/chunk_frame-min" \
    "corpus pack seeds/chunk_frame-min -o $T/packed.tar" "coverage --corpus $T/packed.tar $T/c.ini" \
    "init $HARNESSES/chunk_frame/afl -o $T/init.ini"; do
    # shellcheck disable=SC2086
    assert_exit "what needs none takes no notice: ${line%% /*}" 0 "$FUZZCTL" $line
done
for line in "corpus stats $T/c.ini" "coverage $T/c.ini" "bundle show 0123456789ab"; do
    # shellcheck disable=SC2086
    assert_exit "what looks into it does: ${line%% /*}" 1 "$FUZZCTL" $line
    assert_match "and says so: ${line%% /*}" "^fuzzctl: state directory .*can be written by others" "$(cat "$T/err")"
done
assert_exit "a state directory without a name is wrong usage" 2 "$FUZZCTL" --state '' version
chmod 700 "$FZ_STATE"
mv "$FZ_STATE" "$T/real"
ln -s "$T/real" "$FZ_STATE"
refused "a link" "is a symbolic link"
rm "$FZ_STATE"
ln -s "$T/nowhere" "$FZ_STATE"
refused "a link to nothing" "is a symbolic link"
rm "$FZ_STATE"
mkfifo "$FZ_STATE"
refused "a fifo" "is not a folder"
rm "$FZ_STATE"
mv "$T/real" "$FZ_STATE"
assert_eq "nothing was made where the link led" "" "$(ls "$FZ_STATE")"

# ---- its files and folders -------------------------------------------------------------------
for name in store campaigns locks bundles; do
    ln -s "$T/outside" "$FZ_STATE/$name"
    assert_exit "fuzzd refuses $name as a link" 1 timeout 10 "$FUZZD" --foreground
    assert_match "and names it" "state/$name is a symbolic link" "$(cat "$T/err")"
    rm "$FZ_STATE/$name"
    mkfifo "$FZ_STATE/$name"
    assert_exit "fuzzd refuses $name as a fifo" 1 timeout 10 "$FUZZD" --foreground
    rm "$FZ_STATE/$name"
done
for name in fuzzd.lock state.db fuzzd.sock; do
    rm -f "$FZ_STATE/$name"
    ln -s "$T/outside/chunk_frame.main/file" "$FZ_STATE/$name"
    assert_exit "fuzzd refuses $name as a link" 1 timeout 10 "$FUZZD" --foreground
    rm -f "$FZ_STATE/$name"
done
for name in fuzzd.lock state.db fuzzd.sock; do
    rm -f "$FZ_STATE/$name"
    mkfifo "$FZ_STATE/$name"
    assert_exit "fuzzd refuses $name as a fifo" 1 timeout 10 "$FUZZD" --foreground
    rm -f "$FZ_STATE/$name"
    [ $name = fuzzd.sock ] || mkdir "$FZ_STATE/$name"
    [ $name = fuzzd.sock ] || assert_exit "fuzzd refuses $name as a folder" 1 timeout 10 "$FUZZD" --foreground
    rm -rf "${FZ_STATE:?}/$name"
done

# ---- folders of a run become links while it runs ---------------------------------------------
sed -i 's/budget = 3s/budget = 60s/' "$T/c.ini"
assert_exit "a campaign starts" 0 timeout 40 "$FUZZCTL" start "$T/c.ini"
run=$(echo "$FZ_STATE"/campaigns/c/[0-9]*)
pid() {
    "$FUZZCTL" status c --json | jq -r '.campaigns[0].targets[0].instances[0].pid'
}
mv "$run/scratch" "$T/scratch.aside"
ln -s "$T/outside" "$run/scratch"
p=$(pid)
[ "$p" -gt 1 ] && kill -KILL "$p"
links_told() {
    "$FUZZCTL" status c --json | grep -q "symbolic link"
}
check "an instance whose scratch is a link is not started again, with the reason" wait_for 20 links_told
assert_eq "and nothing outside was wiped" "$before" "$(outside)"
rm "$run/scratch"
mv "$T/scratch.aside" "$run/scratch"
assert_exit "the campaign is stopped" 0 timeout 60 "$FUZZCTL" stop c

# ---- readers ---------------------------------------------------------------------------------
assert_exit "what it left verifies" 0 "$FUZZCTL" verify
for name in log out store; do
    path=$run/$name
    [ $name = store ] && path=$FZ_STATE/store
    mv "$path" "$T/aside"
    ln -s "$T/outside" "$path"
    case $name in
    log)
        echo "root:x" >"$T/outside/chunk_frame.main.log"
        "$FUZZCTL" logs c >"$T/out" 2>"$T/err"
        assert_eq "logs reads none through a link" "" "$(grep root "$T/out" "$T/err")"
        rm "$T/outside/chunk_frame.main.log"
        ;;
    *)
        assert_exit "verify counts $name as a link" 7 "$FUZZCTL" verify
        assert_match "and names it" "symbolic link" "$(cat "$T/out" "$T/err")"
        ;;
    esac
    rm "$path"
    mv "$T/aside" "$path"
done
assert_exit "all is well again" 0 "$FUZZCTL" verify
before=$(echo "$before" | sed '1d')
assert_eq "nothing outside was touched" "$before" "$(outside | sed '1d')"

# ---- a damaged index -------------------------------------------------------------------------
fuzzd_gone() {
    ! "$FUZZD" --state "$FZ_STATE" --check >/dev/null 2>&1 || [ -z "$(state_pids)" ]
}
for p in $(state_pids); do
    [ "$(readlink "/proc/$p/exe")" = "$(readlink -f "$FUZZD")" ] && kill -TERM "$p"
done
check "fuzzd has ended" wait_for 10 fuzzd_gone
cp -a "$FZ_STATE/state.db" "$T/state.db"
size=$(stat -c %s "$T/state.db")
for cut in 0 1 100 4095 4096 $((size / 2)) $((size - 4096)) $((size - 1)) gone; do
    rm -f "$FZ_STATE"/state.db*
    [ "$cut" = gone ] || head -c "$cut" "$T/state.db" >"$FZ_STATE/state.db"
    damaged=
    for verb in list "report c" verify "artifacts c" "bundle make c" "logs c" "start $T/c.ini"; do
        # shellcheck disable=SC2086
        timeout 20 "$FUZZCTL" $verb >"$T/out" 2>"$T/err"
        rc=$?
        case "$rc $(cat "$T/out" "$T/err")" in
        [13]" "*"is damaged"*) ;;
        *) damaged="$damaged $verb: $rc $(head -c 200 "$T/err");" ;;
        esac
    done
    assert_eq "every verb says that an index cut to $cut is damaged" "" "$damaged"
    assert_exit "fuzzd does not start over it" 1 timeout 10 "$FUZZD" --foreground
    assert_match "and says so" "is damaged .*DAMAGED STATE" "$(cat "$T/err")"
    now=$(stat -c %s "$FZ_STATE/state.db" 2>/dev/null)
    assert_eq "it is left as it was" "${cut#gone}" "$now"
done
# Source: sqlite.org/fileformat2.html, "The Database Header": user version at 60, application id at 68.
foreign() { # OFFSET WORDS
    rm -f "$FZ_STATE"/state.db*
    cp -a "$T/state.db" "$FZ_STATE/state.db"
    printf '\000\000\000\143' | dd of="$FZ_STATE/state.db" bs=1 seek="$1" conv=notrunc 2>/dev/null
    assert_exit "verify refuses an index whose bytes at $1 are of another" 1 timeout 20 "$FUZZCTL" verify
    assert_match "in one line" "^1 fuzzctl verify: .*$2" "$(wc -l <"$T/err") $(cat "$T/err")"
    assert_exit "fuzzd does not start over it" 1 timeout 10 "$FUZZD" --foreground
    assert_match "and says so" "$2" "$(cat "$T/err")"
}
foreign 60 "schema version 99, this program knows [0-9]*: a newer fuzzd has written it"
foreign 68 "a database of another program"
rm -f "$FZ_STATE"/state.db*
cp -a "$T/state.db" "$FZ_STATE/state.db"
for name in state.db-wal state.db-shm; do
    for to in "$T/outside/chunk_frame.main/file" "$T/nowhere" "$FZ_STATE/$name"; do
        ln -s "$to" "$FZ_STATE/$name"
        assert_exit "fuzzctl refuses $name as a link to ${to##*/}" 1 timeout 10 "$FUZZCTL" verify
        assert_exit "fuzzd refuses $name as a link to ${to##*/}" 1 timeout 10 "$FUZZD" --foreground
        rm "$FZ_STATE/$name"
    done
done
assert_eq "nothing outside was touched" "$before" "$(outside | sed '1d')"
assert_exit "the whole index is good" 0 "$FUZZCTL" verify
