/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two rules of every handle, whatever the backend: a part is given once, and
 * nothing keeps running that nobody waits for.
 */
#include "backend.h"

void *be_handle_take(struct be_handle *h, enum be_slot slot)
{
    unsigned bit = 1u << slot;

    if (h->taken & bit)
        return NULL;
    h->taken |= bit;
    return h->ops->take(h, slot);
}

void be_handle_free(struct be_handle *h)
{
    if (h == NULL)
        return;
    if (!h->exit_observed) {
        FZ_REACH(kill);
        h->ops->kill(h);
    }
    h->ops->release(h);
}
