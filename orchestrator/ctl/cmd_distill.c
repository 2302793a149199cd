/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl distill: the smallest corpus that covers what many inputs cover. The output folder is made
 * beside its place and gets its name when it is whole; one that is there and not empty is never
 * touched.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/path.h"
#include "corpus/distill.h"
#include "corpus/inputs.h"
#include "ctl/cmd.h"
#include "ctl/distill_spec.h"
#include "ctl/replay_scope.h"
#include "plan/elfprobe.h"
#include "report/fields.h"

#define TIMEOUT_MS   1000
#define TIMEOUT_MAX  (3600 * INT64_C(1000))
#define MEMORY_BYTES (INT64_C(2) << 30)
#define JOBS_MAX     256
#define CAP_MIN      (INT64_C(1) << 20)
#define PROGRESS_MS  200
#define FILE_MODE    0644

struct job {
    const struct cmd_env *env;
    char *harness, *out;
    const char *target;
    struct strv args, keep_paths, against_paths;
    struct strv inputs, against;
    struct elfprobe elf;
    bool edges_only, progress;
    int64_t timeout_ms, memory_bytes, cap_bytes;
    int jobs;
    int64_t began_ms, shown_ms;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    interrupted = sig;
}

static void show_progress(void *ctx, size_t done, size_t all)
{
    struct job *d = ctx;
    int64_t now_ms = clock_now_ms(), took_ms = now_ms - d->began_ms;
    char rate[32];

    if (!d->progress || now_ms - d->shown_ms < PROGRESS_MS || took_ms <= 0)
        return;
    d->shown_ms = now_ms;
    fprintf(stderr, "\r\033[K%zu of %zu runs, %s/s", done, all,
            format_count(rate, sizeof(rate), 1000.0 * (double)done / (double)took_ms));
    (void)fflush(stderr);
}

/* ---- the folder ---- */
static bool is_empty_folder(const char *path)
{
    cleanup_dir DIR *dir = opendir(path);
    const struct dirent *de;
    int n = 0;

    while (dir != NULL && (de = readdir(dir)) != NULL)
        n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
    return dir != NULL && n == 0;
}

static int check_out(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT
                   ? EXIT_DONE
                   : cmd_fail(&cmd_distill, EXIT_ERROR, "-o %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return cmd_fail(&cmd_distill, EXIT_USAGE, "-o %s: is there and no folder", path);
    return is_empty_folder(path)
               ? EXIT_DONE
               : cmd_fail(&cmd_distill, EXIT_USAGE,
                          "-o %s: is there and not empty; name a new folder", path);
}

/* Its own name, and part of its hash where another input of that name is there already. */
static int copy_input(int dir, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    cleanup_free uint8_t *data = NULL;
    cleanup_free char *other = NULL;
    size_t size = 0;
    struct stat st;
    char hex[65];
    int rc = inputs_read(path, FORKSERVER_INPUT_BYTES, &data, &size);

    if (rc < 0)
        return err_sys(err, rc, "%s", path);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        hash_sha256_hex(data, size, hex);
        other = xasprintf("%.200s-%.12s", name, hex);
        name = other;
    }
    rc = file_write_atomic(dir, name, data, size, FILE_MODE);
    return rc < 0 ? err_sys(err, rc, "%s", name) : 0;
}

static int write_corpus(const struct job *d, const struct distill_result *r, uint64_t *ret_bytes,
                        struct err *err)
{
    cleanup_free char *tmp = xasprintf("%s.tmp-%d", d->out, (int)getpid());
    cleanup_close int dir = -1;
    int rc = 0;

