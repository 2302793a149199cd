/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared statements with our error codes. The invariant: every value that goes
 * into the database goes through a bind, file names as blobs, so that no byte of
 * them has a meaning to SQL or to an encoding.
 */
#include "store/stmt.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/alloc.h"

int stmt_errno(sqlite3 *sq, int rc)
{
    int sys = sq != NULL ? sqlite3_system_errno(sq) : 0;

    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_CANTOPEN:
        return sys > 0 ? -sys : -ENOENT;
    case SQLITE_IOERR:
        return sys == ENOSPC || sys == EDQUOT ? -ENOSPC : -EIO;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EIO;
    case SQLITE_TOOBIG:
        return -E2BIG;
    default:
        return -EINVAL;
    }
}

#define FULL_BYTES (256 << 10) /* less than a start of SQLite takes */

/*
 * True when an error comes of a full disk: SQLite says "disk I/O error" and forgets the errno where it could not make room for its shared
 * memory or its log.
 */
static bool is_full(sqlite3 *sq, int rc, int64_t *ret_free_bytes, const char **ret_path)
{
    const char *path = sq != NULL ? sqlite3_db_filename(sq, "main") : NULL;
    struct statvfs fs;

    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        break;
    default:
        return false;
    }
    if (path == NULL || *path == '\0' || statvfs(path, &fs) < 0)
        return false;
    *ret_free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
    *ret_path = path;
    return *ret_free_bytes < FULL_BYTES || stmt_errno(sq, rc) == -ENOSPC;
}

int stmt_error(sqlite3 *sq, int rc, const char *what, struct err *err)
{
    const char *text = sq != NULL ? sqlite3_errmsg(sq) : sqlite3_errstr(rc);
    int full = sq != NULL ? sqlite3_extended_errcode(sq) : rc;
    int64_t free_bytes = 0;
    const char *path = NULL;

    /* A writer died in the middle of a change; only a writer may take it back. */
    if (full == SQLITE_READONLY_ROLLBACK || full == SQLITE_READONLY_RECOVERY)
        return err_set(err, -EROFS,
                       "state.db was left in the middle of a change: starting fuzzd once takes it "
                       "back");
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        return err_set(err, -EIO, "state.db is damaged (%s: %s): see fuzzd(8), DAMAGED STATE", what,
                       text);
    if (is_full(sq, rc, &free_bytes, &path))
        return err_set(err, -ENOSPC, "state.db: %s: the disk is full (%s, %lld bytes free at %s)",
                       what, strerror(ENOSPC), (long long)free_bytes, path);
    return err_set(err, stmt_errno(sq, rc), "state.db: %s: %s", what, text);
}

int stmt_open(struct db *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db_handle(db), sql, -1, &st, NULL);

    if (rc != SQLITE_OK)
        return stmt_error(db_handle(db), rc, "preparing a statement", err);
    *ret = st;
    return 0;
}

void stmt_text(sqlite3_stmt *st, int i, const char *s)
{
    if (s == NULL)
        (void)sqlite3_bind_null(st, i);
    else
        (void)sqlite3_bind_text(st, i, s, -1, SQLITE_TRANSIENT);
}

void stmt_name(sqlite3_stmt *st, int i, const char *s)
{
    (void)sqlite3_bind_blob64(st, i, s, strlen(s), SQLITE_TRANSIENT);
}

void stmt_int(sqlite3_stmt *st, int i, int64_t n)
{
    (void)sqlite3_bind_int64(st, i, n);
}

void stmt_real(sqlite3_stmt *st, int i, double d)
{
    (void)sqlite3_bind_double(st, i, d);
}

int stmt_step(struct db *db, sqlite3_stmt *st, struct err *err)
{
    int rc = sqlite3_step(st);

    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    return stmt_error(db_handle(db), rc, "running a statement", err);
}

int stmt_run(struct db *db, sqlite3_stmt *st, struct err *err)
{
    int r = stmt_step(db, st, err);

    (void)sqlite3_reset(st);
    return r < 0 ? r : 0;
}

char *stmt_dup(sqlite3_stmt *st, int col)
{
    const void *p = sqlite3_column_blob(st, col);
    int n = sqlite3_column_bytes(st, col);

    if (sqlite3_column_type(st, col) == SQLITE_NULL)
        return NULL;
    return p == NULL || n <= 0 ? xstrdup("") : xstrndup(p, (size_t)n);
}

int64_t stmt_col(sqlite3_stmt *st, int col)
{
    return sqlite3_column_int64(st, col);
}

void *stmt_grow(void *rows, size_t n, size_t size)
{
    if (n == 0)
        return xreallocarray(rows, 8, size);
    if (n >= 8 && (n & (n - 1)) == 0)
        return xreallocarray(rows, n * 2, size);
    return rows;
}
