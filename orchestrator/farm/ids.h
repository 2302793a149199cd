/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_IDS_H
#define FARM_IDS_H

#include <stddef.h>

/*
 * The instances of a farm by their full id. Each datagram names one, and many instances send many: a walk over all of them for each would
 * grow with the square of their number. Zeroed it is empty; it holds no memory while it is.
 */
struct instance;
struct ids {
    struct instance **slots; /* heads of lists by instance.id_next */
    size_t n_slots, n;       /* a power of two or 0; instances */
};

/* Borrows in until ids_remove; one of the same id that came before is hidden until then. */
void ids_add(struct ids *ids, struct instance *in);
/* No-op when it is not there. */
void ids_remove(struct ids *ids, struct instance *in);
/* Borrowed, or NULL. */
struct instance *ids_find(const struct ids *ids, const char *full_id);

#endif
