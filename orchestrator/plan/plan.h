/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/aflprobe.h"
#include "plan/elfprobe.h"
#include "spec/spec.h"

/*
 * Every instance of a run with the exact argv, environment, CPU and limits it will have. Pure: a plan depends on the spec, the
 * probes' results, the host facts and the seed, and on nothing else. fuzzctl makes it, fuzzd runs it as it is, campaigns/NAME/RUN/plan.json keeps it.
 */
#define PLAN_VERSION       1
#define PLAN_MAX_TARGETS   256
#define PLAN_MAX_INSTANCES 256 /* of one target */
#define PLAN_NAME_MAX      50  /* of AFL++'s -M and -S; longer is a FATAL there */
#define PLAN_STATSD_PORT                                                                           \
    "@STATSD_PORT@" /* in an instance's env; fuzzd puts its own port there when it starts the instance */

/* What elfprobe said of one file the spec names. */
struct plan_file {
    char *path;
    int error; /* 0, or -errno and msg */
    char msg[256];
    struct elfprobe elf;
};

/* Facts of one target, in the order of spec->targets. */
struct plan_target_facts {
    char seeds_sha256[65];
    long n_seeds;
    char seeds_error[512]; /* why they cannot be read, "" when they can */
    struct strv reach_required;
    char dict_error[512]; /* what is wrong with the dictionary, "" nothing */
    bool dict_harmless;   /* and afl-fuzz only has no use for it */
};

/* Everything a plan needs to know of the host; gathered by plan/host.h, made by hand in tests. */
struct plan_host {
    int *cpus; /* allowed CPUs, ascending */
    int n_cpus;
    int machine;   /* e_machine of programs this host runs */
    char *run_dir; /* absolute, of this run; a print-only plan uses a made-up last part "RUN" */
    char *run_id;
    char *path, *home;       /* PATH and HOME for the instances */
    struct strv user_faults; /* why the spec's user cannot be, or cannot read */
    bool core_pattern_pipe;  /* /proc/sys/kernel/core_pattern starts with '|' */
    char *preload;           /* path of fuzz-preload.so or NULL */
    uint64_t seed;           /* used when the spec names none */
    char *git_commit;        /* of spec->root, NULL: no repository */
    bool git_dirty;
    struct plan_file *files;
    size_t n_files;
    struct plan_target_facts *targets; /* one for each of the spec's */
    size_t n_targets;
};

enum plan_role { PLAN_MAIN, PLAN_SAN, PLAN_CMPLOG, PLAN_LAF, PLAN_MOPT, PLAN_OLD, PLAN_SCHED };

struct plan_instance {
    char *name;    /* "main", "san", "cmplog1"; AFL++'s -M/-S name */
    char *full_id; /* campaign/target/instance */
    enum plan_role role;
    bool is_main;     /* -M */
    int cpu;          /* wanted; another free one of the plan's is taken when it is held */
    struct strv argv; /* argv[0] = path of afl-fuzz */
    struct strv env;  /* complete environment, NAME=VALUE */
    char *binary;     /* the target program it runs */
    bool persistent;  /* which has a persistent loop */
    char *out_dir;    /* run_dir/out/<target>/<name> */
    char *scratch_dir, *log_path, *run_path, *exit_path;
    int64_t timeout_ms;   /* 0: AFL++ calibrates */
    struct strv left_out; /* "-P explore: afl-fuzz 4.04c has no -P" */
};

/* One way to run an input for triage and replay. */
struct plan_program {
    char *path; /* NULL: none */
    char *sha256, *build_id;
    bool kit; /* built with our kit: takes --one FILE, --reach */
    bool asan;
    bool instrumented;
};

struct plan_target {
    char *name;
    char *sync_dir; /* run_dir/out/<target>, afl-fuzz's -o */
    char *seeds, *dictionary;
    char *seeds_sha256; /* tree hash at planning */
    long n_seeds;
    struct strv after;     /* names of targets that must end clean before this one starts */
    struct strv args, env; /* of the target, as in the spec */
    struct plan_program harness, cmplog, sanitizer, replay, laf;
    bool no_sweep;              /* its queues are not run through the sanitizer build */
    struct strv reach_required; /* ids, from the kit's replay; empty: not judged by it */
    int64_t max_len, timeout_ms, hang_timeout_ms, init_timeout_ms;
    struct spec_limits limits;
    struct plan_instance *instances;
    size_t n_instances;
};

struct plan {
    char *campaign, *run_id, *run_dir, *root, *spec_path;
    int64_t budget_ms, execs, plateau_ms;
    uint64_t seed;
    enum spec_stop_on stop_on;
    bool drop_corpus; /* it begins with the seeds alone and leaves nothing to the next run */
    int64_t priority;
    bool share_cores;   /* with others that share theirs */
    bool oversubscribe; /* no instance has a core of its own, and none is locked: for tests */
    char *user;         /* that afl-fuzz and all programs under test run as; NULL: as fuzzd */
    int cores;
    int *cpus; /* the CPUs it may use, cores of them or more */
    int n_cpus;
    struct spec_limits limits;
    struct plan_target *targets;
    size_t n_targets;
    char *afl_path, *afl_version, *afl_sha256;
    char *git_commit; /* of root, or NULL */
    bool git_dirty;
    struct strv warnings;
    char hash[65]; /* SHA-256 of the canonical JSON without this field */
};

/* The probed file of that path, or NULL. */
const struct plan_file *plan_host_file(const struct plan_host *host, const char *path);

/*
 * Checks the harnesses against the probe (refusing what this afl-fuzz cannot drive, with the reason, as a fault of the spec's line) and lays the
 * plan out. Returns 0 with *ret, or -EINVAL with faults.
 */
int plan_build(const struct spec *spec, const struct aflprobe *afl, const struct plan_host *host,
               struct plan **ret, struct spec_faults *faults, struct err *err);
void plan_free(struct plan *plan);
json_t *plan_to_json(const struct plan *plan); /* new reference; canonical: sorted keys */
/* From our own file or a client: bounded and checked (version, names, paths below run_dir, the hash). -EINVAL, -EBADMSG (hash). */
int plan_from_json(const json_t *j, struct plan **ret, struct err *err);
/* From plan.json of a run's folder below the state directory; the same checks. -ENOENT when it is not there, -EBADMSG, -errno. */
int plan_load(const char *state_dir, const char *run_dir, struct plan **ret, struct err *err);
/* For people: fuzzctl plan. */
void plan_print(const struct plan *plan, FILE *out);
const char *plan_role_name(enum plan_role role);
int plan_role_from_name(const char *name); /* -EINVAL when there is none */
/* SHA-256 of the canonical JSON of j without its member "hash". */
void plan_hash_json(const json_t *j, char ret_hex[65]);
/* The wave of each target, as spec/waves.h has it, into ret_wave[0..n_targets-1]. 0 or -ELOOP. */
int plan_waves(const struct plan *plan, int *ret_wave);
/* The folder that a target's main instance reads as a foreign queue (-F). Caller frees. */
char *plan_additions_dir(const char *run_dir, const char *target);
/* First match or NULL. */
const struct plan_target *plan_target_find(const struct plan *plan, const char *name);

#endif
