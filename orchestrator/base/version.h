/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which build this is. Set by the Makefile; only version.o is rebuilt when the
 * commit changes.
 */
#ifndef FZ_BASE_VERSION_H
#define FZ_BASE_VERSION_H

/* The release, "0.1.0". Static storage. */
const char *version_string(void);

/* `git describe --always --dirty` of the tree it was built from; "" when unknown. Static storage. */
const char *version_git(void);

#endif
