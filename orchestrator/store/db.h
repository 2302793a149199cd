/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * state.db: the index of everything (SQLite, WAL). fuzzd is the only writer; others open it read-only. The schema has a version
 * (PRAGMA user_version = DB_SCHEMA_VERSION); an older one is migrated by the writer, a newer one refused.
 */
#define DB_SCHEMA_VERSION 3
struct db;

/* Opens (writer: makes) STATE/state.db. -ENOENT when a reader finds none, -EPROTO newer schema, -EIO damaged. */
int db_open(const char *state_dir, bool writable, struct db **ret, struct err *err);
void db_close(struct db *db);
sqlite3 *db_handle(struct db *db);             /* for store/ only, by convention */
const char *db_state_dir(const struct db *db); /* borrowed */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);
int db_meta_set(struct db *db, const char *key, const char *value, struct err *err);
char *db_meta_get(struct db *db, const char *key); /* caller frees; NULL none */

#endif
