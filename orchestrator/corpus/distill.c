/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three passes: what is there already, all inputs, and those chosen once more and once again, since
 * who is chosen must do the same each time. Results come from several servers and are taken in the order of the
 * inputs, so that nothing depends on who was first.
 */
#include "corpus/distill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sort.h"
#include "corpus/cover.h"
#include "corpus/inputs.h"
#include "corpus/turns.h"
#include "engine/runner.h"

#define BUCKETS       8
#define SHA_BYTES     32 /* half of the hex digits: enough to tell equals apart */
#define STABLE_ROUNDS 16
#define FAILED        UINT8_MAX /* instead of how often a map agrees */
#define TABLE_START   1024

/* What one run gave, until its turn comes: small, since some thousands may wait behind one that hangs. */
struct got {
    uint64_t hash;
    uint32_t size;
    int code;
    uint8_t end;         /* enum forkserver_end */
    bool unstable;       /* fails behind other inputs only */
    struct detail *more; /* NULL: it failed, or a smaller input of the same map is known */
};

struct detail {
    uint8_t sha[SHA_BYTES];
    size_t n;
    uint32_t tuples[];
};

/* Best input of each map; open addressing by the map's hash. */
struct slot {
    bool used;
    uint32_t size;
    uint64_t hash;
    uint8_t sha[SHA_BYTES];
};

struct pass {
    struct distill *d;
    const struct inputs *files;
    const size_t *only; /* numbers in files; NULL: all */
    struct turns *turns;
    void (*take)(struct distill *d, size_t index, const struct got *g);
};

struct distill {
    const struct distill_opts *o;
    struct distill_result *ret;
    struct cover *cover;
    uint32_t tuples_max;
    struct slot *table;
    size_t table_n, table_room;
    size_t done, all;
    const size_t *chosen;
    size_t n_chosen;
    uint8_t *agrees; /* how often, by their place among the chosen */
    int round;
    uint64_t *map; /* of each input, by its hash; 0: none */
    bool *is_aside;
};

const char *distill_aside_name(enum distill_aside why)
{
    static const char *const names[] = {[DISTILL_CRASH] = "crash",
                                        [DISTILL_TIMEOUT] = "timeout",
                                        [DISTILL_LOST] = "lost",
                                        [DISTILL_UNREAD] = "unread",
                                        [DISTILL_UNSTABLE] = "unstable"};

    return names[why];
}

static void set_aside(struct distill *d, size_t index, enum distill_aside why, int code)
{
    struct distill_result *r = d->ret;

    if (d->is_aside[index])
        return;
    d->is_aside[index] = true;
    r->aside = xreallocarray(r->aside, r->n_aside + 1, sizeof(*r->aside));
    r->aside[r->n_aside].index = index;
    r->aside[r->n_aside].code = code;
    r->aside[r->n_aside++].why = why;
}

/* ---- one pass over files ---- */
static uint32_t tuple_of(size_t edge, uint8_t bits, bool edges_only)
{
    return edges_only ? (uint32_t)edge : (uint32_t)(edge * BUCKETS) + (uint32_t)__builtin_ctz(bits);
}

static struct detail *detail_of(const struct runner_result *rr, bool edges_only)
{
    struct detail *m = xmalloc(sizeof(*m) + rr->edges * sizeof(m->tuples[0]));
    char hex[65];

    hash_sha256_hex(rr->data, rr->size, hex);
    memcpy(m->sha, hex, sizeof(m->sha));
    m->n = 0;
    for (size_t i = 1; i < rr->map_bytes && m->n < rr->edges; i++) {
        if (rr->map[i] != 0)
            m->tuples[m->n++] = tuple_of(i, rr->map[i], edges_only);
    }
    return m;
}

static int read_file(void *ctx, size_t index, uint8_t **ret_data, size_t *ret_size)
{
    const struct pass *p = ctx;

    return inputs_read(p->files, p->only != NULL ? p->only[index] : index, FORKSERVER_INPUT_BYTES,
                       ret_data, ret_size);
}

static void take_input(struct distill *d, size_t index, const struct got *g);
static struct slot *find_slot(struct distill *d, uint64_t hash);

/* Most inputs are: they need neither be hashed nor their coverage be read. */
static bool is_covered(const struct pass *p, const struct runner_result *rr)
{
    struct distill *d = p->d;
    const struct slot *s;

    if (p->take != take_input || rr->index < d->o->must || d->table_room == 0)
        return false;
    s = find_slot(d, rr->map_hash);
    return s->used && s->size < rr->size;
}

static void run_done(void *ctx, const struct runner_result *rr)
{
    struct pass *p = ctx;
    struct distill *d = p->d;
    struct got *g = turns_put(p->turns, rr->index);
    size_t at;

    g->code = rr->code;
    g->end = (uint8_t)rr->run.end;
    g->unstable = rr->after_others;
    g->hash = rr->map_hash;
    g->size = (uint32_t)rr->size;
    if (rr->code == 0 && rr->run.end == FORKSERVER_OK && !is_covered(p, rr)) {
        if (d->tuples_max == 0)
            d->tuples_max = (uint32_t)rr->map_bytes * (d->o->edges_only ? 1 : BUCKETS);
        g->more = detail_of(rr, d->o->edges_only);
    }
    while ((g = turns_take(p->turns, &at)) != NULL) {
        if (d->cover == NULL && d->tuples_max > 0)
            d->cover = cover_new(d->tuples_max, d->o->cap_bytes);
        p->take(d, p->only != NULL ? p->only[at] : at, g);
        free(g->more);
    }
    d->done++;
    if (d->o->progress != NULL)
        d->o->progress(d->o->ctx, d->done, d->all);
}

