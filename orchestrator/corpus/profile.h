/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_PROFILE_H
#define CORPUS_PROFILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "corpus/llvmtools.h"

/*
 * What many inputs cover of a program built with clang's source-based coverage. Each input runs in a process of its own, which adds to its
 * chunk's profile when it ends; one that is killed adds nothing, and takes nothing along.
 * Source: LLVM docs, "Source-based Code Coverage", LLVM_PROFILE_FILE.
 */
struct profile_opts {
    const char *program;
    bool kit;                      /* built with the harness kit: many inputs a run */
    bool takes_file;               /* runs the files it is given */
    const struct strv *args, *env; /* of the target; may be NULL */
    const struct strv *inputs;     /* absolute paths */
    const bool *skip;              /* of inputs: they are not run; NULL: none */
    int64_t timeout_ms, memory_bytes;
    int jobs;        /* 0: one a core */
    const char *dir; /* a private folder, there already */
    const volatile sig_atomic_t *cancel;
    void (*progress)(void *ctx, size_t done, size_t all); /* may be NULL; by one thread at a time */
    void *ctx;
};

struct profile_result {
    char *path;             /* of the merged profile, in dir */
    struct llvmtools tools; /* that read it */
    size_t run;             /* inputs that came to their end */
    size_t torn;            /* of these and of the lost, in chunks whose profile cannot be read */
    size_t n_lost;
    struct {
        size_t index;
        char why[32]; /* "invariant", "timeout", "signal 11", "not run" */
    } * lost;         /* what they cover is missing; ascending */
};

/* 0; -ECANCELED; -ENODATA: the program wrote no profile; what llvmtools_find says; -errno. Clear the result in the first case. Blocking. */
int profile_run(const struct profile_opts *o, struct profile_result *ret, struct err *err);
void profile_result_clear(struct profile_result *r);

#endif
