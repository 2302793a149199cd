#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each planted bug leaves a minimal seed quiet and gives an allowed verdict on its own input.
# limit: 300
# cores: none
. tests/e2e/lib.sh

ini=harnesses/plants.ini
# shellcheck disable=SC3045
ulimit -c 0

# plant_key ID KEY
plant_key() {
    awk -v id="[$1]" -v key="$2" '
        /^\[/ { on = $0 == id }
        on && $1 == key && $2 == "=" { sub(/^[^=]*= */, ""); print }' "$ini"
}

# plant_input ID: a smallest input that the bug fails on.
plant_input() {
    signal='{"type":"signal"'
    out='\0005\0000\0020a\0013\0003' # 4096 bytes of stdout, 4 rounds
    case $1 in
    CTL_U16_WRAP) printf '{"type":"resize","cols":65616,"rows":24}' ;;
    CTL_EXIT_TRUNC) printf '{"type":"exit","code":4294967296}' ;;
    CTL_NAME_OVERFLOW) printf '%s,"name":"sixteen letters!"}' "$signal" ;;
    CTL_NULL_NAME) printf '%s,"Name":"INT"}' "$signal" ;;
    CTL_ESC_SPIN) printf '%s,"name":"\\ud800"}' "$signal" ;;
    CTL_NEEDLE) printf '%s,"name":"XYZZY"}' "$signal" ;;
    CTL_OOB_END) printf '{"type":"eof"} ' ;;
    CHUNK_NO_TYPE_CHECK) printf '\005\000\000\000\000' ;;
    CHUNK_MAX_PLUS1) printf '\001\001\000\000\001' ;;
    CHUNK_MAX_EXCL) printf '\001\001\000\000\000' ;;
    CHUNK_ALLOC_FIRST) printf '\001\001\000\000\021' ;;
    CHUNK_OVERREAD) printf '\001\000\000\000\001x' ;;
    CHUNK_PEEK_STICKY) printf '\000\000\000\000\000' ;;
    CHUNK_EOF_SPIN) printf '\001\000\000\000\001' ;;
    CHUNK_LEAK_TRUNC) printf '\001\000\000\000\001' ;;
    CHUNK_SHORTREAD) printf '\001\000\000\000\020sixteen bytes...' ;;
    CHUNK_STATE_LEAK) printf '\004\000\000\000\001x\002\000\000\000\001x' ;;
    NEG_NO_BOUND) printf '\001\000\000\021' ;;
    NEG_TRAILING_OK) printf '%s,"cmd":[]}\n' "$neg" ;;
    NEG_ERRFRAME_LE) printf '\360' ;;
    NEG_DEPTH_UNLIMITED) printf '{"":%0129d' 0 | tr 0 '[' ;;
    NEG_UTF8_OOB) printf '\361\342' ;;
    NEG_DUP_LAST) printf '%s,"cmd":[]}' "$neg" ;;
    NEG_ZERO_CLOSED) printf '\000\000\000\000' ;;
    NEG_MAX_GROW) printf 'x' ;;
    SESS_LOST_EXIT) printf '\000\010\005\144\000a\010\000\000\000\000\013\017' ;;
    SESS_EXIT_EARLY) printf '\000\000\005\005\000a\010\000\000\000\000' ;;
    SESS_NO_KILL) printf '\000\030\005\005\000a\013\003' ;;
    SESS_KILL_AFTER_EXIT) printf '\000\010\011' ;;
    SESS_DROP_ON_FULL) printf '\000\014%b%b%b\010' "$out" "$out" "$out" ;;
    SESS_REORDER) printf '\000\014%b%b\005\000\010a\007\000\013\003\010' "$out" "$out" ;;
    SESS_STDIN_AFTER_SHUT) printf '\000\010\003\003\000\000\000\000\000\001\000a\013\017' ;;
    SESS_DOUBLE_SENTINEL) printf '\003\010\007\000\010\000\000\000\000' ;;
    SESS_TAKE_TWICE) printf '\000\010\003\000\001\000\001\000\003\000\002\000\002\000' ;;
    SESS_CTRL_DUP) printf '\000\004\003\001\000\000\000\000' ;;
    SESS_STALL) printf '\000\010\005\144\000a\013\003\002!' ;;
    SESS_SPIN) printf '\000\010\005\073\000a\010\000\000\000\000\013\017' ;;
    SESS_UAF) printf '\000\020\003\000\001\000\001\000\013\017' ;;
    *) return 1 ;;
    esac
}
neg='{"carriage":"raw","backend":"local"'

