/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening state.db. A commit that returned 0 is on the disk (WAL with
 * synchronous=FULL), which is what lets an artifact be acknowledged. The file is
 * made 0600 before SQLite sees it; its -wal and -shm take the same mode.
 */
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "store/schema.h"
#include "store/stmt.h"

#define DB_BUSY_TIMEOUT_MS 5000

struct db {
    sqlite3 *sq;
};

static int exec(struct db *db, const char *sql, const char *what, struct err *err)
{
    int rc = sqlite3_exec(db->sq, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : stmt_error(db->sq, rc, what, err);
}

/* A regular file of that name, made when create is set. */
static int prepare_file(const char *path, bool create, struct err *err)
{
    struct stat sb;
    cleanup_close int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0), 0600);

    if (fd < 0)
        return err_sys(err, -errno, "cannot open %s", path);
    if (fstat(fd, &sb) < 0)
        return err_sys(err, -errno, "cannot look at %s", path);
    if (!S_ISREG(sb.st_mode))
        return err_set(err, -EINVAL, "%s is not a regular file", path);
    return 0;
}

static int set_up(struct db *db, bool writable, struct err *err)
{
    int r;

    (void)sqlite3_busy_timeout(db->sq, DB_BUSY_TIMEOUT_MS);
    (void)sqlite3_extended_result_codes(db->sq, 1);
    (void)sqlite3_db_config(db->sq, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->sq, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (!writable)
        return schema_check(db->sq, err);
    if ((r = exec(db, "PRAGMA journal_mode = WAL", "switching to WAL", err)) < 0 ||
        (r = exec(db, "PRAGMA synchronous = FULL", "setting it up", err)) < 0 ||
        (r = exec(db, "PRAGMA foreign_keys = ON", "setting it up", err)) < 0)
        return r;
    return schema_migrate(db->sq, err);
}

int db_open(const char *state_dir, bool writable, struct db **ret, struct err *err)
{
    cleanup_free char *path = path_join(state_dir, "state.db");
    int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    struct db *db;
    int rc, r;

    if ((r = prepare_file(path, writable, err)) < 0)
        return r;
    db = xcalloc(1, sizeof(*db));
    rc = sqlite3_open_v2(path, &db->sq, flags, NULL);
    if (rc != SQLITE_OK)
        r = stmt_error(db->sq, rc, "opening it", err);
    else
        r = set_up(db, writable, err);
    if (r < 0) {
        db_close(db);
        return r;
    }
    *ret = db;
    return 0;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    (void)sqlite3_close_v2(db->sq);
    free(db);
}

sqlite3 *db_handle(struct db *db)
{
    return db->sq;
}

int db_begin(struct db *db, struct err *err)
{
    return exec(db, "BEGIN IMMEDIATE", "beginning a transaction", err);
}

int db_commit(struct db *db, struct err *err)
{
    return exec(db, "COMMIT", "committing", err);
}

void db_rollback(struct db *db)
{
    if (!sqlite3_get_autocommit(db->sq))
        (void)sqlite3_exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
}

int db_meta_set(struct db *db, const char *key, const char *value, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(db,
                      "INSERT INTO meta (key, value) VALUES (?1, ?2)"
                      " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, key);
    stmt_text(st, 2, value);
    return stmt_run(db, st, err);
}

char *db_meta_get(struct db *db, const char *key)
{
    cleanup_stmt sqlite3_stmt *st = NULL;

    if (stmt_open(db, "SELECT value FROM meta WHERE key = ?1", &st, NULL) < 0)
        return NULL;
    stmt_text(st, 1, key);
    return stmt_step(db, st, NULL) == 1 ? stmt_dup(st, 0) : NULL;
}
