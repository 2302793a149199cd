/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_STABILITY_INTERNAL_H
#define CORPUS_STABILITY_INTERNAL_H

#include "corpus/stability.h"

/* Shared by stability.c (the shuffled runs), _alone.c, _spread.c (what one input shows alone), _explain.c (whose doing it is) and _sum.c (what is told). */

struct stability_server {
    struct forkserver *fs;
    bool fresh; /* the next run is a child's first */
};

/* One run; its map is the server's until the next. */
struct stability_shot {
    struct stability_verdict verdict;
    bool first, last; /* of its child */
    uint64_t hash;
    const uint8_t *map;
};

#define STABILITY_PLACES 4 /* first or not, last or not */

/* All that one input has shown alone. */
struct stability_spread {
    size_t bytes; /* of a map */
    uint8_t *low, *high, *vary, *at[STABILITY_PLACES];
    bool has[STABILITY_PLACES];
    uint64_t hashes[STABILITY_PLACES]; /* of at */
    bool steady;                       /* it returned and its child lived on */
    bool map_varies, verdict_varies;
    struct stability_verdict verdict, other; /* of the first run, and the first that differs */
};

void stability_spread_init(struct stability_spread *sp, size_t bytes);
void stability_spread_clear(struct stability_spread *sp);
void stability_spread_reset(struct stability_spread *sp);
void stability_spread_add(struct stability_spread *sp, const struct stability_shot *shot);
/* Edges of shot outside of all it has shown; the first max in ret. Those that vary by themselves do not count. */
size_t stability_spread_outside(const struct stability_spread *sp,
                                const struct stability_shot *shot, uint32_t *ret, size_t max);
bool stability_verdict_same(struct stability_verdict a, struct stability_verdict b);

#define STABILITY_HASHES 4

/* What is known of an input after it was run alone. */
struct stability_known {
    uint64_t hashes[STABILITY_HASHES];
    uint64_t size;
    struct stability_verdict verdict;
    uint8_t n_hashes;
    bool done;   /* told already */
    bool deadly; /* it is told that it ends its process in another way than alone */
    bool ends;   /* its process ends with it, alone */
    bool unread;
    int code; /* why it could not be read */
};

/* What a child did with one input, run by run. */
struct stability_series {
    struct {
        uint64_t hash;
        struct stability_verdict verdict;
    } * v;
    int n;
};

struct stability {
    const struct stability_opts *o;
    struct stability_result *ret;
    struct err *err;
    struct stability_server line, alone; /* the shuffled runs, and all others */
    struct stability_spread spread;      /* of the input that is looked at */
    struct stability_known *known;       /* one an input */
    size_t *order;
    size_t n_order;  /* inputs that were run alone */
    size_t *by_size; /* the same, smallest first */
    struct {
        size_t index;
        bool deadly;             /* it changes verdicts */
    } culprits[STABILITY_AFTER]; /* found so far */
    size_t n_culprits, n_reasons;
    uint8_t *seen;             /* bits of all maps */
    size_t *varies, *by_state; /* one an edge: inputs */
    int64_t deadline_ms;       /* 0 none */
    int runs;
};

/* One run of data. 0, -ECANCELED, -errno. */
int stability_shoot(struct stability *s, struct stability_server *sv, const uint8_t *data,
                    size_t size, struct stability_shot *ret);
/* The same of an input's file. What cannot be read any more is passed over: 1. */
int stability_shoot_file(struct stability *s, struct stability_server *sv, size_t index,
                         struct stability_shot *ret);
int stability_input_read(const struct stability *s, size_t index, uint8_t **ret_data,
                         size_t *ret_size);
void stability_know_hash(struct stability_known *k, uint64_t hash);
bool stability_is_known(const struct stability_known *k, uint64_t hash);
/* The input s->runs times in a fresh child, added to s->spread. */
int stability_run_series(struct stability *s, const uint8_t *data, size_t size,
                         struct stability_series *ret);
/* Each input of order alone, until until_ms (0: all of them); those that were run are put into s->order. */
int stability_all_alone(struct stability *s, const size_t *order, size_t n, int64_t until_ms,
                        struct stability_series *one, struct stability_series *two);
void stability_tell(struct stability *s, const struct stability_finding *f);
void stability_freshen(struct stability_server *sv);
bool stability_over(const struct stability *s);
/*
 * For a candidate that did not do as alone after before[0..n): whether it counts, then *f says why and after what. s->spread holds what it
 * shows alone. 1, 0 (it does not repeat), -errno.
 */
int stability_explain(struct stability *s, const size_t *before, size_t n,
                      struct stability_finding *f);
/* Of findings in any order and edges' counts, what the result says. */
void stability_sum_up(struct stability *s);

#endif
