/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaign of one item: the target's own section with the plant's builds, seeds and
 * bounds in it, written as a spec that fuzzd is then given like any other.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "ctl/selftest.h"
#include "plan/elfprobe.h"
#include "triage/replay.h"

#define SEEDS_MAX       256 /* looked at */
#define SEED_MAX        (1 << 20)
#define SEED_TIMEOUT_MS 2000

static bool is_file(const char *path)
{
    struct stat sb;

    return path != NULL && stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat sb;

    return path != NULL && stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

/* The build that an input is run in: the variant's own where the plain ones do not show the bug. */
static char *run_program(const struct selftest *st, const struct selftest_item *it)
{
    const struct spec_target *t = &st->spec->targets[it->target];
    const char *own[] = {it->plant->variant == SPEC_VARIANT_ASAN ? t->sanitizer : NULL, t->replay,
                         t->harness, t->sanitizer};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        cleanup_free char *path = selftest_plant_program(st, it, own[i]);

        if (is_file(path))
            return steal_ptr(&path);
    }
    return NULL;
}

int selftest_run_input(const struct selftest *st, const struct selftest_item *it, const char *input,
                       int64_t timeout_ms, struct verdict_of_run *ret, struct err *err)
{
    const struct spec_target *t = &st->spec->targets[it->target];
    cleanup_free char *path = run_program(st, it);
    struct replay_run run = {0};
    struct elfprobe elf = {0};
    int r;

    if (path == NULL)
        return err_set(err, -ENOENT, "it has no build to run an input with");
    r = elfprobe_read(path, &elf, err);
    if (r < 0)
        return r;
    struct replay_program prog = {
        .path = path,
        .args = &t->args,
        .env = &t->env,
        .kit = elf.kit,
        .takes_file = elf.driver || elf.libfuzzer,
        .asan = elf.asan,
        .msan = elf.msan,
        .tsan = elf.tsan,
        .ubsan = elf.ubsan,
        .timeout_ms = timeout_ms,
        .memory_bytes = t->limits.memory_bytes,
    };
    r = replay_once(&prog, input, &run, err);
    if (r < 0)
        return r;
    classify_run(&run, t->name, elf.build_id, ret);
    replay_run_clear(&run);
    return 0;
}

/* Where the quiet seeds come from. Caller frees. */
static char *seeds_folder(const struct selftest *st, const struct selftest_item *it)
{
    const struct spec_target *t = &st->spec->targets[it->target];
    cleanup_free char *min = xasprintf("%s-min", t->seeds);

    if (it->plant->seeds != NULL)
        return xstrdup(it->plant->seeds);
    return is_folder(min) ? steal_ptr(&min) : xstrdup(t->seeds);
}

static int copy_file(const char *from, const char *to)
{
    cleanup_free char *data = NULL;
    size_t size = 0;
    int r = file_read(AT_FDCWD, from, SEED_MAX, &data, &size);

    return r < 0 ? r : size == 0 ? -ENODATA : file_write_atomic(AT_FDCWD, to, data, size, 0600);
}

/* Copies what the plant passes; one that is to refuse its start passes nothing, and gets all. */
static int copy_quiet(const struct selftest *st, const struct selftest_item *it, const char *from,
                      const char *to, struct err *err)
{
    struct dirent **names = NULL;
    int n = scandir(from, &names, NULL, alphasort), kept = 0, looked = 0, r = 0;

    if (n < 0)
        return err_sys(err, -errno, "%s", from);
    for (int i = 0; i < n; i++) {
        cleanup_free char *path = path_join(from, names[i]->d_name);
        cleanup_free char *copy = xasprintf("%s/%03d", to, kept);
        struct verdict_of_run v = {.class_ = "none"};

        free(names[i]);
        if (r < 0 || !is_file(path) || looked >= SEEDS_MAX)
            continue;
        looked++;
        if (it->plant->startup != SPEC_STARTUP_YES)
            r = selftest_run_input(st, it, path, SEED_TIMEOUT_MS, &v, err);
        if (r == 0 && strcmp(v.class_, "none") == 0 && copy_file(path, copy) == 0)
            kept++;
    }
    free(names);
    if (r == 0 && kept == 0)
        r = err_set(err, -ENODATA, "%s has no seed that it passes", from);
    return r;
}

