/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waves of targets. Both ways of looking are bounded by the number of nodes: a plan comes
 * from outside, and what it names may go round in circles.
 */
#include "spec/waves.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY ((size_t)-1)

static size_t node_find(const struct wave_node *nodes, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(nodes[i].name, name) == 0)
            return i;
    }
    return NOBODY;
}

/* The wave of node i once those before it have one; -1 while one has none. */
static int wave_of(const struct wave_node *nodes, size_t n, size_t i, const int *waves)
{
    int wave = 0;

    for (size_t k = 0; k < nodes[i].after->n; k++) {
        size_t at = node_find(nodes, n, nodes[i].after->v[k]);

        if (at == NOBODY)
            continue;
        if (waves[at] < 0)
            return -1;
        if (waves[at] >= wave)
            wave = waves[at] + 1;
    }
    return wave;
}

int waves_of(const struct wave_node *nodes, size_t n, int *ret_wave)
{
    size_t left = n, before;

    for (size_t i = 0; i < n; i++)
        ret_wave[i] = -1;
    do {
        before = left;
        for (size_t i = 0; i < n; i++) {
            if (ret_wave[i] >= 0)
                continue;
            ret_wave[i] = wave_of(nodes, n, i, ret_wave);
            left -= ret_wave[i] >= 0;
        }
    } while (left > 0 && left < before);
    return left > 0 ? -ELOOP : 0;
}

char *waves_cycle(const struct wave_node *nodes, size_t n, size_t start)
{
    size_t *from = xcalloc(n > 0 ? n : 1, sizeof(*from)), *queue = xcalloc(n + 1, sizeof(*queue));
    size_t head = 0, tail = 0;
    char *text = NULL;

    for (size_t i = 0; i < n; i++)
        from[i] = NOBODY;
    queue[tail++] = start;
    /* Breadth first, so that the shortest way is told. */
    while (head < tail && from[start] == NOBODY) {
        size_t i = queue[head++];

        for (size_t k = 0; k < nodes[i].after->n; k++) {
            size_t at = node_find(nodes, n, nodes[i].after->v[k]);

            if (at == NOBODY || from[at] != NOBODY)
                continue;
            from[at] = i;
            if (at != start)
                queue[tail++] = at;
        }
    }
    if (from[start] != NOBODY) {
        size_t at = start;

        text = xstrdup(nodes[start].name);
        do {
            char *longer;

            at = from[at];
            longer = xasprintf("%s after %s", nodes[at].name, text);
            free(text);
            text = longer;
        } while (at != start);
    }
    free(from);
    free(queue);
    return text;
}
