/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STMT_H
#define STORE_STMT_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/*
 * The few calls of SQLite that the store is written with. Text is never pasted into SQL: statements are constant and values are bound. A
 * failed bind shows at the step that follows, so binds are not checked one by one.
 */

/* Negative errno of an SQLite result code: FULL is -ENOSPC, BUSY -EBUSY, CORRUPT and NOTADB -EIO, ... */
int stmt_errno(sqlite3 *sq, int rc);
/* Fills *err with "state.db: what: SQLite's words"; returns the negative errno. */
int stmt_error(sqlite3 *sq, int rc, const char *what, struct err *err);

int stmt_open(struct db *db, const char *sql, sqlite3_stmt **ret, struct err *err);
static inline void cleanup_stmt_fn(sqlite3_stmt **st)
{
    sqlite3_finalize(*st);
}
#define cleanup_stmt __attribute__((cleanup(cleanup_stmt_fn)))

/* NULL binds NULL. The value is copied. */
void stmt_text(sqlite3_stmt *st, int i, const char *s);
/* A file name: bytes, not text. */
void stmt_name(sqlite3_stmt *st, int i, const char *s);
void stmt_int(sqlite3_stmt *st, int i, int64_t n);
void stmt_real(sqlite3_stmt *st, int i, double d);

/* 1 a row, 0 no more, -errno. */
int stmt_step(struct db *db, sqlite3_stmt *st, struct err *err);
/* Steps a statement that gives no row, and resets it for the next values. 0 or -errno. */
int stmt_run(struct db *db, sqlite3_stmt *st, struct err *err);

/* A column as a string of the caller's; NULL when it is NULL. Bytes of a blob up to the first NUL. */
char *stmt_dup(sqlite3_stmt *st, int col);
int64_t stmt_col(sqlite3_stmt *st, int col);

/* Room for one more element in an array that grows by doubling; returns the (moved) array. */
void *stmt_grow(void *rows, size_t n, size_t size);

#endif
