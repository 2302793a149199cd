/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds of control_json: 80 messages, good and bad, and five minimal ones from
 * which a planted bug is still quiet. The slug tells the verdict where it is not
 * plain: -ok or -err.
 */
#include <stdio.h>
#include <string.h>

#include "sdk/seedgen.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char seed_target[] = "control_json";

struct row {
    const char *slug;
    const char *text;
};

static void emit(const char *slug, const char *text)
{
    seed_add("", text, strlen(text), "%s", slug);
}

static void emit_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        emit(rows[i].slug, rows[i].text);
}
#define EMIT_ROWS(rows) emit_rows(rows, COUNT(rows))

static const struct row resizes[] = {
    {"resize",
     "{\"type\":\"resize\",\"cols\":80,\"rows\":24,\"pixel_width\":0,\"pixel_height\":0}"},
    {"resize-no-pixels", "{\"type\":\"resize\",\"cols\":80,\"rows\":24}"},
    {"resize-zero", "{\"type\":\"resize\",\"cols\":0,\"rows\":0}"},
    {"resize-one",
     "{\"type\":\"resize\",\"cols\":1,\"rows\":1,\"pixel_width\":1,\"pixel_height\":1}"},
    {"resize-max", "{\"type\":\"resize\",\"cols\":65535,\"rows\":65535,\"pixel_width\":65535,"
                   "\"pixel_height\":65535}"},
    {"resize-pixel-width", "{\"type\":\"resize\",\"cols\":132,\"rows\":43,\"pixel_width\":1056}"},
    {"resize-pixel-height", "{\"type\":\"resize\",\"cols\":132,\"rows\":43,\"pixel_height\":688}"},
    {"resize-mixed", "{\"type\":\"resize\",\"cols\":256,\"rows\":255,\"pixel_width\":32768,"
                     "\"pixel_height\":32767}"},
};

static void signals(void)
{
    static const char *const names[] = {"ABRT", "ALRM", "FPE",  "HUP",  "ILL",  "INT", "KILL",
                                        "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char text[64];
        int n = snprintf(text, sizeof(text), "{\"type\":\"signal\",\"name\":\"%s\"}", names[i]);

        seed_add("", text, (size_t)n, "signal-%s", names[i]);
    }
}

static void exits(void)
{
    static const char *const codes[] = {"0", "1", "-1", "127", "-2147483648", "2147483647"};

    for (size_t i = 0; i < COUNT(codes); i++) {
        char text[64];
        int n = snprintf(text, sizeof(text), "{\"type\":\"exit\",\"code\":%s}", codes[i]);

        seed_add("", text, (size_t)n, "exit-%s", codes[i]);
    }
}

static const struct row shapes[] = {
    {"type-last-ok", "{\"cols\":80,\"rows\":24,\"type\":\"resize\"}"},
    {"reversed-ok",
     "{\"pixel_height\":4,\"pixel_width\":3,\"rows\":2,\"cols\":1,\"type\":\"resize\"}"},
    {"spaces-ok", " { \"type\" : \"exit\" , \"code\" : 7 } "},
    {"lines-ok", "{\r\n\t\"type\": \"signal\",\r\n\t\"name\": \"HUP\"\r\n}\r\n"},
    {"unknown-scalar-ok", "{\"type\":\"eof\",\"note\":\"x\",\"t\":true,\"f\":false,\"n\":null,"
                          "\"d\":-1.5e+3}"},
    {"unknown-nested-ok",
     "{\"extra\":{\"type\":\"exit\",\"list\":[1,[],{},\"a\"]},\"type\":\"eof\"}"},
    {"unknown-twice-ok", "{\"x\":1,\"type\":\"exit\",\"x\":2,\"code\":3}"},
    {"keys-of-another-type-ok",
     "{\"type\":\"signal\",\"name\":\"INT\",\"cols\":\"no\",\"cols\":-1,\"code\":1e9}"},
    {"cols-twice-err", "{\"type\":\"resize\",\"cols\":80,\"rows\":24,\"cols\":80}"},
    {"type-twice-err", "{\"type\":\"eof\",\"type\":\"eof\"}"},
};

static const struct row faults[] = {
    {"type-missing-err", "{\"cols\":80,\"rows\":24}"},
    {"type-number-err", "{\"type\":1}"},
    {"type-null-err", "{\"type\":null}"},
    {"type-unknown-err", "{\"type\":\"Resize\",\"cols\":80,\"rows\":24}"},
    {"cols-missing-err", "{\"type\":\"resize\",\"rows\":24}"},
    {"rows-missing-err", "{\"type\":\"resize\",\"cols\":80}"},
    {"cols-text-err", "{\"type\":\"resize\",\"cols\":\"80\",\"rows\":24}"},
    {"rows-null-err", "{\"type\":\"resize\",\"cols\":80,\"rows\":null}"},
    {"pixel-width-null-err", "{\"type\":\"resize\",\"cols\":80,\"rows\":24,\"pixel_width\":null}"},
    {"name-missing-err", "{\"type\":\"signal\"}"},
    {"name-number-err", "{\"type\":\"signal\",\"name\":2}"},
    {"code-missing-err", "{\"type\":\"exit\"}"},
    {"code-text-err", "{\"type\":\"exit\",\"code\":\"0\"}"},
    {"array-err", "[{\"type\":\"eof\"}]"},
};

