/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of the control socket. The input is what a peer sends; it arrives whole
 * and, a second time, in pieces whose sizes follow from the input. Both ways give
 * the same objects and the same end; each line that is taken is one JSON object of
 * our version and goes out as it came in.
 */
#include <errno.h>
#include <stdlib.h>

#include "ctl/proto.h"
#include "selftest/check.h"

static const char *const ids[] = {"P1", "P2", "P3", "P4", "P5", NULL};
static const char *const reach[] = {"taken", "no_object", "other_version", "unfinished", NULL};
const struct fz_target fz_target = {"selftest-proto", 256u << 20, ids, reach, NULL};

struct outcome {
    size_t n_lines;
    int end; /* 0 the stream ended, else the error */
    uint64_t hash;
};

static void check_buf(const struct proto_buf *b)
{
    MUST(b->used <= b->size && (b->size == 0) == (b->data == NULL), "P1",
         "%zu bytes in a buffer of %zu", b->used, b->size);
    MUST(b->size <= 2u * PROTO_MAX_LINE, "P1", "the buffer has %zu bytes", b->size);
}

/* P3, P4: an object of our version, and the same after a way through a socket. */
static void check_object(const json_t *j, struct outcome *o)
{
    struct proto_buf again = {0};
    char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
    json_t *back = NULL;

    MUST(json_is_object(j) && json_is_integer(json_object_get(j, "version")) &&
             json_integer_value(json_object_get(j, "version")) == PROTO_VERSION,
         "P3", "no object of our version was taken");
    MUST(text != NULL && strchr(text, '\n') == NULL, "P4", "it cannot be sent on as a line");
    if (proto_buf_add(&again, text, strlen(text)) == 0 && proto_buf_add(&again, "\n", 1) == 0)
        MUST(proto_buf_next(&again, &back) == 1, "P4", "what was taken is refused: %.100s", text);
    /* A real number may lose its last digit on the way, so texts are compared, not values. */
    if (back != NULL) {
        char *second = json_dumps(back, JSON_COMPACT | JSON_SORT_KEYS);

        MUST(second != NULL && strcmp(text, second) == 0, "P4", "it changed on the way");
        free(second);
    }
    o->hash = o->hash * 31 + fz_hash(text, strlen(text));
    proto_buf_clear(&again);
    json_decref(back);
    free(text);
}

static bool take_lines(struct proto_buf *b, struct outcome *o)
{
    for (;;) {
        json_t *j = NULL;
        int r = proto_buf_next(b, &j);

        check_buf(b);
        MUST((r == 1) == (j != NULL), "P3", "%d with%s an object", r, j != NULL ? "" : "out");
        if (r <= 0) {
            MUST(r == 0 || r == -EBADMSG || r == -EPROTO, "P3", "the next line is %d", r);
            o->end = r;
            return r == 0;
        }
        check_object(j, o);
        json_decref(j);
        o->n_lines++;
    }
}

/* The whole stream, in pieces that seed chooses; 0 = all at once. */
static struct outcome run(const uint8_t *d, size_t n, uint64_t seed)
{
    struct proto_buf b = {0};
    struct outcome o = {0, 0, 0};
    size_t at = 0, newlines = 0, behind = 0;

    while (at < n || n == 0) {
        size_t piece = n - at;

        if (seed != 0) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            piece = (size_t)(seed >> 33) % (seed >> 60 == 0 ? 4096 : 64) + 1;
            piece = piece < n - at ? piece : n - at;
        }
        MUST(proto_buf_add(&b, d + at, piece) == 0, "P1", "%zu bytes are refused", piece);
        check_buf(&b);
        at += piece;
        if (!take_lines(&b, &o) || n == 0)
            break;
    }
    for (size_t i = 0; i < n; i++) {
        newlines += d[i] == '\n';
        behind = d[i] == '\n' ? 0 : behind + 1;
    }
    if (o.end == 0) {
        MUST(o.n_lines == newlines, "P2", "%zu lines of %zu", o.n_lines, newlines);
        MUST(b.used == behind, "P2", "%zu bytes are left of %zu", b.used, behind);
        if (behind > 0)
            FZ_REACH(unfinished);
    } else {
        MUST(o.n_lines < newlines, "P2", "an error without a line");
    }
    proto_buf_clear(&b);
    MUST(b.data == NULL && b.used == 0, "P1", "a cleared buffer holds something");
    return o;
}

int fz_one(const uint8_t *d, size_t n)
{
    struct outcome whole = run(d, n, 0), parts = run(d, n, fz_hash(d, n) | 1);

    MUST(whole.n_lines == parts.n_lines && whole.end == parts.end && whole.hash == parts.hash, "P5",
         "whole: %zu lines, end %d; in pieces: %zu, %d", whole.n_lines, whole.end, parts.n_lines,
         parts.end);
    if (whole.n_lines > 0)
        FZ_REACH(taken);
    if (whole.end == -EBADMSG)
        FZ_REACH(no_object);
    if (whole.end == -EPROTO)
        FZ_REACH(other_version);
    fz_trace_u64(whole.hash);
    fz_trace_u64(whole.n_lines);
    return 0;
}
