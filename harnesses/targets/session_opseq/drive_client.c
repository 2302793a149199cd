/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's operations. A chunk is told to the model before its first byte is
 * written: the session may act on it at any time from then on. Headers are made
 * here by hand, as the client also sends what no writer would.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "drive_impl.h"
#include "sdk/fz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *name;
    int signo;
} known_signals[13] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},
    {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV},
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
};

static const char *const unknown_signals[] = {"SIGINT", "int",  "",       "INT ",
                                              "STOP",   "USR3", "\\u0000"};

static const char *const malformed[] = {
    "",
    "{",
    "{}",
    "[]",
    "{\"type\":\"eof\"}x",
    "{\"type\":\"resize\",\"cols\":80}",
    "{\"type\":\"resize\",\"cols\":65536,\"rows\":1}",
    "{\"type\":\"signal\"}",
    "{\"type\":\"exit\",\"code\":0}", /* well made, but the server's to send */
    "{\"type\":\"eof\",\"type\":\"eof\"}",
};

static uint8_t counting[256 + SESSION_CHUNK_MAX]; /* byte i is i & 255 */

/* Before main: a table filled by the first input would be an edge of that input only. */
__attribute__((constructor)) static void counting_fill(void)
{
    for (size_t i = 0; i < sizeof(counting); i++)
        counting[i] = (uint8_t)i;
}

/* A write failed: what the server had to say is in the ring, with the exit at its end. */
static void on_closed(struct drive *v)
{
    if (v->closed)
        return;
    v->closed = true;
    while (client_chunk(&v->c)) {
    }
    if (v->c.exits == 0 && !v->w.fatal && !v->c.lost)
        fz_note(3, "the session closed without an exit chunk");
}

/* Lets the session read until there is room; it always can. */
static void wait_room(struct drive *v)
{
    uint64_t bound = drive_bound(v, ring_used(&v->x.c2s));

    for (uint64_t i = 0; i < bound; i++) {
        drive_round(v);
        if (ring_room(&v->x.c2s) > 0 || v->x.server_closed)
            return;
    }
    v->stuck = true;
    fz_note(11, "the session does not read");
}

static bool send_bytes(struct drive *v, const uint8_t *d, size_t n)
{
    bool split = knobs_split(v->q->knobs);

    while (n > 0 && !v->stuck) {
        size_t piece = split ? 1 + v->pieces++ % 7 : n;
        ptrdiff_t k = duplex_write(&v->x, d, piece < n ? piece : n);

        if (k < 0) {
            on_closed(v);
            return false;
        }
        d += k;
        n -= (size_t)k;
        if (k == 0)
            wait_room(v);
        else if (split && n > 0)
            drive_round(v);
    }
    return n == 0;
}

static bool send_chunk(struct drive *v, uint8_t type, uint32_t len, const void *d, size_t n)
{
    static uint8_t chunk[WL_HEADER_LEN + SESSION_CHUNK_MAX];
    const uint8_t header[WL_HEADER_LEN] = {type, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
                                           (uint8_t)(len >> 8), (uint8_t)len};

    memcpy(chunk, header, sizeof(header));
    if (n > 0)
        memcpy(chunk + sizeof(header), d, n);
    return send_bytes(v, chunk, sizeof(header) + n);
}

void drive_write(struct drive *v, size_t n, uint8_t pat)
{
    const uint8_t *d = counting + pat;

    if (!model_admits_stdin(&v->w, n))
        return;
    if (n > 0)
        model_stdin(&v->w, d, n);
    else
        model_shutdown(&v->w);
    send_chunk(v, WL_STDIN, (uint32_t)n, d, n);
}

