/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of state.db and the steps from one version of them to the next. A
 * step runs inside one transaction with the new version number, so that a crash
 * leaves the old schema or the new one, never a mixture. A step that has shipped
 * is never edited: a change is a new step.
 */
#include "store/schema.h"

#include <errno.h>
#include <stdio.h>

#include "store/db.h"
#include "store/stmt.h"

static const char *const version_1 =
    "CREATE TABLE meta ("
    " key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"

    "CREATE TABLE runs ("
    " id TEXT PRIMARY KEY, campaign TEXT NOT NULL, dir BLOB NOT NULL,"
    " state TEXT NOT NULL CHECK (state IN ('running', 'triage', 'ended')),"
    " verdict TEXT, reasons TEXT, host TEXT, boot_id TEXT,"
    " started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER NOT NULL, budget_ms INTEGER NOT NULL,"
    " seed INTEGER NOT NULL, extra TEXT) WITHOUT ROWID;"
    "CREATE INDEX runs_campaign ON runs (campaign, started_at_ms);"

    "CREATE TABLE targets ("
    " run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, name TEXT NOT NULL,"
    " position INTEGER NOT NULL,"
    " state TEXT NOT NULL, end_reason TEXT,"
    " started_at_ms INTEGER NOT NULL, ended_at_ms INTEGER NOT NULL, fuzz_ms INTEGER NOT NULL,"
    " execs_done INTEGER NOT NULL, edges_found INTEGER NOT NULL, total_edges INTEGER NOT NULL,"
    " corpus_count INTEGER NOT NULL, corpus_seeds INTEGER NOT NULL,"
    " execs_per_sec REAL NOT NULL, stability REAL NOT NULL,"
    " last_find_ms INTEGER NOT NULL, edges_floor INTEGER NOT NULL,"
    " restarts INTEGER NOT NULL, oom_kills INTEGER NOT NULL, extra TEXT,"
    " PRIMARY KEY (run, name)) WITHOUT ROWID;"

    /* Bytes held under store/. */
    "CREATE TABLE blobs ("
    " sha256 TEXT PRIMARY KEY, size_bytes INTEGER NOT NULL, saved_at_ms INTEGER NOT NULL)"
    " WITHOUT ROWID;"

    /*
     * Files in which they were seen. sha256 is NULL, and code an errno, while the bytes could not be kept. folder is
     * where the file lies now: AFL++ renames crashes/ at resume. ino only spares a scan the hashing.
     */
    "CREATE TABLE occurrences ("
    " id INTEGER PRIMARY KEY,"
    " run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " target TEXT NOT NULL, instance TEXT NOT NULL,"
    " kind TEXT NOT NULL CHECK (kind IN ('crash', 'hang')),"
    " name BLOB NOT NULL, folder BLOB NOT NULL,"
    " sha256 TEXT REFERENCES blobs (sha256), code INTEGER NOT NULL,"
    " size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ino INTEGER NOT NULL,"
    " seen_at_ms INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX occurrences_identity ON occurrences"
    " (run, target, instance, kind, name, mtime_ns, ifnull(sha256, ''));"
    "CREATE INDEX occurrences_content ON occurrences (run, target, sha256);"

    "CREATE TABLE results ("
    " run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " target TEXT NOT NULL, sha256 TEXT NOT NULL,"
    " class TEXT NOT NULL, signature TEXT, signature_why TEXT, bucket TEXT,"
    " severity INTEGER NOT NULL, kind TEXT, reproduced INTEGER NOT NULL, runs INTEGER NOT NULL,"
    " detail TEXT, report BLOB, at_ms INTEGER NOT NULL,"
    " PRIMARY KEY (run, target, sha256)) WITHOUT ROWID;"
    "CREATE INDEX results_bucket ON results (bucket);";

/*
 * A file is known by its folder, name and content; its mtime only spares a scan the hashing, as a copy of a state
 * directory need not keep it. Rows that such a copy has doubled are one again.
 */
static const char *const version_2 =
    "DELETE FROM occurrences WHERE id NOT IN (SELECT min(id) FROM occurrences GROUP BY"
    " run, target, instance, kind, folder, name, ifnull(sha256, ''));"
    "DROP INDEX occurrences_identity;"
    "CREATE UNIQUE INDEX occurrences_identity ON occurrences"
    " (run, target, instance, kind, name, ifnull(sha256, ''), folder);";

