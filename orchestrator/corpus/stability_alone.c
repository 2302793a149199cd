/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single runs, and each input alone: k times in one child, and as often in others when these
 * differ, which tells what comes of the input's own repetition from what comes of chance.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "corpus/inputs.h"
#include "corpus/stability_internal.h"
#include "engine/map.h"

#define TIMEOUT_RUNS 2 /* of an input that is out of time, or takes its server along */
#define CHILDREN     3 /* more, that must do the same run by run: chance seldom does, four times */

/* ---- runs ---- */
bool stability_over(const struct stability *s)
{
    return s->deadline_ms != 0 && clock_now_ms() >= s->deadline_ms;
}

void stability_freshen(struct stability_server *sv)
{
    forkserver_fresh(sv->fs);
    sv->fresh = true;
}

int stability_shoot(struct stability *s, struct stability_server *sv, const uint8_t *data,
                    size_t size, struct stability_shot *ret)
{
    struct forkserver_run run;
    uint8_t *map;
    int rc;

    if (s->o->cancel != NULL && *s->o->cancel != 0)
        return -ECANCELED;
    rc = forkserver_run(sv->fs, data, size, &run, s->err);
    if (rc < 0)
        return rc;
    map = forkserver_map(sv->fs);
    map_classify(map, s->spread.bytes);
    map[0] = 0; /* the runtime's mark of a child that lives on */
    ret->verdict = (struct stability_verdict){
        .end = run.end, .signo = run.signo, .exit_code = run.exit_code > 0 ? run.exit_code : -1};
    ret->first = sv->fresh;
    ret->last = run.end != FORKSERVER_OK || run.exit_code >= 0;
    ret->hash = map_hash(map, s->spread.bytes);
    ret->map = map;
    sv->fresh = ret->last;
    s->ret->runs++;
    if (s->o->progress != NULL)
        s->o->progress(s->o->ctx, s->ret->runs);
    return 0;
}

int stability_input_read(const struct stability *s, size_t index, uint8_t **ret_data,
                         size_t *ret_size)
{
    return inputs_read(s->o->inputs, index, FORKSERVER_INPUT_BYTES, ret_data, ret_size);
}

int stability_shoot_file(struct stability *s, struct stability_server *sv, size_t index,
                         struct stability_shot *ret)
{
    cleanup_free uint8_t *data = NULL;
    size_t size = 0;

    if (stability_input_read(s, index, &data, &size) < 0)
        return 1;
    return stability_shoot(s, sv, data, size, ret);
}

void stability_know_hash(struct stability_known *k, uint64_t hash)
{
    for (int i = 0; i < k->n_hashes; i++) {
        if (k->hashes[i] == hash)
            return;
    }
    if (k->n_hashes < STABILITY_HASHES)
        k->hashes[k->n_hashes++] = hash;
}

bool stability_is_known(const struct stability_known *k, uint64_t hash)
{
    for (int i = 0; i < k->n_hashes; i++) {
        if (k->hashes[i] == hash)
            return true;
    }
    return false;
}

/* The input s->runs times in a fresh child, added to s->spread. */
int stability_run_series(struct stability *s, const uint8_t *data, size_t size,
                         struct stability_series *ret)
{
    struct stability_shot shot;
    int rc = 0;

    ret->n = 0;
    stability_freshen(&s->alone);
    for (int i = 0; i < s->runs && rc == 0; i++) {
        rc = stability_shoot(s, &s->alone, data, size, &shot);
        if (rc < 0)
            break;
        stability_spread_add(&s->spread, &shot);
        (void)map_merge(s->seen, shot.map, s->spread.bytes, NULL);
        ret->v[ret->n].hash = shot.verdict.end == FORKSERVER_OK ? shot.hash : 0;
        ret->v[ret->n++].verdict = shot.verdict;
        if (shot.verdict.end != FORKSERVER_OK && shot.verdict.end != FORKSERVER_CRASH &&
            ret->n >= TIMEOUT_RUNS)
            break;
    }
    return rc;
}

static bool same_series(const struct stability_series *a, const struct stability_series *b)
{
    bool same = a->n == b->n;

    for (int i = 0; same && i < a->n; i++)
        same = a->v[i].hash == b->v[i].hash &&
               stability_verdict_same(a->v[i].verdict, b->v[i].verdict);
    return same;
}

/* ---- what is told ---- */
void stability_tell(struct stability *s, const struct stability_finding *f)
{
    struct stability_result *r = s->ret;

    r->count[f->kind]++;
    if (f->kind != STABILITY_UNSTABLE)
        s->known[f->index].done = true;
    s->known[f->index].deadly = !stability_verdict_same(f->alone, f->other);
    if (r->n_findings >= STABILITY_TOLD)
        return;
    r->findings = xreallocarray(r->findings, r->n_findings + 1, sizeof(*r->findings));
    r->findings[r->n_findings++] = *f;
}

static void tell_variation(struct stability *s, size_t index, bool by_state)
{
    struct stability_finding f = {
        .index = index, .alone = s->spread.verdict, .other = s->spread.other, .repeats = true};

    for (size_t i = 1; i < s->spread.bytes; i++) {
        if (s->spread.vary[i] == 0)
            continue;
        if (f.n_edges < STABILITY_EDGES)
            f.edges[f.n_edges] = (uint32_t)i;
        f.n_edges++;
        s->varies[i]++;
        s->by_state[i] += by_state;
    }
    f.kind = by_state                   ? STABILITY_STATEFUL
             : s->spread.verdict_varies ? STABILITY_FLAKY
                                        : STABILITY_UNSTABLE;
    if (by_state) {
        f.after[0] = index;
        f.n_after = 1;
    }
    stability_tell(s, &f);
}

/* ---- alone ---- */
static int run_alone(struct stability *s, size_t index, struct stability_series *one,
                     struct stability_series *two)
{
    struct stability_known *k = &s->known[index];
    cleanup_free uint8_t *data = NULL;
    size_t size = 0;
    int rc;

    k->code = stability_input_read(s, index, &data, &size);
    if (k->code < 0) {
        k->unread = true;
        return 0;
    }
    stability_spread_reset(&s->spread);
    rc = stability_run_series(s, data, size, one);
    if (rc == 0 && (s->spread.map_varies || s->spread.verdict_varies)) {
        bool same = s->spread.steady;

        for (int i = 0; i < CHILDREN && same && rc == 0; i++) {
            rc = stability_run_series(s, data, size, two);
            same = same_series(one, two);
        }
        if (rc == 0)
            tell_variation(s, index, same);
    }
    /* Nothing is known of a run that took the server along. */
    k->unread = s->spread.verdict.end == FORKSERVER_LOST && !s->spread.verdict_varies;
    k->size = size;
    k->verdict = s->spread.verdict;
    k->ends = !s->spread.steady;
    for (int i = 0; i < one->n; i++)
        stability_know_hash(k, one->v[i].hash);
    return rc;
}

int stability_all_alone(struct stability *s, const size_t *order, size_t n, int64_t until_ms,
                        struct stability_series *one, struct stability_series *two)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < n && rc == 0 && (until_ms == 0 || clock_now_ms() < until_ms); i++) {
        rc = run_alone(s, order[i], one, two);
        if (rc == 0 && !s->known[order[i]].unread)
            s->order[s->n_order++] = order[i];
    }
    s->ret->left = n - i;
    s->ret->over = i < n;
    s->ret->checked = s->n_order;
    return rc;
}