    *ret_bytes = 0;
    if (mkdir(tmp, 0755) < 0)
        return err_sys(err, -errno, "%s", tmp);
    dir = open(tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        rc = err_sys(err, -errno, "%s", tmp);
    for (size_t i = 0; i < r->n_chosen && rc == 0; i++) {
        struct stat st;

        rc = copy_input(dir, d->inputs.v[r->chosen[i]], err);
        if (rc == 0 && stat(d->inputs.v[r->chosen[i]], &st) == 0)
            *ret_bytes += (uint64_t)st.st_size;
    }
    if (rc == 0 && rename(tmp, d->out) < 0)
        rc = err_sys(err, -errno, "%s", d->out);
    if (rc < 0)
        (void)path_remove_tree(tmp);
    return rc;
}

/* ---- what is printed ---- */
static void print_result(const struct job *d, const struct distill_result *r, uint64_t bytes)
{
    size_t count[DISTILL_ASIDES] = {0};
    char in[32], out[32], took[32];

    for (size_t i = 0; i < r->n_aside; i++) {
        cleanup_free char *name = fields_safe(d->inputs.v[r->aside[i].index]);

        count[r->aside[i].why]++;
        if (!d->env->quiet)
            printf("set aside, %s: %s\n", distill_aside_name(r->aside[i].why), name);
    }
    printf("%zu of %zu inputs, %s of %s, cover the same %zu %s", r->n_chosen, d->inputs.n,
           format_size(out, sizeof(out), (int64_t)bytes),
           format_size(in, sizeof(in), (int64_t)r->input_bytes), r->tuples,
           d->edges_only ? "edges" : "edges and counts");
    if (d->against.n > 0)
        printf(", %zu of them new", r->new_tuples);
    printf(" (%zu different maps, %s)\n", r->maps,
           format_duration(took, sizeof(took), clock_now_ms() - d->began_ms));
    for (int i = 0; i < DISTILL_ASIDES; i++) {
        if (count[i] > 0)
            printf("%zu set aside: %s\n", count[i], distill_aside_name((enum distill_aside)i));
    }
    if (r->smallest > 0)
        printf("for want of memory (--cap) only the %d smallest inputs of an edge were compared\n",
               r->smallest);
}

static void print_json(const struct job *d, const struct distill_result *r, uint64_t bytes)
{
    json_t *chosen = json_array(), *aside = json_array();

    for (size_t i = 0; i < r->n_chosen; i++)
        (void)json_array_append_new(chosen, fields_string(d->inputs.v[r->chosen[i]]));
    for (size_t i = 0; i < r->n_aside; i++)
        (void)json_array_append_new(aside, json_pack("{s:o, s:s}", "file",
                                                     fields_string(d->inputs.v[r->aside[i].index]),
                                                     "why", distill_aside_name(r->aside[i].why)));
    cmd_print_json(json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:o, s:o}", "version", 1, "inputs",
        (json_int_t)d->inputs.n, "input_bytes", (json_int_t)r->input_bytes, "kept",
        (json_int_t)r->n_chosen, "kept_bytes", (json_int_t)bytes, "maps", (json_int_t)r->maps,
        "tuples", (json_int_t)r->tuples, "new_tuples", (json_int_t)r->new_tuples, "peak_bytes",
        (json_int_t)r->peak_bytes, "smallest", r->smallest, "ms",
        (json_int_t)(clock_now_ms() - d->began_ms), "chosen", chosen, "set_aside", aside));
}

/* ---- the verb ---- */
static int collect(const struct strv *paths, struct strv *list)
{
    struct err err = {0};

    for (size_t i = 0; i < paths->n; i++) {
        if (inputs_add(list, paths->v[i], &err) < 0)
            return cmd_fail(&cmd_distill, EXIT_USAGE, "%s", err.msg);
    }
    return EXIT_DONE;
}

