/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of runs and of their targets. Both are written as a whole (insert, or update
 * of the row with that key), never by REPLACE, which would delete what hangs on a
 * row. Targets keep the order in which they were put first: the order of the spec.
 */
#include "store/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "store/stmt.h"

void run_row_clear(struct run_row *r)
{
    char **strings[] = {&r->id,      &r->campaign, &r->dir,     &r->state, &r->verdict,
                        &r->reasons, &r->host,     &r->boot_id, &r->extra};

    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(*strings[i]);
    memset(r, 0, sizeof(*r));
}

void target_row_clear(struct target_row *t)
{
    char **strings[] = {&t->run, &t->name, &t->state, &t->end_reason, &t->extra};

    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(*strings[i]);
    memset(t, 0, sizeof(*t));
}

int runs_put(struct db *db, const struct run_row *r, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int rc = stmt_open(
        db,
        "INSERT INTO runs (id, campaign, dir, state, verdict, reasons, host, boot_id,"
        " started_at_ms, ended_at_ms, budget_ms, seed, extra, nth)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " (SELECT ifnull(max(nth), 0) + 1 FROM runs))"
        " ON CONFLICT (id) DO UPDATE SET campaign = excluded.campaign, dir = excluded.dir,"
        " state = excluded.state, verdict = excluded.verdict, reasons = excluded.reasons,"
        " host = excluded.host, boot_id = excluded.boot_id,"
        " started_at_ms = excluded.started_at_ms, ended_at_ms = excluded.ended_at_ms,"
        " budget_ms = excluded.budget_ms, seed = excluded.seed, extra = excluded.extra",
        &st, err);

    if (rc < 0)
        return rc;
    stmt_text(st, 1, r->id);
    stmt_text(st, 2, r->campaign);
    if (r->dir != NULL)
        stmt_name(st, 3, r->dir);
    stmt_text(st, 4, r->state);
    stmt_text(st, 5, r->verdict);
    stmt_text(st, 6, r->reasons);
    stmt_text(st, 7, r->host);
    stmt_text(st, 8, r->boot_id);
    stmt_int(st, 9, r->started_at_ms);
    stmt_int(st, 10, r->ended_at_ms);
    stmt_int(st, 11, r->budget_ms);
    stmt_int(st, 12, (int64_t)r->seed);
    stmt_text(st, 13, r->extra);
    return stmt_run(db, st, err);
}

int runs_put_target(struct db *db, const struct target_row *t, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int rc = stmt_open(
        db,
        "INSERT INTO targets (run, name, position, state, end_reason, started_at_ms, ended_at_ms,"
        " fuzz_ms, execs_done, edges_found, total_edges, corpus_count, corpus_seeds,"
        " execs_per_sec, stability, last_find_ms, edges_floor, restarts, oom_kills, extra)"
        " VALUES (?1, ?2, (SELECT count(*) FROM targets WHERE run = ?1), ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)"
        " ON CONFLICT (run, name) DO UPDATE SET state = excluded.state,"
        " end_reason = excluded.end_reason, started_at_ms = excluded.started_at_ms,"
        " ended_at_ms = excluded.ended_at_ms, fuzz_ms = excluded.fuzz_ms,"
        " execs_done = excluded.execs_done, edges_found = excluded.edges_found,"
        " total_edges = excluded.total_edges, corpus_count = excluded.corpus_count,"
        " corpus_seeds = excluded.corpus_seeds, execs_per_sec = excluded.execs_per_sec,"
        " stability = excluded.stability, last_find_ms = excluded.last_find_ms,"
        " edges_floor = excluded.edges_floor, restarts = excluded.restarts,"
        " oom_kills = excluded.oom_kills, extra = excluded.extra",
        &st, err);

    if (rc < 0)
        return rc;
    stmt_text(st, 1, t->run);
    stmt_text(st, 2, t->name);
    stmt_text(st, 3, t->state);
    stmt_text(st, 4, t->end_reason);
    stmt_int(st, 5, t->started_at_ms);
    stmt_int(st, 6, t->ended_at_ms);
    stmt_int(st, 7, t->fuzz_ms);
    stmt_int(st, 8, t->execs_done);
    stmt_int(st, 9, t->edges_found);
    stmt_int(st, 10, t->total_edges);
    stmt_int(st, 11, t->corpus_count);
    stmt_int(st, 12, t->corpus_seeds);
    stmt_real(st, 13, t->execs_per_sec);
    stmt_real(st, 14, t->stability);
    stmt_int(st, 15, t->last_find_ms);
    stmt_int(st, 16, t->edges_floor);
    stmt_int(st, 17, t->restarts);
    stmt_int(st, 18, t->oom_kills);
    stmt_text(st, 19, t->extra);
    return stmt_run(db, st, err);
}

#define RUN_COLUMNS                                                                                \
    "SELECT id, campaign, dir, state, verdict, reasons, host, boot_id, started_at_ms,"             \
    " ended_at_ms, budget_ms, seed, extra FROM runs"

