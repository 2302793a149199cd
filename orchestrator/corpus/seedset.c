/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two names change when a seed is added, its own and README.txt's, and no call changes two. So the order is: the
 * bytes under a dot name, the record, the rename. The record decides: with it the addition is finished by
 * whoever opens the folder next, without it the bytes go.
 */
#include "corpus/seedset.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/path.h"

#define STAGED      ".promote-"
#define RECORDS_MAX (16 << 20)
#define FIELDS      7

static const char heading[] =
    "Seeds beside the generated ones. `fuzzctl corpus promote` adds them and these lines:\n"
    "name, sha256, date, campaign, run, instance, file it came from.\n\n";

struct entry {
    char *name;
    char sha256[65];
};

struct seedset {
    int fd;
    char *dir;
    struct entry *seeds;
    size_t n;
    char *records; /* README.txt as it is, "" when there is none */
    size_t records_size;
};

/* A record's name and hash; false for any other line. */
static bool record_split(const char *line, size_t n, char name[256], char sha256[65])
{
    const char *tab = memchr(line, '\t', n);
    size_t tabs = 0;

    for (size_t i = 0; i < n; i++)
        tabs += line[i] == '\t';
    if (tab == NULL || tabs != FIELDS - 1 || tab - line > 255 || n - (size_t)(tab - line) < 66 ||
        tab[65] != '\t')
        return false;
    memcpy(name, line, (size_t)(tab - line));
    name[tab - line] = '\0';
    memcpy(sha256, tab + 1, 64);
    sha256[64] = '\0';
    return hash_hex_ok(sha256) && path_component_ok(name);
}

static bool recorded(const struct seedset *s, const char *name, const char *sha256)
{
    const char *p = s->records, *end = s->records + s->records_size;

    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *stop = nl != NULL ? nl : end;
        char have[256], hex[65];

        if (record_split(p, (size_t)(stop - p), have, hex) && strcmp(have, name) == 0 &&
            strcmp(hex, sha256) == 0)
            return true;
        p = stop + 1;
    }
    return false;
}

static void remember(struct seedset *s, const char *name, const char *sha256)
{
    s->seeds = xreallocarray(s->seeds, s->n + 1, sizeof(*s->seeds));
    s->seeds[s->n].name = xstrdup(name);
    memcpy(s->seeds[s->n].sha256, sha256, 65);
    s->n++;
}

/* What an addition that was cut off left: finished when it is recorded, else taken back. */
static int settle(struct seedset *s, const char *staged, struct err *err)
{
    const char *name = staged + strlen(STAGED);
    char sha256[65];
    int r = file_sha256(s->fd, staged, SEEDSET_SEED_MAX, sha256, NULL);

    if (r == 0 && recorded(s, name, sha256)) {
        if (renameat2(s->fd, staged, s->fd, name, RENAME_NOREPLACE) == 0) {
            remember(s, name, sha256);
            return 0;
        }
        if (errno != EEXIST)
            return err_sys(err, -errno, "%s/%s", s->dir, staged);
    }
    if (unlinkat(s->fd, staged, 0) < 0 && errno != ENOENT)
        return err_sys(err, -errno, "%s/%s", s->dir, staged);
    return 0;
}

static int take_entry(struct seedset *s, const char *name, struct strv *staged, struct err *err)
{
    char sha256[65];
    struct stat st;
    int r;

    if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        strcmp(name, SEEDSET_RECORDS) == 0)
        return 0;
    if (strncmp(name, STAGED, strlen(STAGED)) == 0 ||
        strncmp(name, SEEDSET_RECORDS ".tmp-", strlen(SEEDSET_RECORDS ".tmp-")) == 0) {
        strv_add(staged, name);
        return 0;
    }
    if (s->n == SEEDSET_FILES_MAX)
        return err_set(err, -E2BIG, "%s holds more than %d files", s->dir, SEEDSET_FILES_MAX);
    r = file_sha256(s->fd, name, UINT64_MAX, sha256, NULL);
    if (r < 0)
        return err_sys(err, r, "%s/%s", s->dir, name);
    remember(s, name, sha256);
    return 0;
}

static int load(struct seedset *s, struct err *err)
{
    int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct strv staged = {0};
    const struct dirent *de;
    int r = file_read(s->fd, SEEDSET_RECORDS, RECORDS_MAX, &s->records, &s->records_size);

    if (r == -ENOENT) {
        s->records = xstrdup("");
        r = 0;
    }
    if (r < 0)
        return err_sys(err, r, "%s/" SEEDSET_RECORDS, s->dir);
    if (dir == NULL)
        return err_sys(err, -errno, "%s", s->dir);
    while (r == 0 && (errno = 0, de = readdir(dir)) != NULL)
        r = take_entry(s, de->d_name, &staged, err);
    if (r == 0 && errno != 0)
        r = err_sys(err, -errno, "%s", s->dir);
    for (size_t i = 0; r == 0 && i < staged.n; i++)
        r = settle(s, staged.v[i], err);
    strv_clear(&staged);
    return r;
}

