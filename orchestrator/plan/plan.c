/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays a plan out. Nothing here reads a file, a clock or a random number: the same spec, probe and host facts give
 * the same bytes. A spec with a fault gives no plan at all, and every fault of it is reported.
 */
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "plan/admit.h"
#include "plan/argv.h"
#include "plan/variant.h"
#include "spec/waves.h"

/* afl-fuzz calibrates up to its own 1 s; a hang must be well above. Source: AFL++ include/config.h EXEC_TIMEOUT. */
#define AUTO_TIMEOUT_MAX_MS 1000

static const char *const role_names[] = {
    [PLAN_MAIN] = "main", [PLAN_SAN] = "sanitizer", [PLAN_CMPLOG] = "cmplog",  [PLAN_LAF] = "laf",
    [PLAN_MOPT] = "mopt", [PLAN_OLD] = "old",       [PLAN_SCHED] = "schedule",
};

const char *plan_role_name(enum plan_role role)
{
    return role_names[role];
}

int plan_role_from_name(const char *name)
{
    for (size_t i = 0; i < sizeof(role_names) / sizeof(role_names[0]); i++)
        if (strcmp(role_names[i], name) == 0)
            return (int)i;
    return -EINVAL;
}

const struct plan_file *plan_host_file(const struct plan_host *host, const char *path)
{
    for (size_t i = 0; path != NULL && i < host->n_files; i++)
        if (strcmp(host->files[i].path, path) == 0)
            return &host->files[i];
    return NULL;
}

static void program_clear(struct plan_program *p)
{
    free(p->path);
    free(p->sha256);
    free(p->build_id);
}

static void instance_clear(struct plan_instance *i)
{
    free(i->name);
    free(i->full_id);
    strv_clear(&i->argv);
    strv_clear(&i->env);
    free(i->binary);
    free(i->out_dir);
    free(i->scratch_dir);
    free(i->log_path);
    free(i->run_path);
    free(i->exit_path);
    strv_clear(&i->left_out);
}

static void target_clear(struct plan_target *t)
{
    free(t->name);
    free(t->sync_dir);
    free(t->seeds);
    free(t->dictionary);
    free(t->seeds_sha256);
    strv_clear(&t->after);
    strv_clear(&t->args);
    strv_clear(&t->env);
    program_clear(&t->harness);
    program_clear(&t->cmplog);
    program_clear(&t->sanitizer);
    program_clear(&t->replay);
    program_clear(&t->laf);
    strv_clear(&t->reach_required);
    for (size_t i = 0; i < t->n_instances; i++)
        instance_clear(&t->instances[i]);
    free(t->instances);
}

void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->campaign);
    free(plan->run_id);
    free(plan->run_dir);
    free(plan->root);
    free(plan->spec_path);
    free(plan->user);
    free(plan->cpus);
    for (size_t i = 0; i < plan->n_targets; i++)
        target_clear(&plan->targets[i]);
    free(plan->targets);
    free(plan->afl_path);
    free(plan->afl_version);
    free(plan->afl_sha256);
    free(plan->git_commit);
    strv_clear(&plan->warnings);
    free(plan);
}

const struct plan_target *plan_target_find(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_targets; i++)
        if (strcmp(plan->targets[i].name, name) == 0)
            return &plan->targets[i];
    return NULL;
}

int plan_waves(const struct plan *plan, int *ret_wave)
{
    struct wave_node *nodes = xcalloc(plan->n_targets + 1, sizeof(*nodes));
    int r;

    for (size_t i = 0; i < plan->n_targets; i++)
        nodes[i] = (struct wave_node){plan->targets[i].name, &plan->targets[i].after};
    r = waves_of(nodes, plan->n_targets, ret_wave);
    free(nodes);
    return r;
}

static void program_fill(struct plan_program *p, const struct plan_host *host, const char *path)
{
    const struct plan_file *f = plan_host_file(host, path);

    if (path == NULL)
        return;
    p->path = xstrdup(path);
    if (f == NULL || f->error < 0)
        return;
    p->sha256 = xstrdup(f->elf.sha256);
    p->build_id = xstrdup(f->elf.build_id);
    p->kit = f->elf.kit;
    p->asan = f->elf.asan;
    p->instrumented = f->elf.instrumented;
}

/* The last part names the party in what afl-fuzz imports from there: "sync:added_0,...". */
char *plan_additions_dir(const char *run_dir, const char *target)
{
    return xasprintf("%s/add/%s/added", run_dir, target);
}