/*
 * Which run is the last is told by the order in which they began, and not by the host's clock: after it stood a day
 * ahead, the run of that day would hide those that came later. Of older rows the clock is all there is.
 */
static const char *const version_3 =
    "ALTER TABLE runs ADD COLUMN nth INTEGER NOT NULL DEFAULT 0;"
    "UPDATE runs SET nth = (SELECT count(*) FROM runs AS o WHERE o.started_at_ms <"
    " runs.started_at_ms OR (o.started_at_ms = runs.started_at_ms AND o.id <= runs.id));"
    "DROP INDEX runs_campaign;"
    "CREATE INDEX runs_campaign ON runs (campaign, nth);"
    "CREATE UNIQUE INDEX runs_nth ON runs (nth);";

/* steps[n] leads from version n to n + 1. */
static const char *const steps[] = {version_1, version_2, version_3};
_Static_assert(sizeof(steps) / sizeof(steps[0]) == DB_SCHEMA_VERSION, "a step for each version");

static int exec(sqlite3 *sq, const char *sql, const char *what, struct err *err)
{
    int rc = sqlite3_exec(sq, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : stmt_error(sq, rc, what, err);
}

static int pragma_int(sqlite3 *sq, const char *sql, int64_t *ret, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(sq, sql, -1, &st, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc != SQLITE_ROW)
        return stmt_error(sq, rc, "reading its version", err);
    *ret = sqlite3_column_int64(st, 0);
    return 0;
}

/* What is there: its version; -ENOENT for an empty database, -EPROTO newer, -EIO foreign. */
static int look(sqlite3 *sq, int64_t *ret_version, struct err *err)
{
    int64_t version, app, n_tables;
    int r;

    if ((r = pragma_int(sq, "PRAGMA user_version", &version, err)) < 0 ||
        (r = pragma_int(sq, "PRAGMA application_id", &app, err)) < 0 ||
        (r = pragma_int(sq, "SELECT count(*) FROM sqlite_schema", &n_tables, err)) < 0)
        return r;
    if (n_tables == 0 && version == 0 && app == 0)
        return err_set(err, -ENOENT, "state.db is empty");
    if (app != SCHEMA_APPLICATION_ID || version < 1)
        return err_set(err, -EIO, "state.db is a database of another program");
    if (version > DB_SCHEMA_VERSION)
        return err_set(err, -EPROTO,
                       "state.db has schema version %lld, this program knows %d: a newer fuzzd "
                       "has written it",
                       (long long)version, DB_SCHEMA_VERSION);
    *ret_version = version;
    return 0;
}

int schema_check(sqlite3 *sq, struct err *err)
{
    int64_t version = 0;
    int r = look(sq, &version, err);

    if (r == 0 && version < DB_SCHEMA_VERSION)
        return err_set(err, -EPROTO,
                       "state.db has schema version %lld, this program reads %d: start fuzzd "
                       "once to bring it up to date",
                       (long long)version, DB_SCHEMA_VERSION);
    return r;
}

int schema_migrate(sqlite3 *sq, struct err *err)
{
    char pragma[64];
    int64_t version = 0;
    int r;

    if ((r = exec(sq, "BEGIN IMMEDIATE", "locking it", err)) < 0)
        return r;
    r = look(sq, &version, err);
    if (r == -ENOENT) {
        (void)snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d", SCHEMA_APPLICATION_ID);
        r = exec(sq, pragma, "marking it as ours", err);
    }
    for (; r == 0 && version < DB_SCHEMA_VERSION; version++) {
        r = exec(sq, steps[version], "bringing its tables up to date", err);
        if (r < 0)
            break;
        (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %lld",
                       (long long)version + 1);
        r = exec(sq, pragma, "setting its version", err);
    }
    if (r == 0)
        r = exec(sq, "COMMIT", "bringing its tables up to date", err);
    if (r < 0)
        (void)sqlite3_exec(sq, "ROLLBACK", NULL, NULL, NULL);
    return r;
}