static int run_pass(struct distill *d, const struct inputs *files, const size_t *only, size_t n,
                    void (*take)(struct distill *, size_t, const struct got *), struct err *err)
{
    struct pass p = {.d = d, .files = files, .only = only, .take = take};
    const struct runner_job job = {.program = d->o->program,
                                   .engine = d->o->engine,
                                   .inputs = n,
                                   .workers = d->o->jobs,
                                   .alike = true,
                                   .read = read_file,
                                   .done = run_done,
                                   .ctx = &p,
                                   .cancel = d->o->cancel};
    const struct got *g;
    int rc;

    if (n == 0)
        return 0;
    p.turns = turns_new(sizeof(*g));
    rc = runner_run(&job, err);
    while ((g = turns_drop(p.turns)) != NULL)
        free(g->more);
    turns_free(p.turns);
    return rc;
}

/* ---- what each pass does with a result ---- */
static void take_against(struct distill *d, size_t index, const struct got *g)
{
    (void)index;
    if (g->more != NULL)
        cover_have(d->cover, g->more->tuples, g->more->n);
}

static struct slot *find_slot(struct distill *d, uint64_t hash)
{
    size_t i = (size_t)hash & (d->table_room - 1);

    while (d->table[i].used && d->table[i].hash != hash)
        i = (i + 1) & (d->table_room - 1);
    return &d->table[i];
}

static void grow_table(struct distill *d)
{
    struct slot *old = d->table;
    const size_t n = d->table_room;

    d->table_room = n > 0 ? 2 * n : TABLE_START;
    d->table = xcalloc(d->table_room, sizeof(*d->table));
    for (size_t i = 0; i < n; i++) {
        if (old[i].used)
            *find_slot(d, old[i].hash) = old[i];
    }
    free(old);
}

/* Whether this is a better input of its map than what is known. */
static bool is_best(struct distill *d, const struct got *g)
{
    struct slot *s;

    if (2 * d->table_n >= d->table_room)
        grow_table(d);
    s = find_slot(d, g->hash);
    if (s->used && (s->size < g->size ||
                    (s->size == g->size && memcmp(s->sha, g->more->sha, sizeof(s->sha)) <= 0)))
        return false;
    d->table_n += !s->used;
    *s = (struct slot){.used = true, .hash = g->hash, .size = g->size};
    memcpy(s->sha, g->more->sha, sizeof(s->sha));
    return true;
}

/* Whether it ended well; if not it is set aside. */
static bool is_well(struct distill *d, size_t index, const struct got *g)
{
    static const enum distill_aside why[] = {[FORKSERVER_CRASH] = DISTILL_CRASH,
                                             [FORKSERVER_TIMEOUT] = DISTILL_TIMEOUT,
                                             [FORKSERVER_LOST] = DISTILL_LOST};

    if (g->code == 0 && g->end == FORKSERVER_OK && !g->unstable)
        return true;
    set_aside(d, index,
              g->code < 0               ? DISTILL_UNREAD
              : g->end != FORKSERVER_OK ? why[g->end]
                                        : DISTILL_UNSTABLE,
              g->code);
    d->map[index] = 0;
    return false;
}

static void consider(struct distill *d, size_t index, const struct got *g)
{
    const bool must = index < d->o->must;

    d->map[index] = g->hash;
    if (g->more == NULL)
        return;
    if (is_best(d, g) || must)
        cover_add(d->cover, index, g->size, g->more->sha, g->more->tuples, g->more->n, must);
    if (cover_bytes(d->cover) > d->ret->peak_bytes)
        d->ret->peak_bytes = cover_bytes(d->cover);
}

static void take_input(struct distill *d, size_t index, const struct got *g)
{
    d->ret->input_bytes += g->code == 0 ? g->size : 0;
    if (is_well(d, index, g))
        consider(d, index, g);
}

/* One that is looked at again. */
static void take_other(struct distill *d, size_t index, const struct got *g)
{
    if (is_well(d, index, g))
        consider(d, index, g);
}

