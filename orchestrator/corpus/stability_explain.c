/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After which earlier input another one does what it does not do alone. Tried in this order: those
 * that were found before, as a program has few of them; all of them again, to see that it repeats; the smallest
 * inputs one by one; and by bisection the last that is needed, the last needed before that, and so on.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "corpus/stability_internal.h"

#define PROBES   256 /* small inputs that are tried one by one */
#define REASONS  64  /* findings for which that is done */
#define REPEATED 2   /* times that a pair must show it */

struct search {
    struct stability *s;
    struct stability_finding *f;
    struct stability_shot shot; /* the last that differs */
    uint32_t edges[STABILITY_EDGES];
    size_t n_edges;
};

static bool differs(struct search *q, const struct stability_shot *shot)
{
    const struct stability_spread *sp = &q->s->spread;

    if (!stability_verdict_same(shot->verdict, q->f->alone))
        return true;
    if (shot->verdict.end != FORKSERVER_OK || (shot->last && sp->steady))
        return false;
    q->n_edges = stability_spread_outside(sp, shot, q->edges, STABILITY_EDGES);
    return q->n_edges > 0;
}

/* Runs before and rest in a fresh child, then the input: 1 when it differs, 0, -errno. */
static int try_after(struct search *q, const size_t *before, size_t n, const size_t *rest,
                     size_t n_rest)
{
    struct stability *s = q->s;
    struct stability_shot shot;
    int rc = 0;

    stability_freshen(&s->alone);
    for (size_t i = 0; i < n + n_rest && rc >= 0; i++)
        rc = stability_shoot_file(s, &s->alone, i < n || rest == NULL ? before[i] : rest[i - n],
                                  &shot);
    if (rc >= 0)
        rc = stability_shoot_file(s, &s->alone, q->f->index, &shot);
    if (rc != 0)
        return rc > 0 ? 0 : rc;
    if (!differs(q, &shot))
        return 0;
    q->shot = shot;
    return 1;
}

static int try_one(struct search *q, size_t before)
{
    int rc = 1;

    if (before == q->f->index)
        return 0;
    for (int i = 0; i < REPEATED && rc == 1; i++)
        rc = try_after(q, &before, 1, NULL, 0);
    return rc;
}

static void found(struct search *q, const size_t *after, size_t n)
{
    struct stability_finding *f = q->f;

    f->repeats = true;
    f->other = q->shot.verdict;
    f->n_after = n;
    memcpy(f->after, after, n * sizeof(*after));
    f->n_edges = stability_verdict_same(f->other, f->alone) ? q->n_edges : 0;
    memcpy(f->edges, q->edges, sizeof(f->edges));
}

static void remember(struct search *q, size_t index)
{
    struct stability *s = q->s;
    const bool deadly = !stability_verdict_same(q->f->other, q->f->alone);
    size_t i = 0;

    while (i < s->n_culprits && s->culprits[i].index != index)
        i++;
    if (i == sizeof(s->culprits) / sizeof(*s->culprits))
        return;
    if (i == s->n_culprits)
        s->culprits[s->n_culprits++].index = index;
    s->culprits[i].deadly |= deadly;
}

static int try_culprits(struct search *q)
{
    struct stability *s = q->s;
    int rc = 0;

    for (size_t i = 0; i < s->n_culprits && rc == 0; i++) {
        rc = try_one(q, s->culprits[i].index);
        if (rc == 1) {
            found(q, &s->culprits[i].index, 1);
            remember(q, s->culprits[i].index);
        }
    }
    return rc;
}

static int try_smallest(struct search *q)
{
    struct stability *s = q->s;
    int rc = 0;

    for (size_t i = 0; i < s->n_order && i < PROBES && rc == 0 && !stability_over(s); i++) {
        rc = try_one(q, s->by_size[i]);
        if (rc == 1) {
            found(q, &s->by_size[i], 1);
            remember(q, s->by_size[i]);
        }
    }
    return rc;
}

/* row and after behind it are enough, after alone is not. How much of row's beginning is needed, in *ret: its last is one that is. */
static int bisect(struct search *q, const size_t *row, size_t n, const size_t *after,
                  size_t n_after, size_t *ret)
{
    size_t low = 0, high = n; /* so much is not enough; is enough */

    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        int rc = try_after(q, row, mid, after, n_after);

        if (rc < 0)
            return rc;
        if (rc == 1)
            high = mid;
        else
            low = mid;
        if (stability_over(q->s))
            return -ETIME;
    }
    *ret = high;
    return 0;
}

/* From the end to the beginning, each input that those behind it are not enough without. */
static int reduce(struct search *q, const size_t *before, size_t n)
{
    size_t after[STABILITY_AFTER], n_after = 0, need;
    int rc;

    while (n_after < STABILITY_AFTER && n > 0) {
        size_t *last = &after[STABILITY_AFTER - 1 - n_after];

        rc = bisect(q, before, n, last + 1, n_after, &need);
        if (rc < 0)
            return rc;
        n = need - 1;
        *last = before[n];
        n_after++;
        rc = try_after(q, last, n_after, NULL, 0);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            found(q, last, n_after);
            if (n_after == 1)
                remember(q, *last);
            return 1;
        }
    }
    return 0;
}

int stability_explain(struct stability *s, const size_t *before, size_t n,
                      struct stability_finding *f)
{
    struct search q = {.s = s, .f = f};
    int rc = try_culprits(&q);

    if (rc != 0)
        return rc;
    for (int i = 0; i < REPEATED && rc == 0; i++)
        rc = try_after(&q, before, n, NULL, 0);
    if (rc != 1)
        return rc;
    found(&q, before, 0);
    if (s->n_reasons++ >= REASONS || stability_over(s)) {
        s->ret->reasons_left++;
        return 1;
    }
    rc = try_smallest(&q);
    if (rc == 0)
        rc = reduce(&q, before, n);
    if (rc == -ETIME) {
        s->ret->reasons_left++;
        rc = 0;
    }
    return rc < 0 ? rc : 1;
}