static const struct row numbers[] = {
    {"cols-65536-err", "{\"type\":\"resize\",\"cols\":65536,\"rows\":24}"},
    {"cols-minus-1-err", "{\"type\":\"resize\",\"cols\":-1,\"rows\":24}"},
    {"cols-fraction-err", "{\"type\":\"resize\",\"cols\":1.0,\"rows\":24}"},
    {"cols-exponent-err", "{\"type\":\"resize\",\"cols\":1e2,\"rows\":24}"},
    {"cols-minus-0-err", "{\"type\":\"resize\",\"cols\":-0,\"rows\":24}"},
    {"cols-leading-zero-err", "{\"type\":\"resize\",\"cols\":080,\"rows\":24}"},
    {"code-above-err", "{\"type\":\"exit\",\"code\":2147483648}"},
    {"code-below-err", "{\"type\":\"exit\",\"code\":-2147483649}"},
    {"code-above-64-bits-err", "{\"type\":\"exit\",\"code\":18446744073709551616}"},
    {"code-long-err", "{\"type\":\"exit\",\"code\":100000000000000000000000000000000000000000}"},
};

static const struct row names[] = {
    {"name-two-bytes-ok", "{\"type\":\"signal\",\"name\":\"\xc3\xa9\"}"},
    {"name-four-bytes-ok", "{\"type\":\"signal\",\"name\":\"\xf0\x9f\x98\x80\"}"},
    {"name-escaped-ok", "{\"type\":\"signal\",\"name\":\"\\u0049N\\u0054\"}"},
    {"name-pair-ok", "{\"type\":\"signal\",\"name\":\"\\ud83d\\ude00\"}"},
    {"name-nul-ok", "{\"type\":\"signal\",\"name\":\"INT\\u0000\"}"},
    {"name-short-escapes-ok", "{\"type\":\"signal\",\"name\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"},
    {"name-lone-surrogate-err", "{\"type\":\"signal\",\"name\":\"\\ud800\"}"},
    {"name-overlong-err", "{\"type\":\"signal\",\"name\":\"\xc0\x80\"}"},
};

static const struct row truncations[] = {
    {"cut-empty", ""},
    {"cut-open", "{"},
    {"cut-in-key", "{\"type\":\"signal\",\"na"},
    {"cut-before-value", "{\"type\":\"signal\",\"name\":"},
    {"cut-before-close", "{\"type\":\"signal\",\"name\":\"INT\""},
};

/* A member that nothing knows, with arrays `arrays` deep in the object. */
static void nested(const char *slug, size_t arrays)
{
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof(text), "{\"x\":");

    memset(text + n, '[', arrays);
    memset(text + n + arrays, ']', arrays);
    n += 2 * arrays;
    n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"type\":\"eof\"}");
    seed_add("", text, n, "%s", slug);
}

static void emit_minimal(const char *slug, const char *text)
{
    seed_add("-min", text, strlen(text), "%s", slug);
}

void seeds_generate(void)
{
    EMIT_ROWS(resizes);
    signals();
    emit("eof", "{\"type\":\"eof\"}");
    exits();
    EMIT_ROWS(shapes);
    EMIT_ROWS(faults);
    EMIT_ROWS(numbers);
    EMIT_ROWS(names);
    EMIT_ROWS(truncations);
    emit("trailing-byte-err", "{\"type\":\"eof\"}x");
    nested("nested-8-ok", 7);
    nested("nested-64-ok", 63);
    nested("nested-128-ok", 127);
    nested("nested-129-err", 128);

    /*
     * Each is one change away from some bug, and the shortest way to some edge: afl-fuzz
     * passes over a seed that is not.
     */
    emit_minimal("five-letters", "{\"type\":\"signal\",\"name\":\"HELLO\"}");
    emit_minimal("resize-max", "{\"type\":\"resize\",\"cols\":65535,\"rows\":65535}");
    emit_minimal("exit-max", "{\"type\":\"exit\",\"code\":2147483647}");
    emit_minimal("pair", "{\"type\":\"signal\",\"name\":\"\\ud83d\\ude00 is 4 bytes\"}");
    emit_minimal("trailing-byte", "{\"type\":\"eof\"}!");
}
