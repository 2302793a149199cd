/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates' tuples lie one behind the other in blocks of their own; the choice walks them through
 * a heap whose gains are upper bounds, since a gain only shrinks as more is covered.
 */
#include "corpus/cover.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/sort.h"

/* What one more input costs, in bytes of size: some hundred bytes cost less than a second input. */
#define COST_OF_ONE 512U

struct candidate {
    size_t id;
    uint64_t size;
    uint8_t sha[32];
    uint32_t *tuples;
    size_t n;
    bool must, chosen, dropped;
};

struct cover {
    uint32_t tuples_max;
    size_t cap_bytes, bytes;
    int smallest; /* 0: all are kept */
    struct candidate *v;
    size_t n, room;
    uint8_t *had; /* one byte a tuple */
};

struct cover *cover_new(uint32_t tuples_max, size_t cap_bytes)
{
    struct cover *c = xcalloc(1, sizeof(*c));

    c->tuples_max = tuples_max;
    c->cap_bytes = cap_bytes;
    c->had = xcalloc((size_t)tuples_max + 1, 1);
    return c;
}

void cover_free(struct cover *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->v[i].tuples);
    free(c->v);
    free(c->had);
    free(c);
}

void cover_have(struct cover *c, const uint32_t *tuples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tuples[i] < c->tuples_max)
            c->had[tuples[i]] = 1;
    }
}

/* Smaller first; a total order but for equal content. */
static int compare(const struct candidate *a, const struct candidate *b)
{
    int diff;

    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    diff = memcmp(a->sha, b->sha, sizeof(a->sha));
    if (diff != 0)
        return diff;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_size(const void *a, const void *b)
{
    return compare(a, b);
}

static void remove_unmarked(struct cover *c, const uint8_t *marked)
{
    size_t to = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (marked[i] == 0) {
            c->bytes -= c->v[i].n * sizeof(uint32_t);
            free(c->v[i].tuples);
            continue;
        }
        c->v[to++] = c->v[i];
    }
    c->n = to;
}

static void keep_smallest(struct cover *c)
{
    cleanup_free uint8_t *have = xcalloc((size_t)c->tuples_max + 1, 1);
    cleanup_free uint8_t *marked = xcalloc(c->n + 1, 1);

    array_sort(c->v, c->n, sizeof(*c->v), by_size);
    for (size_t i = 0; i < c->n; i++) {
        const struct candidate *k = &c->v[i];

        marked[i] = k->must;
        for (size_t t = 0; t < k->n; t++) {
            if (have[k->tuples[t]] < c->smallest) {
                have[k->tuples[t]]++;
                marked[i] = 1;
            }
        }
    }
    remove_unmarked(c, marked);
}

static void prune(struct cover *c)
{
    if (c->smallest == 0)
        c->smallest = COVER_SMALLEST;
    keep_smallest(c);
    /* Less than half of the room is to be free again, or the next prune would come at once. */
    while (c->bytes > c->cap_bytes / 2 && c->smallest > 1) {
        c->smallest /= 2;
        keep_smallest(c);
    }
}

void cover_add(struct cover *c, size_t id, uint64_t size, const uint8_t sha[32],
               const uint32_t *tuples, size_t n, bool must)
{
    struct candidate *k;

    if (c->n == c->room) {
        c->room = c->room * 2 + 64;
        c->v = xreallocarray(c->v, c->room, sizeof(*c->v));
    }
    k = &c->v[c->n++];
    *k = (struct candidate){.id = id, .size = size, .must = must};
    memcpy(k->sha, sha, sizeof(k->sha));
    k->tuples = xmalloc((n + 1) * sizeof(*k->tuples));
    for (size_t i = 0; i < n; i++) {
        if (tuples[i] < c->tuples_max)
            k->tuples[k->n++] = tuples[i];
    }
    c->bytes += k->n * sizeof(*k->tuples);
    if (c->cap_bytes > 0 && c->bytes > c->cap_bytes)
        prune(c);
}

void cover_drop(struct cover *c, size_t id)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].id == id)
            c->v[i].dropped = true;
    }
}

/* ---- the choice ---- */
struct entry {
    size_t gain;
    const struct candidate *k;
};

struct heap {
    struct entry *v;
    size_t n;
};

static uint64_t cost(const struct candidate *k)
{
    return k->size + COST_OF_ONE;
}