static int run(struct job *d, size_t must)
{
    struct distill_opts o = {.inputs = &d->inputs,
                             .must = must,
                             .against = &d->against,
                             .edges_only = d->edges_only,
                             .cap_bytes = (size_t)d->cap_bytes,
                             .jobs = d->jobs,
                             .cancel = &interrupted,
                             .progress = show_progress,
                             .ctx = d};
    cleanup_free char *preload = path_find_program("fuzz-preload.so");
    struct replay_scope *scope = NULL;
    struct distill_result r;
    struct strv procs = {0};
    struct err err = {0};
    uint64_t bytes = 0;
    int rc = replay_scope_open(d->memory_bytes, &procs, &scope, &err);

    if (rc == 0) {
        o.program = replay_scope_program(scope, &d->elf, d->harness, &d->args, &procs, preload,
                                         d->timeout_ms, d->memory_bytes);
        rc = distill_run(&o, &r, &err);
    }
    replay_scope_close(scope);
    strv_clear(&procs);
    if (d->progress)
        fputs("\r\033[K", stderr);
    if (rc == -ECANCELED)
        return cmd_fail(&cmd_distill, EXIT_ERROR, "interrupted; nothing was written");
    if (rc < 0)
        return cmd_fail(&cmd_distill, EXIT_ERROR, "%s", err.msg);
    rc = write_corpus(d, &r, &bytes, &err);
    if (rc < 0)
        (void)cmd_fail(&cmd_distill, EXIT_ERROR, "%s", err.msg);
    else if (d->env->json)
        print_json(d, &r, bytes);
    else
        print_result(d, &r, bytes);
    distill_result_clear(&r);
    return rc < 0 ? EXIT_ERROR : EXIT_DONE;
}

static int parse_limits(struct job *d, int opt)
{
    uint64_t n;

    if (opt == 'j' && parse_u64(optarg, JOBS_MAX, &n) == 0 && n > 0) {
        d->jobs = (int)n;
        return EXIT_DONE;
    }
    if (opt == 'j')
        return cmd_fail(&cmd_distill, EXIT_USAGE, "--jobs %s: allowed is 1 to %d", optarg,
                        JOBS_MAX);
    if (opt == 't' && (parse_duration_ms(optarg, &d->timeout_ms) < 0 || d->timeout_ms <= 0 ||
                       d->timeout_ms > TIMEOUT_MAX))
        return cmd_fail(&cmd_distill, EXIT_USAGE,
                        "--timeout %s: allowed is a time up to 1h, as in 500ms or 10s", optarg);
    if (opt == 'm' && (parse_size_bytes(optarg, &d->memory_bytes) < 0 ||
                       d->memory_bytes < REPLAY_SCOPE_MEMORY_MIN))
        return cmd_fail(&cmd_distill, EXIT_USAGE,
                        "--memory %s: allowed is a size of 16M or more, as in 512M or 2G", optarg);
    if (opt == 'c' && (parse_size_bytes(optarg, &d->cap_bytes) < 0 || d->cap_bytes < CAP_MIN))
        return cmd_fail(&cmd_distill, EXIT_USAGE,
                        "--cap %s: allowed is a size of 1M or more, as in 512M or 4G", optarg);
    return EXIT_DONE;
}

