/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking in what an instance has found. The order is the invariant: bytes to
 * store/, fsync of files and folders, then the rows in one transaction, then the
 * caller is told. A file already known by name, size, mtime and inode is not read;
 * these are a hint and no part of what it is known by.
 */
#include "store/artifact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "store/blob.h"
#include "store/folder.h"
#include "store/stmt.h"

struct scan {
    struct db *db;
    const char *state_dir;
    const struct artifact_source *src;
    struct blob_batch blobs;
    bool began; /* a transaction is open */
    int n_read; /* bounds a call also when what was read is known already */
    size_t n_seen;
    struct artifact_seen seen[ARTIFACT_BATCH];
    sqlite3_stmt *known, *same, *moved, *content, *blob, *insert, *fill, *drop;
};

/* What the index has of a file. */
struct known {
    int64_t id;
    bool saved;
    int code;
    bool here; /* its folder is still that of the row */
};

/* The file may also lie in another folder by now; the row of its own folder comes first. */
#define KNOWN_COLUMNS                                                                              \
    "SELECT id, sha256, code, folder FROM occurrences"                                             \
    " WHERE run = ?1 AND target = ?2 AND instance = ?3 AND kind = ?4 AND name = ?5"
#define HERE_FIRST " ORDER BY folder = ?6 DESC, sha256 IS NULL, id"

