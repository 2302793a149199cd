/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding is strict, bits that padding leaves over included: what comes in is what goes out again. */
#include "base/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *data, size_t size)
{
    const uint8_t *in = data;
    char *text = xmalloc((size + 2) / 3 * 4 + 1), *out = text;

    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        const uint32_t v = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                           (n > 2 ? in[i + 2] : 0);

        *out++ = digits[v >> 18];
        *out++ = digits[v >> 12 & 63];
        *out++ = n > 1 ? digits[v >> 6 & 63] : '=';
        *out++ = n > 2 ? digits[v & 63] : '=';
    }
    *out = '\0';
    return text;
}

/* 0..63, or -1. */
static int value_of(char c)
{
    const char *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

int base64_decode(const char *text, size_t length, size_t max_bytes, uint8_t **ret_data,
                  size_t *ret_size)
{
    size_t pad = 0, size, used = 0;
    uint8_t *data;

    if (length % 4 != 0)
        return -EINVAL;
    while (pad < 2 && pad < length && text[length - 1 - pad] == '=')
        pad++;
    size = length / 4 * 3 - pad;
    if (size > max_bytes)
        return -EFBIG;
    data = xmalloc(size + 1);
    for (size_t i = 0; i < length; i += 4) {
        const size_t n = i + 4 == length ? 4 - pad : 4; /* digits in this group */
        uint32_t v = 0;
        int bad = 0;

        for (size_t k = 0; k < 4; k++) {
            const int d = k < n ? value_of(text[i + k]) : 0;

            bad |= d < 0;
            v = v << 6 | (uint32_t)(d & 63);
        }
        bad |= (n == 3 && (v & 0xff) != 0) || (n == 2 && (v & 0xffff) != 0);
        if (bad) {
            free(data);
            return -EINVAL;
        }
        for (size_t k = 0; k + 1 < n; k++)
            data[used++] = (uint8_t)(v >> (16 - 8 * k));
    }
    data[used] = '\0';
    *ret_data = data;
    *ret_size = used;
    return 0;
}
