/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_AFLPROBE_H
#define PLAN_AFLPROBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * What the installed afl-fuzz is and takes, learnt by asking it: "afl-fuzz -h" and "-hh" for version, flags, schedules and
 * variables, and the "Mistyped" warning for each variable we might pass. Cached below cache_dir by the binary's SHA-256.
 */
struct aflprobe {
    char *path; /* of afl-fuzz */
    char sha256[65];
    char *version;   /* "4.04c" as printed after "afl-fuzz++" */
    int version_num; /* 4.04 -> 404, 4.21 -> 421, 5.0 -> 500; 0 unknown */
    char flags[128]; /* option letters it takes, e.g. "GLMSTVZcglps..." */
    struct strv
        flag_forms; /* value sets where the help names them: "p=fast,explore,...", "l=123AT", "P=explore,exploit" */
    struct strv
        env; /* AFL_* variables it knows, of those we asked about and those its help names */
    bool new_forkserver; /* >= 4.20c: drives harnesses of both protocols */
};

/* afl_fuzz NULL: $AFL_FUZZ, else the first in PATH. cache_dir NULL: no cache. May take seconds; not for the daemon's loop. 0 or -ENOENT, -errno with err. */
int aflprobe_run(const char *afl_fuzz, const char *cache_dir, struct aflprobe **ret,
                 struct err *err);
void aflprobe_free(struct aflprobe *p);
json_t *aflprobe_to_json(const struct aflprobe *p); /* new reference */
int aflprobe_from_json(const json_t *j, struct aflprobe **ret,
                       struct err *err); /* bounded, hostile-safe */
/* "4.04c" -> 404, "5.0" -> 500, 0 when it is no version. */
int aflprobe_version_num(const char *version);
/* Fills version, flags, forms and variables from what "afl-fuzz -hh" printed (colours and all); nothing is asked. */
void aflprobe_parse_help(struct aflprobe *p, const char *text);
/* Adds the variables of asked that the text does not call mistyped or deprecated. */
void aflprobe_parse_env(struct aflprobe *p, const struct strv *asked, const char *text);
bool aflprobe_has_flag(const struct aflprobe *p, char flag);
bool aflprobe_has_value(const struct aflprobe *p, char flag,
                        const char *value); /* true if the help lists value for flag */
bool aflprobe_has_env(const struct aflprobe *p, const char *name);

#endif
