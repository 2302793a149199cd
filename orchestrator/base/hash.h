/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>

/* SHA-256 of a buffer as 64 lower-case hex digits and a NUL. */
void hash_sha256_hex(const void *data, size_t size, char ret_hex[65]);
/* True for exactly 64 lower-case hex digits. */
int hash_hex_ok(const char *s);

#endif
