/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds of negotiation_frame: 116 inputs. Requests and edge bodies come
 * without a prefix, for the harness frames them itself; the slug of an edge body
 * ends with its verdict.
 */
#include <stdio.h>
#include <string.h>

#include "sdk/seedgen.h"

#define MAX_LEN    0x01000000u
#define DETAIL_MAX 1024u
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

const char seed_target[] = "negotiation_frame";

struct text_seed {
    const char *slug;
    const char *text;
};

#define HEAD         "{\"carriage\":\"raw\",\"backend\":\"local\""
#define MINIMAL      HEAD ",\"cmd\":[\"x\"]}"
/* A minimal request with one more member behind it. */
#define WITH(member) HEAD ",\"cmd\":[\"x\"]," member "}"
#define TTY(cols)    WITH("\"tty\":{\"cols\":" cols ",\"rows\":24}")

static void requests(void)
{
    static const struct text_seed seeds[] = {
        {"pipe", MINIMAL},
        {"tty", HEAD ",\"tty\":{\"cols\":80,\"rows\":24,\"pixel_width\":0,\"pixel_height\":0},"
                     "\"cmd\":[\"echo\",\"hello\"],\"env\":{\"K\":\"V\"},\"cwd\":\"/\"}"},
        {"tty-null", WITH("\"tty\":null")},
        {"tty-without-pixels", WITH("\"tty\":{\"cols\":132,\"rows\":43}")},
        {"tty-u16-edges", WITH("\"tty\":{\"cols\":0,\"rows\":65535,\"pixel_width\":65535,"
                               "\"pixel_height\":1}")},
        {"env-none", WITH("\"env\":{}")},
        {"env-one", WITH("\"env\":{\"HOME\":\"/root\"}")},
        {"env-two", WITH("\"env\":{\"TERM\":\"xterm\",\"LANG\":\"C\"}")},
        {"cwd", WITH("\"cwd\":\"/tmp/a b\"")},
        {"cwd-null", WITH("\"cwd\":null")},
        {"cmd-empty", HEAD ",\"cmd\":[]}"},
        {"escapes", HEAD ",\"cmd\":[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u00e9\\u20ac\"]}"},
        {"unicode", HEAD ",\"cmd\":[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]}"},
        {"unknown-key", WITH("\"color\":true")},
        {"reordered", "{\"env\":{\"B\":\"2\",\"A\":\"1\"},\"cwd\":\"/\",\"cmd\":[\"a\",\"b\"],"
                      "\"tty\":{\"rows\":1,\"cols\":2},\"backend\":\"ssh\",\"carriage\":\"raw\"}"},
        {"whitespace", " {\n\t\"carriage\" : \"raw\" ,\r\n\t\"backend\" : \"local\" ,\n\t"
                       "\"cmd\" : [ \"x\" , \"\" ]\n}\n"},
    };

    for (size_t i = 0; i < COUNT(seeds); i++)
        seed_add("", seeds[i].text, strlen(seeds[i].text), "request-%s", seeds[i].slug);
}