static int make_seeds(const struct selftest *st, const struct selftest_item *it, char **ret_folder,
                      struct err *err)
{
    cleanup_free char *name = xasprintf("seeds-%s", it->plant->name);
    cleanup_free char *to = path_join(st->dir, name);
    cleanup_free char *from = seeds_folder(st, it);
    int r = path_mkdirs(to, 0700);

    if (r < 0)
        return err_sys(err, r, "%s", to);
    r = copy_quiet(st, it, from, to, err);
    if (r == 0)
        *ret_folder = steal_ptr(&to);
    return r;
}

static void use_build(const struct selftest *st, const struct selftest_item *it, char **field,
                      bool wanted)
{
    cleanup_free char *path = wanted ? selftest_plant_program(st, it, *field) : NULL;

    str_set(field, is_file(path) ? path : NULL);
}

/* The plant in the place of the target's own builds. */
static int plant_in(const struct selftest *st, const struct selftest_item *it,
                    struct spec_target *t, struct err *err)
{
    bool asan = it->plant->variant == SPEC_VARIANT_ASAN;
    bool cmplog = it->plant->variant == SPEC_VARIANT_CMPLOG;
    cleanup_free char *own =
        xstrdup(asan ? (t->sanitizer != NULL ? t->sanitizer : "") : t->harness);
    cleanup_free char *program = selftest_plant_program(st, it, own);
    cleanup_free char *seeds = NULL;
    int r;

    if (program == NULL)
        return err_set(err, -EINVAL, "target %s has no sanitizer build, whose name the plant's has",
                       t->name);
    if (cmplog && t->cmplog == NULL)
        return err_set(err, -EINVAL, "target %s has no cmplog build, whose name the plant's has",
                       t->name);
    if (!is_file(program))
        return err_set(err, -ENOENT, "its build command left no %s", program);
    r = make_seeds(st, it, &seeds, err);
    if (r < 0)
        return r;
    str_set(&t->harness, program);
    use_build(st, it, &t->sanitizer, asan);
    use_build(st, it, &t->cmplog, cmplog);
    use_build(st, it, &t->replay, true);
    use_build(st, it, &t->laf, false);
    str_set(&t->seeds, seeds);
    if (it->plant->mutator != NULL)
        str_set(&t->mutator, it->plant->mutator);
    strv_clear(&t->watch);
    str_set(&t->name, it->plant->name);
    return 0;
}

int selftest_prepare(struct selftest *st, const struct selftest_item *it, char **ret_file,
                     struct err *err)
{
    struct spec_faults faults = {0};
    struct spec *spec = NULL;
    size_t n_targets, index = (size_t)(it - st->items);
    int r = spec_read(st->spec_path, NULL, &spec, &faults, err);

    spec_faults_clear(&faults);
    if (r < 0)
        return r;
    n_targets = spec->n_targets;
    struct spec_target own = spec->targets[it->target];
    spec->targets[it->target] = spec->targets[0];
    spec->targets[0] = own;
    struct spec_target *t = &spec->targets[0];
    cleanup_free char *name = xasprintf("%c%zu", it->plant != NULL ? 'p' : 't', index);
    cleanup_free char *file_name = xasprintf("%s.ini", name);
    cleanup_free char *file = path_join(st->dir, file_name);

    if (it->plant != NULL)
        r = plant_in(st, it, t, err);
    if (r == 0) {
        cleanup_free char *cores = xasprintf("%d", it->cores);
        FILE *out = fopen(file, "wex");

        str_set(&spec->name, name);
        str_set(&spec->cores, cores);
        str_set(&spec->plants_file, NULL);
        strv_clear(&t->after);
        t->instances = it->cores;
        spec->budget_ms = it->wall_ms;
        spec->execs = it->execs * it->cores; /* fuzzd counts all instances */
        spec->plateau_ms = 0;
        spec->stop_on = SPEC_STOP_NEVER;
        spec->corpus = SPEC_CORPUS_DROP;
        spec->n_targets = 1;
        for (size_t i = 0; i < spec->n_plants; i++)
            spec->plants[i].in_file = true; /* not printed */
        if (out == NULL) {
            r = err_sys(err, -errno, "%s", file);
        } else {
            spec_print_effective(spec, out);
            if (fclose(out) != 0)
                r = err_sys(err, -errno, "%s", file);
        }
        spec->n_targets = n_targets;
    }
    spec_free(spec);
    if (r == 0)
        *ret_file = steal_ptr(&file);
    return r;
}