/* STATE/campaigns/NAME/FOLDER, whatever the state directory was called when the row was written. */
static void follow_move(struct db *db, struct run_row *r)
{
    const char *state = db_state_dir(db);
    cleanup_free char *middle = xasprintf("/campaigns/%s/", r->campaign);
    const char *slash = r->dir != NULL ? strrchr(r->dir, '/') : NULL;
    size_t n_middle = strlen(middle), n_old;
    struct stat was, is;

    if (slash == NULL || (size_t)(slash + 1 - r->dir) <= n_middle ||
        strncmp(slash + 1 - n_middle, middle, n_middle) != 0)
        return;
    n_old = (size_t)(slash + 1 - r->dir) - n_middle;
    if (n_old == strlen(state) && strncmp(r->dir, state, n_old) == 0)
        return;
    cleanup_free char *old = xstrndup(r->dir, n_old);
    char *now;

    /* One folder may have two spellings. */
    if (stat(old, &was) == 0 && stat(state, &is) == 0 && was.st_dev == is.st_dev &&
        was.st_ino == is.st_ino)
        return;
    now = xasprintf("%s%s", state, r->dir + n_old);
    free(r->dir);
    r->dir = now;
    r->moved = true;
}

static void read_run(struct db *db, sqlite3_stmt *st, struct run_row *r)
{
    r->id = stmt_dup(st, 0);
    r->campaign = stmt_dup(st, 1);
    r->dir = stmt_dup(st, 2);
    r->state = stmt_dup(st, 3);
    r->verdict = stmt_dup(st, 4);
    r->reasons = stmt_dup(st, 5);
    r->host = stmt_dup(st, 6);
    r->boot_id = stmt_dup(st, 7);
    r->started_at_ms = stmt_col(st, 8);
    r->ended_at_ms = stmt_col(st, 9);
    r->budget_ms = stmt_col(st, 10);
    r->seed = (uint64_t)stmt_col(st, 11);
    r->extra = stmt_dup(st, 12);
    follow_move(db, r);
}

int runs_get(struct db *db, const char *campaign, const char *run, struct run_row *ret,
             struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r;

    r = stmt_open(db,
                  RUN_COLUMNS
                  " WHERE (?1 IS NULL OR campaign = ?1)"
                  " AND (?2 IS NULL OR id = ?2 OR"
                  "      (length(?2) >= 6 AND upper(substr(id, -length(?2))) = upper(?2)))"
                  " ORDER BY nth DESC LIMIT 1",
                  &st, err);
    if (r < 0)
        return r;
    stmt_text(st, 1, campaign);
    stmt_text(st, 2, run);
    if ((r = stmt_step(db, st, err)) < 0)
        return r;
    if (r == 0) {
        if (campaign == NULL && run == NULL)
            return err_set(err, -ENOENT, "no campaign has run yet");
        if (run == NULL)
            return err_set(err, -ENOENT, "no campaign \"%s\"", campaign);
        return err_set(err, -ENOENT, "no run \"%s\"%s%s", run, campaign ? " of campaign " : "",
                       campaign ? campaign : "");
    }
    memset(ret, 0, sizeof(*ret));
    read_run(db, st, ret);
    return 0;
}

int runs_list(struct db *db, bool unfinished_only, struct run_row **ret, size_t *ret_n,
              struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct run_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db,
                      RUN_COLUMNS " WHERE ?1 = 0 OR state <> 'ended'"
                                  " ORDER BY nth DESC",
                      &st, err);

    if (r < 0)
        return r;
    stmt_int(st, 1, unfinished_only);
    while ((r = stmt_step(db, st, err)) == 1) {
        rows = stmt_grow(rows, n, sizeof(*rows));
        memset(&rows[n], 0, sizeof(rows[n]));
        read_run(db, st, &rows[n++]);
    }
    if (r < 0) {
        for (size_t i = 0; i < n; i++)
            run_row_clear(&rows[i]);
        free(rows);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

int runs_targets(struct db *db, const char *run, struct target_row **ret, size_t *ret_n,
                 struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    struct target_row *rows = NULL;
    size_t n = 0;
    int r = stmt_open(db,
                      "SELECT run, name, state, end_reason, started_at_ms, ended_at_ms, fuzz_ms,"
                      " execs_done, edges_found, total_edges, corpus_count, corpus_seeds,"
                      " execs_per_sec, stability, last_find_ms, edges_floor, restarts, oom_kills,"
                      " extra FROM targets WHERE run = ?1 ORDER BY position, name",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    while ((r = stmt_step(db, st, err)) == 1) {
        struct target_row *t;

        rows = stmt_grow(rows, n, sizeof(*rows));
        t = &rows[n++];
        *t = (struct target_row){
            .run = stmt_dup(st, 0),
            .name = stmt_dup(st, 1),
            .state = stmt_dup(st, 2),
            .end_reason = stmt_dup(st, 3),
            .started_at_ms = stmt_col(st, 4),
            .ended_at_ms = stmt_col(st, 5),
            .fuzz_ms = stmt_col(st, 6),
            .execs_done = stmt_col(st, 7),
            .edges_found = stmt_col(st, 8),
            .total_edges = stmt_col(st, 9),
            .corpus_count = stmt_col(st, 10),
            .corpus_seeds = stmt_col(st, 11),
            .execs_per_sec = sqlite3_column_double(st, 12),
            .stability = sqlite3_column_double(st, 13),
            .last_find_ms = stmt_col(st, 14),
            .edges_floor = stmt_col(st, 15),
            .restarts = stmt_col(st, 16),
            .oom_kills = stmt_col(st, 17),
            .extra = stmt_dup(st, 18),
        };
    }
    if (r < 0) {
        for (size_t i = 0; i < n; i++)
            target_row_clear(&rows[i]);
        free(rows);
        return r;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}
