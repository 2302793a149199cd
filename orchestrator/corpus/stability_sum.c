/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told at the end: findings in order, the smallest pair, edges, and all of it as JSON, with the names of files as they can be
 * written there. Lists are cut, counts are not.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/sort.h"
#include "corpus/inputs.h"
#include "corpus/stability_internal.h"
#include "engine/map.h"

#define EDGES_TOLD  1000
#define UNREAD_TOLD 100
#define BYTES_SHOWN 64

const char *stability_kind_name(enum stability_kind kind)
{
    static const char *const names[] = {[STABILITY_UNSTABLE] = "unstable",
                                        [STABILITY_FLAKY] = "flaky",
                                        [STABILITY_STATEFUL] = "stateful"};

    return names[kind];
}

const char *stability_verdict_text(struct stability_verdict v, char *buf, size_t size)
{
    const char *name = v.signo > 0 ? sigabbrev_np(v.signo) : NULL;

    if (v.end == FORKSERVER_TIMEOUT)
        (void)snprintf(buf, size, "is out of time");
    else if (v.end == FORKSERVER_LOST)
        (void)snprintf(buf, size, "takes its fork server along");
    else if (v.end == FORKSERVER_CRASH && name != NULL)
        (void)snprintf(buf, size, "crashes with SIG%s", name);
    else if (v.end == FORKSERVER_CRASH && v.signo > 0)
        (void)snprintf(buf, size, "crashes with signal %d", v.signo);
    else if (v.end == FORKSERVER_CRASH)
        (void)snprintf(buf, size, "crashes with exit code %d", v.exit_code);
    else if (v.exit_code > 0)
        (void)snprintf(buf, size, "exits with %d", v.exit_code);
    else
        (void)snprintf(buf, size, "returns");
    return buf;
}

