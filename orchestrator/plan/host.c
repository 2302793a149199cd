/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the host for a plan. Each file is probed once even if several targets share it. A missing git, an unreadable
 * core_pattern or a replay program that does not answer leave the fact unknown; only what a plan cannot do without is an error.
 */
#include "plan/host.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/dictfile.h"
#include "sys/cpu.h"
#include "sys/drop.h"
#include "sys/proc.h"

#define GIT_TIMEOUT_MS   5000
#define REACH_TIMEOUT_MS 5000
#define REACH_MAX        1000
#define README           "README.txt" /* no seed to afl-fuzz. Source: AFL++ src/afl-fuzz-init.c */

int plan_host_machine(void)
{
    Elf64_Ehdr eh;
    cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || pread(fd, &eh, sizeof(eh), 0) != (ssize_t)sizeof(eh) ||
        memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    return eh.e_machine; /* at the same place in both classes */
}

/* stdout of a short command, or NULL when it fails. Caller frees. */
static char *command_output(const char *const *args, int64_t timeout_ms)
{
    struct strv argv = {0};
    struct proc_spec ps = {
        .argv = &argv, .cwd = "/", .timeout_ms = timeout_ms, .max_out = 64 << 10};
    struct proc_result pr = {0};
    struct err err;
    char *out = NULL;

    for (; *args != NULL; args++)
        strv_add(&argv, *args);
    if (proc_run(&ps, &pr, &err) == 0 && !pr.timed_out && WIFEXITED(pr.status) &&
        WEXITSTATUS(pr.status) == 0)
        out = xstrdup(pr.out != NULL ? pr.out : "");
    proc_result_clear(&pr);
    strv_clear(&argv);
    return out;
}

static void gather_git(struct plan_host *h, const char *root)
{
    const char *const head[] = {"git", "--no-optional-locks", "-C", root, "rev-parse", "HEAD",
                                NULL};
    const char *const status[] = {"git",    "--no-optional-locks", "-C", root,
                                  "status", "--porcelain",         NULL};
    cleanup_free char *commit = command_output(head, GIT_TIMEOUT_MS), *dirty = NULL;

    if (commit == NULL)
        return;
    commit[strcspn(commit, "\n")] = '\0';
    if (strlen(commit) < 40 || strspn(commit, "0123456789abcdef") != strlen(commit))
        return;
    dirty = command_output(status, GIT_TIMEOUT_MS);
    h->git_dirty = dirty == NULL || dirty[0] != '\0';
    h->git_commit = steal_ptr(&commit);
}

static void gather_file(struct plan_host *h, const char *path)
{
    struct plan_file *f;
    struct err err = {0};

    if (path == NULL || plan_host_file(h, path) != NULL)
        return;
    h->files = xreallocarray(h->files, h->n_files + 1, sizeof(*h->files));
    f = &h->files[h->n_files++];
    memset(f, 0, sizeof(*f));
    f->path = xstrdup(path);
    f->error = elfprobe_read(path, &f->elf, &err);
    if (f->error < 0)
        (void)snprintf(f->msg, sizeof(f->msg), "%.250s", err.msg);
}

/* A word as the kit writes ids: what else a program prints is not one. */
static bool id_ok(const char *s)
{
    return path_name_ok(s, 64);
}

/* The ids a build requires, from its own mouth ("--required", one a line). False: it is none of the kit's, or does not answer. */
static bool ask_reach(struct plan_host *h, const char *path, struct strv *ids)
{
    const struct plan_file *f = plan_host_file(h, path);
    const char *const args[] = {path, "--required", NULL};
    cleanup_free char *out = NULL;

    if (f == NULL || f->error < 0 || !f->elf.kit)
        return false;
    out = command_output(args, REACH_TIMEOUT_MS);
    for (char *line = out, *next; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (id_ok(line) && ids->n < REACH_MAX)
            strv_add(ids, line);
    }
    return out != NULL;
}