/* Which build an instance runs. */
static const char *role_binary(const struct plan_target *t, enum plan_role role)
{
    if (role == PLAN_SAN)
        return t->sanitizer.path;
    if (role == PLAN_LAF)
        return t->laf.path;
    if (role == PLAN_CMPLOG)
        return t->cmplog.path;
    return t->harness.path;
}

static void instance_fill(struct plan_instance *inst, const struct plan *plan,
                          const struct plan_target *t, const struct variant *v, int cpu)
{
    inst->name = xstrdup(v->name);
    inst->full_id = xasprintf("%s/%s/%s", plan->campaign, t->name, v->name);
    inst->role = v->role;
    inst->is_main = v->role == PLAN_MAIN;
    inst->cpu = cpu;
    inst->binary = xstrdup(role_binary(t, v->role));
    inst->out_dir = xasprintf("%s/%s", t->sync_dir, v->name);
    inst->scratch_dir = xasprintf("%s/scratch/%s.%s", plan->run_dir, t->name, v->name);
    inst->log_path = xasprintf("%s/log/%s.%s.log", plan->run_dir, t->name, v->name);
    inst->run_path = xasprintf("%s/exit/%s.%s.run", plan->run_dir, t->name, v->name);
    inst->exit_path = xasprintf("%s/exit/%s.%s.exit", plan->run_dir, t->name, v->name);
    inst->timeout_ms = t->timeout_ms;
}

/* Which instance carries the custom mutator: the last schedule, else the last that is neither main nor MOpt (MOpt takes none). */
static size_t mutator_carrier(const struct variant *v, size_t n)
{
    size_t last = 0;

    for (size_t i = 0; i < n; i++)
        if (v[i].role != PLAN_MAIN && v[i].role != PLAN_MOPT &&
            (v[i].role == PLAN_SCHED || v[last].role != PLAN_SCHED))
            last = i;
    return last;
}

/* The instances of a target; *next counts instances over the whole plan (for seeds and CPUs). */
static void instances_fill(const struct plan *plan, struct plan_target *t,
                           const struct spec_target *st, const struct aflprobe *afl,
                           const struct plan_host *host, size_t n, size_t *next)
{
    struct variant_builds builds = {.sanitizer = st->sanitizer != NULL,
                                    .cmplog = st->cmplog != NULL,
                                    .laf = st->laf != NULL,
                                    .own_mutator = strv_env(&st->env, "AFL_PYTHON_MODULE") != NULL};
    struct variant *v = xcalloc(n, sizeof(*v));
    size_t carrier;

    variant_choose(afl, &builds, n, v);
    carrier = mutator_carrier(v, n);
    t->instances = xcalloc(n, sizeof(*t->instances));
    t->n_instances = n;
    for (size_t i = 0; i < n; i++, (*next)++) {
        struct plan_instance *inst = &t->instances[i];
        const struct plan_file *f;
        struct argv_input in = {.spec = st,
                                .afl = afl,
                                .host = host,
                                .target = t,
                                .variant = &v[i],
                                .seed = plan->seed + *next,
                                .alone = n == 1,
                                .n_instances = n,
                                .mutator = st->mutator != NULL && i == carrier};

        instance_fill(inst, plan, t, &v[i], plan->cpus[*next % (size_t)plan->cores]);
        f = plan_host_file(host, inst->binary);
        in.elf = f != NULL && f->error == 0 ? &f->elf : NULL;
        inst->persistent = in.elf != NULL && in.elf->persistent;
        argv_fill(&in, inst);
        variant_clear(&v[i]);
    }
    free(v);
}

static void target_fill(const struct plan *plan, struct plan_target *t,
                        const struct spec_target *st, const struct plan_host *host, size_t index)
{
    t->name = xstrdup(st->name);
    t->sync_dir = xasprintf("%s/out/%s", plan->run_dir, st->name);
    t->seeds = xstrdup(st->seeds);
    t->dictionary = st->dictionary != NULL ? xstrdup(st->dictionary) : NULL;
    if (index < host->n_targets) {
        const struct plan_target_facts *facts = &host->targets[index];

        t->seeds_sha256 = xstrdup(facts->seeds_sha256);
        t->n_seeds = facts->n_seeds;
        strv_copy(&t->reach_required, &facts->reach_required);
    } else {
        t->seeds_sha256 = xstrdup("");
    }
    strv_copy(&t->after, &st->after);
    strv_copy(&t->args, &st->args);
    strv_copy(&t->env, &st->env);
    program_fill(&t->harness, host, st->harness);
    program_fill(&t->cmplog, host, st->cmplog);
    program_fill(&t->sanitizer, host, st->sanitizer);
    t->no_sweep = st->sweep == SPEC_SWEEP_NO;
    program_fill(&t->replay, host, st->replay);
    program_fill(&t->laf, host, st->laf);
    t->max_len = st->max_len;
    t->init_timeout_ms = st->init_timeout_ms;
    t->limits = st->limits;
    t->timeout_ms = st->limits.timeout_ms;
    t->hang_timeout_ms = st->limits.hang_timeout_ms;
    if (t->hang_timeout_ms == 0) {
        t->hang_timeout_ms = 2 * (t->timeout_ms > 0 ? t->timeout_ms : AUTO_TIMEOUT_MAX_MS);
        if (t->hang_timeout_ms < 1000)
            t->hang_timeout_ms = 1000;
    }
}