/* ---- sums ---- */
static int by_kind(const void *a, const void *b)
{
    const struct stability_finding *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_inputs(const void *a, const void *b)
{
    const struct stability_edge *x = a, *y = b;

    if (x->inputs != y->inputs)
        return x->inputs > y->inputs ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Verdicts before maps, two inputs before one that is run again, then by size. UINT64_MAX: no pair. */
static uint64_t pair_rank(const struct stability *s, const struct stability_finding *f)
{
    uint64_t size = s->known[f->index].size;

    if (f->n_after == 0)
        return UINT64_MAX;
    for (size_t k = 0; k < f->n_after; k++)
        size += s->known[f->after[k]].size;
    if (stability_verdict_same(f->alone, f->other))
        size |= UINT64_C(1) << 62;
    if (f->after[0] == f->index)
        size |= UINT64_C(1) << 61;
    return size;
}

void stability_sum_up(struct stability *s)
{
    struct stability_result *r = s->ret;
    uint64_t best = UINT64_MAX;
    size_t i;

    r->edges = map_edges(s->seen, s->spread.bytes);
    for (i = 1; i < s->spread.bytes; i++)
        r->n_unstable += s->varies[i] > 0;
    r->unstable = xcalloc(r->n_unstable + 1, sizeof(*r->unstable));
    r->n_unstable = 0;
    for (i = 1; i < s->spread.bytes; i++) {
        if (s->varies[i] > 0)
            r->unstable[r->n_unstable++] = (struct stability_edge){
                .id = (uint32_t)i, .inputs = s->varies[i], .stateful = s->by_state[i]};
    }
    array_sort(r->unstable, r->n_unstable, sizeof(*r->unstable), by_inputs);
    array_sort(r->findings, r->n_findings, sizeof(*r->findings), by_kind);
    for (i = 0; i < r->n_findings; i++) {
        const uint64_t rank = pair_rank(s, &r->findings[i]);

        if (rank < best) {
            best = rank;
            r->smallest = i;
        }
    }
    for (i = 0; i < s->o->inputs->n; i++)
        r->unread += s->known[i].unread;
    r->unread_index = xcalloc(r->unread + 1, sizeof(*r->unread_index));
    r->unread_code = xcalloc(r->unread + 1, sizeof(*r->unread_code));
    r->unread = 0;
    for (i = 0; i < s->o->inputs->n; i++) {
        if (!s->known[i].unread)
            continue;
        r->unread_code[r->unread] = s->known[i].code;
        r->unread_index[r->unread++] = i;
    }
}

/* ---- JSON ---- */
static json_t *name_json(const struct stability_opts *o, size_t index)
{
    const char *name = o->inputs->v[index];
    const size_t top = o->folder != NULL ? strlen(o->folder) : 0;
    cleanup_free char *shown = NULL;
    size_t size;

    if (top > 0 && strncmp(name, o->folder, top) == 0 && name[top] == '/')
        name += top + 1;
    size = 4 * strlen(name) + 1;
    if (text_utf8_ok(name, strlen(name)))
        return json_string(name);
    shown = xmalloc(size);
    return json_string(text_printable(shown, size, name));
}

static json_t *finding_json(const struct stability_opts *o, const struct stability_finding *f)
{
    json_t *after = json_array(), *edges = json_array();
    char alone[64], other[64];

    for (size_t i = 0; i < f->n_after; i++)
        (void)json_array_append_new(after, name_json(o, f->after[i]));
    for (size_t i = 0; i < f->n_edges && i < STABILITY_EDGES; i++)
        (void)json_array_append_new(edges, json_integer((json_int_t)f->edges[i]));
    return json_pack("{s:o, s:s, s:s, s:s, s:o, s:b, s:b, s:o, s:I}", "file",
                     name_json(o, f->index), "kind", stability_kind_name(f->kind), "alone",
                     stability_verdict_text(f->alone, alone, sizeof(alone)), "other",
                     stability_verdict_text(f->other, other, sizeof(other)), "after", after,
                     "itself", f->n_after == 1 && f->after[0] == f->index, "repeats",
                     (int)f->repeats, "edges", edges, "edges_total", (json_int_t)f->n_edges);
}

/* The inputs of a pair in the order in which they are run, with their first bytes. */
static json_t *pair_json(const struct stability_opts *o, const struct stability_finding *f)
{
    json_t *list = json_array();

    for (size_t i = 0; i <= f->n_after; i++) {
        const size_t index = i < f->n_after ? f->after[i] : f->index;
        cleanup_free uint8_t *data = NULL;
        char hex[2 * BYTES_SHOWN + 1] = "";
        size_t size = 0;

        if (inputs_read(o->inputs, index, FORKSERVER_INPUT_BYTES, &data, &size) < 0)
            size = 0;
        for (size_t k = 0; k < size && k < BYTES_SHOWN; k++)
            (void)snprintf(hex + 2 * k, 3, "%02x", data[k]);
        (void)json_array_append_new(list, json_pack("{s:o, s:I, s:s}", "file", name_json(o, index),
                                                    "size", (json_int_t)size, "hex", hex));
    }
    return list;
}

/* What was not run, each with the reason. */
static json_t *not_run_json(const struct stability_opts *o, const struct stability_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->unread && i < UNREAD_TOLD; i++)
        (void)json_array_append_new(
            list, json_pack("{s:o, s:s}", "file", name_json(o, r->unread_index[i]), "why",
                            r->unread_code[i] < 0 ? inputs_why(r->unread_code[i])
                                                  : "takes its fork server along"));
    return list;
}

json_t *stability_json(const struct stability_opts *o, const struct stability_result *r, size_t max)
{
    json_t *edges = json_array(), *findings = json_array(), *unread = json_array(), *smallest;
    const size_t bad = r->count[STABILITY_STATEFUL] + r->count[STABILITY_FLAKY];
    const double pct =
        r->edges > 0 ? 100.0 * (double)(r->edges - r->n_unstable) / (double)r->edges : 100.0;
    const bool none = r->checked == 0 && bad == 0; /* of which nothing can be said */

    for (size_t i = 0; i < r->n_unstable && i < EDGES_TOLD && i < max; i++)
        (void)json_array_append_new(edges, json_pack("{s:I, s:I, s:I}", "id",
                                                     (json_int_t)r->unstable[i].id, "inputs",
                                                     (json_int_t)r->unstable[i].inputs, "stateful",
                                                     (json_int_t)r->unstable[i].stateful));
    for (size_t i = 0; i < r->n_findings && i < max; i++)
        (void)json_array_append_new(findings, finding_json(o, &r->findings[i]));
    for (size_t i = 0; i < r->unread && i < UNREAD_TOLD; i++)
        (void)json_array_append_new(unread, name_json(o, r->unread_index[i]));
    smallest = r->smallest < r->n_findings ? pair_json(o, &r->findings[r->smallest]) : json_null();
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:I, s:o, "
        "s:o, s:o, s:o, s:o}",
        "inputs", (json_int_t)o->inputs->n, "checked", (json_int_t)r->checked, "unread",
        (json_int_t)r->unread, "left", (json_int_t)r->left, "over", (int)r->over, "runs_each",
        o->runs > 0 ? o->runs : STABILITY_RUNS, "seed", (json_int_t)o->seed, "runs",
        (json_int_t)r->runs, "unstable", (json_int_t)r->count[STABILITY_UNSTABLE], "flaky",
        (json_int_t)r->count[STABILITY_FLAKY], "stateful", (json_int_t)r->count[STABILITY_STATEFUL],
        "unrepeated", (json_int_t)r->unrepeated, "stable",
        none ? json_null() : json_boolean(bad == 0), "edges", (json_int_t)r->edges, "stability_pct",
        none ? json_null() : json_real(pct), "unstable_edges_total", (json_int_t)r->n_unstable,
        "unstable_edges", edges, "findings", findings, "smallest_pair", smallest, "unread_files",
        unread, "not_run", not_run_json(o, r));
}
