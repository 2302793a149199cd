/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triage results and the buckets that come of them. A bucket is not stored: it is
 * the set of results of one run that carry its id, so that it can never disagree
 * with them.
 */
#include "store/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/stmt.h"

void result_row_clear(struct result_row *r)
{
    char **strings[] = {&r->run,           &r->target, &r->sha256, &r->class_, &r->signature,
                        &r->signature_why, &r->bucket, &r->kind,   &r->detail, &r->report};

    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(*strings[i]);
    memset(r, 0, sizeof(*r));
}

static void bucket_row_clear(struct bucket_row *b)
{
    char **strings[] = {&b->id,        &b->target,        &b->class_,     &b->kind,
                        &b->signature, &b->signature_why, &b->best_sha256};

    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(*strings[i]);
    memset(b, 0, sizeof(*b));
}

void bucket_rows_free(struct bucket_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bucket_row_clear(&rows[i]);
    free(rows);
}

void occurrence_rows_free(struct occurrence_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(rows[i].run);
        free(rows[i].target);
        free(rows[i].instance);
        free(rows[i].file);
    }
    free(rows);
}

int results_put(struct db *db, const struct result_row *row, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(
        db,
        "INSERT INTO results (run, target, sha256, class, signature, signature_why, bucket,"
        " severity, kind, reproduced, runs, detail, report, at_ms)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        " ON CONFLICT (run, target, sha256) DO UPDATE SET class = excluded.class,"
        " signature = excluded.signature, signature_why = excluded.signature_why,"
        " bucket = excluded.bucket, severity = excluded.severity, kind = excluded.kind,"
        " reproduced = excluded.reproduced, runs = excluded.runs, detail = excluded.detail,"
        " report = excluded.report, at_ms = excluded.at_ms",
        &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, row->run);
    stmt_text(st, 2, row->target);
    stmt_text(st, 3, row->sha256);
    stmt_text(st, 4, row->class_);
    stmt_text(st, 5, row->signature);
    stmt_text(st, 6, row->signature_why);
    stmt_text(st, 7, row->bucket);
    stmt_int(st, 8, row->severity);
    stmt_text(st, 9, row->kind);
    stmt_int(st, 10, row->reproduced);
    stmt_int(st, 11, row->runs);
    stmt_text(st, 12, row->detail);
    if (row->report != NULL)
        stmt_name(st, 13, row->report);
    stmt_int(st, 14, row->at_ms);
    return stmt_run(db, st, err);
}

#define RESULT_COLUMNS                                                                             \
    "SELECT r.run, r.target, r.sha256, r.class, r.signature, r.signature_why, r.bucket,"           \
    " r.severity, r.kind, r.reproduced, r.runs, r.detail, r.report, r.at_ms FROM results AS r"

/* The reproduction that counts most first, then the smallest input. */
#define BEST_FIRST                                                                                 \
    " CAST(r.reproduced AS REAL) / max(r.runs, 1) DESC,"                                           \
    " ifnull((SELECT size_bytes FROM blobs WHERE sha256 = r.sha256), 1 << 40), r.sha256"

static void read_result(sqlite3_stmt *st, struct result_row *r)
{
    *r = (struct result_row){
        .run = stmt_dup(st, 0),
        .target = stmt_dup(st, 1),
        .sha256 = stmt_dup(st, 2),
        .class_ = stmt_dup(st, 3),
        .signature = stmt_dup(st, 4),
        .signature_why = stmt_dup(st, 5),
        .bucket = stmt_dup(st, 6),
        .severity = (int)stmt_col(st, 7),
        .kind = stmt_dup(st, 8),
        .reproduced = (int)stmt_col(st, 9),
        .runs = (int)stmt_col(st, 10),
        .detail = stmt_dup(st, 11),
        .report = stmt_dup(st, 12),
        .at_ms = stmt_col(st, 13),
    };
}