/* How many targets share the cores with target i: those of its wave, itself among them. */
static int64_t wave_size(const struct spec *spec, size_t i)
{
    struct wave_node *nodes = xcalloc(spec->n_targets, sizeof(*nodes));
    int *waves = xcalloc(spec->n_targets, sizeof(*waves));
    int64_t n = 0;

    for (size_t k = 0; k < spec->n_targets; k++)
        nodes[k] = (struct wave_node){spec->targets[k].name, &spec->targets[k].after};
    (void)waves_of(nodes, spec->n_targets, waves);
    for (size_t k = 0; k < spec->n_targets; k++)
        n += waves[k] == waves[i];
    free(nodes);
    free(waves);
    return n;
}

/* How many instances a target gets. */
static int64_t instances_of(const struct spec *spec, size_t i, int cores)
{
    int64_t n = spec->targets[i].instances;

    if (n == 0)
        n = cores / wave_size(spec, i);
    return n > 0 ? n : 1;
}

static int cores_of(const struct spec *spec, const struct plan_host *host,
                    struct spec_faults *faults)
{
    int line = spec->cores_by_option ? 0 : spec_line(spec, "campaign", "cores"), cores = 0;
    const char *section = spec->cores_by_option ? "" : "campaign";
    const char *key = spec->cores_by_option ? "--cores" : "cores";

    if (parse_cores(spec->cores, host->n_cpus, &cores) < 0) {
        spec_faults_add(faults, line, section, key, false,
                        "\"%s\" is not a number of cores; allowed: 2, all, all-1, 50%%",
                        spec->cores);
        return 0;
    }
    if (cores > host->n_cpus) {
        spec_faults_add(faults, line, section, key, false, "%d cores, but this host lets us use %d",
                        cores, host->n_cpus);
        return 0;
    }
    return cores;
}

static void admit_instances(const struct spec *spec, size_t i, int cores,
                            struct spec_faults *faults)
{
    const struct spec_target *st = &spec->targets[i];
    int64_t n = instances_of(spec, i, cores);
    int line = spec_line(spec, st->name, "instances");
    char section[64];

    if (cores == 0 || n <= cores || spec->oversubscribe)
        return;
    (void)snprintf(section, sizeof(section), "target %s", st->name);
    spec_faults_add(faults, line > 0 ? line : st->line, section, "instances", false,
                    "%" PRId64 " instances at one core each, but the campaign has %d core%s%s", n,
                    cores, text_plural(cores), spec->cores_by_option ? " (--cores)" : "");
}

static void admit_seeds(const struct spec *spec, size_t i, const struct plan_host *host,
                        struct spec_faults *faults)
{
    const struct spec_target *st = &spec->targets[i];
    int line = spec_line(spec, st->name, "seeds");
    char section[64];

    if (i >= host->n_targets || host->targets[i].seeds_error[0] == '\0')
        return;
    (void)snprintf(section, sizeof(section), "target %s", st->name);
    spec_faults_add(faults, line > 0 ? line : st->line, section, "seeds", false, "%s",
                    host->targets[i].seeds_error);
}

static void admit_user(const struct spec *spec, const struct plan_host *host,
                       struct spec_faults *faults)
{
    for (size_t i = 0; i < host->user_faults.n; i++)
        spec_faults_add(faults, spec_line(spec, "campaign", "user"), "campaign", "user", false,
                        "%s", host->user_faults.v[i]);
}

