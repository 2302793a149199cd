/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_INPUTS_H
#define CORPUS_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Lists of inputs from what a person names: a file is an input; of AFL++ output (a folder that holds fuzzer_setup, or folders that do) the
 * queue of every instance; of any other folder all regular files, folders below included. Names that begin with a dot and README.txt are
 * passed over, as AFL++ and the kit do; links in folders are not followed. A folder below that cannot be listed is an input that cannot be
 * read. A file named .tar or .tar.zst is a folder of its members, as
 * corpus/packed.h says; one that lies in a folder is an input.
 */
#define INPUTS_MAX       10000000
#define INPUTS_DEPTH_MAX 64

struct packed;
struct packed_input;

/* Zero-initialise to make an empty one; v and n may be read. */
struct inputs {
    char **v; /* paths of files; "FILE.tar/NAME" of what is in a tar */
    size_t n, room;
    const struct packed_input **packed; /* one an input, NULL where it is a file */
    struct packed **archives;           /* owned */
    size_t n_archives;
    size_t passed_over; /* in folders: links, FIFOs and the like */
};

/* Appends in the order of the names. 0, or -errno with the list as it was: -ENOENT, -ELOOP (too deep), -E2BIG (over INPUTS_MAX). */
int inputs_add(struct inputs *list, const char *path, struct err *err);
/* Appends a file without a look at it. */
void inputs_add_file(struct inputs *list, const char *path);
/* Appends an archive that was read from path, and takes it over: on failure it is freed. */
int inputs_add_packed(struct inputs *list, struct packed *archive, const char *path,
                      struct err *err);
/* Appends one of another list, which has to live as long. */
void inputs_add_from(struct inputs *list, const struct inputs *from, size_t index);
void inputs_clear(struct inputs *list);

/* Whether what is made at out, a file or a folder, would be among the inputs of the folder path from then on. */
bool inputs_takes(const char *path, const char *out);

/*
 * An input's bytes, at most max_bytes (a larger one is -EFBIG). Of a file: no fifo blocks and no link is followed, unless the file was named
 * itself. Caller frees. Any thread may, while the list stays as it is.
 */
int inputs_read(const struct inputs *list, size_t index, size_t max_bytes, uint8_t **ret_data,
                size_t *ret_size);
/* The same of a file. */
int inputs_read_file(const char *path, size_t max_bytes, uint8_t **ret_data, size_t *ret_size);
/* Why either did not read an input of FORKSERVER_INPUT_BYTES, by what it returned: "over 1 MiB", "not a regular file", or the words of errno. */
const char *inputs_why(int code);
/* Whether it is in memory, so that v is no path and inputs_borrow has it; and whether all are. */
bool inputs_is_packed(const struct inputs *list, size_t index);
bool inputs_all_packed(const struct inputs *list);
/* As inputs_read of one that is in memory, without a copy. */
int inputs_borrow(const struct inputs *list, size_t index, size_t max_bytes,
                  const uint8_t **ret_data, size_t *ret_size);
/* Its size and, of a file, when it was changed; 0 of one in a tar, which has no times of ours. 0, or -errno. */
int inputs_stat(const struct inputs *list, size_t index, uint64_t *ret_size, int64_t *ret_mtime_s);

#endif
