/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A corpus has more members than a general reader is quick for, and of tar it needs little: names,
 * sizes, bytes. Every number of a header is only how far to go on in a file that may end before.
 */
#include "base/tarin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unzstd.h"

#define BLOCK     512U
#define DRAIN_MAX ((uint64_t)1 << 20) /* zeros behind the end mark: a tape's block */
#define PAX_MAX   ((uint64_t)1 << 20) /* of one extended header */
#define SIZE_MAX_ ((uint64_t)1 << 60)

/* Of a header block: where fields begin, and their bytes. */
enum {
    AT_NAME = 0,
    AT_SIZE = 124,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345
};
enum { NAME_BYTES = 100, SIZE_BYTES = 12, SUM_BYTES = 8, PREFIX_BYTES = 155 };

struct tarin {
    char *path;
    struct unzstd *in;
    const char *at; /* read and not used yet */
    size_t left;
    uint64_t rest, pad; /* of the member: bytes, and what fills its last block */
    char block[BLOCK];
    char name[TARIN_NAME_MAX + 1], link[TARIN_NAME_MAX + 1];
    bool has_name, has_link, has_size; /* told ahead of the header they are of */
    uint64_t size;
};

static int bad(const struct tarin *t, struct err *err, const char *why)
{
    return err_set(err, -EBADMSG, "%s: %s", t->path, why);
}

static int failed(const struct tarin *t, int code, struct err *err)
{
    return code == -EBADMSG ? bad(t, err, unzstd_why(t->in)) : err_sys(err, code, "%s", t->path);
}

int tarin_open(const char *path, bool zst, uint64_t max_bytes, struct tarin **ret, struct err *err)
{
    struct unzstd *in;
    struct tarin *t;
    int rc = unzstd_open(path, zst, max_bytes, &in, err);

    if (rc < 0)
        return rc;
    t = xcalloc(1, sizeof(*t));
    t->path = xstrdup(path);
    t->in = in;
    t->at = t->block;
    *ret = t;
    return 0;
}

void tarin_close(struct tarin *t)
{
    if (t == NULL)
        return;
    unzstd_close(t->in);
    free(t->path);
    free(t);
}

/* ---- bytes ---- */
/* Up to n of the bytes that come next into buf; how many is less at the end only. */
static int64_t take(struct tarin *t, void *buf, uint64_t n, struct err *err)
{
    uint64_t got = 0;

    while (got < n) {
        size_t part;

        if (t->left == 0) {
            const void *data;
            ssize_t more = unzstd_next(t->in, &data);

            if (more < 0)
                return failed(t, (int)more, err);
            if (more == 0)
                break;
            t->at = data;
            t->left = (size_t)more;
        }
        part = t->left < n - got ? t->left : (size_t)(n - got);
        memcpy((char *)buf + got, t->at, part);
        t->at += part;
        t->left -= part;
        got += part;
    }
    return (int64_t)got;
}

static int take_all(struct tarin *t, void *buf, uint64_t n, struct err *err)
{
    int64_t got = take(t, buf, n, err);

    if (got < 0)
        return (int)got;
    return (uint64_t)got == n ? 0 : bad(t, err, "the file is cut short");
}

static int skip(struct tarin *t, uint64_t n, struct err *err)
{
    const uint64_t had = t->left < n ? t->left : n;
    int rc;

    t->at += had;
    t->left -= (size_t)had;
    rc = unzstd_skip(t->in, n - had);
    return rc < 0 ? failed(t, rc, err) : 0;
}

/* The next block, in the archive's own buffer where it is whole there; NULL with *ret_rc 0 at the end of the file. */
static const char *next_block(struct tarin *t, int *ret_rc, struct err *err)
{
    const char *block = t->at;
    int64_t got;

    *ret_rc = 0;
    if (t->left >= BLOCK) {
        t->at += BLOCK;
        t->left -= BLOCK;
        return block;
    }
    got = take(t, t->block, BLOCK, err);
    if (got == BLOCK)
        return t->block;
    if (got != 0)
        *ret_rc = got < 0 ? (int)got : bad(t, err, "the file is cut short");
    return NULL;
}

