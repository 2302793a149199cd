/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and variables of one instance, in a fixed order. The environment is complete: the keeper passes exactly this and
 * nothing of its own. Sanitizer options replace AFL++'s whole set, so they repeat its defaults, and they end with what
 * afl-fuzz insists on, whatever the user put before.
 */
#include "plan/argv.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

/* Source: AFL++ src/afl-forkserver.c, set_sanitizer_defaults; check_asan_opts wants the last two of each literally. */
#define ASAN_FIRST                                                                                 \
    "detect_leaks=0:malloc_context_size=0:allocator_may_return_null=1:detect_odr_violation=0:"     \
    "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0"
#define ASAN_LAST   "abort_on_error=1:symbolize=0"
#define UBSAN_FIRST "halt_on_error=1"
#define UBSAN_LAST  "abort_on_error=1:symbolize=0"
#define MSAN_FIRST  "abort_on_error=1:msan_track_origins=0"
#define MSAN_LAST   "exit_code=86:symbolize=0"
#define LSAN_FIRST  "fast_unwind_on_malloc=0"
#define LSAN_LAST   "exitcode=23:symbolize=0"
#define TSAN_FIRST  "halt_on_error=1"
#define TSAN_LAST   "abort_on_error=1:symbolize=0"

#define TESTCACHE_MB "100"

/* Names the plan sets by itself; a user's own would break an instance or its supervision. */
static const char *const reserved[] = {
    "AFL_AUTORESUME",
    "AFL_NO_AFFINITY",
    "AFL_TRY_AFFINITY",
    "AFL_NO_UI",
    "AFL_FORCE_UI",
    "AFL_STATSD",
    "AFL_STATSD_HOST",
    "AFL_STATSD_PORT",
    "AFL_STATSD_TAGS_FLAVOR",
    "AFL_HANG_TMOUT",
    "AFL_FORKSRV_INIT_TMOUT",
    "AFL_TMPDIR",
    "AFL_CUSTOM_MUTATOR_LIBRARY",
    "AFL_FUZZER_ARGS",
    "TMPDIR",
};

const char *argv_env_refusal(const struct aflprobe *afl, const char *entry)
{
    size_t n = strcspn(entry, "=");
    char name[80];

    if (entry[n] != '=' || n == 0)
        return "is not NAME=VALUE";
    if (n >= sizeof(name))
        return strncmp(entry, "AFL_", 4) == 0 ? "is not known to this afl-fuzz" : NULL;
    memcpy(name, entry, n);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (strcmp(name, reserved[i]) == 0)
            return "is set by the plan itself";
    if (strncmp(name, "__AFL", 5) == 0 || strncmp(name, "_AFL", 4) == 0)
        return "belongs to AFL++ and its runtime";
    if (strncmp(name, "AFL_", 4) == 0 && !aflprobe_has_env(afl, name))
        return "is not known to this afl-fuzz";
    return NULL;
}

/* An AFL_* variable when this afl-fuzz knows it; a note when it does not and note is set. */
static void afl_env(const struct argv_input *in, struct plan_instance *inst, const char *name,
                    const char *value, bool note)
{
    if (aflprobe_has_env(in->afl, name))
        strv_env_set(&inst->env, name, value);
    else if (note)
        strv_addf(&inst->left_out, "%s: afl-fuzz %s does not know it", name, in->afl->version);
}

static void afl_env_num(const struct argv_input *in, struct plan_instance *inst, const char *name,
                        int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    afl_env(in, inst, name, text, true);
}

/*
 * FIRST:user's:LAST; of two equal options the later one counts. Also where the build has no such sanitizer but the user set the
 * variable: afl-fuzz refuses to start on a value without LAST, whatever it runs.
 */
static void sanitizer_env(struct plan_instance *inst, const char *name, bool built_in,
                          const char *first, const char *last)
{
    const char *user = strv_env(&inst->env, name);
    char *value;

    if (!built_in && user == NULL)
        return;
    value = user != NULL && user[0] != '\0' ? xasprintf("%s:%s:%s", first, user, last)
                                            : xasprintf("%s:%s", first, last);
    strv_env_set(&inst->env, name, value);
    free(value);
}

