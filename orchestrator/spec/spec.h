/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * A campaign spec, as text turned into values. Paths are absolute after spec_load. One table (spec_keys.c) names every key once:
 * section, key, type, range, default, text for people; parser, defaults, check, --effective and the man page test use it.
 */
#define SPEC_NO_SEED "holds no seed" /* in the fault of such a seeds folder */

enum spec_stop_on { SPEC_STOP_NEVER, SPEC_STOP_FIRST };
enum spec_corpus { SPEC_CORPUS_KEEP, SPEC_CORPUS_DROP };
enum spec_sweep { SPEC_SWEEP_YES, SPEC_SWEEP_NO };
enum spec_share { SPEC_SHARE_NO, SPEC_SHARE_YES };
#define SPEC_PRIORITY_MAX 100

struct spec_limits {
    int64_t memory_bytes;
    int64_t pids;
    int64_t cpu_pct;
    int64_t timeout_ms;      /* 0: auto, afl-fuzz calibrates */
    int64_t hang_timeout_ms; /* 0: auto, 2 x timeout, at least 1 s */
    int64_t disk_bytes, disk_floor_bytes;
    int64_t pressure_pct;
    int64_t log_max_bytes;
};

struct spec_target {
    char *name;
    int line;                                                               /* of its section */
    char *harness, *cmplog, *sanitizer, *replay, *laf, *coverage, *mutator; /* absolute or NULL */
    enum spec_sweep sweep; /* whether its queues are run through sanitizer */
    struct strv args, env;
    char *seeds, *dictionary;  /* absolute; dictionary may be NULL */
    struct strv after;         /* names of targets that must end clean first */
    struct strv regressions;   /* absolute */
    struct strv watch;         /* absolute */
    char *build;               /* command line for people and later gates, or NULL */
    int64_t instances;         /* 0: cores / targets, at least 1 */
    int64_t max_len;           /* bytes */
    int64_t init_timeout_ms;   /* 0: AFL++'s own */
    struct spec_limits limits; /* [limits] with the target's own values over it */
    uint64_t set;              /* bit per key of the table that the file set in this section */
};

/* A build of a target with one known bug in it: what a campaign on it has to find. */
enum spec_variant { SPEC_VARIANT_PLAIN, SPEC_VARIANT_ASAN, SPEC_VARIANT_CMPLOG };
enum spec_plant_replay { SPEC_REPLAY_YES, SPEC_REPLAY_NO };
enum spec_plant_startup { SPEC_STARTUP_NO, SPEC_STARTUP_YES };
struct spec_plant {
    char *name;
    int line;     /* of its section */
    bool in_file; /* of plants_file, else of the spec itself */
    char *target;
    enum spec_variant variant;
    struct strv allow; /* CLASS or CLASS:ID */
    int64_t execs, wall_ms;
    enum spec_plant_replay replay;
    enum spec_plant_startup startup;
    char *seeds, *mutator; /* absolute or NULL */
    char *dir;             /* as written, relative to root, or NULL: build/plants/NAME/TARGET */
    char *build;           /* command line, or NULL: make plant PLANT=NAME */
};

struct spec_mark;
struct spec {
    char *path, *root, *name;
    int64_t budget_ms, execs, plateau_ms; /* 0: no such end (budget is always > 0) */
    char *cores;                          /* as written: "2", "all-1" */
    bool cores_by_option;                 /* written on the command line and not in the file */
    int64_t priority;                     /* 0 to SPEC_PRIORITY_MAX */
    enum spec_share share_cores;          /* with others that share theirs */
    bool oversubscribe;                   /* more instances than cores, for tests; no key */
    uint64_t seed;
    bool has_seed;
    char *user; /* NULL: whoever fuzzd is */
    enum spec_stop_on stop_on;
    enum spec_corpus corpus; /* whether a run leaves its corpus to the next */
    struct spec_limits limits;
    struct spec_target *targets;
    size_t n_targets;
    char *plants_file;         /* absolute or NULL */
    struct spec_plant *plants; /* of the spec, then of plants_file */
    size_t n_plants;
    char *text; /* the file as read, for the run's folder */
    size_t text_size;
    struct spec_mark *marks; /* where each key stands; private to spec/ */
    size_t n_marks;
};

/* One fault: "file:line: [section] key: what is wrong and what is allowed". line 0 when it belongs to the whole file. */
struct spec_fault {
    int line;
    char file[256]; /* as written in the spec, of a fault in plants_file; "": the spec itself */
    char section[64], key[64]; /* as shown: "limits", "target NAME" */
    char msg[512];
    bool warning; /* told, but the spec is taken */
    bool unbuilt; /* a program that is not there, of a target that says how it is built */
};
struct spec_faults {
    struct spec_fault *v;
    size_t n;
};
void spec_faults_clear(struct spec_faults *f);
void spec_faults_add(struct spec_faults *f, int line, const char *section, const char *key,
                     bool warning, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Faults from number n on belong to that file. */
void spec_faults_in_file(struct spec_faults *f, size_t n, const char *file);
size_t spec_faults_errors(const struct spec_faults *f); /* not counting warnings */
/* One line per fault, sorted by line; path as given by the user. */
void spec_faults_print(const struct spec_faults *f, const char *path, FILE *out);

/* Overrides from flags, applied after the file. NULL fields: none. The environment's FUZZ_RUNTIME_SECS lies between --budget and the file. */
struct spec_overrides {
    const char *budget, *execs, *cores, *seed, *name;
    bool oversubscribe; /* see struct spec */
};

/*
 * Reads, parses, defaults and checks the values of path. Looks at the file system only for root, seeds and the presence and mode of named files
 * (harness contents are plan/elfprobe's business). All faults are gathered in *faults (caller clears it).
 * Returns 0 with *ret owned by the caller, -EINVAL with faults (or -errno with err when the file cannot be read).
 */
int spec_load(const char *path, const struct spec_overrides *ov, struct spec **ret,
              struct spec_faults *faults, struct err *err);
/*
 * The same for one who wants to find more faults: returns 0 with a spec although there are faults. What was refused has its default, or
 * NULL for a path. Such a spec is never run. -errno with err only when the file cannot be read.
 */
int spec_read(const char *path, const struct spec_overrides *ov, struct spec **ret,
              struct spec_faults *faults, struct err *err);
void spec_free(struct spec *spec);
/* Whether a word of "allow" is CLASS or CLASS:ID with a class that is known. */
bool spec_allow_ok(const char *word);

/* The line on which key of a section stands ("campaign", "limits", "NAME" or "target NAME" of a target), 0 when it is not set there. */
int spec_line(const struct spec *spec, const char *section, const char *key);

/* Every key with its value in force, as a spec that loads back to the same. */
void spec_print_effective(const struct spec *spec, FILE *out);

#endif
