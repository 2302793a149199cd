/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "base/err.h"

/* "fuzd": tells our files from other SQLite databases (PRAGMA application_id). */
#define SCHEMA_APPLICATION_ID 0x66757a64

/*
 * Brings an open database to DB_SCHEMA_VERSION in one transaction: all tables in an empty one, the missing steps in an
 * older one. Returns 0, -EPROTO when it is of a newer version, -EIO when it is not ours, or -errno.
 */
int schema_migrate(sqlite3 *sq, struct err *err);

/* For readers: 0 when the version is ours, -ENOENT when the database is still empty, else as above. */
int schema_check(sqlite3 *sq, struct err *err);

#endif
