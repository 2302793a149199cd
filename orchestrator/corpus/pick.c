/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distill, then run the chosen and behind them everything that was not, in one server and in order: what shows an
 * edge for the first time is taken too. The chosen are run some more times for their speed. A clock, looked at
 * after each run, ends any of it.
 */
#include "corpus/pick.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sort.h"
#include "corpus/inputs.h"
#include "engine/map.h"

struct pick {
    const struct pick_opts *o;
    volatile sig_atomic_t cancel;
    uint8_t *seen;
    size_t seen_bytes;
    const size_t *order; /* numbers of inputs; NULL: all of them */
    size_t n;
    enum runner_engine engine;
    bool *fresh; /* by number: its run showed an edge that none before it did */
    int64_t *us; /* by place in the order, of one round */
};

static void look_at_clock(struct pick *p)
{
    if (p->o->until_ms > 0 && clock_now_ms() >= p->o->until_ms)
        p->cancel = 1;
}

static void on_progress(void *ctx, size_t done, size_t all)
{
    (void)done;
    (void)all;
    look_at_clock(ctx);
}

static int read_input(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct pick *p = ctx;

    return inputs_read(p->o->inputs, p->order != NULL ? p->order[index] : index,
                       FORKSERVER_INPUT_BYTES, ret_data, ret_size);
}

static void on_done(void *ctx, const struct runner_result *r)
{
    struct pick *p = ctx;
    const size_t number = p->order != NULL ? p->order[r->index] : r->index;

    look_at_clock(p);
    if (r->code < 0 || r->run.end != FORKSERVER_OK || r->map == NULL)
        return;
    if (p->us != NULL)
        p->us[r->index] = r->run.wall_us;
    if (p->seen == NULL) {
        p->seen_bytes = r->map_bytes;
        p->seen = xcalloc(1, p->seen_bytes);
    }
    if (map_merge(p->seen, r->map, p->seen_bytes < r->map_bytes ? p->seen_bytes : r->map_bytes,
                  NULL) > 0 &&
        p->fresh != NULL)
        p->fresh[number] = true;
}

/* One run of each, one after the other. 0, -ECANCELED, -errno. */
static int run_pass(struct pick *p, struct err *err)
{
    const struct runner_job job = {.program = p->o->program,
                                   .engine = p->engine,
                                   .inputs = p->n,
                                   .workers = 1,
                                   .read = read_input,
                                   .done = on_done,
                                   .ctx = p,
                                   .cancel = &p->cancel};

    return p->n > 0 ? runner_run(&job, err) : 0;
}

static int by_number(const void *a, const void *b)
{
    const size_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* What was chosen, then what was not: of that, who shows an edge for the first time is chosen as well. */
static int complete(struct pick *p, struct pick_result *ret, struct err *err)
{
    const size_t n = p->o->inputs->n;
    cleanup_free size_t *order = xcalloc(n + 1, sizeof(*order));
    cleanup_free bool *fresh = xcalloc(n + 1, sizeof(*fresh));
    cleanup_free bool *is_chosen = xcalloc(n + 1, sizeof(*is_chosen));
    size_t at = 0;
    int r;

    for (size_t i = 0; i < ret->distilled.n_chosen; i++) {
        order[at++] = ret->distilled.chosen[i];
        is_chosen[ret->distilled.chosen[i]] = true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_chosen[i])
            order[at++] = i;
    }
    p->order = order;
    p->n = at;
    p->fresh = fresh;
    r = run_pass(p, err);
    p->order = NULL;
    p->fresh = NULL;
    ret->chosen = xcalloc(n + 1, sizeof(*ret->chosen));
    for (size_t i = 0; i < n; i++) {
        if (is_chosen[i] || fresh[i])
            ret->chosen[ret->n_chosen++] = i;
    }
    if (ret->n_chosen > 1)
        array_sort(ret->chosen, ret->n_chosen, sizeof(*ret->chosen), by_number);
    return r;
}

/* Rounds over all of the chosen: an input's speed is the median of its runs, so that one that was interrupted does not count. */
static int measure(struct pick *p, struct pick_result *ret, struct err *err)
{
    const size_t n = ret->n_chosen;
    cleanup_free int64_t *us = xcalloc(PICK_ROUNDS * (n + 1), sizeof(*us));
    int r = 0;

    p->order = ret->chosen;
    p->n = n;
    p->engine = RUNNER_FORK; /* as afl-fuzz runs them */
    while (ret->rounds < PICK_ROUNDS && r == 0) {
        p->us = us + (size_t)ret->rounds * n;
        r = run_pass(p, err);
        ret->rounds += r == 0;
    }
    p->order = NULL;
    p->us = NULL;
    for (size_t i = 0; i < n && ret->rounds > 0; i++) {
        int64_t runs[PICK_ROUNDS];

        for (int k = 0; k < ret->rounds; k++)
            runs[k] = us[(size_t)k * n + i];
        array_sort(runs, (size_t)ret->rounds, sizeof(runs[0]), by_time);
        if (runs[ret->rounds / 2] > ret->slowest_us)
            ret->slowest_us = runs[ret->rounds / 2];
    }
    return r == -ECANCELED ? 0 : r;
}

static int out_of_time(int r, struct err *err)
{
    return r == -ECANCELED ? err_set(err, -ETIME, "there was not enough time") : r;
}

int pick_run(const struct pick_opts *o, struct pick_result *ret, struct err *err)
{
    struct pick p = {.o = o, .engine = o->engine};
    const struct distill_opts distill = {.program = o->program,
                                         .engine = o->engine,
                                         .inputs = o->inputs,
                                         .jobs = o->jobs,
                                         .cancel = &p.cancel,
                                         .progress = on_progress,
                                         .ctx = &p};
    int r;

    *ret = (struct pick_result){0};
    r = distill_run(&distill, &ret->distilled, err);
    if (r == 0) {
        r = complete(&p, ret, err);
        if (r == 0)
            r = measure(&p, ret, err);
    }
    if (r == 0 && p.seen != NULL)
        ret->edges = map_edges(p.seen, p.seen_bytes);
    free(p.seen);
    if (r < 0)
        pick_result_clear(ret);
    return out_of_time(r, err);
}

void pick_result_clear(struct pick_result *r)
{
    distill_result_clear(&r->distilled);
    free(r->chosen);
    *r = (struct pick_result){0};
}

int pick_edges(const struct pick_opts *o, size_t *ret_edges, struct err *err)
{
    struct pick p = {.o = o, .engine = o->engine, .n = o->inputs->n};
    int r = run_pass(&p, err);

    if (r == 0)
        *ret_edges = p.seen != NULL ? map_edges(p.seen, p.seen_bytes) : 0;
    free(p.seen);
    return out_of_time(r, err);
}
