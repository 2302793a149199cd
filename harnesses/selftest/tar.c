/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed corpora that anybody may have made. The first byte of the input chooses what the rest is:
 * 0 a tar, 1 a tar whose checksums are put right here, so that its fields are reached, 2 a zstd frame,
 * 3 a list of members, of which tarout makes a tar: of that it is known what it has to read as.
 * A tar is to read compressed as it does plain; bits 2 and 3 say in what pieces, bit 4 whether tarout
 * compresses. An archive has the same members whether their bytes are read or passed over, and what
 * tarout writes of its files is taken and reads as they do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/tarin.h"
#include "base/tarout.h"
#include "selftest/check.h"

static const char *const ids[] = {"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", NULL};
static const char *const reach[] = {"accepted",  "refused",  "frame",  "file", "hardlink",
                                    "long_name", "repaired", "listed", NULL};
const struct fz_target fz_target = {"selftest-tar", 512u << 20, ids, reach, NULL};

#define BLOCK        512u
#define AT_SIZE      124u
#define AT_SUM       148u
#define UNPACKED_MAX ((uint64_t)1 << 20)
#define MEMORY_MAX   ((uint64_t)48 << 20) /* the window of 32 MiB, buffers, a heap's slack */
#define LISTED_BYTES (128u << 10)
#define USTAR_NAME   255u /* what a header has room for */

enum how { READ_ALL, READ_SOME, READ_NONE };

/* What a pass over an archive saw. */
struct seen {
    int rc;
    struct err err;
    uint64_t members;    /* hash of kinds, names, links and sizes */
    uint64_t files;      /* hash of the names and bytes of files, by READ_ALL */
    uint64_t room_bytes; /* of blocks of members */
};

static uint8_t member_data[UNPACKED_MAX];

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;

    h = (h ^ n) * 0x100000001b3u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static int file_of(const void *data, size_t n)
{
    int fd = memfd_create("tar", MFD_CLOEXEC);

    if (fd < 0 || file_write_all(fd, data, n) < 0) {
        perror("selftest-tar");
        exit(2);
    }
    return fd;
}

