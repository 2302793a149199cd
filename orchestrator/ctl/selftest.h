/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SELFTEST_H
#define CTL_SELFTEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ctl/client.h"
#include "ctl/cmd.h"
#include "spec/spec.h"
#include "store/db.h"
#include "triage/classify.h"

/* The parts of `fuzzctl selftest`: what is to be found, one item after the other, each a campaign of a private fuzzd. */
enum selftest_state {
    SELFTEST_TODO,
    SELFTEST_BUILDING, /* its build command runs */
    SELFTEST_BUILT,
    SELFTEST_FUZZING,
    SELFTEST_STOPPING, /* it has shown what it should, or its time is over: the verdict is awaited */
    SELFTEST_PASSED,
    SELFTEST_FAILED
};

struct selftest_item {
    const struct spec_plant *plant; /* NULL: the target without a bug, which must be clean */
    size_t target;                  /* index in the spec */
    int64_t execs, wall_ms;         /* its bounds */
    int cores;                      /* it takes */
    enum selftest_state state;
    pid_t build_pid;
    char *run; /* run id, NULL before it was started */
    bool seen; /* an allowed verdict, or a hang that was proven */
    char seen_file[256];
    int64_t execs_done, found_execs, found_ms; /* -1: none */
    char found[128];                           /* "invariant:C3"; of a control the verdict */
    char why[512];                             /* of a failure, in words */
};

struct selftest {
    const struct cmd_env *env;
    char *spec_path;
    struct spec *spec;
    char *dir;   /* private: state, specs, seeds, build logs */
    char *state; /* of the private fuzzd */
    struct client *client;
    struct db *db; /* of the private state directory, NULL before the first start */
    struct selftest_item *items;
    size_t n_items;
    int jobs;
};

/* "plants" and "controls" are told by their names. */
const char *selftest_name(const struct selftest *st, const struct selftest_item *it);
void selftest_fail(struct selftest_item *it, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool selftest_done(const struct selftest_item *it);

/* selftest_build.c. Starts the build of a plant; BUILT at once for a control. */
void selftest_build(struct selftest *st, struct selftest_item *it);
/* Looks whether it has ended. */
void selftest_build_poll(struct selftest *st, struct selftest_item *it);
/* Ends a build that runs; for a way out. */
void selftest_build_stop(struct selftest_item *it);
/* The folder of a plant's builds, and one of them by the target's own path for it; NULL when the target has none. Caller frees. */
char *selftest_plant_dir(const struct selftest *st, const struct selftest_item *it);
char *selftest_plant_program(const struct selftest *st, const struct selftest_item *it,
                             const char *own);

/*
 * selftest_prepare.c. Copies the seeds that the plant passes and writes the item's campaign. *ret_file is the caller's; 0, or -errno with
 * words of what is missing.
 */
int selftest_prepare(struct selftest *st, const struct selftest_item *it, char **ret_file,
                     struct err *err);
/* One run of an input in the plant's replay build, or the best there is; class "none": it passes. */
int selftest_run_input(const struct selftest *st, const struct selftest_item *it, const char *input,
                       int64_t timeout_ms, struct verdict_of_run *ret, struct err *err);

/* selftest_watch.c. Starts the campaign of a built item, looks at one that runs. */
void selftest_start(struct selftest *st, struct selftest_item *it);
void selftest_poll(struct selftest *st, struct selftest_item *it);

/* selftest_print.c */
void selftest_progress(const struct selftest *st, const struct selftest_item *it, const char *what);
void selftest_table(const struct selftest *st);
json_t *selftest_json(const struct selftest *st); /* new reference */

#endif
