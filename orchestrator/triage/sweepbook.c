/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of fixed size with a check of their own: a fuzz-triage that is killed leaves at most one that is cut, which is
 * written over. Two open-addressed tables hold the keys while the job runs.
 */
#include "triage/sweepbook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"

#define TABLE_START  1024
#define READ_RECORDS 4096
#define RECORDS_MAX  (UINT64_C(1) << 26)
#define CHECK_SEED   UINT64_C(0x66757a7a73776570)

/* Of an entry; or, with content.high FAULT_KEPT or FAULT_NOT_KEPT and low 0, of one that failed, key being what it showed. */
#define FAULT_KEPT     UINT64_MAX
#define FAULT_NOT_KEPT (UINT64_MAX - 1)

struct record {
    uint64_t key;
    struct sweepbook_content content;
    uint64_t check; /* of the bytes before it */
};
_Static_assert(sizeof(struct record) == 32, "records of a file that outlives us");

/* Numbers but 0, which is no hash that matters. */
struct table {
    struct sweepbook_content *v;
    size_t n, room;
};

struct sweepbook {
    int fd;
    off_t end; /* of whole records */
    struct table files, contents;
    struct {
        uint64_t key;
        size_t n;
    } * faults; /* as many as there are kinds of failures: few */
    size_t n_faults, failed, not_kept;
    struct record *added;
    size_t n_added;
};

static struct sweepbook_content *find(const struct table *t, struct sweepbook_content c)
{
    size_t i = (size_t)c.low & (t->room - 1);

    while ((t->v[i].high != 0 || t->v[i].low != 0) &&
           (t->v[i].high != c.high || t->v[i].low != c.low))
        i = (i + 1) & (t->room - 1);
    return &t->v[i];
}

static bool has(const struct table *t, struct sweepbook_content c)
{
    const struct sweepbook_content *at = t->room > 0 ? find(t, c) : NULL;

    return at != NULL && (at->high != 0 || at->low != 0);
}

static void grow(struct table *t)
{
    struct table old = *t;

    t->room = old.room > 0 ? 2 * old.room : TABLE_START;
    t->v = xcalloc(t->room, sizeof(*t->v));
    for (size_t i = 0; i < old.room; i++) {
        if (old.v[i].high != 0 || old.v[i].low != 0)
            *find(t, old.v[i]) = old.v[i];
    }
    free(old.v);
}

static void insert(struct table *t, struct sweepbook_content c)
{
    if (2 * t->n >= t->room)
        grow(t);
    if (!has(t, c)) {
        *find(t, c) = c;
        t->n++;
    }
}

static uint64_t check_of(const struct record *r)
{
    return XXH3_64bits_withSeed(r, offsetof(struct record, check), CHECK_SEED);
}

static struct sweepbook_content of_key(uint64_t key)
{
    return (struct sweepbook_content){.high = 1, .low = key};
}

static size_t *fault_count(const struct sweepbook *b, uint64_t key)
{
    for (size_t i = 0; i < b->n_faults; i++) {
        if (b->faults[i].key == key)
            return &b->faults[i].n;
    }
    return NULL;
}

static void learn_fault(struct sweepbook *b, uint64_t key, bool kept)
{
    size_t *n = fault_count(b, key);

    b->failed++;
    b->not_kept += !kept;
    if (n != NULL) {
        (*n)++;
        return;
    }
    b->faults = xreallocarray(b->faults, b->n_faults + 1, sizeof(*b->faults));
    b->faults[b->n_faults].key = key;
    b->faults[b->n_faults++].n = 1;
}

static void learn(struct sweepbook *b, const struct record *r)
{
    if (r->content.low == 0 && r->content.high >= FAULT_NOT_KEPT) {
        learn_fault(b, r->key, r->content.high == FAULT_KEPT);
        return;
    }
    insert(&b->files, of_key(r->key));
    insert(&b->contents, r->content);
}

static int load(struct sweepbook *b)
{
    cleanup_free struct record *buf = xcalloc(READ_RECORDS, sizeof(*buf));
    uint64_t n_read = 0;

    for (;;) {
        ssize_t n = pread(b->fd, buf, READ_RECORDS * sizeof(*buf), b->end);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if ((size_t)n < sizeof(*buf))
            return 0;
        for (size_t i = 0; i < (size_t)n / sizeof(*buf); i++) {
            if (buf[i].check == check_of(&buf[i]))
                learn(b, &buf[i]);
        }
        b->end += n - n % (ssize_t)sizeof(*buf);
        n_read += (size_t)n / sizeof(*buf);
        if (n_read > RECORDS_MAX)
            return -EFBIG;
    }
}

