/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * What went wrong, for a person: a code for the program and one line of text. Fixed size, owned by the
 * caller, never allocates. A function that succeeds does not touch it.
 */
struct err {
    int code;       /* negative errno */
    char msg[1024]; /* one line, no newline at the end */
};

/* Fills *err (NULL is allowed) with code and the formatted text; control bytes and what is not UTF-8 are shown as \xNN. Returns code. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set, and appends ": " and strerror(-code). */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text that is there already. It has no code to return: the caller keeps its own. */
void err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
