/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Bytes in JSON. RFC 4648 section 4: with padding, no line ends, one text for each content. */

/* Caller frees. */
char *base64_encode(const void *data, size_t size);
/* 0, -EINVAL (no such text) or -EFBIG (over max_bytes). *ret_data is the caller's, never NULL on success. */
int base64_decode(const char *text, size_t length, size_t max_bytes, uint8_t **ret_data,
                  size_t *ret_size);

#endif