int seedset_open(const char *dir, struct seedset **ret, struct err *err)
{
    struct seedset *s = xcalloc(1, sizeof(*s));
    int r = 0;

    s->dir = xstrdup(dir);
    s->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->fd < 0)
        r = err_sys(err, -errno, "%s", dir);
    else if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
        r = errno == EWOULDBLOCK ? err_set(err, -EAGAIN, "%s: somebody else adds seeds now", dir)
                                 : err_sys(err, -errno, "%s", dir);
    if (r == 0)
        r = load(s, err);
    if (r < 0)
        seedset_close(s);
    else
        *ret = s;
    return r;
}

void seedset_close(struct seedset *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->seeds[i].name);
    free(s->seeds);
    free(s->records);
    free(s->dir);
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s);
}

const char *seedset_find(const struct seedset *s, const char *sha256)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->seeds[i].sha256, sha256) == 0)
            return s->seeds[i].name;
    }
    return NULL;
}

/* One more than the highest number that a seed's name begins with. */
static unsigned next_number(const struct seedset *s)
{
    unsigned next = 0;

    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->seeds[i].name;
        unsigned n = 0;
        size_t k = 0;

        for (; k < 6 && isdigit((unsigned char)name[k]); k++)
            n = 10 * n + (unsigned)(name[k] - '0');
        if (k >= 3 && name[k] == '-' && n >= next)
            next = n + 1;
    }
    return next;
}

/* A field of a record: no tab, no line end, never empty. Caller frees. */
static char *field(const char *text)
{
    if (text == NULL || text[0] == '\0')
        return xstrdup("-");
    size_t size = 4 * strlen(text) + 1;
    char *safe = xmalloc(size);
    return text_printable(safe, size, text);
}

/* README.txt with one record more. Caller frees. */
static char *records_with(const struct seedset *s, const char *name, const char *sha256,
                          const struct seedset_origin *o)
{
    cleanup_free char *campaign = field(o->campaign), *run = field(o->run);
    cleanup_free char *instance = field(o->instance), *file = field(o->file);
    bool ends = s->records_size == 0 || s->records[s->records_size - 1] == '\n';
    char date[32];

    return xasprintf("%s%s%s%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s->records_size == 0 ? heading : "",
                     s->records, ends ? "" : "\n", name, sha256,
                     clock_iso8601(date, sizeof(date), clock_wall_ms()), campaign, run, instance,
                     file);
}

static int stage(const struct seedset *s, const char *staged, const void *data, size_t size)
{
    int fd = openat(s->fd, staged, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    int r = fd < 0 ? -errno : file_write_all(fd, data, size);

    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r < 0 && fd >= 0)
        (void)unlinkat(s->fd, staged, 0);
    return r;
}

/* README.txt as it was before. */
static int records_restore(const struct seedset *s)
{
    if (s->records_size > 0)
        return file_write_atomic(s->fd, SEEDSET_RECORDS, s->records, s->records_size, 0644);
    return unlinkat(s->fd, SEEDSET_RECORDS, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int seedset_add(struct seedset *s, const void *data, size_t size, const char *slug,
                const struct seedset_origin *origin, char **ret_name, struct err *err)
{
    cleanup_free char *name = xasprintf("%03u-%.64s", next_number(s), slug);
    cleanup_free char *staged = xasprintf(STAGED "%s", name);
    char sha256[65];
    int r;

    if (size > SEEDSET_SEED_MAX)
        return err_set(err, -EFBIG, "%zu bytes; afl-fuzz takes no testcase over %d", size,
                       SEEDSET_SEED_MAX);
    hash_sha256_hex(data, size, sha256);
    if (seedset_find(s, sha256) != NULL)
        return err_set(err, -EEXIST, "the same bytes are %s", seedset_find(s, sha256));
    cleanup_free char *records = records_with(s, name, sha256, origin);
    r = stage(s, staged, data, size);
    if (r < 0)
        return err_sys(err, r, "%s/%s", s->dir, name);
    r = file_write_atomic(s->fd, SEEDSET_RECORDS, records, strlen(records), 0644);
    if (r == 0 && renameat2(s->fd, staged, s->fd, name, RENAME_NOREPLACE) < 0)
        r = -errno;
    if (r < 0) {
        /* While the record stands the bytes stay, too: then it is finished later. */
        if (records_restore(s) == 0)
            (void)unlinkat(s->fd, staged, 0);
        return err_sys(err, r, "%s/%s", s->dir, name);
    }
    (void)fsync(s->fd); /* cut off before it, the next seedset_open finishes */
    remember(s, name, sha256);
    free(s->records);
    s->records_size = strlen(records);
    s->records = steal_ptr(&records);
    *ret_name = steal_ptr(&name);
    return 0;
}
