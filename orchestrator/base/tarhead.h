/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TARHEAD_H
#define BASE_TARHEAD_H

#include <stddef.h>

/*
 * The header of a tar's member as it lies in the archive, with the extensions before it, looked at
 * for what libarchive does not tell: it hands a name out as a string, so one with a zero byte in it
 * is another name than the archive's. Source: libarchive-formats(5) "Tar Formats", pax(1), tar(5).
 */

/* NULL when all names are whole; else why not, in words. Of blocks that libarchive has taken for a header. */
const char *tarhead_fault(const void *header, size_t n);

#endif