void drive_barrier(struct drive *v, uint8_t pat)
{
    uint64_t bound;

    if (v->w.shut || v->w.fatal || v->w.exit_issued || v->closed)
        return;
    model_stdin(&v->w, &pat, 1);
    if (!send_chunk(v, WL_STDIN, 1, &pat, 1))
        return;
    bound = drive_bound(v, ring_used(&v->x.c2s));
    for (uint64_t i = 0; i < bound && v->m.in_len < v->w.sent_len; i++)
        drive_round(v);
    if (v->m.in_len != v->w.sent_len) {
        fz_note(8, "%zu of %zu bytes of stdin arrived before a barrier", v->m.in_len,
                v->w.sent_len);
        return;
    }
    if (v->m.dispatched_count != v->w.control_count)
        fz_note(9, "%zu of %zu control messages arrived before a barrier", v->m.dispatched_count,
                v->w.control_count);
    if (session_bad_control(v->s) != v->w.bad_count)
        fz_note(9, "%llu control messages dropped, %zu were bad",
                (unsigned long long)session_bad_control(v->s), v->w.bad_count);
    FZ_REACH(barrier_ok);
}

static void send_control(struct drive *v, const char *text)
{
    send_chunk(v, WL_CTRL_IN, (uint32_t)strlen(text), text, strlen(text));
}

static void send_signal(struct drive *v, const char *name)
{
    char text[64];

    snprintf(text, sizeof(text), "{\"type\":\"signal\",\"name\":\"%s\"}", name);
    send_control(v, text);
}

static void send_resize(struct drive *v, uint16_t cols, uint16_t rows)
{
    char text[64];

    model_control(&v->w, MOCK_RESIZE, cols, rows);
    snprintf(text, sizeof(text), "{\"type\":\"resize\",\"cols\":%u,\"rows\":%u}", cols, rows);
    send_control(v, text);
}

void drive_control(struct drive *v, unsigned kind, uint16_t a, uint16_t b)
{
    static const uint8_t not_ours[] = {WL_STDOUT, WL_STDERR, WL_CTRL_OUT};
    static const uint8_t zeros[64];
    size_t i;

    switch ((enum op_control)kind) {
    case OP_CTL_RESIZE:
        send_resize(v, a, b);
        break;
    case OP_CTL_SIGNAL:
        i = a % COUNT(known_signals);
        model_control(&v->w, MOCK_SIGNAL, known_signals[i].signo, 0);
        send_signal(v, known_signals[i].name);
        break;
    case OP_CTL_UNKNOWN:
        model_bad_control(&v->w);
        send_signal(v, unknown_signals[a % COUNT(unknown_signals)]);
        break;
    case OP_CTL_EOF:
        model_control(&v->w, MOCK_EOF, 0, 0);
        send_control(v, "{\"type\":\"eof\"}");
        break;
    case OP_CTL_MALFORMED:
        model_bad_control(&v->w);
        send_control(v, malformed[a % COUNT(malformed)]);
        break;
    case OP_CTL_IGNORED:
        send_chunk(v, not_ours[a % COUNT(not_ours)], b % (sizeof(zeros) + 1), zeros,
                   b % (sizeof(zeros) + 1));
        break;
    case OP_CTL_BAD_TYPE:
        model_fatal(&v->w);
        send_chunk(v, (uint8_t)(WL_TYPE_LAST + 1 + a % (UINT8_MAX - WL_TYPE_LAST)), 0, NULL, 0);
        break;
    case OP_CTL_TOO_LARGE:
        model_fatal(&v->w);
        send_chunk(v, (uint8_t)(a % (WL_TYPE_LAST + 1)), WL_MAX_CHUNK_LEN + 1 + b, NULL, 0);
        break;
    case OP_CTL_COUNT:
        break;
    }
}

void drive_read(struct drive *v, unsigned chunks)
{
    uint64_t bound = drive_bound(v, v->m.out.len + v->m.err.len);

    for (uint64_t i = 0; i < bound && chunks > 0; i++) {
        while (chunks > 0 && client_chunk(&v->c))
            chunks--;
        if (chunks == 0 || duplex_at_end(&v->x))
            return;
        if (!drive_round(v) && ring_used(&v->x.s2c) == 0)
            return;
    }
}