static bool all_zero(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* ---- fields of a header ---- */
static bool octal(const char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0, digits;

    while (i < n && p[i] == ' ')
        i++;
    for (digits = i; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (uint64_t)(p[i] - '0');
    if (i == digits || (i < n && p[i] != ' ' && p[i] != '\0'))
        return false;
    *ret = v;
    return true;
}

/* Octal digits, or as GNU tar does what is too large for them: a set first bit, then the number's bytes. */
static bool number(const char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;

    if ((unsigned char)p[0] != 0x80)
        return octal(p, n, ret);
    for (size_t i = 1; i < n; i++) {
        if (v > SIZE_MAX_ >> 8)
            return false;
        v = v << 8 | (unsigned char)p[i];
    }
    *ret = v;
    return true;
}

/* Some writers summed up signed bytes. */
static bool sum_is_right(const char *block)
{
    unsigned sum = 0, high = 0;
    uint64_t want;

    if (!octal(block + AT_SUM, SUM_BYTES, &want))
        return false;
    for (size_t i = 0; i < BLOCK; i++) {
        sum += (unsigned char)block[i];
        high += (unsigned char)block[i] >> 7;
    }
    for (size_t i = AT_SUM; i < AT_SUM + SUM_BYTES; i++) {
        sum -= (unsigned char)block[i];
        high -= (unsigned char)block[i] >> 7;
    }
    sum += SUM_BYTES * ' ';
    return want == sum || want == (uint64_t)(uint32_t)(sum - 256 * high);
}

static void name_of_block(struct tarin *t, const char *block)
{
    const bool ustar = memcmp(block + AT_MAGIC, "ustar\0", 6) == 0;
    size_t n = ustar ? strnlen(block + AT_PREFIX, PREFIX_BYTES) : 0;
    const size_t own = strnlen(block + AT_NAME, NAME_BYTES);

    memcpy(t->name, block + AT_PREFIX, n);
    if (n > 0)
        t->name[n++] = '/';
    memcpy(t->name + n, block + AT_NAME, own);
    t->name[n + own] = '\0';
}

/* ---- what is told ahead of a header ---- */
static int put_name(const struct tarin *t, char *to, const char *from, size_t n, struct err *err)
{
    if (n > TARIN_NAME_MAX)
        return bad(t, err, "a member's name is too long");
    if (memchr(from, '\0', n) != NULL)
        return bad(t, err, "a member's name has a zero byte in it");
    memcpy(to, from, n);
    to[n] = '\0';
    return 0;
}

static bool is_key(const char *p, size_t n, const char *key)
{
    return n == strlen(key) && memcmp(p, key, n) == 0;
}

static int pax_record(struct tarin *t, const char *key, size_t n_key, const char *value, size_t n,
                      struct err *err)
{
    char digits[24];

    if (n_key >= 10 && memcmp(key, "GNU.sparse", 10) == 0)
        return bad(t, err, "sparse files are not allowed");
    if (is_key(key, n_key, "path")) {
        t->has_name = true;
        return put_name(t, t->name, value, n, err);
    }
    if (is_key(key, n_key, "linkpath")) {
        t->has_link = true;
        return put_name(t, t->link, value, n, err);
    }
    if (!is_key(key, n_key, "size"))
        return 0;
    if (n == 0 || n >= sizeof(digits))
        return bad(t, err, "a member's size is no number");
    t->size = 0;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9' || t->size > SIZE_MAX_ / 10)
            return bad(t, err, "a member's size is no number");
        t->size = t->size * 10 + (uint64_t)(value[i] - '0');
    }
    t->has_size = true;
    return 0;
}

/* Records are "LENGTH KEY=VALUE\n", and LENGTH is that of all of it. */
static int pax_parse(struct tarin *t, const char *p, size_t n, struct err *err)
{
    int rc = 0;

    while (n > 0 && rc == 0) {
        size_t len = 0, i = 0;
        const char *key, *equals;

        while (i < n && i < 8 && p[i] >= '0' && p[i] <= '9')
            len = len * 10 + (size_t)(p[i++] - '0');
        if (i == 0 || i >= n || p[i] != ' ' || len <= i + 1 || len > n || p[len - 1] != '\n')
            return bad(t, err, "an extended header is damaged");
        key = p + i + 1;
        equals = memchr(key, '=', len - i - 2);
        if (equals == NULL)
            return bad(t, err, "an extended header is damaged");
        rc = pax_record(t, key, (size_t)(equals - key), equals + 1,
                        (size_t)(p + len - 1 - (equals + 1)), err);
        p += len;
        n -= len;
    }
    return rc;
}

/* An extended header, or GNU tar's long name: the bytes of a member that is none. */
static int ahead(struct tarin *t, char type, uint64_t size, struct err *err)
{
    cleanup_free char *text = NULL;
    char *to = type == 'L' ? t->name : t->link;
    int rc;

    if (size > PAX_MAX)
        return bad(t, err, "an extended header is too large");
    text = xmalloc((size_t)size + 1);
    text[size] = '\0';
    rc = take_all(t, text, size, err);
    if (rc == 0)
        rc = skip(t, (BLOCK - size % BLOCK) % BLOCK, err);
    if (rc < 0)
        return rc;
    if (type == 'x')
        return pax_parse(t, text, (size_t)size, err);
    *(type == 'L' ? &t->has_name : &t->has_link) = true;
    return put_name(t, to, text, strlen(text), err);
}

/* ---- members ---- */
/* 1, or -EBADMSG. */
static int member(struct tarin *t, const char *block, char type, uint64_t size,
                  struct tarin_member *ret, struct err *err)
{
    const size_t n_link = strnlen(block + AT_LINK, NAME_BYTES);
    enum tarin_kind kind;
    size_t n;

    if (!t->has_name)
        name_of_block(t, block);
    if (!t->has_link) {
        memcpy(t->link, block + AT_LINK, n_link);
        t->link[n_link] = '\0';
    }
    if (t->has_size)
        size = t->size;
    n = strlen(t->name);
    if (n == 0)
        return bad(t, err, "a member has no name");
    switch (type) {
    case '\0':
    case '0':
    case '7': /* contiguous */
        kind = t->name[n - 1] == '/' ? TARIN_OTHER : TARIN_FILE;
        break;
    case '1':
        kind = TARIN_HARDLINK;
        break;
    case '2': /* symbolic link */
    case '3': /* devices */
    case '4':
    case '5': /* folder */
    case '6': /* fifo */
    case 'D': /* GNU: the names of a folder, which are its bytes */
    case 'V': /* GNU: the archive's own name */
        kind = TARIN_OTHER;
        break;
    case 'S':
        return bad(t, err, "sparse files are not allowed");
    default:
        return bad(t, err, "a member is of a kind that is not known");
    }
    if (size > 0 && type >= '1' && type <= '6')
        return bad(t, err, "a link, folder or device is said to have bytes");
    *ret = (struct tarin_member){.kind = kind, .name = t->name, .link = t->link, .size = size};
    t->rest = size;
    t->pad = (BLOCK - size % BLOCK) % BLOCK;
    t->has_name = t->has_link = t->has_size = false;
    return 1;
}

/* Behind the first block of zeros: a second one, then only zeros. */
static int the_end(struct tarin *t, struct err *err)
{
    uint64_t n = 0;
    int rc;
    const char *block = next_block(t, &rc, err);

    if (block == NULL)
        return rc < 0 ? rc : bad(t, err, "the file is cut short: it has half an end mark");
    if (!all_zero(block, BLOCK))
        return bad(t, err, "a block of zeros is in the middle");
    do {
        const void *data = t->at;
        ssize_t got = (ssize_t)t->left;

        if (!all_zero(data, (size_t)got))
            return bad(t, err, "something follows the archive");
        n += (uint64_t)got;
        if (n > DRAIN_MAX)
            return bad(t, err, "too much follows the archive");
        got = unzstd_next(t->in, &data);
        if (got < 0)
            return failed(t, (int)got, err);
        t->at = data;
        t->left = (size_t)got;
    } while (t->left > 0);
    return 0;
}

int tarin_next(struct tarin *t, struct tarin_member *ret, struct err *err)
{
    int rc = skip(t, t->rest + t->pad, err);

    t->rest = t->pad = 0;
    while (rc == 0) {
        const char *block = next_block(t, &rc, err);
        uint64_t size;
        char type;

        if (block == NULL)
            return rc < 0 ? rc : bad(t, err, "the file is cut short: it has no end mark");
        if (block[0] == '\0' && all_zero(block, BLOCK))
            return t->has_name || t->has_link || t->has_size
                       ? bad(t, err, "an extended header is of no member")
                       : the_end(t, err);
        if (!sum_is_right(block))
            return bad(t, err, "no tar archive, or a damaged one");
        type = block[AT_TYPE];
        if (!number(block + AT_SIZE, SIZE_BYTES, &size) || size > SIZE_MAX_)
            return bad(t, err, "a member's size is no number");
        if (type == 'x' || type == 'L' || type == 'K')
            rc = ahead(t, type, size, err);
        else if (type == 'g') /* of the archive, as git writes its commit */
            rc = skip(t, size + (BLOCK - size % BLOCK) % BLOCK, err);
        else
            return member(t, block, type, size, ret, err);
    }
    return rc;
}

int tarin_data(struct tarin *t, void *buf, uint64_t n, struct err *err)
{
    int rc;

    if (n > t->rest)
        return bad(t, err, "more was asked for than the member has");
    rc = take_all(t, buf, n, err);
    t->rest -= n;
    return rc;
}
