/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening state.db. A commit that returned 0 is on the disk (WAL with
 * synchronous=FULL), which is what lets an artifact be acknowledged. The file is
 * made 0600 before SQLite sees it; its -wal and -shm take the same mode. A new one
 * is only made where there is nothing that an old one would have spoken of.
 */
#include "store/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
    char *state_dir;
};

static int exec(struct db *db, const char *sql, const char *what, struct err *err)
{
    int rc = sqlite3_exec(db->sq, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : stmt_error(db->sq, rc, what, err);
}

/* True when a plan.json lies depth folders below this one. */
static bool holds_plan(int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    struct stat sb;
    bool found = false;

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    if (depth == 0)
        return faccessat(fd, "plan.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    while (!found && (de = readdir(dir)) != NULL) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
            fstatat(fd, de->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(sb.st_mode))
            continue;
        found = holds_plan(fd, de->d_name, depth - 1);
    }
    return found;
}

/* An index that knows nothing is only believed where nothing has run: campaigns/NAME/RUN. */
static int check_new(const char *state_dir, const char *what, struct err *err)
{
    cleanup_free char *path = path_join(state_dir, "campaigns");

    if (!holds_plan(AT_FDCWD, path, 2))
        return 0;
    return err_set(err, -EIO,
                   "%s/state.db is damaged (it is %s, and campaigns/ holds runs): see fuzzd(8), "
                   "DAMAGED STATE",
                   state_dir, what);
}

/* A regular file of that name, made when create is set. */
static int prepare_file(const char *state_dir, const char *path, bool create, struct err *err)
{
    int r = 0;

    if (access(path, F_OK) < 0 && errno == ENOENT && (r = check_new(state_dir, "missing", err)) < 0)
        return r;
    struct stat sb;
    cleanup_close int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0), 0600);

    if (fd < 0)
        return err_sys(err, -errno, "cannot open %s", path);
    if (fstat(fd, &sb) < 0)
        return err_sys(err, -errno, "cannot look at %s", path);
    if (!S_ISREG(sb.st_mode))
        return err_set(err, -EINVAL, "%s is not a regular file", path);
    return sb.st_size == 0 ? check_new(state_dir, "empty", err) : 0;
}

/* The first column of the first row; caller frees, NULL none. */
static char *first_text(struct db *db, const char *sql, int *ret_code, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(db, sql, &st, err);

    if (r == 0)
        r = stmt_step(db, st, err);
    *ret_code = r < 0 ? r : 0;
    return r == 1 ? stmt_dup(st, 0) : NULL;
}

/*
 * SQLite reads what lacks of the last page as zeros. While there is a log or a journal, that page may stand in it; after it
 * there are only whole pages.
 */
static int check_size(struct db *db, const char *path, struct err *err)
{
    cleanup_free char *wal = xasprintf("%s-wal", path);
    cleanup_free char *journal = xasprintf("%s-journal", path);
    cleanup_free char *text = NULL;
    struct stat sb;
    int r;
    long page;

    if ((stat(wal, &sb) == 0 || stat(journal, &sb) == 0) && sb.st_size > 0)
        return 0;
    text = first_text(db, "PRAGMA page_size", &r, err);
    page = text != NULL ? strtol(text, NULL, 10) : 0;
    if (r == 0 && stat(path, &sb) == 0 && page > 0 && sb.st_size % page != 0)
        return err_set(err, -EIO,
                       "%s is damaged (its last page is cut): see fuzzd(8), DAMAGED STATE", path);
    return r;
}

/* Once a start, by the writer: that its pages hang together. */
static int check_pages(struct db *db, struct err *err)
{
    int r;
    cleanup_free char *text = first_text(db, "PRAGMA quick_check(1)", &r, err);

    if (r == 0 && (text == NULL || strcmp(text, "ok") != 0))
        return err_set(err, -EIO, "state.db is damaged (%s): see fuzzd(8), DAMAGED STATE",
                       text != NULL ? text : "no answer");
    return r;
}

static int set_up(struct db *db, const char *state_dir, const char *path, bool writable,
                  struct err *err)
{
    int r;

    (void)sqlite3_busy_timeout(db->sq, DB_BUSY_TIMEOUT_MS);
    (void)sqlite3_extended_result_codes(db->sq, 1);
    (void)sqlite3_db_config(db->sq, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->sq, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if ((r = check_size(db, path, err)) < 0)
        return r;
    r = schema_check(db->sq, err);
    if (r == -ENOENT) {
        int lost = check_new(state_dir, "empty", err);

        if (lost < 0)
            return lost;
    } else if (r == 0 && writable) {
        r = check_pages(db, err);
    }
    if (!writable || (r < 0 && r != -ENOENT && r != -EPROTO))
        return r;
    if ((r = exec(db, "PRAGMA journal_mode = WAL", "switching to WAL", err)) < 0 ||
        (r = exec(db, "PRAGMA synchronous = FULL", "setting it up", err)) < 0 ||
        (r = exec(db, "PRAGMA foreign_keys = ON", "setting it up", err)) < 0)
        return r;
    return schema_migrate(db->sq, err);
}

/* SQLite adds "-journal" and alike to the name; past its bound it only says that it cannot open the file. */
static int check_length(const char *path, struct err *err)
{
    const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    size_t most = vfs != NULL && vfs->mxPathname > 16 ? (size_t)vfs->mxPathname - 16 : 496;

    if (strlen(path) <= most)
        return 0;
    return err_set(
        err, -ENAMETOOLONG,
        "state.db: its path of %zu bytes is longer than %zu, the longest path SQLite takes",
        strlen(path), most);
}

int db_open(const char *state_dir, bool writable, struct db **ret, struct err *err)
{
    cleanup_free char *path = path_join(state_dir, "state.db");
    int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    struct db *db;
    int rc, r;

    if ((r = check_length(path, err)) < 0 || (r = prepare_file(state_dir, path, writable, err)) < 0)
        return r;
    db = xcalloc(1, sizeof(*db));
    db->state_dir = xstrdup(state_dir);
    rc = sqlite3_open_v2(path, &db->sq, flags, NULL);
    if (rc != SQLITE_OK)
        r = stmt_error(db->sq, rc, "opening it", err);
    else
        r = set_up(db, state_dir, path, writable, err);
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
    free(db->state_dir);
    free(db);
}

const char *db_state_dir(const struct db *db)
{
    return db->state_dir;
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