static size_t place_of(const struct distill *d, size_t index)
{
    size_t low = 0, high = d->n_chosen;

    while (high - low > 1) {
        size_t mid = (low + high) / 2;

        if (d->chosen[mid] <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void take_again(struct distill *d, size_t index, const struct got *g)
{
    const bool well = g->code == 0 && g->end == FORKSERVER_OK && !g->unstable;
    const size_t at = place_of(d, index);

    if (!well)
        d->agrees[at] = FAILED;
    else if (d->agrees[at] != FAILED)
        d->agrees[at] += g->hash == d->map[index];
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/*
 * Others did what those that were dropped did, in more bytes: they stand in for them. lost[0..n) are
 * hashes of maps.
 */
static int stand_in(struct distill *d, uint64_t *lost, size_t n, struct err *err)
{
    cleanup_free size_t *others = xcalloc(d->o->inputs->n + 1, sizeof(*others));
    size_t n_others = 0;

    array_sort(lost, n, sizeof(*lost), by_hash);
    for (size_t i = 0; i < n; i++)
        find_slot(d, lost[i])->size = UINT32_MAX;
    for (size_t i = d->o->must; i < d->o->inputs->n; i++) {
        if (!d->is_aside[i] && d->map[i] != 0 &&
            bsearch(&d->map[i], lost, n, sizeof(*lost), by_hash) != NULL)
            others[n_others++] = i;
    }
    d->all += n_others;
    for (size_t i = 0; i < n_others; i++)
        cover_drop(d->cover, others[i]); /* or it would be there twice */
    return run_pass(d, d->o->inputs, others, n_others, take_other, err);
}

/*
 * Runs the chosen three times, the second time backwards. One that does not always end well, or whose map is twice
 * another than the one that it was chosen for, is unstable.
 */
static int run_again(struct distill *d, bool *ret_dropped, struct err *err)
{
    cleanup_free size_t *back = xcalloc(d->n_chosen + 1, sizeof(*back));
    cleanup_free uint64_t *lost = xcalloc(d->n_chosen + 1, sizeof(*lost));
    size_t n_lost = 0;
    int rc = 0;

    d->agrees = xcalloc(d->n_chosen + 1, sizeof(*d->agrees));
    for (size_t i = 0; i < d->n_chosen; i++)
        back[i] = d->chosen[d->n_chosen - 1 - i];
    d->all += 3 * d->n_chosen;
    for (d->round = 0; d->round < 3 && rc == 0; d->round++)
        rc = run_pass(d, d->o->inputs, d->round == 1 ? back : d->chosen, d->n_chosen, take_again,
                      err);
    for (size_t i = 0; i < d->n_chosen && rc == 0; i++) {
        if (d->agrees[i] != FAILED && d->agrees[i] >= 2)
            continue;
        lost[n_lost++] = d->map[d->chosen[i]];
        cover_drop(d->cover, d->chosen[i]);
        set_aside(d, d->chosen[i], DISTILL_UNSTABLE, 0);
    }
    free(d->agrees);
    *ret_dropped = n_lost > 0;
    return rc == 0 && n_lost > 0 ? stand_in(d, lost, n_lost, err) : rc;
}

/* ---- all of it ---- */
static int choose(struct distill *d, struct err *err)
{
    bool dropped = true;
    size_t *ids = NULL;
    int rc = 0;

    for (int i = 0; i < STABLE_ROUNDS && dropped && rc == 0; i++) {
        free(ids);
        d->n_chosen = cover_solve(d->cover, &ids);
        d->chosen = ids;
        rc = run_again(d, &dropped, err);
    }
    if (rc == 0 && dropped) {
        free(ids);
        d->n_chosen = cover_solve(d->cover, &ids);
    }
    d->ret->chosen = ids;
    d->ret->n_chosen = d->n_chosen;
    return rc;
}

static int by_index(const void *a, const void *b)
{
    const size_t *x = a, *y = b; /* index is the first member */

    return *x < *y ? -1 : *x > *y;
}

int distill_run(const struct distill_opts *o, struct distill_result *ret, struct err *err)
{
    struct distill_opts opts = *o;
    struct distill d = {.o = &opts, .ret = ret};
    const size_t n_against = o->against != NULL ? o->against->n : 0;
    size_t had = 0;
    int rc;

    *ret = (struct distill_result){0};
    if (opts.cap_bytes == 0)
        opts.cap_bytes = DISTILL_CAP_BYTES;
    d.is_aside = xcalloc(o->inputs->n + 1, sizeof(*d.is_aside));
    d.map = xcalloc(o->inputs->n + 1, sizeof(*d.map));
    d.all = n_against + o->inputs->n;
    rc = run_pass(&d, o->against, NULL, n_against, take_against, err);
    if (rc == 0 && d.cover != NULL)
        had = cover_tuples(d.cover);
    if (rc == 0)
        rc = run_pass(&d, o->inputs, NULL, o->inputs->n, take_input, err);
    if (rc == 0 && d.cover != NULL)
        rc = choose(&d, err);
    if (rc == 0 && d.cover != NULL) {
        ret->maps = d.table_n;
        ret->tuples = cover_tuples(d.cover);
        ret->new_tuples = ret->tuples - had;
        ret->smallest = cover_smallest(d.cover);
        array_sort(ret->aside, ret->n_aside, sizeof(*ret->aside), by_index);
    }
    cover_free(d.cover);
    free(d.table);
    free(d.is_aside);
    free(d.map);
    if (rc < 0)
        distill_result_clear(ret);
    return rc;
}

void distill_result_clear(struct distill_result *r)
{
    free(r->chosen);
    free(r->aside);
    *r = (struct distill_result){0};
}
