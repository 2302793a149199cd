/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_KEEPER_WIRE_H
#define SYS_KEEPER_WIRE_H

#include <stddef.h>

#include "sys/keeper.h"

/* The messages as text. Only keeper_run_parse allocates, so that fuzz-keeper can use the rest. */

#define KEEPER_DESC_BYTES_MAX (256 * 1024)
#define KEEPER_RUN_BYTES_MAX  (16 * 1024)
/* Pointers of all lists with their NULLs. */
#define KEEPER_SLOTS_MAX      (KEEPER_ITEMS_MAX + 16)

/* Items "key=value", each with its NUL. Length in bytes, or -E2BIG (also: over KEEPER_ITEMS_MAX list items). */
int keeper_desc_format(char *buf, size_t size, const struct keeper_desc *d);
/*
 * Parses a description in place: *ret points into data and slots, which must outlive it; it is not cleared.
 * size bytes, the last one a NUL. 0, -EBADMSG (cut, or not ours), -E2BIG.
 */
int keeper_desc_parse(char *data, size_t size, char **slots, struct keeper_desc *ret);

/* The whole text of a record with its sum line, NUL-terminated. Length without the NUL, or -E2BIG. */
int keeper_run_format(char *buf, size_t size, const struct keeper_run *r);
int keeper_exit_format(char *buf, size_t size, const struct keeper_exit *e);
/* Parse size bytes, which are changed and must have a NUL behind them; see keeper_run_load and keeper_exit_load. */
int keeper_run_parse(char *data, size_t size, struct keeper_run *ret);
int keeper_exit_parse(char *data, size_t size, struct keeper_exit *ret);

#endif
