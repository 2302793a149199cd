/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive takes the tar apart, of bytes that base/unzstd gives and bounds. It is lenient where an
 * archive must be whole here: its warnings are refusals but for names that are not of the locale's
 * characters, it must have met an end mark, and how much one header may have is bounded.
 */
#include "base/tarin.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tarhead.h"
#include "base/unzstd.h"

#define END_BYTES       1024                  /* two blocks of zeros */
#define DRAIN_MAX       ((uint64_t)1 << 20)   /* zeros behind them: a tape's block */
#define HEADER_MAX      ((uint64_t)16 << 10)  /* of a member: names, attributes, a map of holes */
#define HEADER_READ_MAX ((uint64_t)512 << 10) /* before that is known, in pieces of up to 256 KiB */
#define THROUGH_MAX     ((uint64_t)64 << 20) /* a member is read to its end, a larger one skipped */
#define REACH_MAX       ((uint64_t)4 << 40)  /* of a plain file, which may have any holes */

struct tarin {
    char *path;
    struct unzstd *in;
    struct archive *a;
    struct archive_entry *entry;
    const char *block; /* given last, for what of it is behind the end mark */
    size_t block_bytes;
    char *early; /* of the header, what was in the pieces before this one */
    size_t early_bytes;
    uint64_t given;       /* or passed over, of the archive so far */
    uint64_t header_left; /* that may be given yet */
    uint64_t size, at;    /* of the member, and of it behind the piece */
    const char *piece;    /* what is read and not yet asked for */
    size_t piece_bytes;
    char *name, *link; /* of the member */
    int code;          /* of the first failure to give */
    const char *why;
    bool opened, at_eof, in_member, skips;
};

static int bad(const struct tarin *t, struct err *err, const char *why)
{
    return err_set(err, -EBADMSG, "%s: %s", t->path, why);
}

/* What we, the frame, or libarchive has to say. */
static int failed(const struct tarin *t, struct err *err)
{
    const char *why = archive_error_string(t->a);

    if (t->code < 0 && t->code != -EBADMSG)
        return err_sys(err, t->code, "%s", t->path);
    if (t->code < 0)
        return bad(t, err, t->why != NULL ? t->why : unzstd_why(t->in));
    if (t->at_eof)
        return bad(t, err, "the file is cut short");
    return bad(t, err, why != NULL ? why : "no tar archive, or a damaged one");
}

/* Of the piece that was given last, what belongs to the header that began last and ends before the place end. *n: bytes. */
static const char *header_piece(const struct tarin *t, uint64_t end, size_t *n)
{
    const uint64_t begun = (uint64_t)archive_read_header_position(t->a);
    const uint64_t at = t->given - t->block_bytes;
    const uint64_t from = begun > at ? begun : at;

    *n = (size_t)(from < end ? end - from : 0);
    return *n > 0 ? t->block + (from - at) : NULL;
}

static void add_early(struct tarin *t, const char *piece, size_t n)
{
    t->early = xreallocarray(t->early, t->early_bytes + n, 1);
    memcpy(t->early + t->early_bytes, piece, n);
    t->early_bytes += n;
}

/* Before the piece goes. More than a header may have is not asked for. */
static void keep_early(struct tarin *t)
{
    size_t n;
    const char *piece = header_piece(t, t->given, &n);

    if (t->header_left != UINT64_MAX && n > 0 && t->early_bytes <= HEADER_MAX)
        add_early(t, piece, n);
}

static la_ssize_t on_read(struct archive *a, void *ctx, const void **ret)
{
    struct tarin *t = ctx;
    const void *data = NULL;
    ssize_t n;

    keep_early(t);
    n = t->code < 0 ? t->code : unzstd_next(t->in, &data);
    if (n > 0 && (uint64_t)n > t->header_left) {
        t->why = "a member's header is too large";
        n = -EBADMSG;
    }
    if (n < 0) {
        t->code = (int)n;
        archive_set_error(a, (int)-n, "read failed");
        return -1;
    }
    t->at_eof = n == 0;
    t->header_left -= (uint64_t)n;
    t->given += (uint64_t)n;
    t->block = *ret = n > 0 ? data : "";
    t->block_bytes = (size_t)n;
    return n;
}

/* libarchive asks for 1 GiB at a time, again and again, and knows no failure but 0, when it reads. */
static la_int64_t on_skip(struct archive *a, void *ctx, la_int64_t n)
{
    struct tarin *t = ctx;

    (void)a;
    if (t->code == 0 && t->given + (uint64_t)n > REACH_MAX) {
        t->why = "it is said to have more than 4T";
        t->code = -EBADMSG;
    }
    if (t->code == 0)
        t->code = unzstd_skip(t->in, (uint64_t)n);
    if (t->code < 0)
        return 0;
    t->given += (uint64_t)n;
    t->block_bytes = 0;
    return n;
}