static void preload_env(const struct argv_input *in, struct plan_instance *inst)
{
    const char *user = strv_env(&inst->env, "AFL_PRELOAD");
    char *value;

    if (in->host->preload == NULL)
        return;
    if (in->elf != NULL && in->elf->is_static) {
        strv_addf(&inst->left_out, "AFL_PRELOAD of fuzz-preload.so: a static program loads no "
                                   "library");
        return;
    }
    if (in->elf != NULL && in->elf->asan_dynamic) {
        strv_addf(&inst->left_out, "AFL_PRELOAD of fuzz-preload.so: the ASan runtime is a library "
                                   "and must come first");
        return;
    }
    value = user != NULL ? xasprintf("%s:%s", in->host->preload, user) : xstrdup(in->host->preload);
    afl_env(in, inst, "AFL_PRELOAD", value, true);
    free(value);
}

/*
 * The main instance looks at the others, and at what was added by hand, in half of this time; AFL++'s own is 30 or 20 minutes, longer than many a
 * campaign. A look costs a listing of each other's queue, so it is rarer where there are many.
 */
static int64_t sync_minutes(size_t n_instances)
{
    return 1 + (int64_t)(n_instances / 8);
}

static void fill_env(const struct argv_input *in, struct plan_instance *inst)
{
    const struct plan_target *t = in->target;
    const struct variant *v = in->variant;
    bool asan = in->elf != NULL && in->elf->asan;

    strv_env_set(&inst->env, "PATH", in->host->path);
    strv_env_set(&inst->env, "HOME", in->host->home);
    strv_env_set(&inst->env, "LANG", "C");
    for (size_t i = 0; i < t->env.n; i++)
        if (argv_env_refusal(in->afl, t->env.v[i]) == NULL) {
            size_t n = strcspn(t->env.v[i], "=");
            char *name = xstrndup(t->env.v[i], n);

            strv_env_set(&inst->env, name, t->env.v[i] + n + 1);
            free(name);
        }
    strv_env_set(&inst->env, "TMPDIR", inst->scratch_dir);

    afl_env(in, inst, "AFL_AUTORESUME", "1", true);
    afl_env(in, inst, "AFL_NO_UI", "1", true);
    afl_env(in, inst, "AFL_NO_AFFINITY", "1", true);
    afl_env(in, inst, "AFL_SKIP_CPUFREQ", "1", true);
    if (in->host->core_pattern_pipe)
        afl_env(in, inst, "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES", "1", true);
    afl_env(in, inst, "AFL_STATSD", "1", true);
    afl_env(in, inst, "AFL_STATSD_HOST", "127.0.0.1", true);
    afl_env(in, inst, "AFL_STATSD_PORT", PLAN_STATSD_PORT, true);
    afl_env(in, inst, "AFL_STATSD_TAGS_FLAVOR", "dogstatsd", true);
    afl_env_num(in, inst, "AFL_HANG_TMOUT", t->hang_timeout_ms);
    if (t->init_timeout_ms > 0)
        afl_env_num(in, inst, "AFL_FORKSRV_INIT_TMOUT", t->init_timeout_ms);
    if (strv_env(&inst->env, "AFL_TESTCACHE_SIZE") == NULL)
        afl_env(in, inst, "AFL_TESTCACHE_SIZE", TESTCACHE_MB, true);
    if (!in->alone)
        afl_env(in, inst, "AFL_IMPORT_FIRST", "1", true);
    if (inst->is_main && !in->alone)
        afl_env(in, inst, "AFL_FINAL_SYNC", "1", true);
    if (inst->is_main && strv_env(&inst->env, "AFL_SYNC_TIME") == NULL)
        afl_env_num(in, inst, "AFL_SYNC_TIME", sync_minutes(in->n_instances));
    if (v->no_trim)
        afl_env(in, inst, "AFL_DISABLE_TRIM", "1", true);
    /* 5.x: the futex hand-over can lock up when cores are oversubscribed; older ones have no other way anyway. */
    afl_env(in, inst, "AFL_OLD_CHILD_SYNC", "1", false);
    if (in->mutator)
        afl_env(in, inst, "AFL_CUSTOM_MUTATOR_LIBRARY", in->spec->mutator, true);
    preload_env(in, inst);

    sanitizer_env(inst, "ASAN_OPTIONS", asan, ASAN_FIRST, ASAN_LAST);
    sanitizer_env(inst, "UBSAN_OPTIONS", asan || (in->elf != NULL && in->elf->ubsan), UBSAN_FIRST,
                  UBSAN_LAST);
    sanitizer_env(inst, "MSAN_OPTIONS", in->elf != NULL && in->elf->msan, MSAN_FIRST, MSAN_LAST);
    sanitizer_env(inst, "LSAN_OPTIONS", in->elf != NULL && in->elf->lsan, LSAN_FIRST, LSAN_LAST);
    sanitizer_env(inst, "TSAN_OPTIONS", in->elf != NULL && in->elf->tsan, TSAN_FIRST, TSAN_LAST);
    if (v->role == PLAN_SAN)
        strv_env_set(&inst->env, "FZ_TWICE", "1");
}

