/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_ms(void);  /* CLOCK_MONOTONIC milliseconds; for durations */
int64_t clock_wall_ms(void); /* Unix time in milliseconds; only for what is shown or stored */
/* From one Unix time to a later one in milliseconds; 0 where the clock was set back between the two. */
int64_t clock_span_ms(int64_t from_ms, int64_t to_ms);
/* Unix milliseconds as "2026-11-29T15:21:39Z"; buf >= 24 bytes. Returns buf. 0 gives "". */
char *clock_iso8601(char *buf, size_t size, int64_t wall_ms);
/* "20261129T152139Z" for folder names; buf >= 20. */
char *clock_basic(char *buf, size_t size, int64_t wall_ms);
/* This boot's id as 32 hex digits (dashes dropped); buf >= 33. Empty when unknown. */
char *clock_boot_id(char *buf, size_t size);
/* A ULID of now: 26 characters of Crockford base32; buf >= 27. Source: github.com/ulid/spec. */
char *clock_ulid(char *buf, size_t size);

#endif
