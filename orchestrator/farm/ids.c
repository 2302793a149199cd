/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of lists that doubles as it fills, so that a list has about one instance. The hash need not withstand an attacker: the ids that
 * are put in are those of plans, and a name from outside is only looked for.
 */
#include "farm/ids.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "farm/instance.h"

#define SLOTS_MIN 16

/* FNV-1a. */
static size_t slot_of(const struct ids *ids, const char *id)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char)*id) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32) & (ids->n_slots - 1);
}

static void put(struct ids *ids, struct instance *in)
{
    struct instance **slot = &ids->slots[slot_of(ids, in->spec->full_id)];

    in->id_next = *slot;
    *slot = in;
}

static void grow(struct ids *ids)
{
    struct ids old = *ids;

    ids->n_slots = old.n_slots > 0 ? 2 * old.n_slots : SLOTS_MIN;
    ids->slots = xcalloc(ids->n_slots, sizeof(struct instance *));
    for (size_t i = 0; i < old.n_slots; i++) {
        struct instance *in = old.slots[i], *next;

        for (; in != NULL; in = next) {
            next = in->id_next;
            put(ids, in);
        }
    }
    free(old.slots);
}

void ids_add(struct ids *ids, struct instance *in)
{
    if (ids->n == ids->n_slots)
        grow(ids);
    put(ids, in);
    ids->n++;
}

void ids_remove(struct ids *ids, struct instance *in)
{
    struct instance **at;

    if (ids->n == 0)
        return;
    for (at = &ids->slots[slot_of(ids, in->spec->full_id)]; *at != NULL && *at != in;
         at = &(*at)->id_next)
        ;
    if (*at == NULL)
        return;
    *at = in->id_next;
    in->id_next = NULL;
    if (--ids->n > 0)
        return;
    free(ids->slots);
    *ids = (struct ids){0};
}

struct instance *ids_find(const struct ids *ids, const char *full_id)
{
    struct instance *in = ids->n > 0 ? ids->slots[slot_of(ids, full_id)] : NULL;

    while (in != NULL && strcmp(in->spec->full_id, full_id) != 0)
        in = in->id_next;
    return in;
}
