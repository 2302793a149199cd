/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of a buffer, by libmd. A hash in text is always 64 lower-case digits, as it
 * serves as a file name in the store.
 */
#include "base/hash.h"

#include <sys/types.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

void hash_sha256_hex(const void *data, size_t size, char ret_hex[65])
{
    SHA2_CTX ctx;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&ctx);
    if (size > 0)
        SHA256Update(&ctx, data, size);
    SHA256Final(digest, &ctx);
    for (size_t i = 0; i < sizeof(digest); i++)
        (void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

int hash_hex_ok(const char *s)
{
    return strspn(s, "0123456789abcdef") == 64 && s[64] == '\0';
}