static int parse_options(struct job *d, int argc, char **argv)
{
    static const struct option options[] = {
        {"harness", required_argument, NULL, 'h'}, {"target", required_argument, NULL, 'g'},
        {"edges-only", no_argument, NULL, 'e'},    {"keep", required_argument, NULL, 'k'},
        {"against", required_argument, NULL, 'a'}, {"jobs", required_argument, NULL, 'j'},
        {"timeout", required_argument, NULL, 't'}, {"memory", required_argument, NULL, 'm'},
        {"cap", required_argument, NULL, 'c'},     {0}};
    int opt, code = EXIT_DONE;

    optind = 1;
    while (code == EXIT_DONE && (opt = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
        switch (opt) {
        case 'h':
            str_set(&d->harness, optarg);
            break;
        case 'g':
            d->target = optarg;
            break;
        case 'o':
            str_set(&d->out, optarg);
            break;
        case 'e':
            d->edges_only = true;
            break;
        case 'k':
            strv_add(&d->keep_paths, optarg);
            break;
        case 'a':
            strv_add(&d->against_paths, optarg);
            break;
        case '?':
            return cmd_usage(&cmd_distill);
        default:
            code = parse_limits(d, opt);
        }
    }
    return code;
}

/* Of a spec's target the program, its arguments and limits, and its seeds, which are kept. */
static int from_spec(struct job *d, const char *path)
{
    return distill_spec_read(path, d->target, &d->harness, &d->args, &d->keep_paths,
                             d->timeout_ms == 0 ? &d->timeout_ms : NULL,
                             d->memory_bytes == 0 ? &d->memory_bytes : NULL);
}

static int prepare(struct job *d, int argc, char **argv, size_t *ret_must)
{
    struct strv paths = {0};
    struct err err = {0};
    int code = parse_options(d, argc, argv);

    if (code == EXIT_DONE && (d->harness == NULL) == (d->target == NULL))
        code = cmd_usage(&cmd_distill);
    if (code == EXIT_DONE && d->target != NULL) {
        if (optind >= argc)
            return cmd_usage(&cmd_distill);
        code = from_spec(d, argv[optind++]);
    }
    if (code == EXIT_DONE && (d->out == NULL || optind >= argc))
        code = cmd_usage(&cmd_distill);
    if (code == EXIT_DONE && elfprobe_read(d->harness, &d->elf, &err) < 0)
        code = cmd_fail(&cmd_distill, EXIT_USAGE, "%s", err.msg);
    if (code == EXIT_DONE && !d->elf.instrumented)
        code = cmd_fail(&cmd_distill, EXIT_USAGE,
                        "%s: has no fork server; build it with afl-clang-fast or the like",
                        d->harness);
    if (code == EXIT_DONE)
        code = check_out(d->out);
    if (code == EXIT_DONE)
        code = collect(&d->keep_paths, &d->inputs);
    *ret_must = d->inputs.n;
    for (int i = optind; i < argc; i++)
        strv_add(&paths, argv[i]);
    if (code == EXIT_DONE)
        code = collect(&paths, &d->inputs);
    if (code == EXIT_DONE)
        code = collect(&d->against_paths, &d->against);
    if (code == EXIT_DONE && d->inputs.n == 0)
        code = cmd_fail(&cmd_distill, EXIT_VACUOUS, "there are no inputs");
    strv_clear(&paths);
    return code;
}

static int distill_exec(struct cmd_env *env, int argc, char **argv)
{
    const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct job d = {.env = env};
    int ours = 1, code;
    size_t must = 0;

    while (ours < argc && strcmp(argv[ours], "--") != 0)
        ours++;
    for (int i = ours + 1; i < argc; i++)
        strv_add(&d.args, argv[i]);
    code = prepare(&d, ours, argv, &must);
    if (code == EXIT_DONE) {
        (void)sigaction(SIGINT, &sa, NULL);
        (void)sigaction(SIGTERM, &sa, NULL);
        d.timeout_ms = d.timeout_ms > 0 ? d.timeout_ms : TIMEOUT_MS;
        d.memory_bytes = d.memory_bytes > 0 ? d.memory_bytes : MEMORY_BYTES;
        d.progress = isatty(STDERR_FILENO) && !env->quiet;
        d.began_ms = clock_now_ms();
        code = run(&d, must);
    }
    free(d.harness);
    free(d.out);
    strv_clear(&d.args);
    strv_clear(&d.keep_paths);
    strv_clear(&d.against_paths);
    strv_clear(&d.inputs);
    strv_clear(&d.against);
    return code;
}

const struct cmd_entry cmd_distill = {
    .name = "distill",
    .usage = "--harness PROGRAM PATH... -o FOLDER [--keep PATH] [--against PATH] [--edges-only]\n"
             "                       [--jobs N] [--timeout TIME] [--memory SIZE] [--cap SIZE] "
             "[--json] [-- ARGUMENTS]\n"
             "       fuzzctl distill --target NAME SPEC PATH... -o FOLDER [...]",
    .help = "the smallest corpus that covers what many inputs cover",
    .exec = distill_exec,
};
