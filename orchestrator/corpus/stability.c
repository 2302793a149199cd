/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each input alone, then all in one process in an order and backwards. Two servers of one
 * program: what stands out in the one's row of runs is looked into in the other at once, while its map is
 * there, so that no maps are kept. One thread, on one core with its servers; equal seeds give equal answers.
 */
#include "corpus/stability.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "corpus/inputs.h"
#include "corpus/stability_internal.h"
#include "engine/map.h"
#include "sys/cpu.h"

#define ROUNDS     4 /* of two orders */
#define ALONE_PART 2 /* half of the budget is for the runs alone */

/* ---- shuffled ---- */
/* A run that was not as alone: whether it counts, and whose doing it is. */
static int look_into(struct stability *s, const struct stability_shot *shot, const size_t *before,
                     size_t n, size_t index, struct stability_series *one)
{
    struct stability_known *k = &s->known[index];
    struct stability_finding f = {
        .index = index, .kind = STABILITY_STATEFUL, .other = shot->verdict};
    const bool verdict = !stability_verdict_same(shot->verdict, k->verdict);
    cleanup_free uint8_t *data = NULL;
    size_t size = 0;
    int rc = 0;

    if (stability_input_read(s, index, &data, &size) < 0)
        return 0;
    stability_spread_reset(&s->spread);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = stability_run_series(s, data, size, one);
    if (rc < 0)
        return rc;
    f.alone = s->spread.verdict;
    if (verdict && (s->spread.verdict_varies || stability_verdict_same(f.alone, shot->verdict))) {
        f.kind = STABILITY_FLAKY;
        f.alone = k->verdict;
        f.repeats = true;
        stability_tell(s, &f);
        return 0;
    }
    if (!verdict) {
        f.n_edges = stability_spread_outside(&s->spread, shot, f.edges, STABILITY_EDGES);
        if (f.n_edges == 0) {
            stability_know_hash(k, shot->hash);
            return 0;
        }
    }
    rc = stability_explain(s, before, n, &f);
    if (rc < 0)
        return rc;
    if (rc == 1 || (verdict && f.other.end != FORKSERVER_TIMEOUT))
        stability_tell(s, &f);
    else
        s->ret->unrepeated++;
    return 0;
}

static bool stands_out(const struct stability *s, size_t index, const struct stability_shot *shot)
{
    const struct stability_known *k = &s->known[index];

    if (k->done)
        return false;
    if (!stability_verdict_same(shot->verdict, k->verdict))
        return true;
    /* At the end of its loop a program does more than with the input. */
    return shot->verdict.end == FORKSERVER_OK && !shot->last && !stability_is_known(k, shot->hash);
}

/* Programs that end with each run are compared too: what they left in files is state as well. */
static bool stands_out_ended(const struct stability *s, size_t index,
                             const struct stability_shot *shot)
{
    const struct stability_known *k = &s->known[index];

    return !k->done && shot->verdict.end == FORKSERVER_OK && shot->last && shot->first &&
           !stability_is_known(k, shot->hash);
}

static void reverse(size_t *v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const size_t was = v[i];

        v[i] = v[n - 1 - i];
        v[n - 1 - i] = was;
    }
}

/* All of s->order that end, or do not end, their process alone. No more those that are known to end it by what was before. */
static int in_order(struct stability *s, bool ends, struct stability_series *one)
{
    cleanup_free size_t *row = xcalloc(s->n_order + 1, sizeof(*row));
    size_t n = 0, child = 0; /* where the process of now began */

    stability_freshen(&s->line);
    for (size_t i = 0; i < s->n_order && !s->ret->over; i++) {
        const size_t index = s->order[i];
        struct stability_shot shot;
        int rc;

        if (s->known[index].deadly || s->known[index].ends != ends)
            continue;
        rc = stability_shoot_file(s, &s->line, index, &shot);
        if (rc < 0)
            return rc;
        if (rc > 0)
            continue;
        if (shot.first && !shot.last)
            child = n;
        if (stands_out(s, index, &shot) || stands_out_ended(s, index, &shot)) {
            rc = look_into(s, &shot, row + child, n - child, index, one);
            if (rc < 0)
                return rc;
        }
        row[n++] = index;
        s->ret->over = stability_over(s);
    }
    return 0;
}

/*
 * Forward and backward, and again while an input was found that ended the process by what was before, as it took away the state that the
 * others behind it were to meet. Those that end it in any case come last for the same reason.
 */
static int shuffled(struct stability *s, struct stability_series *one)
{
    size_t before = SIZE_MAX;
    int rc = 0;

    for (int i = 0; i < ROUNDS && rc == 0 && before != s->ret->count[STABILITY_STATEFUL]; i++) {
        before = s->ret->count[STABILITY_STATEFUL];
        for (int k = 0; k < 2 && rc == 0; k++) {
            rc = in_order(s, false, one);
            if (rc == 0)
                rc = in_order(s, true, one);
            reverse(s->order, s->n_order);
        }
    }
    return rc;
}

/*
 * An input that dies takes what was before it along, so that the next of its kind finds nothing in its way: who was found to change
 * a verdict is put before each input.
 */