# verdict_of FILE: class:id, or the class alone.
verdict_of() {
    "$1" --timeout 400 "$T/in" 2>"$T/err" |
        sed -n 's/^{.*"class":"\([^"]*\)","inv":\(.*\),"signal".*/\1:\2/p' | tr -d '"' | sed 's/:null$//'
}

plants=$(sed -n 's/^\[\(.*\)\]$/\1/p' "$ini")
for id in $plants; do
    target=$(plant_key "$id" target)
    allow=$(plant_key "$id" allow)
    dir=$PLANTS/$id/$target
    build=replay
    [ "$(plant_key "$id" variant)" = asan ] && build=asan
    need "plants/$id/$target/$build"

    if [ "$(plant_key "$id" startup)" = yes ]; then
        plant_input "$id" >"$T/in"
        assert_exit "$id does not start" 133 "$dir/replay" "$T/in"
        assert_match "$id: it says why" "^FZ-FAIL target=$target class=internal inv=SELFTEST " "$(cat "$T/err")"
        assert_eq "$id: and judges no input" "" "$(cat "$T/out")"
        continue
    fi
    "$dir/replay" "seeds/$target-min" >"$T/out" 2>/dev/null
    check "$id leaves a minimal seed quiet" grep -q '"class":"pass"' "$T/out"
    plant_input "$id" >"$T/in" || not_ok "$id has an input here"
    clean=$("$HARNESSES/$target/$build" "$T/in" | tail -n 1)
    assert_eq "$id: the target without the bug passes its input" "1 passed, 0 failed" "$clean"
    got=$(verdict_of "$dir/$build")
    if [ "$(plant_key "$id" replay)" = no ]; then
        assert_eq "$id does not show in a replay" pass "$got"
        continue
    fi
    case " $allow " in
    *" $got "*) ok "$id gives an allowed verdict" ;;
    *) not_ok "$id gives an allowed verdict: $got is not one of $allow" ;;
    esac
    # In a process of its own it says and does the same; a sanitizer has its own words.
    [ "$got" = timeout ] && continue
    "$dir/$build" --one "$T/in" >/dev/null 2>"$T/err"
    status=$?
    case $got in
    oom:*) want="1 140" ;;
    memory:ASAN) want="0 134" ;;
    # Without an id no invariant spoke: the library died by itself.
    memory) want="0 139" ;;
    invariant) want="0 134" ;;
    *) want="1 134" ;;
    esac
    assert_eq "$id: one line on stderr and the signal of the class" "$want" \
        "$(grep -c '^FZ-FAIL ' "$T/err") $status"
done
assert_eq "chunk_frame has ten plants" 10 "$(grep -c '^\[CHUNK_' "$ini")"
assert_eq "control_json has seven plants" 7 "$(grep -c '^\[CTL_' "$ini")"
assert_eq "negotiation_frame has eight plants" 8 "$(grep -c '^\[NEG_' "$ini")"
assert_eq "session_opseq has thirteen plants" 13 "$(grep -c '^\[SESS_' "$ini")"
for id in $plants; do
    check "$id is a bug of the library" grep -rq "PLANT_BUG_$id\$\|PLANT_BUG_$id)\$" harnesses/targets
done
