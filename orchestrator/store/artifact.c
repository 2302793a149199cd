/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the index knows of artifacts: one row per distinct content and target, with
 * its first occurrence. File names are bytes; whoever prints one makes it printable.
 */
#include "store/artifact.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "store/folder.h"
#include "store/stmt.h"

const char *artifact_kind_name(enum artifact_kind kind)
{
    return kind == ARTIFACT_HANG ? "hang" : "crash";
}

void artifact_rows_free(struct artifact_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(rows[i].run);
        free(rows[i].target);
        free(rows[i].kind);
        free(rows[i].class_);
        free(rows[i].bucket);
        free(rows[i].instance);
        free(rows[i].file);
    }
    free(rows);
}

static void read_row(sqlite3_stmt *st, struct artifact_row *r)
{
    cleanup_free char *sha256 = stmt_dup(st, 0);

    memset(r, 0, sizeof(*r));
    if (sha256 != NULL)
        (void)strlcpy(r->sha256, sha256, sizeof(r->sha256));
    r->run = stmt_dup(st, 1);
    r->target = stmt_dup(st, 2);
    r->kind = stmt_dup(st, 3);
    r->class_ = stmt_dup(st, 4);
    r->bucket = stmt_dup(st, 5);
    r->instance = stmt_dup(st, 6);
    r->file = stmt_dup(st, 7);
    r->size_bytes = stmt_col(st, 8);
    r->first_seen_at_ms = stmt_col(st, 9);
    r->occurrences = stmt_col(st, 10);
}

/* The first occurrence of each content, with figures over all of them. Unsaved files stand alone. */
#define FIRST_OCCURRENCES                                                                          \
    "SELECT o.sha256, o.run, o.target, o.any_kind, r.class, r.bucket, o.instance,"                 \
    " CAST(o.folder || '/' || o.name AS BLOB), o.size_bytes, o.seen_at_ms, o.n"                    \
    " FROM (SELECT *, min(kind) OVER same AS any_kind, count(*) OVER same AS n,"                   \
    "       row_number() OVER (same ORDER BY seen_at_ms, id) AS nth"                               \
    "       FROM (SELECT *, ifnull(sha256, 'unsaved ' || id) AS content FROM occurrences"          \
    "             WHERE (?1 IS NULL OR run = ?1) AND code <> ?2)"                                  \
    "       WINDOW same AS (PARTITION BY run, target, content)) AS o"                              \
    " LEFT JOIN results AS r ON r.run = o.run AND r.target = o.target AND r.sha256 = o.sha256"     \
    " WHERE o.nth = 1"

static int list(struct db *db, const char *sql, const char *run, struct artifact_row **ret,
                size_t *ret_n, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct artifact_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db, sql, &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_int(st, 2, FOLDER_CODE_LOST);
    while ((r = stmt_step(db, st, err)) == 1) {
        rows = stmt_grow(rows, n, sizeof(*rows));
        read_row(st, &rows[n++]);
    }
    if (r < 0) {
        artifact_rows_free(rows, n);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

int artifact_list(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                  struct err *err)
{
    return list(db, FIRST_OCCURRENCES " ORDER BY o.run, o.seen_at_ms, o.id", run, ret, ret_n, err);
}

int artifact_untriaged(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                       struct err *err)
{
    return list(db,
                FIRST_OCCURRENCES " AND o.sha256 IS NOT NULL AND r.sha256 IS NULL"
                                  " ORDER BY o.seen_at_ms, o.id",
                run, ret, ret_n, err);
}

int artifact_counts(struct db *db, const char *run, artifact_count_fn *fn, void *ctx,
                    struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(db,
                      "SELECT o.target, o.kind, r.class, count(*) FROM"
                      " (SELECT target, sha256, min(kind) AS kind FROM occurrences"
                      "  WHERE run = ?1 AND sha256 IS NOT NULL GROUP BY target, sha256"
                      "  UNION ALL SELECT target, NULL, CASE code WHEN ?2 THEN 'lost' ELSE kind END"
                      "  FROM occurrences WHERE run = ?1 AND sha256 IS NULL)"
                      " AS o LEFT JOIN results AS r"
                      " ON r.run = ?1 AND r.target = o.target AND r.sha256 = o.sha256"
                      " GROUP BY o.target, o.kind, r.class",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_int(st, 2, FOLDER_CODE_LOST);
    while ((r = stmt_step(db, st, err)) == 1) {
        cleanup_free char *target = stmt_dup(st, 0);
        cleanup_free char *kind = stmt_dup(st, 1);
        cleanup_free char *class_ = stmt_dup(st, 2);

        fn(ctx, target, kind, class_, stmt_col(st, 3));
    }
    return r;
}

int artifact_lost(struct db *db, const char *run, struct artifact_row **ret, size_t *ret_n,
                  struct err *err)
{
    return list(db,
                "SELECT NULL, run, target, kind, NULL, NULL, instance,"
                " CAST(folder || '/' || name AS BLOB), size_bytes, seen_at_ms, 1"
                " FROM occurrences WHERE run = ?1 AND code = ?2"
                " ORDER BY target, seen_at_ms, id",
                run, ret, ret_n, err);
}

int64_t artifact_unsaved(struct db *db, const char *run, const char *target, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(db,
                      "SELECT count(*) FROM occurrences WHERE run = ?1"
                      " AND (?2 IS NULL OR target = ?2) AND sha256 IS NULL AND code <> ?3",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, target);
    stmt_int(st, 3, FOLDER_CODE_LOST);
    if ((r = stmt_step(db, st, err)) < 0)
        return r;
    return stmt_col(st, 0);
}