static struct plan *plan_new(const struct spec *spec, const struct aflprobe *afl,
                             const struct plan_host *host, int cores)
{
    struct plan *p = xcalloc(1, sizeof(*p));

    p->campaign = xstrdup(spec->name);
    p->run_id = xstrdup(host->run_id);
    p->run_dir = xstrdup(host->run_dir);
    p->root = xstrdup(spec->root);
    p->spec_path = xstrdup(spec->path);
    p->budget_ms = spec->budget_ms;
    p->execs = spec->execs;
    p->plateau_ms = spec->plateau_ms;
    p->seed = spec->has_seed ? spec->seed : host->seed;
    p->stop_on = spec->stop_on;
    p->drop_corpus = spec->corpus == SPEC_CORPUS_DROP;
    p->priority = spec->priority;
    p->share_cores = spec->share_cores == SPEC_SHARE_YES;
    p->user = spec->user != NULL ? xstrdup(spec->user) : NULL;
    p->oversubscribe = spec->oversubscribe;
    p->cores = cores;
    p->n_cpus = host->n_cpus;
    p->cpus = xcalloc((size_t)host->n_cpus, sizeof(*p->cpus));
    memcpy(p->cpus, host->cpus, (size_t)host->n_cpus * sizeof(*p->cpus));
    p->limits = spec->limits;
    p->afl_path = xstrdup(afl->path);
    p->afl_version = xstrdup(afl->version);
    p->afl_sha256 = xstrdup(afl->sha256);
    p->git_commit = host->git_commit != NULL ? xstrdup(host->git_commit) : NULL;
    p->git_dirty = host->git_dirty;
    return p;
}

/* JSON carries UTF-8 only; what is not cannot be handed to the daemon unchanged. */
static const char *not_utf8(const struct plan *p)
{
    const char *const own[] = {p->run_dir, p->root, p->spec_path};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (!text_utf8_ok(own[i], strlen(own[i])))
            return own[i];
    for (size_t i = 0; i < p->n_targets; i++)
        for (size_t k = 0; k < p->targets[i].n_instances; k++) {
            const struct strv *lists[] = {&p->targets[i].instances[k].argv,
                                          &p->targets[i].instances[k].env};

            for (size_t l = 0; l < 2; l++)
                for (size_t n = 0; n < lists[l]->n; n++)
                    if (!text_utf8_ok(lists[l]->v[n], strlen(lists[l]->v[n])))
                        return lists[l]->v[n];
        }
    return NULL;
}

int plan_build(const struct spec *spec, const struct aflprobe *afl, const struct plan_host *host,
               struct plan **ret, struct spec_faults *faults, struct err *err)
{
    size_t errors = spec_faults_errors(faults), next = 0;
    struct plan *p;
    const char *bad;
    json_t *j;
    int cores, r;

    if (host->n_cpus < 1 || spec->n_targets < 1 || spec->n_targets > PLAN_MAX_TARGETS)
        return err_set(err, -EINVAL, "no CPU, or not 1 to %d targets", PLAN_MAX_TARGETS);
    if (!path_name_ok(spec->name, PLAN_NAME_MAX))
        spec_faults_add(faults, spec_line(spec, "campaign", "name"), "campaign", "name", false,
                        "the name is not 1 to %d of [A-Za-z0-9_-]", PLAN_NAME_MAX);
    cores = cores_of(spec, host, faults);
    admit_user(spec, host, faults);
    for (size_t i = 0; i < spec->n_targets; i++) {
        admit_instances(spec, i, cores, faults);
        admit_seeds(spec, i, host, faults);
        admit_target(spec, &spec->targets[i], afl, host, faults);
    }
    if (spec_faults_errors(faults) > errors || cores == 0)
        return err_set(err, -EINVAL, "%s cannot be run as it is", spec->path);

    p = plan_new(spec, afl, host, cores);
    p->targets = xcalloc(spec->n_targets, sizeof(*p->targets));
    p->n_targets = spec->n_targets;
    for (size_t i = 0; i < spec->n_targets; i++) {
        const struct spec_target *st = &spec->targets[i];
        int64_t n = instances_of(spec, i, cores);

        target_fill(p, &p->targets[i], st, host, i);
        instances_fill(p, &p->targets[i], st, afl, host,
                       (size_t)(n < PLAN_MAX_INSTANCES ? n : PLAN_MAX_INSTANCES), &next);
    }
    for (size_t i = 0; i < faults->n; i++)
        if (faults->v[i].warning)
            strv_addf(&p->warnings, "[%s] %s%s%s", faults->v[i].section, faults->v[i].key,
                      faults->v[i].key[0] != '\0' ? ": " : "", faults->v[i].msg);
    bad = not_utf8(p);
    if (bad != NULL) {
        r = err_set(err, -EINVAL, "not UTF-8, which a plan cannot carry: %s", bad);
        plan_free(p);
        return r;
    }
    j = plan_to_json(p);
    plan_hash_json(j, p->hash);
    json_decref(j);
    *ret = p;
    return 0;
}
