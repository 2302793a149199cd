/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Only mains, ctl and the decisions of farm and triage log; library code returns its message in struct err. */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Names the program in each line; messages above level are dropped. Lines go to stderr. name is borrowed for ever. */
void log_init(const char *name, enum log_level level);

/*
 * Sends lines to a file of at most max_bytes instead (two files: FILE and FILE.1, the older half dropped), each with a
 * UTC time. A write that fails is forgotten: a full disk never stops the program. Returns 0 or -errno of the open.
 */
int log_to_file(const char *path, long long max_bytes);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * For lines that come one for each of something there may be any number of: the first LOG_LIMIT_LINES of each LOG_LIMIT_MS pass, the rest is
 * counted. All zero to begin with.
 */
#define LOG_LIMIT_LINES 20
#define LOG_LIMIT_MS    10000
struct log_limit {
    int64_t since_ms; /* monotonic, of the first that passed */
    int passed;
    int64_t held;
};
bool log_limit_pass(struct log_limit *l, int64_t now_ms);
/* How many lines were held back since the last time it was asked, to be told as a number. */
int64_t log_limit_held(struct log_limit *l);

/* Prints and exits 1. Only before a loop starts, and in one-shot programs. */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
