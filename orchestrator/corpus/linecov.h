/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_LINECOV_H
#define CORPUS_LINECOV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Lines, functions and regions of source that a corpus covers, from what llvm-cov export prints. What it says is bounded and taken by
 * type; a member that is not what it should be is passed over.
 * Source: LLVM tools/llvm-cov/CoverageExporterJson.cpp, format 2.x.
 */
enum linecov_part {
    LINECOV_LIBRARY, /* what is fuzzed */
    LINECOV_HARNESS, /* invariants, oracle and mutator of a target built with the kit */
    LINECOV_KIT,     /* the kit itself */
    LINECOV_PARTS
};
const char *linecov_part_name(enum linecov_part part); /* "library", "harness", "kit" */
/* By its path, in a program built with the kit; in any other all is library. */
enum linecov_part linecov_part_of(const char *path, bool kit);

struct linecov_count {
    long covered, count;
};
struct linecov_sum {
    struct linecov_count lines, functions, regions;
};
struct linecov_file {
    char *path;
    enum linecov_part part;
    struct linecov_sum sum;
};
struct linecov_function {
    char *name; /* without the file that LLVM puts before a static one */
    char *path;
    long line;
    enum linecov_part part;
    struct linecov_count regions;
    bool covered;
};
struct linecov {
    struct linecov_file *files; /* with code in them; least covered lines first, then by path */
    size_t n_files;
    struct linecov_function
        *functions; /* not covered first, the library before the rest; by place */
    size_t n_functions;
    struct linecov_sum parts[LINECOV_PARTS];
};

/* 0, or -EPROTO. Clear the result in the first case. */
int linecov_parse(const char *text, size_t size, bool kit, struct linecov *ret, struct err *err);
void linecov_clear(struct linecov *l);

#endif