static void put_be32(unsigned char *p, unsigned v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static void truncations(void)
{
    unsigned char frame[4 + sizeof(MINIMAL)];

    put_be32(frame, sizeof(MINIMAL) - 1);
    memcpy(frame + 4, MINIMAL, sizeof(MINIMAL));
    for (size_t n = 0; n <= 35; n++)
        seed_add("", frame, n, "frame-cut-%zu", n);
}

static void lengths(void)
{
    static const unsigned lens[] = {0,           1,           MAX_LEN - 1, MAX_LEN,
                                    MAX_LEN + 1, 0x7fffffffu, 0x80000000u, 0xffffffffu};
    unsigned char d[8] = {0, 0, 0, 0, '{', '}', 0, 0};

    for (size_t i = 0; i < COUNT(lens); i++) {
        put_be32(d, lens[i]);
        seed_add("", d, 4, "length-%08x", lens[i]);
        seed_add("", d, 8, "length-%08x-and-4", lens[i]);
    }
}

static void edge_texts(void)
{
    static const struct text_seed seeds[] = {
        {"utf8-two-bytes-ok", HEAD ",\"cmd\":[\"\xc3\xa9\"]}"},
        {"utf8-four-bytes-ok", WITH("\"env\":{\"\xf0\x9f\x98\x80\":\"\xf4\x8f\xbf\xbf\"}")},
        {"utf8-overlong-err", HEAD ",\"cmd\":[\"\xc0\x80\"]}"},
        {"utf8-surrogate-err", HEAD ",\"cmd\":[\"\xed\xa0\x80\"]}"},
        {"utf8-too-high-err", WITH("\"x\":\"\xf4\x90\x80\x80\"")},
        {"utf8-cut-err", HEAD ",\"cmd\":[\"\xe2\x82\"]}"},
        {"escape-pair-ok", HEAD ",\"cmd\":[\"\\ud83d\\ude00\"]}"},
        {"escape-nul-ok", WITH("\"cwd\":\"/a\\u0000b\"")},
        {"escape-lone-surrogate-err", HEAD ",\"cmd\":[\"\\ud800\"]}"},
        {"escape-unknown-err", HEAD ",\"cmd\":[\"\\x41\"]}"},
        {"type-carriage-number-err", "{\"carriage\":1,\"backend\":\"local\",\"cmd\":[\"x\"]}"},
        {"type-backend-null-err", "{\"carriage\":\"raw\",\"backend\":null,\"cmd\":[\"x\"]}"},
        {"type-cmd-string-err", HEAD ",\"cmd\":\"x\"}"},
        {"type-cmd-item-number-err", HEAD ",\"cmd\":[\"x\",1]}"},
        {"type-tty-string-err", WITH("\"tty\":\"vt100\"")},
        {"type-cols-string-err", TTY("\"80\"")},
        {"type-env-array-err", WITH("\"env\":[\"K\",\"V\"]")},
        {"type-env-value-null-err", WITH("\"env\":{\"K\":null}")},
        {"missing-carriage-err", "{\"backend\":\"local\",\"cmd\":[\"x\"]}"},
        {"missing-backend-err", "{\"carriage\":\"raw\",\"cmd\":[\"x\"]}"},
        {"missing-cmd-err", HEAD "}"},
        {"duplicate-key-err", WITH("\"b\\u0061ckend\":\"local\"")},
        {"duplicate-in-env-err", WITH("\"env\":{\"K\":\"1\",\"L\":\"\",\"K\":\"1\"}")},
        {"unknown-nested-ok", WITH("\"x\":{\"cmd\":[null,-1.5e+3,{\"cmd\":0}],\"x\":0,\"x\":1}")},
        {"trailing-space-ok", MINIMAL " "},
        {"trailing-blanks-ok", MINIMAL "\r\n\t "},
        {"trailing-letter-err", MINIMAL "x"},
        {"trailing-brace-err", MINIMAL "}"},
        {"trailing-digit-err", MINIMAL "0"},
        {"trailing-value-err", MINIMAL "{}"},
    };

    for (size_t i = 0; i < COUNT(seeds); i++)
        seed_add("", seeds[i].text, strlen(seeds[i].text), "body-%s", seeds[i].slug);
}

/* The object itself is the first level. */
static void depths(void)
{
    static const size_t depth[] = {8, 64, 128, 129};

    for (size_t i = 0; i < COUNT(depth); i++) {
        static char d[512];
        size_t arrays = depth[i] - 1;
        size_t n = (size_t)snprintf(d, sizeof(d), "%s,\"cmd\":[\"x\"],\"x\":", HEAD);

        memset(d + n, '[', arrays);
        memset(d + n + arrays, ']', arrays);
        d[n + 2 * arrays] = '}';
        seed_add("", d, n + 2 * arrays + 1, "body-depth-%zu-%s", depth[i],
                 depth[i] <= 128 ? "ok" : "err");
    }
}

static void numbers(void)
{
    static const struct text_seed seeds[] = {
        {"65535-ok", TTY("65535")}, {"65536-err", TTY("65536")},  {"minus-1-err", TTY("-1")},
        {"1.0-err", TTY("1.0")},    {"exponent-err", TTY("1e2")}, {"minus-0-err", TTY("-0")},
    };

    for (size_t i = 0; i < COUNT(seeds); i++)
        seed_add("", seeds[i].text, strlen(seeds[i].text), "body-number-%s", seeds[i].slug);
}

/* A selector, then the detail: a short one with a byte that is not UTF-8 and
 * all that is escaped; a long one with a character across the cut. */
static void error_frames(void)
{
    static const char *const names[] = {"unknown-backend", "malformed", "allocate-failed",
                                        "forbidden"};

    for (size_t kind = 0; kind < COUNT(names); kind++) {
        static const char detail[] = " \"a\\b\"\n\x01\xff\xc3\xa9";
        unsigned char d[1 + DETAIL_MAX + 8];

        d[0] = (unsigned char)(0xf0 + kind);
        memcpy(d + 1, detail, sizeof(detail) - 1);
        seed_add("", d, sizeof(detail), "error-%s-short", names[kind]);

        memset(d + 1, 'a' + (int)kind, sizeof(d) - 1);
        memcpy(d + DETAIL_MAX - kind, "\xf0\x9f\x98\x80", 4);
        seed_add("", d, sizeof(d), "error-%s-long", names[kind]);
    }
}

/*
 * Near what a planted bug needs, but not there: no whole frame, a request with no
 * blank behind it, some with a blank that are refused at their very end and for
 * many bytes, nesting within the limit. afl-fuzz trims what does not change
 * coverage, so a fault that ends the reading early would lose what is behind it;
 * and it may leave any one seed for long, hence several.
 */
static void minimal(void)
{
    static const struct text_seed twins[] = {
        {"", WITH("\"env\":{\"HOME\":\"\",\"HOME\":\"\"}") "\n"},
        {"-first", "{\"env\":{\"A\":\"1\",\"B\":\"2\",\"A\":\"1\"},\"carriage\":\"raw\","
                   "\"backend\":\"local\",\"cmd\":[\"x\"]}\n"},
        {"-between", "{\"cmd\":[],\"carriage\":\"raw\",\"env\":{\"LANG\":\"C\",\"LANG\":\"C\"},"
                     "\"backend\":\"ssh\"} "},
        {"-of-users", HEAD ",\"env\":{\"USER\":\"\",\"USER\":\"\"},\"cmd\":[\"a\",\"b\"]}\r\n"},
    };
    char deep[128] = "{\"x\":";
    size_t n = strlen(deep);

    seed_add("-min", "\x00\x00\x00", 3, "three-zeros");
    seed_add("-min", MINIMAL, sizeof(MINIMAL) - 1, "request");
    for (size_t i = 0; i < COUNT(twins); i++)
        seed_add("-min", twins[i].text, strlen(twins[i].text), "request-with-twins%s",
                 twins[i].slug);
    memset(deep + n, '[', 120);
    seed_add("-min", deep, n + 120, "open-brackets");
}

void seeds_generate(void)
{
    requests();
    truncations();
    lengths();
    edge_texts();
    depths();
    numbers();
    error_frames();
    minimal();
}