static int behind_culprits(struct stability *s, struct stability_series *one)
{
    for (size_t c = 0; c < s->n_culprits; c++) {
        const size_t culprit = s->culprits[c].index;

        for (size_t i = 0; s->culprits[c].deadly && i < s->n_order; i++) {
            const size_t index = s->order[i];
            struct stability_shot shot;
            int rc;

            if (s->known[index].done || index == culprit)
                continue;
            stability_freshen(&s->line);
            rc = stability_shoot_file(s, &s->line, culprit, &shot);
            if (rc == 0)
                rc = stability_shoot_file(s, &s->line, index, &shot);
            if (rc == 0 && stands_out(s, index, &shot))
                rc = look_into(s, &shot, &culprit, 1, index, one);
            if (rc < 0)
                return rc;
            if (stability_over(s)) {
                s->ret->over = true;
                return 0;
            }
        }
    }
    return 0;
}

/* ---- all of it ---- */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void shuffle(size_t *v, size_t n, uint64_t seed)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)(next_random(&seed) % i), was = v[i - 1];

        v[i - 1] = v[k];
        v[k] = was;
    }
}

static int size_order(const void *a, const void *b, void *ctx)
{
    const struct stability *s = ctx;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (s->known[x].size != s->known[y].size)
        return s->known[x].size < s->known[y].size ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int check(struct stability *s)
{
    const size_t n = s->o->inputs->n;
    cleanup_free size_t *order = xcalloc(n + 1, sizeof(*order));
    struct stability_series one = {.v = xcalloc((size_t)s->runs, sizeof(*one.v))};
    struct stability_series two = {.v = xcalloc((size_t)s->runs, sizeof(*two.v))};
    const int64_t now_ms = clock_now_ms();
    int rc;

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    shuffle(order, n, s->o->seed);
    s->deadline_ms = s->o->budget_ms > 0 ? now_ms + s->o->budget_ms : 0;
    rc = stability_all_alone(
        s, order, n, s->deadline_ms != 0 ? now_ms + s->o->budget_ms / ALONE_PART : 0, &one, &two);
    memcpy(s->by_size, s->order, s->n_order * sizeof(*s->order));
    qsort_r(s->by_size, s->n_order, sizeof(*s->by_size), size_order, s);
    if (rc == 0)
        rc = shuffled(s, &one);
    if (rc == 0 && !s->ret->over)
        rc = behind_culprits(s, &one);
    free(one.v);
    free(two.v);
    return rc;
}

static void pin(void)
{
    const struct sched_param none = {0};
    int cpu;
    cpu_set_t set;

    if (cpu_allowed(&cpu, 1) < 1)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static int open_both(struct stability *s)
{
    struct forkserver_opts program = s->o->program;
    int rc;

    program.cancel = s->o->cancel;
    rc = forkserver_open(&program, &s->alone.fs, s->err);

    if (rc == 0)
        rc = forkserver_open(&program, &s->line.fs, s->err);
    if (rc == 0 && forkserver_map_bytes(s->alone.fs) != forkserver_map_bytes(s->line.fs))
        rc = err_set(s->err, -EPROTO,
                     "%s: started again, its coverage map has another size (%zu bytes, %zu before)",
                     s->o->program.path, forkserver_map_bytes(s->line.fs),
                     forkserver_map_bytes(s->alone.fs));
    s->alone.fresh = s->line.fresh = true;
    return rc;
}

struct task {
    struct stability *s;
    int rc;
};

/* A thread of its own, as it is pinned, and its servers with it. */
static void *task_main(void *arg)
{
    struct task *t = arg;
    struct stability *s = t->s;

    pin();
    t->rc = open_both(s);
    if (t->rc == 0) {
        const size_t bytes = forkserver_map_bytes(s->alone.fs);

        stability_spread_init(&s->spread, bytes);
        s->seen = xcalloc(bytes, 1);
        s->varies = xcalloc(bytes, sizeof(*s->varies));
        s->by_state = xcalloc(bytes, sizeof(*s->by_state));
        t->rc = check(s);
    }
    if (t->rc == 0)
        stability_sum_up(s);
    forkserver_close(s->line.fs);
    forkserver_close(s->alone.fs);
    return NULL;
}

int stability_run(const struct stability_opts *o, struct stability_result *ret, struct err *err)
{
    struct stability s = {.o = o, .ret = ret, .err = err};
    struct task task = {.s = &s};
    pthread_t thread;
    int rc;

    *ret = (struct stability_result){.smallest = SIZE_MAX};
    s.runs = o->runs > 0 ? o->runs : STABILITY_RUNS;
    s.known = xcalloc(o->inputs->n + 1, sizeof(*s.known));
    s.order = xcalloc(o->inputs->n + 1, sizeof(*s.order));
    s.by_size = xcalloc(o->inputs->n + 1, sizeof(*s.by_size));
    rc = pthread_create(&thread, NULL, task_main, &task);
    if (rc != 0) {
        task.rc = err_sys(err, -rc, "cannot start a thread");
    } else {
        (void)pthread_join(thread, NULL);
    }
    stability_spread_clear(&s.spread);
    free(s.known);
    free(s.order);
    free(s.by_size);
    free(s.seen);
    free(s.varies);
    free(s.by_state);
    if (task.rc < 0)
        stability_result_clear(ret);
    return task.rc;
}

void stability_result_clear(struct stability_result *r)
{
    free(r->findings);
    free(r->unstable);
    free(r->unread_index);
    free(r->unread_code);
    *r = (struct stability_result){.smallest = SIZE_MAX};
}