int sweepbook_open(const char *top, const char *path, struct sweepbook **ret, struct err *err)
{
    const char *name = NULL;
    cleanup_free char *parent = path_dirname(path);
    cleanup_close int dir = path_open_below(top, parent, 0700);
    struct sweepbook *b;
    struct stat st;
    int r = 0;

    name = strrchr(path, '/');
    if (dir < 0 || name == NULL)
        return err_sys(err, dir < 0 ? dir : -EINVAL, "%s", path);
    b = xcalloc(1, sizeof(*b));
    b->fd = openat(dir, name + 1, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (b->fd < 0 || fstat(b->fd, &st) < 0)
        r = -errno;
    else if (!S_ISREG(st.st_mode))
        r = -EINVAL;
    else
        r = load(b);
    if (r < 0) {
        sweepbook_close(b);
        return err_sys(err, r, "%s", path);
    }
    *ret = b;
    return 0;
}

void sweepbook_close(struct sweepbook *b)
{
    if (b == NULL)
        return;
    if (b->fd >= 0)
        (void)close(b->fd);
    free(b->files.v);
    free(b->contents.v);
    free(b->added);
    free(b->faults);
    free(b);
}

uint64_t sweepbook_key(const struct sweepbook_file *f)
{
    XXH3_state_t *st = XXH3_createState();
    uint64_t key;

    if (st == NULL)
        abort();
    (void)XXH3_64bits_reset(st);
    (void)XXH3_64bits_update(st, f->instance, strlen(f->instance) + 1);
    (void)XXH3_64bits_update(st, f->name, strlen(f->name) + 1);
    (void)XXH3_64bits_update(st, &f->size_bytes, sizeof(f->size_bytes));
    (void)XXH3_64bits_update(st, &f->mtime_ns, sizeof(f->mtime_ns));
    key = XXH3_64bits_digest(st);
    (void)XXH3_freeState(st);
    return key;
}

bool sweepbook_has_file(const struct sweepbook *b, uint64_t key)
{
    return has(&b->files, of_key(key));
}

struct sweepbook_content sweepbook_content(const void *data, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(data, size);

    return (struct sweepbook_content){.high = h.high64, .low = h.low64};
}

bool sweepbook_has_content(const struct sweepbook *b, struct sweepbook_content content)
{
    return has(&b->contents, content);
}

static void add_record(struct sweepbook *b, uint64_t key, struct sweepbook_content content)
{
    struct record r = {.key = key, .content = content};

    r.check = check_of(&r);
    learn(b, &r);
    if ((b->n_added & (b->n_added - 1)) == 0)
        b->added = xreallocarray(b->added, b->n_added > 0 ? 2 * b->n_added : 1, sizeof(r));
    b->added[b->n_added++] = r;
}

void sweepbook_add(struct sweepbook *b, uint64_t key, struct sweepbook_content content)
{
    add_record(b, key, content);
}

static uint64_t key_of(const char *signature)
{
    return XXH3_64bits(signature, strlen(signature));
}

size_t sweepbook_alike(const struct sweepbook *b, const char *signature)
{
    const size_t *n = fault_count(b, key_of(signature));

    return n != NULL ? *n : 0;
}

void sweepbook_add_fault(struct sweepbook *b, const char *signature, bool kept)
{
    add_record(b, key_of(signature),
               (struct sweepbook_content){.high = kept ? FAULT_KEPT : FAULT_NOT_KEPT});
}

void sweepbook_faults(const struct sweepbook *b, size_t *ret_failed, size_t *ret_not_kept)
{
    *ret_failed = b->failed;
    *ret_not_kept = b->not_kept;
}

int sweepbook_flush(struct sweepbook *b)
{
    const char *p = (const char *)b->added;
    size_t left = b->n_added * sizeof(*b->added);
    off_t at = b->end;

    while (left > 0) {
        ssize_t n = pwrite(b->fd, p, left, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        at += n;
        left -= (size_t)n;
    }
    b->end = at;
    b->n_added = 0;
    return 0;
}

size_t sweepbook_contents(const struct sweepbook *b)
{
    return b->contents.n;
}
