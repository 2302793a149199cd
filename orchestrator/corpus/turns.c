/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring whose size is a power of two and that doubles when an item lies further ahead than it
 * reaches; the place of an item is its number modulo that size.
 */
#include "corpus/turns.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ROOM_START 64

struct turns {
    size_t item_bytes, room, next, end; /* end: behind the furthest that came */
    uint8_t *items;
    bool *here;
};

struct turns *turns_new(size_t item_bytes)
{
    struct turns *t = xcalloc(1, sizeof(*t));

    t->item_bytes = item_bytes;
    t->room = ROOM_START;
    t->items = xcalloc(t->room, item_bytes);
    t->here = xcalloc(t->room, sizeof(*t->here));
    return t;
}

void turns_free(struct turns *t)
{
    if (t == NULL)
        return;
    free(t->items);
    free(t->here);
    free(t);
}

static void *item_at(struct turns *t, size_t index)
{
    return t->items + (index & (t->room - 1)) * t->item_bytes;
}

static void grow(struct turns *t, size_t index)
{
    struct turns to = *t;

    while (index - t->next >= to.room)
        to.room *= 2;
    to.items = xcalloc(to.room, to.item_bytes);
    to.here = xcalloc(to.room, sizeof(*to.here));
    for (size_t i = t->next; i < t->end; i++) {
        if (!t->here[i & (t->room - 1)])
            continue;
        to.here[i & (to.room - 1)] = true;
        memcpy(item_at(&to, i), item_at(t, i), t->item_bytes);
    }
    free(t->items);
    free(t->here);
    *t = to;
}

void *turns_put(struct turns *t, size_t index)
{
    bool *here;

    if (index < t->next)
        return NULL;
    if (index - t->next >= t->room)
        grow(t, index);
    here = &t->here[index & (t->room - 1)];
    if (*here)
        return NULL;
    *here = true;
    if (index >= t->end)
        t->end = index + 1;
    memset(item_at(t, index), 0, t->item_bytes);
    return item_at(t, index);
}

void *turns_take(struct turns *t, size_t *ret_index)
{
    bool *here = &t->here[t->next & (t->room - 1)];

    if (!*here)
        return NULL;
    *here = false;
    *ret_index = t->next++;
    return item_at(t, *ret_index);
}

void *turns_drop(struct turns *t)
{
    size_t index;

    while (t->next < t->end && !t->here[t->next & (t->room - 1)])
        t->next++;
    return turns_take(t, &index);
}
