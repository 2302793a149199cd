/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_MANYRUN_H
#define CTL_MANYRUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/cmd.h"
#include "engine/runner.h"

/* What the verbs that run many inputs share: limits on the command line, Ctrl-C, one line of progress. */

struct manyrun_limits {
    int jobs;             /* 0: one a core */
    int64_t timeout_ms;   /* of an input; 0: not given */
    int64_t memory_bytes; /* 0: not given */
};
#define MANYRUN_JOBS_MAX     256
#define MANYRUN_TIMEOUT_MS   1000
#define MANYRUN_MEMORY_BYTES (INT64_C(2) << 30)

enum { MANYRUN_OPT_JOBS = 0x100, MANYRUN_OPT_TIMEOUT, MANYRUN_OPT_MEMORY };
/* Rows of a getopt_long table. */
#define MANYRUN_OPTIONS                                                                            \
    {"jobs", required_argument, NULL, MANYRUN_OPT_JOBS},                                           \
        {"timeout", required_argument, NULL, MANYRUN_OPT_TIMEOUT},                                 \
    {                                                                                              \
        "memory", required_argument, NULL, MANYRUN_OPT_MEMORY                                      \
    }
/* Takes opt with its argument arg. EXIT_DONE; EXIT_USAGE, the reason printed; -1 when opt is none of ours. */
int manyrun_option(const struct cmd_entry *e, struct manyrun_limits *l, int opt, const char *arg);
/* What was not given gets its default. */
void manyrun_defaults(struct manyrun_limits *l);

/*
 * --engine NAME of a program: "auto" is the fastest that it allows. maps: only what tells of edges is allowed. EXIT_DONE with *ret, or EXIT_USAGE,
 * the reason printed.
 */
int manyrun_engine(const struct cmd_entry *e, const char *name, bool maps, const char *program,
                   const struct elfprobe *elf, enum runner_engine *ret);

/* From now on the first SIGINT, SIGTERM or, unless it is ignored, SIGHUP sets manyrun_stop, the second one ends us. */
void manyrun_catch(void);
/* The same, as often as they come: for a verb that has much to clear away. */
void manyrun_catch_all(void);
extern volatile sig_atomic_t manyrun_stop;

/* A line on stderr that is written over, when that is a terminal and nobody asked for quiet. */
struct manyrun_progress {
    bool on;
    int64_t began_ms, shown_ms;
};
void manyrun_progress_begin(struct manyrun_progress *p, const struct cmd_env *env);
/* A few times a second at most. more: further words, "" or ", 3 failed". */
void manyrun_progress_show(struct manyrun_progress *p, size_t done, size_t all, const char *more);
void manyrun_progress_clear(struct manyrun_progress *p);

#endif