/* Of the builds that reach is measured by, in the order of job_reach_make(). */
static void gather_reach(struct plan_host *h, const struct spec_target *t, struct strv *ids)
{
    const char *const builds[] = {t->replay, t->sanitizer, t->harness};

    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++)
        if (builds[i] != NULL && ask_reach(h, builds[i], ids))
            return;
}

static void add_fault(struct strv *faults, const char *words)
{
    for (size_t i = 0; i < faults->n; i++)
        if (strcmp(faults->v[i], words) == 0)
            return;
    strv_add(faults, words);
}

/* What the programs would be denied, each once; NULL paths are none. */
static void gather_user(struct plan_host *h, const struct spec *spec, const char *state_dir)
{
    const struct passwd *pw;
    struct drop user;
    struct err err = {0};

    if (drop_find(spec->user, &user, &err) < 0) {
        strv_add(&h->user_faults, err.msg);
        return;
    }
    pw = getpwnam(spec->user);
    if (pw != NULL && pw->pw_dir != NULL)
        str_set(&h->home, pw->pw_dir);
    drop_children(&user);
    if (drop_may_reach(&user, state_dir, &err) == -EACCES) {
        cleanup_free char *words = xasprintf("the state directory %s", err.msg);

        strv_add(&h->user_faults, words);
    }
    /* The loader would go on without, and say so only to a log: planned without, status and report do. */
    if (h->preload != NULL && drop_may_read(&user, h->preload, &err) == -EACCES)
        str_set(&h->preload, NULL);
    for (size_t i = 0; i < spec->n_targets; i++) {
        const struct spec_target *t = &spec->targets[i];
        const char *const programs[] = {t->harness, t->cmplog, t->sanitizer, t->replay, t->laf};
        const char *const files[] = {t->dictionary, t->mutator};

        for (size_t k = 0; k < sizeof(programs) / sizeof(programs[0]); k++)
            if (programs[k] != NULL && drop_may_run(&user, programs[k], &err) == -EACCES)
                add_fault(&h->user_faults, err.msg);
        for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++)
            if (files[k] != NULL && drop_may_read(&user, files[k], &err) == -EACCES)
                add_fault(&h->user_faults, err.msg);
        if (t->seeds != NULL && drop_may_read_seeds(&user, t->seeds, &err) == -EACCES)
            add_fault(&h->user_faults, err.msg);
    }
}

static void gather_dict(const char *path, struct plan_target_facts *facts)
{
    struct err err = {0};
    size_t tokens = 0;
    int r = path != NULL ? dictfile_check(path, &tokens, &err) : 0;

    if (path == NULL || (r == 0 && tokens > 0))
        return;
    if (r == 0)
        (void)err_set(&err, -EINVAL, "%s holds no token", path);
    facts->dict_harmless = r == 0 || r == -EFBIG;
    (void)snprintf(facts->dict_error, sizeof(facts->dict_error), "%.500s", err.msg);
}

static void gather_target(struct plan_host *h, const struct spec_target *t,
                          struct plan_target_facts *facts)
{
    struct err err = {0};

    gather_file(h, t->harness);
    gather_file(h, t->cmplog);
    gather_file(h, t->sanitizer);
    gather_file(h, t->replay);
    gather_file(h, t->laf);
    gather_file(h, t->coverage);
    gather_dict(t->dictionary, facts);
    gather_reach(h, t, &facts->reach_required);
    if (t->seeds == NULL)
        return;
    if (file_tree_sha256(t->seeds, README, facts->seeds_sha256, &facts->n_seeds, &err) < 0)
        (void)snprintf(facts->seeds_error, sizeof(facts->seeds_error), "%.500s", err.msg);
}

