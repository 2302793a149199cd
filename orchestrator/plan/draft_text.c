/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A draft as a commented spec. Every line that is set is one a person may want to change; what the program is
 * stands above it in a comment. A byte that a spec cannot hold is found by whoever loads the text again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "plan/draft.h"

/* Below dir, as a path from there; else as it is. */
static const char *shown(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    if (strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1] != '\0')
        return path + n + 1;
    return path;
}

static void comment(FILE *out, const char *text)
{
    size_t size = 4 * strlen(text) + 1;
    cleanup_free char *safe = xmalloc(size);

    (void)fprintf(out, "# %s\n", text_printable(safe, size, text));
}

static void describe(FILE *out, const struct elfprobe *e)
{
    (void)fprintf(out, "# It is %s%s%s%s%s%s%s%s%s.\n",
                  e->persistent ? "persistent"
                                : "run once a "
                                  "process",
                  e->deferred ? ", deferred" : "",
                  e->shm_testcase ? ", test cases in shared memory" : "",
                  e->driver ? ", libAFLDriver around LLVMFuzzerTestOneInput" : "",
                  e->kit ? ", built with the harness kit" : "", e->is_static ? ", static" : "",
                  e->asan   ? ", ASan"
                  : e->msan ? ", MSan"
                  : e->tsan ? ", TSan"
                            : "",
                  e->ubsan ? ", UBSan" : "", e->autodict ? ", brings a dictionary of its own" : "");
}

static void put_input(FILE *out, const struct draft *d)
{
    static const char *const words[] = {
        [DRAFT_SHM] = "The input comes in shared memory: it needs no arguments.",
        [DRAFT_STDIN] = "The input comes on standard input. If it wants a file: args = @@",
        [DRAFT_FILE] = "It opened the file it was given: @@ stands for the input.",
        [DRAFT_KIT] = "The kit takes the input from afl-fuzz: no arguments.",
        [DRAFT_GIVEN] = "As given; @@ stands for the input, standard input without it.",
    };

    comment(out, words[d->input]);
    if (d->input == DRAFT_FILE)
        (void)fputs("args = @@\n", out);
    if (d->args.n > 0)
        (void)fputs("args =\n", out);
    for (size_t i = 0; i < d->args.n; i++)
        (void)fprintf(out, "    %s\n", d->args.v[i]);
}

static void put_build(FILE *out, const struct draft *d, const char *dir, enum draft_role role,
                      const char *key, const char *with, const char *without)
{
    const struct draft_build *b = &d->builds[role];

    comment(out, b->path != NULL ? with : without);
    if (b->path != NULL)
        (void)fprintf(out, "%s = %s\n", key, shown(b->path, dir));
    else
        (void)fprintf(out, "# %s = %s-%s\n", key, d->name, key);
}

char *draft_text(const struct draft *d, const char *dir)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        abort();
    (void)fprintf(
        out,
        "# A campaign on %s. fuzzd-campaign(5) describes every key;\n"
        "# `fuzzctl check FILE` names faults, `fuzzctl plan FILE` shows what would run.\n",
        d->name);
    for (size_t i = 0; i < d->missing.n; i++) {
        (void)fputs(i == 0 ? "#\n" : "", out);
        cleanup_free char *line = xasprintf("Note: %s", d->missing.v[i]);
        comment(out, line);
    }
    for (size_t i = 0; i < d->beside.n; i++) {
        cleanup_free char *line = xasprintf("Passed over: %s", d->beside.v[i]);
        comment(out, line);
    }
    (void)fprintf(out,
                  "\n[campaign]\nname = %s\n"
                  "# Fuzzing time; minutes after a change, hours before a release.\n"
                  "budget = 10m\n"
                  "# One instance a core. The second runs sanitizer, the third cmplog.\n"
                  "cores = all-1\n"
                  "\n[limits]\n"
                  "# Of the program under test; what passes it is a finding of class oom.\n"
                  "memory = 2G\n"
                  "# auto: five times the slowest input that a run begins with, at least 100ms.\n"
                  "timeout = auto\n"
                  "\n[target %s]\n",
                  d->name, d->name);
    describe(out, &d->builds[DRAFT_HARNESS].elf);
    (void)fprintf(out, "harness = %s\n", shown(d->builds[DRAFT_HARNESS].path, dir));
    put_build(out, d, dir, DRAFT_CMPLOG, "cmplog", "The build that logs comparisons.",
              "A build with AFL_LLVM_CMPLOG=1 solves comparisons with magic values.");
    put_build(out, d, dir, DRAFT_SANITIZER, "sanitizer",
              "The build that sees silent memory errors; findings are replayed in it.",
              "A build with AFL_USE_ASAN=1 sees silent memory errors and tells findings apart.");
    put_build(out, d, dir, DRAFT_REPLAY, "replay", "The plain build, for replay without AFL++.",
              "A build by the plain compiler confirms findings without instrumentation.");
    if (d->builds[DRAFT_LAF].path != NULL)
        put_build(out, d, dir, DRAFT_LAF, "laf", "The build with comparisons split.", "");
    put_build(out, d, dir, DRAFT_COVERAGE, "coverage",
              "The build with source coverage, for `fuzzctl coverage`.",
              "A build by clang -fprofile-instr-generate -fcoverage-mapping shows covered lines.");
    put_input(out, d);
    comment(out, d->seeds_there ? "Where afl-fuzz begins; never written to."
                                : "Put at least one file here that is not empty.");
    (void)fprintf(out, "seeds = %s\n", shown(d->seeds, dir));
    comment(out, d->dict != NULL
                     ? "Tokens of the format."
                     : "Tokens of the format, as \"name\" or name=\"\\x01token\" lines.");
    if (d->dict != NULL)
        (void)fprintf(out, "dictionary = %s\n", shown(d->dict, dir));
    else
        (void)fprintf(out, "# dictionary = %s.dict\n", d->name);
    if (fclose(out) != 0)
        abort();
    return text;
}