static void path_of(int fd, char ret[32])
{
    (void)snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

static uint64_t address_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (f == NULL || fscanf(f, "%lu", &pages) != 1)
        exit(2);
    (void)fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- reading ---- */
/* A4: what is promised of a member. */
static void check_member(const struct tarin_member *m)
{
    size_t n = strnlen(m->name, TARIN_NAME_MAX + 1), n_link = strnlen(m->link, TARIN_NAME_MAX + 1);

    MUST(m->kind <= TARIN_OTHER, "A4", "kind %d", (int)m->kind);
    MUST(strstr(m->name, "//") == NULL && strstr(m->link, "//") == NULL, "A4",
         "an empty component");
    MUST(n > 0 && n <= TARIN_NAME_MAX && n_link <= TARIN_NAME_MAX, "A4",
         "a name of %zu, a link of %zu bytes", n, n_link);
    MUST(m->kind != TARIN_FILE || m->name[n - 1] != '/', "A4", "a file whose name is a folder's");
    MUST(m->kind == TARIN_FILE || m->size == 0, "A4", "no file, and of %llu bytes",
         (unsigned long long)m->size);
    if (n > USTAR_NAME)
        FZ_REACH(long_name);
    if (m->kind == TARIN_HARDLINK)
        FZ_REACH(hardlink);
}

static void note_member(struct seen *s, enum tarin_kind kind, const char *name, const char *link,
                        uint64_t size)
{
    s->members = mix(s->members, &kind, sizeof(kind));
    s->members = mix(s->members, name, strlen(name));
    s->members = mix(s->members, link, strlen(link));
    s->members = mix(s->members, &size, sizeof(size));
    s->room_bytes += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

static void note_file(struct seen *s, const char *name, const void *data, uint64_t n)
{
    s->files = mix(mix(s->files, name, strlen(name)), data, (size_t)n);
}

/* Its bytes, into out as well unless NULL. */
static int take_file(struct tarin *t, const struct tarin_member *m, struct tarout *out,
                     struct seen *s)
{
    struct err err = {0};
    int rc = tarin_data(t, member_data, m->size, &s->err);

    if (rc < 0)
        return rc;
    FZ_REACH(file);
    note_file(s, m->name, member_data, m->size);
    if (out != NULL)
        MUST(tarout_add(out, m->name, 0644, member_data, (size_t)m->size, &err) == 0, "A3",
             "a file that was read is not written: %.200s", err.msg);
    MUST(tarin_data(t, member_data, 1, &err) < 0, "A4", "a member has more bytes than it says");
    return 0;
}

/* The first half only is read of a member by READ_SOME. */
static int take_member(struct tarin *t, const struct tarin_member *m, enum how how,
                       struct tarout *out, struct seen *s)
{
    check_member(m);
    note_member(s, m->kind, m->name, m->link, m->size);
    if (how == READ_NONE || m->kind != TARIN_FILE || m->size > UNPACKED_MAX)
        return 0;
    return how == READ_ALL ? take_file(t, m, out, s)
                           : tarin_data(t, member_data, m->size / 2, &s->err);
}

static void check_refusal(const struct seen *s, const struct tarin_member *m)
{
    static const struct tarin_member blank;

    MUST(s->err.code == s->rc && s->err.msg[0] != '\0' && is_text(s->err.msg, sizeof(s->err.msg)),
         "A5", "refused by %d: %.200s", s->rc, s->err.msg);
    MUST(memcmp(m, &blank, sizeof(*m)) == 0, "A5", "what is refused changed the member");
}

static void read_tar(const char *path, bool zst, uint64_t max_bytes, enum how how,
                     struct tarout *out, struct seen *ret)
{
    uint64_t had = address_bytes(), has;
    struct tarin_member m;
    struct tarin *t;
    int rc;

    memset(ret, 0, sizeof(*ret));
    rc = tarin_open(path, zst, max_bytes, &t, &ret->err);
    MUST(rc == 0, "A5", "a plain file does not open: %.200s", ret->err.msg);
    do {
        memset(&m, 0, sizeof(m));
        ret->rc = tarin_next(t, &m, &ret->err);
        if (ret->rc < 0)
            check_refusal(ret, &m);
        rc = ret->rc == 1 ? take_member(t, &m, how, out, ret) : -1;
    } while (rc == 0);
    if (ret->rc == 1)
        ret->rc = rc; /* by take_member */
    has = address_bytes();
    MUST(has < had + MEMORY_MAX, "A6", "it takes %llu bytes",
         (unsigned long long)(has > had ? has - had : 0));
    tarin_close(t);
}

/* ---- what must hold ---- */
static void check_same(const struct seen *a, const struct seen *b, const char *id, const char *what)
{
    MUST(a->rc == b->rc, id, "%s: %d %.200s, then %d %.200s", what, a->rc, a->err.msg, b->rc,
         b->err.msg);
    MUST(a->members == b->members, id, "%s: other members", what);
}

/* A2: in a frame, step bytes at a time, it reads as it does plain. */
static void check_packed(const uint8_t *d, size_t n, size_t step, const struct seen *plain)
{
    size_t room = ZSTD_compressBound(n) + (n / step + 2) * 64, at = 0, left;
    ZSTD_outBuffer o = {xmalloc(room), room, 0};
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    struct seen packed;
    char path[32];
    int fd;

    do {
        ZSTD_inBuffer in = {d + at, n - at < step ? n - at : step, 0};

        at += in.size;
        left = ZSTD_compressStream2(zstd, &o, &in, at == n ? ZSTD_e_end : ZSTD_e_flush);
        if (ZSTD_isError(left) || left != 0)
            exit(2);
    } while (at < n);
    fd = file_of(o.dst, o.pos);
    path_of(fd, path);
    read_tar(path, true, n, READ_ALL, NULL, &packed);
    check_same(plain, &packed, "A2", "compressed");
    MUST(plain->files == packed.files, "A2", "compressed: other bytes");
    if (plain->rc == 0) {
        read_tar(path, true, n - 1, READ_NONE, NULL, &packed);
        MUST(packed.rc == -EBADMSG, "A7", "more than it may unpack to is taken");
    }
    (void)close(fd);
    (void)ZSTD_freeCCtx(zstd);
    free(o.dst);
}

/* A3: of the files of an archive; their names and bytes make the same hash. */
static void check_written(int fd, int level, const struct seen *first)
{
    struct seen again;
    char path[32];

    path_of(fd, path);
    read_tar(path, level > 0, 4 * UNPACKED_MAX, READ_ALL, NULL, &again);
    MUST(again.rc == 0, "A3", "what was written of it is refused: %.200s", again.err.msg);
    MUST(again.files == first->files, "A3", "what was written of it reads otherwise");
}

static void check_archive(const char *path, bool zst, int level, struct seen *ret)
{
    int fd = file_of("", 0);
    struct err err = {0};
    struct tarout *out;
    struct seen again;

    MUST(tarout_open(fd, level, &out, &err) == 0, "A3", "tarout: %.200s", err.msg);
    read_tar(path, zst, UNPACKED_MAX, READ_ALL, out, ret);
    MUST(tarout_finish(out, &err) == 0, "A3", "tarout: %.200s", err.msg);
    tarout_free(out);
    check_written(fd, level, ret);
    (void)close(fd);
    for (enum how how = READ_SOME; how <= READ_NONE; how++) {
        read_tar(path, zst, UNPACKED_MAX, how, NULL, &again);
        check_same(ret, &again, "A1", how == READ_SOME ? "read in part" : "passed over");
    }
}

/* ---- the input ---- */
/* Of a header's field of digits only; what is none has no bytes. */
static uint64_t digits(const uint8_t *p)
{
    uint64_t v = 0;

    for (size_t i = 0; i < 12 && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (uint64_t)(p[i] - '0');
    return v;
}

static void sum_put(uint8_t *h)
{
    unsigned sum = 0;

    memset(h + AT_SUM, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += h[i];
    (void)snprintf((char *)h + AT_SUM, 8, "%06o", sum);
}

/* Each block where a header is due gets its sum, until one is zeros. */
static void repair(uint8_t *d, size_t n)
{
    static const uint8_t zeros[BLOCK];

    for (size_t at = 0; n - at >= BLOCK && memcmp(d + at, zeros, BLOCK) != 0;) {
        uint64_t room = BLOCK + (digits(d + at + AT_SIZE) + BLOCK - 1) / BLOCK * BLOCK;

        sum_put(d + at);
        if (room > n - at)
            return;
        at += (size_t)room;
    }
}

/* A tar by tarout, of the list: a mode, length of the name (2), that of what is repeated for it, of the bytes; both. */
static uint8_t *list_make(const uint8_t *d, size_t n, struct seen *want, size_t *ret_n)
{
    int fd = file_of("", 0);
    struct err err = {0};
    struct tarout *out;
    uint8_t *tar;

    memset(want, 0, sizeof(*want));
    MUST(tarout_open(fd, 0, &out, &err) == 0, "A8", "tarout: %.200s", err.msg);
    while (n > 5 && lseek(fd, 0, SEEK_CUR) < (off_t)LISTED_BYTES) {
        size_t n_name = 1 + (d[1] | (size_t)d[2] << 8) % TARIN_NAME_MAX, n_part = d[3], n_data;
        char name[TARIN_NAME_MAX + 1];
        const uint8_t *part = d + 5;

        n_part = n_part < n - 5 ? n_part : n - 5;
        n_data = d[4] < n - 5 - n_part ? d[4] : n - 5 - n_part;
        for (size_t i = 0; i < n_name; i++)
            name[i] = n_part == 0 || part[i % n_part] == '\0' ? 'n' : (char)part[i % n_part];
        name[n_name] = '\0';
        /* What tarout does not take: an empty component, and a folder's name. */
        for (size_t i = 0; i < n_name; i++)
            name[i] = name[i] == '/' && (i + 1 == n_name || name[i + 1] == '/') ? 'n' : name[i];
        MUST(tarout_add(out, name, d[0], part + n_part, n_data, &err) == 0, "A8",
             "a file of a list is not written: %.200s", err.msg);
        note_member(want, TARIN_FILE, name, "", n_data);
        note_file(want, name, part + n_part, n_data);
        d += 5 + n_part + n_data;
        n -= 5 + n_part + n_data;
    }
    MUST(tarout_finish(out, &err) == 0, "A8", "tarout: %.200s", err.msg);
    tarout_free(out);
    *ret_n = (size_t)lseek(fd, 0, SEEK_END);
    tar = xmalloc(*ret_n + 1);
    if (pread(fd, tar, *ret_n, 0) != (ssize_t)*ret_n)
        exit(2);
    (void)close(fd);
    return tar;
}

int fz_one(const uint8_t *d, size_t n)
{
    static const size_t steps[] = {FZ_INPUT_MAX, 1024, 777, 100};
    uint8_t how = n > 0 ? d[0] : 0, *tar;
    bool zst = (how & 3) == 2;
    struct seen first, want;
    char path[32];
    int fd;

    d += n > 0;
    n -= n > 0;
    if ((how & 3) == 3) {
        FZ_REACH(listed);
        tar = list_make(d, n, &want, &n);
    } else {
        tar = xmalloc(n + 1);
        memcpy(tar, d, n);
    }
    if ((how & 3) == 1) {
        FZ_REACH(repaired);
        repair(tar, n);
    }
    fd = file_of(tar, n);
    path_of(fd, path);
    check_archive(path, zst, how >> 4 & 1, &first);
    if (zst)
        FZ_REACH(frame);
    else
        check_packed(tar, n, steps[how >> 2 & 3], &first);
    if ((how & 3) == 3)
        MUST(first.rc == 0 && first.members == want.members && first.files == want.files, "A8",
             "a list reads otherwise: %.200s", first.err.msg);
    if (first.rc == 0) {
        FZ_REACH(accepted);
        MUST(first.room_bytes + 2 * BLOCK <= (zst ? UNPACKED_MAX : n), "A7",
             "members of %llu bytes and an end in %zu", (unsigned long long)first.room_bytes, n);
    } else {
        FZ_REACH(refused);
    }
    fz_trace_u64((uint64_t)first.rc);
    fz_trace_u64(first.members);
    (void)close(fd);
    free(tar);
    return 0;
}
