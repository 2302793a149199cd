/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORPUS_LLVMTOOLS_H
#define CORPUS_LLVMTOOLS_H

#include <signal.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * llvm-profdata and llvm-cov of one version. Raw profiles are read by the version of the compiler that made the program and by no other, so
 * the version is found by trying. Source: LLVM docs, "llvm-profdata", "llvm-cov", "Source-based Code Coverage".
 */
struct llvmtools {
    const volatile sig_atomic_t
        *cancel;          /* not 0: each of these ends soon, -ECANCELED; may be NULL */
    char *profdata, *cov; /* paths; NULL: not found yet */
    char *cxxfilt;        /* llvm-cxxfilt of the same version, NULL: there is none */
};

/*
 * Finds tools that read the raw profile and can show it: in PATH with and without a version in the name, then in /usr/lib/llvm-N/bin.
 * 0; -ENOENT: none are installed; -EPROTO: none of them reads it; the message names what to do.
 */
int llvmtools_find(const char *profile, const char *scratch, struct llvmtools *ret,
                   struct err *err);
void llvmtools_clear(struct llvmtools *t);

/* All profiles, raw or merged, into the file out. 0, -EPROTO with the tool's words, -errno. */
int llvmtools_merge(const struct llvmtools *t, const struct strv *profiles, const char *out,
                    struct err *err);
/* What the profile covers of the program, as llvm-cov export prints it; at most LLVMTOOLS_EXPORT_MAX bytes (-EFBIG). Caller frees. */
#define LLVMTOOLS_EXPORT_MAX (256u << 20)
int llvmtools_export(const struct llvmtools *t, const char *program, const char *profile,
                     char **ret_text, size_t *ret_size, struct err *err);
/* HTML pages into the folder dir, which llvm-cov makes. */
int llvmtools_html(const struct llvmtools *t, const char *program, const char *profile,
                   const char *dir, struct err *err);
/*
 * The names of C++ and Rust as a person writes them, others as they are; the profile's own are mangled. A file of its own is made in scratch.
 * 0 with as many in *ret, empty before; -ENOENT without cxxfilt; -EPROTO.
 */
int llvmtools_demangle(const struct llvmtools *t, const struct strv *names, const char *scratch,
                       struct strv *ret, struct err *err);

#endif