static void gather_run(struct plan_host *h, const struct spec *spec, const char *state_dir,
                       bool print_only)
{
    char ulid[27], utc[24];

    if (print_only) {
        h->run_id = xstrdup("RUN");
        h->run_dir = xasprintf("%s/campaigns/%s/RUN", state_dir, spec->name);
        return;
    }
    (void)clock_ulid(ulid, sizeof(ulid));
    (void)clock_basic(utc, sizeof(utc), clock_wall_ms());
    h->run_id = xstrdup(ulid);
    h->run_dir = xasprintf("%s/campaigns/%s/%s-%s", state_dir, spec->name, utc, ulid + 20);
}

int plan_host_gather(const struct spec *spec, const char *state_dir, bool print_only,
                     struct plan_host **ret, struct err *err)
{
    struct plan_host *h = xcalloc(1, sizeof(*h));
    cleanup_free char *pattern = NULL;

    h->cpus = xcalloc(CPU_MAX, sizeof(*h->cpus));
    h->n_cpus = cpu_allowed(h->cpus, CPU_MAX);
    if (h->n_cpus < 1) {
        plan_host_free(h);
        return err_set(err, -EINVAL, "cannot tell which CPUs this process may use");
    }
    h->machine = plan_host_machine();
    h->path = xstrdup(getenv("PATH") != NULL ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin");
    h->home = xstrdup(getenv("HOME") != NULL ? getenv("HOME") : "/");
    h->core_pattern_pipe =
        file_read_proc("/proc/sys/kernel/core_pattern", 4096, &pattern) == 0 && pattern[0] == '|';
    h->preload = path_find_preload();
    h->seed = print_only ? 0 : arc4random();
    gather_run(h, spec, state_dir, print_only);
    gather_git(h, spec->root);
    h->targets = xcalloc(spec->n_targets + 1, sizeof(*h->targets));
    h->n_targets = spec->n_targets;
    /* From here on programs under test are asked what they are. */
    if (spec->user != NULL)
        gather_user(h, spec, state_dir);
    for (size_t i = 0; i < spec->n_targets; i++)
        gather_target(h, &spec->targets[i], &h->targets[i]);
    drop_children(NULL);
    *ret = h;
    return 0;
}

void plan_host_free(struct plan_host *h)
{
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->n_files; i++)
        free(h->files[i].path);
    for (size_t i = 0; i < h->n_targets; i++)
        strv_clear(&h->targets[i].reach_required);
    strv_clear(&h->user_faults);
    free(h->files);
    free(h->targets);
    free(h->cpus);
    free(h->run_dir);
    free(h->run_id);
    free(h->path);
    free(h->home);
    free(h->preload);
    free(h->git_commit);
    free(h);
}

int plan_from_spec_file(const char *path, const struct spec_overrides *ov, const char *state_dir,
                        bool print_only, struct plan **ret_plan, struct spec **ret_spec,
                        struct spec_faults *faults, struct err *err)
{
    cleanup_free char *cache = path_join(state_dir, "cache");
    struct spec *spec = NULL;
    struct aflprobe *afl = NULL;
    struct plan_host *host = NULL;
    struct plan *plan = NULL;
    int r = spec_load(path, ov, &spec, faults, err);

    if (r < 0)
        return -EINVAL; /* whatever kept it from being read, it is no campaign file */
    r = plan_host_gather(spec, state_dir, print_only, &host, err);
    /* A plan that is only shown, or refused, leaves no state folder behind where there was none. */
    if (r == 0 && (print_only || host->user_faults.n > 0) && access(state_dir, W_OK) < 0)
        str_set(&cache, NULL);
    if (r == 0) {
        r = aflprobe_run(NULL, cache, &afl, err);
        if (r == -ENOENT || r == -EINVAL)
            r = -ENOPKG;
    }
    if (r == 0)
        r = plan_build(spec, afl, host, &plan, faults, err);
    aflprobe_free(afl);
    plan_host_free(host);
    if (r < 0) {
        spec_free(spec);
        return r;
    }
    if (ret_plan != NULL)
        *ret_plan = plan;
    else
        plan_free(plan);
    if (ret_spec != NULL)
        *ret_spec = spec;
    else
        spec_free(spec);
    return 0;
}