static int set_up(struct tarin *t)
{
    t->a = archive_read_new();
    t->entry = archive_entry_new();
    return t->a == NULL || t->entry == NULL ||
                   archive_read_support_format_tar(t->a) != ARCHIVE_OK ||
                   archive_read_support_filter_none(t->a) != ARCHIVE_OK ||
                   archive_read_set_options(t->a, "tar:!mac-ext,tar:!read_concatenated_archives") !=
                       ARCHIVE_OK
               ? -ENOMEM
               : 0;
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
    if (set_up(t) < 0) {
        tarin_close(t);
        return err_set(err, -ENOMEM, "%s: no memory", path);
    }
    *ret = t;
    return 0;
}

void tarin_close(struct tarin *t)
{
    if (t == NULL)
        return;
    (void)archive_read_free(t->a);
    archive_entry_free(t->entry);
    unzstd_close(t->in);
    free(t->path);
    free(t->name);
    free(t->link);
    free(t->early);
    free(t);
}

/* Bytes of the archive from where the last header began to where libarchive is. */
static uint64_t header_bytes(const struct tarin *t)
{
    return (uint64_t)(archive_filter_bytes(t->a, 0) - archive_read_header_position(t->a));
}

static bool all_zero(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* libarchive ends as well where the file does, and behind half a mark. */
static int the_end(struct tarin *t, struct err *err)
{
    const uint64_t mark = header_bytes(t);
    uint64_t left = t->given - (uint64_t)archive_filter_bytes(t->a, 0), n = 0;

    if (t->code < 0)
        return failed(t, err);
    if (mark > END_BYTES)
        return bad(t, err, "a header is of no member");
    if (mark < END_BYTES && (mark == 0 || t->at_eof))
        return bad(t, err, "the file is cut short: it has no end mark");
    if (mark < END_BYTES)
        return bad(t, err, "a block of zeros is in the middle");
    if (left > t->block_bytes)
        return bad(t, err, "no tar archive, or a damaged one");
    for (const char *p = t->block + t->block_bytes - left;; p = t->block) {
        const void *data;

        if (!all_zero(p, (size_t)left))
            return bad(t, err, "something follows the archive");
        n += left;
        if (n > DRAIN_MAX)
            return bad(t, err, "too much follows the archive");
        if (on_read(t->a, t, &data) < 0)
            return failed(t, err);
        left = t->block_bytes;
        if (left == 0)
            return 0;
    }
}

/* The bytes of such a name are taken as they are. */
static bool is_of_charset(const struct tarin *t)
{
    const char *why = archive_error_string(t->a);

    return why != NULL && strstr(why, "can't be converted from ") != NULL;
}

/* Slashes in a row are one: a header splits a name at any of them, and readers differ in what they make of it. NULL: none. */
static char *squeezed(const char *name)
{
    char *own = name != NULL ? xstrdup(name) : NULL, *to = own;

    for (const char *p = own; p != NULL && *p != '\0'; p++) {
        if (p[0] != '/' || p[1] != '/')
            *to++ = *p;
    }
    if (own != NULL)
        *to = '\0';
    return own;
}

static enum tarin_kind kind_of(struct archive_entry *e, const char *name)
{
    const unsigned type = archive_entry_filetype(e);

    if (type == AE_IFDIR || (type == AE_IFREG && name[strlen(name) - 1] == '/'))
        return TARIN_FOLDER;
    if (type == AE_IFLNK)
        return TARIN_SYMLINK;
    if (type != AE_IFREG && type != 0)
        return TARIN_OTHER;
    return archive_entry_hardlink(e) != NULL ? TARIN_HARDLINK : TARIN_FILE;
}

/* libarchive counts no map of holes that is one piece of the whole size, so it is asked about a larger file. */
static bool is_sparse(struct archive_entry *e, la_int64_t size)
{
    bool any;

    archive_entry_set_size(e, INT64_MAX);
    any = archive_entry_sparse_count(e) > 0;
    archive_entry_set_size(e, size);
    return any;
}

/* The whole header as it is in the archive; NULL when names are as they were told, else why not. */
static const char *header_fault(struct tarin *t)
{
    const uint64_t n = header_bytes(t);
    const uint64_t end = (uint64_t)archive_read_header_position(t->a) + n;
    size_t late;
    const char *piece = header_piece(t, end, &late);

    if (end > t->given || t->early_bytes + late != n)
        return "no tar archive, or a damaged one";
    if (t->early_bytes == 0)
        return tarhead_fault(piece, late);
    if (late > 0)
        add_early(t, piece, late);
    return tarhead_fault(t->early, t->early_bytes);
}

/* 1, or -EBADMSG. */
static int member(struct tarin *t, struct tarin_member *ret, struct err *err)
{
    const la_int64_t size = archive_entry_size(t->entry);
    enum tarin_kind kind;
    const char *why;

    if (header_bytes(t) > HEADER_MAX)
        return bad(t, err, "a member's header is too large");
    free(t->name);
    free(t->link);
    t->name = squeezed(archive_entry_pathname(t->entry));
    t->link = squeezed(archive_entry_hardlink(t->entry));
    if (t->name == NULL || t->name[0] == '\0')
        return bad(t, err, "a member has no name");
    if (strlen(t->name) > TARIN_NAME_MAX || (t->link != NULL && strlen(t->link) > TARIN_NAME_MAX))
        return bad(t, err, "a member's name is too long");
    if (size < 0 || (uint64_t)size > REACH_MAX)
        return bad(t, err, "it is said to have more than 4T");
    kind = kind_of(t->entry, t->name);
    if (is_sparse(t->entry, size))
        return bad(t, err, "sparse files are not allowed");
    why = header_fault(t);
    if (why != NULL)
        return bad(t, err, why);
    if (kind == TARIN_FILE && archive_entry_filetype(t->entry) != AE_IFREG)
        return bad(t, err, "a member is of a kind that is not known");
    if (kind == TARIN_HARDLINK && size > 0)
        return bad(t, err, "a link is said to have bytes");
    t->size = kind == TARIN_FILE ? (uint64_t)size : 0;
    t->skips = kind != TARIN_FILE || (uint64_t)size > THROUGH_MAX;
    t->in_member = true;
    *ret = (struct tarin_member){kind, t->name, kind == TARIN_HARDLINK ? t->link : "", t->size};
    return 1;
}

/*
 * The next bytes of a member: 1, 0 behind the last, or -errno. What libarchive reads, and where it is then, depends on how it is asked where a
 * map of holes is wrong; so there is one way, and no hole.
 */
static int next_piece(struct tarin *t, struct err *err)
{
    const void *data = NULL;
    la_int64_t offset = 0;
    size_t n = 0;
    const int rc = archive_read_data_block(t->a, &data, &n, &offset);

    if (rc == ARCHIVE_EOF)
        return t->at == t->size ? 0 : bad(t, err, "a member holds less than its header says");
    if (rc != ARCHIVE_OK)
        return failed(t, err);
    if (offset < 0 || (uint64_t)offset != t->at)
        return bad(t, err, "sparse files are not allowed");
    if (n > t->size - t->at)
        return bad(t, err, "a member holds more than its header says");
    t->at += n;
    t->piece = data;
    t->piece_bytes = n;
    return 1;
}

static int pass_over(struct tarin *t, struct err *err)
{
    int rc;

    if (t->skips)
        return archive_read_data_skip(t->a) != ARCHIVE_OK ? failed(t, err) : 0;
    while ((rc = next_piece(t, err)) > 0)
        ;
    return rc;
}

int tarin_next(struct tarin *t, struct tarin_member *ret, struct err *err)
{
    int rc = t->in_member ? pass_over(t, err) : 0;

    if (rc < 0)
        return rc;
    t->in_member = false;
    t->size = t->at = t->piece_bytes = 0;
    t->header_left = HEADER_READ_MAX;
    t->early_bytes = 0;
    rc = t->opened ? ARCHIVE_OK : archive_read_open2(t->a, t, NULL, on_read, on_skip, NULL);
    t->opened = true;
    if (rc == ARCHIVE_OK)
        rc = archive_read_next_header2(t->a, t->entry);
    t->header_left = UINT64_MAX;
    if (rc == ARCHIVE_EOF)
        return the_end(t, err);
    if (rc != ARCHIVE_OK && (rc != ARCHIVE_WARN || !is_of_charset(t)))
        return failed(t, err);
    return member(t, ret, err);
}

int tarin_data(struct tarin *t, void *buf, uint64_t n, struct err *err)
{
    uint64_t got = 0;

    if (n > t->size - t->at + t->piece_bytes)
        return bad(t, err, "more was asked for than the member has");
    while (got < n) {
        const size_t left = (size_t)(n - got);
        const size_t part = t->piece_bytes < left ? t->piece_bytes : left;
        int rc;

        if (part == 0) {
            rc = next_piece(t, err);
            if (rc <= 0)
                return rc < 0 ? rc : bad(t, err, "a member holds less than its header says");
            continue;
        }
        memcpy((char *)buf + got, t->piece, part);
        got += part;
        t->piece += part;
        t->piece_bytes -= part;
    }
    return 0;
}
