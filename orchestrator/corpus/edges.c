/* SPDX-License-Identifier: Apache-2.0 */
/* A union of maps. What a run left that did not end well is not counted: it is a matter of the moment it was cut at. */
#include "corpus/edges.h"

#include <errno.h>
#include <stdlib.h>

#include "corpus/inputs.h"
#include "engine/map.h"
#include "engine/runner.h"

struct edges {
    const struct edges_opts *o;
    struct edges_result *ret;
    uint8_t *seen;
    size_t done;
};

const char *edges_end_name(enum edges_end end)
{
    static const char *const names[] = {"not run", "ok", "crash", "timeout", "lost"};

    return names[end];
}

static int read_input(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct edges *e = ctx;

    return inputs_read(e->o->inputs, index, FORKSERVER_INPUT_BYTES, ret_data, ret_size);
}

static void run_done(void *ctx, const struct runner_result *r)
{
    static const enum edges_end ends[] = {[FORKSERVER_OK] = EDGES_OK,
                                          [FORKSERVER_CRASH] = EDGES_CRASH,
                                          [FORKSERVER_TIMEOUT] = EDGES_TIMEOUT,
                                          [FORKSERVER_LOST] = EDGES_LOST};
    struct edges *e = ctx;
    enum edges_end end = r->code < 0 ? EDGES_NOT_RUN : ends[r->run.end];
    size_t fresh = 0;

    if (end == EDGES_OK && e->seen == NULL) {
        e->ret->map_bytes = r->map_bytes;
        e->seen = xcalloc(1, r->map_bytes);
    }
    if (end == EDGES_OK && r->map_bytes == e->ret->map_bytes)
        (void)map_merge(e->seen, r->map, r->map_bytes, &fresh);
    e->ret->end[r->index] = (uint8_t)end;
    e->ret->code[r->index] = r->code;
    e->ret->adds[r->index] = fresh > 0;
    e->ret->count[end]++;
    e->done++;
    if (e->o->progress != NULL)
        e->o->progress(e->o->ctx, e->done, e->o->inputs->n);
}

static size_t tuples_of(const uint8_t *seen, size_t size)
{
    size_t n = 0;

    for (size_t i = 1; i < size; i++)
        n += (size_t)__builtin_popcount(seen[i]);
    return n;
}

int edges_run(const struct edges_opts *o, struct edges_result *ret, struct err *err)
{
    struct edges e = {.o = o, .ret = ret};
    const struct runner_job job = {.program = o->program,
                                   .engine = o->engine,
                                   .inputs = o->inputs->n,
                                   .workers = o->jobs,
                                   .read = read_input,
                                   .done = run_done,
                                   .ctx = &e,
                                   .cancel = o->cancel};
    int rc;

    *ret = (struct edges_result){.end = xcalloc(o->inputs->n + 1, 1),
                                 .code = xcalloc(o->inputs->n + 1, sizeof(*ret->code)),
                                 .adds = xcalloc(o->inputs->n + 1, 1)};
    rc = runner_run(&job, err);
    if (rc == 0 && e.seen != NULL) {
        ret->edges = map_edges(e.seen, ret->map_bytes);
        ret->tuples = tuples_of(e.seen, ret->map_bytes);
    }
    free(e.seen);
    if (rc < 0)
        edges_result_clear(ret);
    return rc;
}

void edges_result_clear(struct edges_result *r)
{
    free(r->end);
    free(r->code);
    free(r->adds);
    *r = (struct edges_result){0};
}
