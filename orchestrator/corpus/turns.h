/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_TURNS_H
#define CORPUS_TURNS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Items that come in any order, each once, and are taken in that of their numbers, from 0. Room is kept for those between the next to be
 * taken and the furthest that came, and not for all: as many as come while one of them takes its time.
 */
struct turns;

/* item_bytes of one item. Never NULL; turns_free, which knows nothing of what items hold. */
struct turns *turns_new(size_t item_bytes);
void turns_free(struct turns *t);
/* The place of item number index, zeroed, valid until the next call. Of one that came already or was taken, NULL. */
void *turns_put(struct turns *t, size_t index);
/* The next item, if it has come, and its number: valid until the next call. NULL else. */
void *turns_take(struct turns *t, size_t *ret_index);
/* Any item that has not been taken, in turn, for who gives up; NULL when there is none left. */
void *turns_drop(struct turns *t);

#endif
