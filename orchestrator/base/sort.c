/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's sort for arrays that may be empty. Everybody else is kept from calling it by
 * base/banned.h.
 */
#include "base/sort.h"

#include <stdlib.h>

#undef qsort

void array_sort(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(v, n, size, compare);
}
