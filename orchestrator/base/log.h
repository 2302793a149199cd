/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

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
/* Prints and exits 1. Only before a loop starts, and in one-shot programs. */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
