/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of fuzzer_stats. The input is the file, which AFL++ may be writing at
 * any moment: it is read at several cuts. A torn file changes nothing; a whole one
 * is judged by what stands before its last line alone; no number is out of bounds.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "farm/stats.h"
#include "selftest/check.h"
#include "selftest/stats_check.h"

#define CUTS 8u

static const char *const ids[] = {"S1", "S2", "S3", "S4", "S5", NULL};
static const char *const reach[] = {"whole", "torn", "late_lines", NULL};
const struct fz_target fz_target = {"selftest-stats", 256u << 20, ids, reach, NULL};

static const char tail[] =
    "\nexecs_done        : 4711\nedges_found       : 9\ncommand_line      : x\n";

/* Reads the first n bytes, which end at an unreadable page. S1: a torn file changes nothing. */
static int parse(const uint8_t *d, size_t n, struct stats *ret)
{
    struct stats before, st;
    int r;

    memset(&before, 0x5a, sizeof(before));
    before.have_stats = before.have_statsd = true;
    memcpy(&st, &before, sizeof(st));
    r = stats_parse((const char *)fz_guarded_copy(d, n), n, &st);
    MUST(r == 0 || r == -EAGAIN, "S2", "reading gave %d", r);
    MUST(r == 0 || memcmp(&before, &st, sizeof(st)) == 0, "S1", "a torn file changed the figures");
    *ret = st;
    return r;
}

/* S4: what a file holds before a good tail does not spoil the tail. */
static void check_tail(const uint8_t *d, size_t n)
{
    uint8_t *text = malloc(n + sizeof(tail));
    size_t lines = 0;
    struct stats st;

    for (size_t i = 0; i < n; i++)
        lines += d[i] == '\n';
    if (text != NULL && lines < 250 && n + sizeof(tail) < FZ_INPUT_MAX) {
        memcpy(text, d, n);
        memcpy(text + n, tail, sizeof(tail) - 1);
        MUST(parse(text, n + 1, &st) < 0 || n == 0 || d[n - 1] != '\n', "S5",
             "an empty line more made a torn file whole");
        if (parse(text, n + 1, &st) < 0) {
            FZ_REACH(late_lines);
            MUST(parse(text, n + sizeof(tail) - 1, &st) == 0 && st.execs_done == 4711 &&
                     st.edges_found == 9,
                 "S4", "a good tail is not read");
        }
    }
    free(text);
}

int fz_one(const uint8_t *d, size_t n)
{
    struct stats whole, part;
    uint64_t h = fz_hash(d, n);
    int r = parse(d, n, &whole);

    if (r == 0) {
        FZ_REACH(whole);
        MUST(whole.have_stats && whole.have_statsd, "S3", "the marks are wrong");
        /* Kept from before, as the file may lack it. */
        if (whole.total_crashes == 0x5a5a5a5a5a5a5a5a)
            whole.total_crashes = 0;
        stats_check("S3", &whole);
        stats_trace(&whole);
    } else {
        FZ_REACH(torn);
        check_tail(d, n);
    }
    for (unsigned i = 0; i < CUTS && n > 0; i++) {
        size_t cut = i == 0 ? n - 1 : (size_t)(h % n);

        h = h * 6364136223846793005u + 1442695040888963407u;
        if (parse(d, cut, &part) != 0)
            continue;
        if (part.total_crashes == 0x5a5a5a5a5a5a5a5a)
            part.total_crashes = 0;
        MUST(r == 0 && stats_same(&whole, &part), "S2",
             "cut at %zu it is whole, at %zu it is not the same", cut, n);
    }
    return 0;
}
