/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs that a command line names: files, the files of directories, stdin.
 */
#ifndef FZ_INPUTS_H
#define FZ_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fz_inputs {
    char **paths;
    size_t count;
};

/*
 * Adds a file, or the regular files of a directory by name in byte order. Of a
 * directory, names that begin with a dot and AFL++'s README.txt are no inputs.
 * Returns 0 or negative errno.
 */
int fz_inputs_add(struct fz_inputs *in, const char *path);
void fz_inputs_clear(struct fz_inputs *in);

/*
 * Reads the first cap bytes of a regular file, or of stdin for "-".
 * Returns 0 or negative errno; *ret_n bytes are in buf.
 */
int fz_input_read(const char *path, uint8_t *buf, size_t cap, size_t *ret_n);

#endif