/* Whether a goes before b: more gain per cost; then the smaller one. */
static bool before(const struct entry *a, const struct entry *b)
{
    const __uint128_t left = (__uint128_t)a->gain * cost(b->k),
                      right = (__uint128_t)b->gain * cost(a->k);

    return left != right ? left > right : compare(a->k, b->k) < 0;
}

static void sift_down(struct heap *h, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1, right = left + 1;
        struct entry e;

        if (left < h->n && before(&h->v[left], &h->v[first]))
            first = left;
        if (right < h->n && before(&h->v[right], &h->v[first]))
            first = right;
        if (first == i)
            return;
        e = h->v[i];
        h->v[i] = h->v[first];
        h->v[first] = e;
        i = first;
    }
}

static size_t gain_of(const struct candidate *k, const uint32_t *count)
{
    size_t gain = 0;

    for (size_t t = 0; t < k->n; t++)
        gain += count[k->tuples[t]] == 0;
    return gain;
}

static void choose(struct candidate *k, uint32_t *count)
{
    k->chosen = true;
    for (size_t t = 0; t < k->n; t++)
        count[k->tuples[t]]++;
}

static void choose_greedily(struct cover *c, uint32_t *count)
{
    struct heap h = {.v = xcalloc(c->n + 1, sizeof(*h.v))};

    for (size_t i = 0; i < c->n; i++) {
        if (!c->v[i].dropped && !c->v[i].chosen)
            h.v[h.n++] = (struct entry){gain_of(&c->v[i], count), &c->v[i]};
    }
    for (size_t i = h.n / 2 + 1; i-- > 0;)
        sift_down(&h, i);
    while (h.n > 0 && h.v[0].gain > 0) {
        size_t gain = gain_of(h.v[0].k, count);

        if (gain == h.v[0].gain) {
            choose(&c->v[h.v[0].k - c->v], count);
            h.v[0] = h.v[--h.n];
        } else {
            h.v[0].gain = gain;
        }
        sift_down(&h, 0);
    }
    free(h.v);
}

/* Largest first: who has nothing of its own goes. */
static void remove_superfluous(struct cover *c, uint32_t *count)
{
    for (size_t i = c->n; i-- > 0;) {
        struct candidate *k = &c->v[i];
        bool needed = !k->chosen || k->must;

        for (size_t t = 0; t < k->n && !needed; t++)
            needed = count[k->tuples[t]] == 1;
        if (needed)
            continue;
        k->chosen = false;
        for (size_t t = 0; t < k->n; t++)
            count[k->tuples[t]]--;
    }
}

static int by_id(const void *a, const void *b)
{
    const size_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

size_t cover_solve(struct cover *c, size_t **ret_ids)
{
    cleanup_free uint32_t *count = xcalloc((size_t)c->tuples_max + 1, sizeof(*count));
    size_t *ids, n = 0;

    if (c->smallest > 0)
        keep_smallest(c);
    else
        array_sort(c->v, c->n, sizeof(*c->v), by_size);
    for (uint32_t t = 0; t < c->tuples_max; t++)
        count[t] = c->had[t];
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].chosen = false;
        if (c->v[i].must && !c->v[i].dropped)
            choose(&c->v[i], count);
    }
    choose_greedily(c, count);
    remove_superfluous(c, count);
    ids = xcalloc(c->n + 1, sizeof(*ids));
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].chosen)
            ids[n++] = c->v[i].id;
    }
    array_sort(ids, n, sizeof(*ids), by_id);
    *ret_ids = ids;
    return n;
}

size_t cover_candidates(const struct cover *c)
{
    return c->n;
}

size_t cover_tuples(const struct cover *c)
{
    cleanup_free uint8_t *have = xcalloc((size_t)c->tuples_max + 1, 1);
    size_t n = 0;

    memcpy(have, c->had, c->tuples_max);
    for (size_t i = 0; i < c->n; i++) {
        for (size_t t = 0; t < c->v[i].n && !c->v[i].dropped; t++)
            have[c->v[i].tuples[t]] = 1;
    }
    for (uint32_t t = 0; t < c->tuples_max; t++)
        n += have[t];
    return n;
}

size_t cover_bytes(const struct cover *c)
{
    return c->bytes;
}

int cover_smallest(const struct cover *c)
{
    return c->smallest;
}