int results_get(struct db *db, const char *run, const char *target, const char *sha256,
                struct result_row *ret, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(db, RESULT_COLUMNS " WHERE r.run = ?1 AND r.target = ?2 AND r.sha256 = ?3",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, target);
    stmt_text(st, 3, sha256);
    if ((r = stmt_step(db, st, err)) < 0)
        return r;
    if (r == 0)
        return err_set(err, -ENOENT, "%s of %s has not been triaged", sha256, target);
    read_result(st, ret);
    return 0;
}

static int list(struct db *db, const char *sql, const char *run, const char *bucket,
                struct result_row **ret, size_t *ret_n, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct result_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db, sql, &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, bucket);
    while ((r = stmt_step(db, st, err)) == 1) {
        rows = stmt_grow(rows, n, sizeof(*rows));
        read_result(st, &rows[n++]);
    }
    if (r < 0) {
        for (size_t i = 0; i < n; i++)
            result_row_clear(&rows[i]);
        free(rows);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

int results_list(struct db *db, const char *run, struct result_row **ret, size_t *ret_n,
                 struct err *err)
{
    return list(db, RESULT_COLUMNS " WHERE r.run = ?1 ORDER BY r.target, r.sha256", run, NULL, ret,
                ret_n, err);
}

int results_inputs(struct db *db, const char *run, const char *bucket, struct result_row **ret,
                   size_t *ret_n, struct err *err)
{
    return list(db,
                RESULT_COLUMNS " WHERE r.run = ?1 AND r.bucket IS ?2 ORDER BY r.target," BEST_FIRST,
                run, bucket, ret, ret_n, err);
}

/* Per bucket: its best result, and figures over all. ?1 the run, ?2 a bucket or NULL. */
static const char *const bucket_sql =
    "SELECT b.bucket, b.target, b.class, b.kind, b.signature, b.signature_why,"
    " b.any_severity, b.inputs, b.reproduced, b.runs, b.sha256,"
    " (SELECT count(*) FROM results AS s JOIN occurrences AS o"
    "  ON o.run = s.run AND o.target = s.target AND o.sha256 = s.sha256"
    "  WHERE s.run = ?1 AND s.bucket = b.bucket),"
    " (SELECT min(o.seen_at_ms) FROM results AS s JOIN occurrences AS o"
    "  ON o.run = s.run AND o.target = s.target AND o.sha256 = s.sha256"
    "  WHERE s.run = ?1 AND s.bucket = b.bucket) AS first,"
    " (SELECT max(o.seen_at_ms) FROM results AS s JOIN occurrences AS o"
    "  ON o.run = s.run AND o.target = s.target AND o.sha256 = s.sha256"
    "  WHERE s.run = ?1 AND s.bucket = b.bucket),"
    " (SELECT min(o.seen_at_ms) FROM results AS s JOIN occurrences AS o"
    "  ON o.run = s.run AND o.target = s.target AND o.sha256 = s.sha256"
    "  WHERE s.bucket = b.bucket)"
    " FROM (SELECT r.*, max(r.severity) OVER same AS any_severity, count(*) OVER same AS inputs,"
    "       row_number() OVER (same ORDER BY" BEST_FIRST ") AS nth"
    "       FROM results AS r WHERE r.run = ?1 AND r.bucket IS NOT NULL"
    "       AND (?2 IS NULL OR r.bucket = ?2)"
    "       WINDOW same AS (PARTITION BY r.bucket)) AS b"
    " WHERE b.nth = 1 ORDER BY b.any_severity DESC, first, b.bucket";

static int buckets(struct db *db, const char *run, const char *bucket, struct bucket_row **ret,
                   size_t *ret_n, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct bucket_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db, bucket_sql, &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, bucket);
    while ((r = stmt_step(db, st, err)) == 1) {
        rows = stmt_grow(rows, n, sizeof(*rows));
        rows[n++] = (struct bucket_row){
            .id = stmt_dup(st, 0),
            .target = stmt_dup(st, 1),
            .class_ = stmt_dup(st, 2),
            .kind = stmt_dup(st, 3),
            .signature = stmt_dup(st, 4),
            .signature_why = stmt_dup(st, 5),
            .severity = (int)stmt_col(st, 6),
            .inputs = stmt_col(st, 7),
            .reproduced = (int)stmt_col(st, 8),
            .runs = (int)stmt_col(st, 9),
            .best_sha256 = stmt_dup(st, 10),
            .count = stmt_col(st, 11),
            .first_seen_at_ms = stmt_col(st, 12),
            .last_seen_at_ms = stmt_col(st, 13),
            .first_seen_ever_at_ms = stmt_col(st, 14),
        };
    }
    if (r < 0) {
        bucket_rows_free(rows, n);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

int results_buckets(struct db *db, const char *run, struct bucket_row **ret, size_t *ret_n,
                    struct err *err)
{
    return buckets(db, run, NULL, ret, ret_n, err);
}

/* The whole id that a prefix stands for, and the newest run that has it. */
static int find_id(struct db *db, const char *prefix, char **ret_id, char **ret_run,
                   struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    cleanup_free char *id = NULL;
    cleanup_free char *run = NULL;
    int r;

    if (strlen(prefix) < 4)
        return err_set(err, -ENOENT, "a bucket's id is given by at least 4 of its digits");
    r = stmt_open(db,
                  "SELECT s.bucket, s.run FROM results AS s JOIN runs AS n ON n.id = s.run"
                  " WHERE substr(s.bucket, 1, length(?1)) = ?1"
                  " ORDER BY n.nth DESC",
                  &st, err);
    if (r < 0)
        return r;
    stmt_text(st, 1, prefix);
    while ((r = stmt_step(db, st, err)) == 1) {
        cleanup_free char *other = stmt_dup(st, 0);

        if (id == NULL) {
            id = steal_ptr(&other);
            run = stmt_dup(st, 1);
        } else if (strcmp(id, other) != 0) {
            return err_set(err, -ENOTUNIQ, "several buckets begin with \"%s\": %s, %s", prefix, id,
                           other);
        }
    }
    if (r < 0)
        return r;
    if (id == NULL)
        return err_set(err, -ENOENT, "no bucket \"%s\"", prefix);
    *ret_id = steal_ptr(&id);
    *ret_run = steal_ptr(&run);
    return 0;
}

int results_bucket_find(struct db *db, const char *id, struct bucket_row *ret, char **ret_run,
                        struct err *err)
{
    cleanup_free char *whole = NULL;
    cleanup_free char *run = NULL;
    struct bucket_row *rows = NULL;
    size_t n = 0;
    int r;

    if ((r = find_id(db, id, &whole, &run, err)) < 0 ||
        (r = buckets(db, run, whole, &rows, &n, err)) < 0)
        return r;
    if (n != 1) {
        bucket_rows_free(rows, n);
        return err_set(err, -ENOENT, "no bucket \"%s\"", id);
    }
    *ret = rows[0];
    free(rows);
    *ret_run = steal_ptr(&run);
    return 0;
}

int results_occurrences(struct db *db, const char *run, const char *target, const char *sha256,
                        struct occurrence_row **ret, size_t *ret_n, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct occurrence_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db,
                      "SELECT run, target, instance, CAST(folder || '/' || name AS BLOB),"
                      " seen_at_ms FROM occurrences"
                      " WHERE run = ?1 AND target = ?2 AND sha256 = ?3"
                      " ORDER BY seen_at_ms, instance, name, id",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, target);
    stmt_text(st, 3, sha256);
    while ((r = stmt_step(db, st, err)) == 1) {
        rows = stmt_grow(rows, n, sizeof(*rows));
        rows[n++] = (struct occurrence_row){.run = stmt_dup(st, 0),
                                            .target = stmt_dup(st, 1),
                                            .instance = stmt_dup(st, 2),
                                            .file = stmt_dup(st, 3),
                                            .seen_at_ms = stmt_col(st, 4)};
    }
    if (r < 0) {
        occurrence_rows_free(rows, n);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}
