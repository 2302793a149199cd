/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

/* Sorts n items of v as qsort does; of an empty array v may be NULL, which qsort must not be given. */
void array_sort(void *v, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