static int scan_prepare(struct scan *s, struct err *err)
{
    const struct {
        sqlite3_stmt **st;
        const char *sql;
    } all[] = {
        /* By what a scan sees without reading. */
        {&s->known, KNOWN_COLUMNS " AND mtime_ns = ?7 AND size_bytes = ?8 AND ino = ?9" HERE_FIRST},
        /* By identity. */
        {&s->same, KNOWN_COLUMNS " AND ifnull(sha256, '') = ifnull(?7, '')" HERE_FIRST},
        /* One that lies there already stays that one. */
        {&s->moved, "UPDATE OR IGNORE occurrences SET folder = ?2, ino = ?3, mtime_ns = ?4,"
                    " size_bytes = ?5 WHERE id = ?1"},
        {&s->drop, "DELETE FROM occurrences WHERE id = ?1"},
        {&s->content, "SELECT 1 FROM occurrences WHERE run = ?1 AND target = ?2 AND sha256 = ?3"
                      " LIMIT 1"},
        {&s->blob, "INSERT INTO blobs (sha256, size_bytes, saved_at_ms) VALUES (?1, ?2, ?3)"
                   " ON CONFLICT (sha256) DO NOTHING"},
        {&s->insert, "INSERT INTO occurrences (run, target, instance, kind, name, mtime_ns,"
                     " size_bytes, ino, folder, sha256, code, seen_at_ms)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"},
        {&s->fill, "UPDATE occurrences SET sha256 = ?2, code = 0, size_bytes = ?3, folder = ?4,"
                   " ino = ?5, mtime_ns = ?6 WHERE id = ?1"},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
        r = stmt_open(s->db, all[i].sql, all[i].st, err);
    return r;
}

static void scan_release(struct scan *s)
{
    sqlite3_stmt *all[] = {s->known, s->same,   s->moved, s->content,
                           s->blob,  s->insert, s->fill,  s->drop};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        (void)sqlite3_finalize(all[i]);
    blob_batch_close(&s->blobs);
}

static int scan_begin(struct scan *s, struct err *err)
{
    int r;

    if (s->began)
        return 0;
    if ((r = db_begin(s->db, err)) < 0)
        return r;
    s->began = true;
    return 0;
}

static void bind_name(const struct scan *s, sqlite3_stmt *st, const struct folder_file *f)
{
    stmt_text(st, 1, s->src->run);
    stmt_text(st, 2, s->src->target);
    stmt_text(st, 3, s->src->instance);
    stmt_text(st, 4, artifact_kind_name(f->kind));
    stmt_name(st, 5, f->name);
}

/* The row that is the file's: of its folder, or of one that AFL++ has renamed since. 1, 0 none, or -errno. */
static int first_of(struct scan *s, sqlite3_stmt *st, const struct folder_file *f,
                    struct known *ret, struct err *err)
{
    int r;

    while ((r = stmt_step(s->db, st, err)) == 1) {
        cleanup_free char *folder = stmt_dup(st, 3);
        cleanup_free char *sha256 = stmt_dup(st, 1);
        bool here = folder != NULL && strcmp(folder, f->folder) == 0;

        if (!here && folder != NULL && folder_has_twin(f, folder, sha256))
            continue; /* that row has a file of its own */
        *ret = (struct known){.id = stmt_col(st, 0),
                              .saved = sha256 != NULL,
                              .code = (int)stmt_col(st, 2),
                              .here = here};
        break;
    }
    (void)sqlite3_reset(st);
    return r;
}

static int find_known(struct scan *s, const struct folder_file *f, struct known *ret,
                      struct err *err)
{
    bind_name(s, s->known, f);
    stmt_name(s->known, 6, f->folder);
    stmt_int(s->known, 7, folder_mtime_ns(&f->sb));
    stmt_int(s->known, 8, f->sb.st_size);
    stmt_int(s->known, 9, (int64_t)f->sb.st_ino);
    return first_of(s, s->known, f, ret, err);
}

/* The occurrence of that identity; sha256 NULL for one without bytes. */
static int find_same(struct scan *s, const struct folder_file *f, const char *sha256,
                     struct known *ret, struct err *err)
{
    bind_name(s, s->same, f);
    stmt_name(s->same, 6, f->folder);
    stmt_text(s->same, 7, sha256);
    return first_of(s, s->same, f, ret, err);
}

/* The row is right but for where the file lies and what stat says: a renamed folder, or a copy of it. */
static int put_moved(struct scan *s, const struct folder_file *f, int64_t id, const struct stat *sb,
                     struct err *err)
{
    int r = scan_begin(s, err);

    if (r < 0)
        return r;
    stmt_int(s->moved, 1, id);
    stmt_name(s->moved, 2, f->folder);
    stmt_int(s->moved, 3, (int64_t)sb->st_ino);
    stmt_int(s->moved, 4, folder_mtime_ns(sb));
    stmt_int(s->moved, 5, sb->st_size);
    return stmt_run(s->db, s->moved, err);
}

/* A row without bytes that the file had before it had these. */
static int drop_bare(struct scan *s, int64_t id, struct err *err)
{
    int r = scan_begin(s, err);

    if (r < 0)
        return r;
    stmt_int(s->drop, 1, id);
    return stmt_run(s->db, s->drop, err);
}

static int is_new_content(struct scan *s, const char *sha256, bool *ret, struct err *err)
{
    int r;

    stmt_text(s->content, 1, s->src->run);
    stmt_text(s->content, 2, s->src->target);
    stmt_text(s->content, 3, sha256);
    r = stmt_step(s->db, s->content, err);
    (void)sqlite3_reset(s->content);
    *ret = r == 0;
    return r < 0 ? r : 0;
}

static int put_row(struct scan *s, const struct folder_file *f, const struct stat *sb,
                   const char *sha256, int code, int64_t fill_id, struct err *err)
{
    int64_t now = clock_wall_ms(), mtime_ms = folder_mtime_ns(sb) / 1000000;
    int r;

    if (sha256 != NULL) {
        stmt_text(s->blob, 1, sha256);
        stmt_int(s->blob, 2, sb->st_size);
        stmt_int(s->blob, 3, now);
        if ((r = stmt_run(s->db, s->blob, err)) < 0)
            return r;
    }
    if (fill_id > 0) {
        stmt_int(s->fill, 1, fill_id);
        stmt_text(s->fill, 2, sha256);
        stmt_int(s->fill, 3, sb->st_size);
        stmt_name(s->fill, 4, f->folder);
        stmt_int(s->fill, 5, (int64_t)sb->st_ino);
        stmt_int(s->fill, 6, folder_mtime_ns(sb));
        return stmt_run(s->db, s->fill, err);
    }
    bind_name(s, s->insert, f);
    stmt_int(s->insert, 6, folder_mtime_ns(sb));
    stmt_int(s->insert, 7, sb->st_size);
    stmt_int(s->insert, 8, (int64_t)sb->st_ino);
    stmt_name(s->insert, 9, f->folder);
    stmt_text(s->insert, 10, sha256);
    stmt_int(s->insert, 11, code);
    /* When it was found, also when we come by later; a clock set forward must not count. */
    stmt_int(s->insert, 12, mtime_ms > 0 && mtime_ms < now ? mtime_ms : now);
    return stmt_run(s->db, s->insert, err);
}

/* A file whose bytes cannot be had: known once, not told again. */
static int take_bare(struct scan *s, const struct folder_file *f, const struct stat *sb, int code,
                     struct err *err)
{
    struct artifact_seen *seen = &s->seen[s->n_seen];
    struct known bare = {0};
    int r = find_same(s, f, NULL, &bare, err);

    if (r < 0)
        return r;
    if (r == 1 && bare.code == code)
        return put_moved(s, f, bare.id, sb, err);
    if ((r == 1 && (r = drop_bare(s, bare.id, err)) < 0) || (r = scan_begin(s, err)) < 0 ||
        (r = put_row(s, f, sb, NULL, code, 0, err)) < 0)
        return r;
    *seen = (struct artifact_seen){.kind = f->kind,
                                   .size_bytes = sb->st_size,
                                   .unsaved = code != FOLDER_CODE_LOST,
                                   .lost = code == FOLDER_CODE_LOST,
                                   .code = code};
    (void)strlcpy(seen->name, f->name, sizeof(seen->name));
    s->n_seen++;
    return 0;
}

static int take_content(struct scan *s, const struct folder_file *f, const char *data,
                        const struct stat *sb, struct err *err)
{
    struct artifact_seen *seen = &s->seen[s->n_seen];
    struct known same = {0}, bare = {0};
    char sha256[65];
    bool new_content = false;
    int r;

    hash_sha256_hex(data, (size_t)sb->st_size, sha256);
    if ((r = find_same(s, f, NULL, &bare, err)) < 0 ||
        (r = find_same(s, f, sha256, &same, err)) < 0)
        return r;
    if (same.id > 0) {
        r = bare.id > 0 ? drop_bare(s, bare.id, err) : 0;
        return r < 0 ? r : put_moved(s, f, same.id, sb, err);
    }
    if ((r = is_new_content(s, sha256, &new_content, err)) < 0 ||
        (r = blob_batch_put(&s->blobs, sha256, data, (size_t)sb->st_size, err)) < 0 ||
        (r = scan_begin(s, err)) < 0 || (r = put_row(s, f, sb, sha256, 0, bare.id, err)) < 0)
        return r;
    *seen = (struct artifact_seen){
        .kind = f->kind, .size_bytes = sb->st_size, .new_content = new_content};
    (void)strlcpy(seen->sha256, sha256, sizeof(seen->sha256));
    (void)strlcpy(seen->name, f->name, sizeof(seen->name));
    s->n_seen++;
    return 0;
}

static int scan_file(struct scan *s, const struct folder_file *f, struct err *err)
{
    struct known known = {0};
    struct stat sb;
    cleanup_free char *data = NULL;
    int r = f->skipped ? 0 : find_known(s, f, &known, err);

    if (f->skipped || r < 0)
        return r;
    if (r == 1 && !known.here && (r = put_moved(s, f, known.id, &f->sb, err)) < 0)
        return r;
    if (known.id > 0 && (known.saved || known.code == -EFBIG || known.code == FOLDER_CODE_LOST))
        return 0;
    r = folder_read(f, ARTIFACT_MAX_BYTES, &data, &sb);
    switch (r) {
    case 0:
        s->n_read++;
        if (sb.st_size == 0 && !s->src->empty_is_input)
            return take_bare(s, f, &sb, FOLDER_CODE_LOST, err);
        return take_content(s, f, data, &sb, err);
    case -EBUSY:
    case -ENOENT:
    case -ELOOP:
    case -EINVAL:
        return 0; /* being written, or no longer what it was: the next scan sees */
    case -ENOMEM:
        return err_sys(err, r, "cannot read %s/%s", f->folder, f->name);
    default:
        return known.id > 0 ? 0 : take_bare(s, f, &f->sb, r, err);
    }
}

/* Files until the batch is full or, when until_ms is not 0, its time is over. 1: there may be more, 0 the end. */
static int scan_files(struct scan *s, struct folder_walk *w, int64_t until_ms, struct err *err)
{
    while (s->n_seen < ARTIFACT_BATCH && s->n_read < 2 * ARTIFACT_BATCH) {
        struct folder_file file;
        int r = folder_walk_next(w, &file, err);

        if (r == 1)
            r = scan_file(s, &file, err);
        else if (r == 0)
            return 0;
        if (r < 0)
            return r;
        if (until_ms > 0 && clock_now_ms() >= until_ms)
            break;
    }
    return 1;
}

void artifact_walk_free(struct folder_walk *walk)
{
    folder_walk_free(walk);
}

int artifact_scan(struct db *db, const char *state_dir, const struct artifact_source *src,
                  struct folder_walk **walk, artifact_fn *fn, void *ctx, bool *ret_more,
                  struct err *err)
{
    int64_t until_ms = walk != NULL ? clock_now_ms() + ARTIFACT_SLICE_MS : 0;
    struct folder_walk *w = walk != NULL ? *walk : NULL;
    struct scan s = {.db = db, .state_dir = state_dir, .src = src, .blobs = {.store_fd = -1}};
    bool more = false;
    int r;

    if ((r = scan_prepare(&s, err)) == 0 && (r = blob_batch_open(&s.blobs, state_dir, err)) == 0 &&
        (w != NULL || (r = folder_walk_open(db_state_dir(db), src->out_dir, &w, err)) == 0) &&
        w != NULL && (r = scan_files(&s, w, until_ms, err)) == 1) {
        more = true;
        r = 0;
    }
    if (r == 0)
        r = blob_batch_sync(&s.blobs, err);
    if (r == 0 && s.began)
        r = db_commit(db, err);
    if (r < 0 && s.began)
        db_rollback(db);
    scan_release(&s);
    /* After a failure what this call took is not in the index: the next begins at the top. */
    if (r < 0 || !more || walk == NULL) {
        folder_walk_free(w);
        w = NULL;
    }
    if (walk != NULL)
        *walk = w;
    if (r < 0) {
        err_wrap(err, "artifacts of %s/%s", src->target, src->instance);
        return r;
    }
    for (size_t i = 0; fn != NULL && i < s.n_seen; i++)
        fn(ctx, src, &s.seen[i]);
    if (ret_more != NULL)
        *ret_more = more;
    return (int)s.n_seen;
}

static int count_unrecorded(void *ctx, const struct folder_file *f, struct err *err)
{
    struct scan *s = ctx;
    struct known known = {0};
    /* A folder that cannot be looked into may hold anything. */
    int r = f->skipped ? f->name[0] != '\0' : find_known(s, f, &known, err);

    if (r == 0)
        s->n_read++;
    return r < 0 ? r : 0;
}

int64_t artifact_unrecorded(struct db *db, const struct artifact_source *src, struct err *err)
{
    struct scan s = {.db = db, .src = src, .blobs = {.store_fd = -1}};
    int r = scan_prepare(&s, err);

    if (r == 0)
        r = folder_each(db_state_dir(db), src->out_dir, count_unrecorded, &s, err);
    scan_release(&s);
    return r < 0 ? r : s.n_read;
}