/* "-x VALUE" when this afl-fuzz has the flag. */
static void option(const struct argv_input *in, struct plan_instance *inst, char flag,
                   const char *value)
{
    if (!aflprobe_has_flag(in->afl, flag)) {
        strv_addf(&inst->left_out, "-%c %s: afl-fuzz %s has no -%c", flag, value, in->afl->version,
                  flag);
        return;
    }
    strv_addf(&inst->argv, "-%c", flag);
    strv_add(&inst->argv, value);
}

static void option_num(const struct argv_input *in, struct plan_instance *inst, char flag,
                       uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    option(in, inst, flag, text);
}

static void fill_argv(const struct argv_input *in, struct plan_instance *inst)
{
    const struct plan_target *t = in->target;
    const struct variant *v = in->variant;

    strv_add(&inst->argv, in->afl->path);
    option(in, inst, 'i', t->seeds);
    option(in, inst, 'o', t->sync_dir);
    option(in, inst, inst->is_main ? 'M' : 'S', inst->name);
    if (inst->is_main) {
        cleanup_free char *additions = plan_additions_dir(in->host->run_dir, t->name);

        option(in, inst, 'F', additions);
    }
    option(in, inst, 'T', inst->full_id);
    option_num(in, inst, 's', in->seed);
    if (v->schedule != NULL)
        option(in, inst, 'p', v->schedule);
    if (t->timeout_ms > 0)
        option_num(in, inst, 't', (uint64_t)t->timeout_ms);
    option(in, inst, 'm', "none");
    if (t->dictionary != NULL)
        option(in, inst, 'x', t->dictionary);
    if (t->max_len > 0)
        option_num(in, inst, 'G', (uint64_t)t->max_len);
    /*
     * The instance's own program is the cmplog build. Beside a plain one afl-fuzz 4.04c starts it, and solves nothing by it: "XYZZY"
     * was found within 3 000 executions this way, and not in 300 000 the other.
     */
    if (v->cmplog_opts != NULL) {
        option(in, inst, 'c', "0");
        if (v->cmplog_opts[0] != '\0')
            option(in, inst, 'l', v->cmplog_opts);
    }
    if (v->mopt)
        option(in, inst, 'L', "0");
    if (v->sequential)
        strv_add(&inst->argv, "-Z");
    if (v->strategy != NULL)
        option(in, inst, 'P', v->strategy);
    if (v->input_type != NULL)
        option(in, inst, 'a', v->input_type);
    strv_add(&inst->argv, "--");
    strv_add(&inst->argv, inst->binary);
    for (size_t i = 0; i < t->args.n; i++)
        strv_add(&inst->argv, t->args.v[i]);
}

void argv_fill(const struct argv_input *in, struct plan_instance *inst)
{
    strv_copy(&inst->left_out, &in->variant->left_out);
    fill_argv(in, inst);
    fill_env(in, inst);
}
