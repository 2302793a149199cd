/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans against golden files: each folder of tests/fixtures/plan holds a spec whose first line names the probe's answer to
 * plan with ("# afl: 4.04c" is afl-4.04c.json beside it) and the plan it must give. GOLDEN_UPDATE=1 rewrites the plans.
 * Harnesses are made up: what elfprobe would say of them is set here, the files are empty.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/plan.h"

#define FIXTURES "tests/fixtures/plan"

static char dir[] = "/tmp/fz-plan.XXXXXX";
static int host_cpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
static struct plan_target_facts facts[4];

/* The made-up programs, below dir. */
static struct plan_file files[] = {
    {.path = (char *)(uintptr_t) "bin/afl"},    {.path = (char *)(uintptr_t) "bin/cmplog"},
    {.path = (char *)(uintptr_t) "bin/asan"},   {.path = (char *)(uintptr_t) "bin/laf"},
    {.path = (char *)(uintptr_t) "bin/replay"}, {.path = (char *)(uintptr_t) "bin/plain"},
    {.path = (char *)(uintptr_t) "bin/new"},    {.path = (char *)(uintptr_t) "bin/script"},
    {.path = (char *)(uintptr_t) "bin/text"},   {.path = (char *)(uintptr_t) "bin/arm"},
    {.path = (char *)(uintptr_t) "bin/lf"},     {.path = (char *)(uintptr_t) "bin/noloop"},
};
static struct plan_host host = {
    .cpus = host_cpus,
    .n_cpus = 8,
    .machine = EM_X86_64,
    .run_dir = (char *)(uintptr_t) "/state/campaigns/demo/RUN",
    .run_id = (char *)(uintptr_t) "RUN",
    .path = (char *)(uintptr_t) "/usr/bin:/bin",
    .home = (char *)(uintptr_t) "/root",
    .core_pattern_pipe = true,
    .seed = 99,
    .git_commit = (char *)(uintptr_t) "0123456789abcdef0123456789abcdef01234567",
    .git_dirty = true,
    .files = files,
    .n_files = sizeof(files) / sizeof(files[0]),
    .targets = facts,
    .n_targets = 4,
};

static void file_put(const char *name, mode_t mode)
{
    char *path = xasprintf("%s/%s", dir, name);

    assert_int_equal(file_write_atomic(AT_FDCWD, path, "x", 1, mode), 0);
    free(path);
}

static struct plan_file *file_of(const char *name)
{
    for (size_t i = 0; i < host.n_files; i++)
        if (strcmp(files[i].path + strlen(dir) + 1, name) == 0)
            return &files[i];
    fail_msg("no file %s", name);
    return NULL;
}

static int setup(void **state)
{
    char *path;

    (void)state;
    if (mkdtemp(dir) == NULL)
        return 1;
    path = xasprintf("%s/bin", dir);
    assert_int_equal(path_mkdirs(path, 0700), 0);
    free(path);
    path = xasprintf("%s/seeds", dir);
    assert_int_equal(path_mkdirs(path, 0700), 0);
    free(path);
    file_put("seeds/1", 0600);
    file_put("words.dict", 0600);
    file_put("bin/mutator.so", 0600);
    for (size_t i = 0; i < host.n_files; i++) {
        struct elfprobe *e = &files[i].elf;

        file_put(files[i].path, 0700);
        files[i].path = xasprintf("%s/%s", dir, files[i].path);
        e->elf = e->instrumented = e->persistent = e->deferred = e->shm_testcase = true;
        e->cmplog_certain = true;
        e->machine = EM_X86_64;
        e->protocol = ELFPROBE_PROTO_OLD;
        (void)snprintf(e->sha256, sizeof(e->sha256), "%064zx", i + 1);
        (void)snprintf(e->build_id, sizeof(e->build_id), "%040zx", i + 1);
    }
    file_of("bin/cmplog")->elf.cmplog = true;
    file_of("bin/asan")->elf.asan = file_of("bin/asan")->elf.ubsan = true;
    file_of("bin/replay")->elf = (struct elfprobe){.elf = true, .machine = EM_X86_64, .kit = true};
    file_of("bin/plain")->elf = (struct elfprobe){.elf = true, .machine = EM_X86_64};
    file_of("bin/new")->elf.protocol = ELFPROBE_PROTO_NEW;
    file_of("bin/script")->elf = (struct elfprobe){.is_script = true};
    file_of("bin/text")->elf = (struct elfprobe){0};
    file_of("bin/arm")->elf.machine = EM_AARCH64;
    file_of("bin/lf")->elf =
        (struct elfprobe){.elf = true, .machine = EM_X86_64, .libfuzzer = true};
    file_of("bin/noloop")->elf.persistent = false;
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(facts[i].seeds_sha256, sizeof(facts[i].seeds_sha256), "%064zx", i + 100);
        facts[i].n_seeds = 1;
        strv_add(&facts[i].reach_required, "ok_t0");
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < host.n_files; i++)
        free(files[i].path);
    for (size_t i = 0; i < 4; i++)
        strv_clear(&facts[i].reach_required);
    return path_remove_tree(dir);
}

static struct aflprobe *afl_load(const char *version)
{
    char *path = xasprintf(FIXTURES "/afl-%s.json", version);
    json_t *j = json_load_file(path, 0, NULL);
    struct aflprobe *p = NULL;
    struct err err = {0};

    if (j == NULL)
        fail_msg("%s cannot be read", path);
    assert_int_equal(aflprobe_from_json(j, &p, &err), 0);
    json_decref(j);
    free(path);
    return p;
}

/* Loads a spec from text as if it lay in dir. NULL when it has errors. */
static struct spec *spec_of(const char *text, struct spec_faults *faults)
{
    char *path = xasprintf("%s/demo.ini", dir);
    struct spec *spec = NULL;
    struct err err = {0};

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600), 0);
    if (spec_load(path, NULL, &spec, faults, &err) < 0) {
        spec_faults_print(faults, "spec", stderr);
        spec = NULL;
    }
    free(path);
    return spec;
}

static bool oversubscribe; /* of the plans to come */

static struct plan *plan_of(const char *text, const char *version, struct spec_faults *faults)
{
    struct aflprobe *afl = afl_load(version);
    struct spec *spec = spec_of(text, faults);
    struct plan *plan = NULL;
    struct err err = {0};

    assert_non_null(spec);
    spec->oversubscribe = oversubscribe;
    if (plan_build(spec, afl, &host, &plan, faults, &err) < 0)
        plan = NULL;
    spec_free(spec);
    aflprobe_free(afl);
    return plan;
}

/* JSON of a plan as text with dir as /R and no hash (which depends on dir). */
static char *golden_text(const struct plan *plan)
{
    json_t *j = plan_to_json(plan);
    char *text, *out;
    size_t n = 0;

    (void)json_object_del(j, "hash");
    text = json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(j);
    out = xmalloc(strlen(text) + 2);
    for (const char *p = text; *p != '\0';) {
        if (strncmp(p, dir, strlen(dir)) == 0) {
            memcpy(out + n, "/R", 2);
            n += 2;
            p += strlen(dir);
        } else {
            out[n++] = *p++;
        }
    }
    out[n++] = '\n';
    out[n] = '\0';
    free(text);
    return out;
}

static void check_case(const char *name)
{
    char *spec_path = xasprintf(FIXTURES "/%s/spec.ini", name), version[32];
    char *golden_path = xasprintf(FIXTURES "/%s/plan.json", name);
    char *spec, *golden = NULL, *text;
    struct spec_faults faults = {0};
    struct plan *plan;
    size_t size;

    assert_int_equal(file_read(AT_FDCWD, spec_path, 1 << 20, &spec, &size), 0);
    assert_int_equal(sscanf(spec, "# afl: %31s", version), 1);
    plan = plan_of(spec, version, &faults);
    if (plan == NULL) {
        spec_faults_print(&faults, spec_path, stderr);
        fail_msg("%s gives no plan", name);
        return;
    }
    text = golden_text(plan);
    if (getenv("GOLDEN_UPDATE") != NULL) {
        assert_int_equal(file_write_atomic(AT_FDCWD, golden_path, text, strlen(text), 0644), 0);
    } else {
        assert_int_equal(file_read(AT_FDCWD, golden_path, 1 << 20, &golden, &size), 0);
        if (strcmp(golden, text) != 0)
            print_message("%s differs from the plan below; make golden rewrites it\n%s\n",
                          golden_path, text);
        assert_string_equal(text, golden);
    }
    plan_free(plan);
    spec_faults_clear(&faults);
    free(text);
    free(golden);
    free(spec);
    free(golden_path);
    free(spec_path);
}

static void every_fixture_gives_its_plan(void **state)
{
    struct dirent **names;
    int n = scandir(FIXTURES, &names, NULL, alphasort), cases = 0;

    (void)state;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char *path = xasprintf(FIXTURES "/%s/spec.ini", names[i]->d_name);

        if (names[i]->d_name[0] != '.' && access(path, R_OK) == 0) {
            check_case(names[i]->d_name);
            cases++;
        }
        free(path);
        free(names[i]);
    }
    free(names);
    assert_true(cases >= 16);
}

#define FULL                                                                                       \
    "[target p]\nharness = bin/afl\ncmplog = bin/cmplog\nsanitizer = bin/asan\nlaf = bin/laf\n"    \
    "replay = bin/replay\nseeds = seeds\n"

static const struct plan_instance *instance(const struct plan *p, size_t i)
{
    assert_true(i < p->targets[0].n_instances);
    return &p->targets[0].instances[i];
}

static bool has_arg(const struct plan_instance *inst, const char *option, const char *value)
{
    for (size_t i = 0; i + 1 < inst->argv.n; i++)
        if (strcmp(inst->argv.v[i], option) == 0 &&
            (value == NULL || strcmp(inst->argv.v[i + 1], value) == 0))
            return true;
    return false;
}

static void the_same_input_gives_the_same_bytes(void **state)
{
    struct spec_faults f = {0};
    struct plan *a = plan_of("[campaign]\nseed = 1\ncores = 8\n" FULL, "4.21c", &f);
    struct plan *b = plan_of("[campaign]\nseed = 1\ncores = 8\n" FULL, "4.21c", &f);
    struct plan *c = plan_of("[campaign]\nseed = 2\ncores = 8\n" FULL, "4.21c", &f);
    json_t *ja = plan_to_json(a), *jb = plan_to_json(b);
    char *ta = json_dumps(ja, JSON_SORT_KEYS), *tb = json_dumps(jb, JSON_SORT_KEYS);

    (void)state;
    assert_string_equal(ta, tb);
    assert_string_equal(a->hash, b->hash);
    assert_string_not_equal(a->hash, c->hash);
    free(ta);
    free(tb);
    json_decref(ja);
    json_decref(jb);
    plan_free(a);
    plan_free(b);
    plan_free(c);
    spec_faults_clear(&f);
}

static void more_cores_keep_the_instances_of_fewer(void **state)
{
    struct spec_faults f = {0};
    struct plan *big = plan_of("[campaign]\nseed = 1\ncores = 8\n" FULL, "4.21c", &f);

    (void)state;
    for (int n = 1; n < 8; n++) {
        char *text = xasprintf("[campaign]\nseed = 1\ncores = %d\n" FULL, n);
        struct plan *p = plan_of(text, "4.21c", &f);

        assert_int_equal(p->targets[0].n_instances, n);
        for (int i = 0; i < n; i++) {
            assert_string_equal(instance(p, (size_t)i)->name, instance(big, (size_t)i)->name);
            assert_int_equal(instance(p, (size_t)i)->cpu, i);
        }
        plan_free(p);
        free(text);
    }
    plan_free(big);
    spec_faults_clear(&f);
}

static void cores_are_shared_by_the_targets_of_a_wave(void **state)
{
    static const char text[] =
        "[campaign]\nseed = 1\ncores = 4\n" FULL "[target q]\nharness = bin/afl\nseeds = seeds\n"
        "[target last]\nharness = bin/afl\nseeds = seeds\nafter = p q\n";
    struct spec_faults f = {0};
    struct plan *p = plan_of(text, "4.21c", &f), *back = NULL;
    struct err err = {0};
    json_t *j = plan_to_json(p);
    int waves[3];

    (void)state;
    assert_int_equal(p->targets[0].n_instances, 2);
    assert_int_equal(p->targets[1].n_instances, 2);
    assert_int_equal(p->targets[2].n_instances, 4);
    assert_int_equal(plan_from_json(j, &back, &err), 0);
    assert_int_equal(plan_waves(back, waves), 0);
    assert_int_equal(waves[0], 0);
    assert_int_equal(waves[1], 0);
    assert_int_equal(waves[2], 1);
    json_decref(j);
    plan_free(back);
    plan_free(p);
    spec_faults_clear(&f);
}

static void one_core_runs_the_plain_build_only(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[campaign]\ncores = 1\n" FULL, "4.04c", &f);

    (void)state;
    assert_int_equal(p->targets[0].n_instances, 1);
    assert_true(instance(p, 0)->is_main);
    assert_string_equal(instance(p, 0)->binary, p->targets[0].harness.path);
    assert_null(strv_env(&instance(p, 0)->env, "ASAN_OPTIONS"));
    assert_null(strv_env(&instance(p, 0)->env, "AFL_FINAL_SYNC"));
    assert_int_equal(p->seed, 99);
    plan_free(p);
    spec_faults_clear(&f);
}

static void mopt_is_never_with_lin_or_quad_nor_where_it_hangs(void **state)
{
    static const char *const versions[] = {"4.04c", "4.10c", "4.21c", "5.02c"};
    struct spec_faults f = {0};

    (void)state;
    for (size_t v = 0; v < 4; v++) {
        struct plan *p = plan_of("[campaign]\ncores = 8\n" FULL, versions[v], &f);
        int mopts = 0, mains = 0;

        for (size_t i = 0; i < p->targets[0].n_instances; i++) {
            const struct plan_instance *inst = instance(p, i);

            mains += has_arg(inst, "-M", NULL);
            assert_false(has_arg(inst, "-b", NULL));
            if (!has_arg(inst, "-L", "0"))
                continue;
            mopts++;
            assert_false(has_arg(inst, "-p", "lin") || has_arg(inst, "-p", "quad"));
        }
        assert_int_equal(mains, 1);
        assert_int_equal(mopts, strcmp(versions[v], "4.10c") == 0 ? 0 : 1);
        plan_free(p);
    }
    spec_faults_clear(&f);
}

static void sanitizer_options_end_with_what_afl_fuzz_demands(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[campaign]\ncores = 2\n" FULL
                             "env =\n    ASAN_OPTIONS=symbolize=1:abort_on_error=0\n",
                             "4.04c", &f);
    const char *v = strv_env(&instance(p, 1)->env, "ASAN_OPTIONS");
    static const char tail[] = ":symbolize=1:abort_on_error=0:abort_on_error=1:symbolize=0";

    (void)state;
    assert_string_equal(instance(p, 1)->name, "san");
    assert_non_null(v);
    assert_true(strlen(v) > strlen(tail));
    assert_string_equal(v + strlen(v) - strlen(tail), tail);
    assert_string_equal(strv_env(&instance(p, 1)->env, "FZ_TWICE"), "1");
    /* main has no ASan, yet afl-fuzz would refuse the user's value as it stands */
    v = strv_env(&instance(p, 0)->env, "ASAN_OPTIONS");
    assert_non_null(strstr(v, ":abort_on_error=1:symbolize=0"));
    assert_null(strv_env(&instance(p, 0)->env, "FZ_TWICE"));
    plan_free(p);
    spec_faults_clear(&f);
}

static void only_known_variables_are_passed_and_the_rest_is_told(void **state)
{
    static const char *const versions[] = {"4.04c", "4.21c", "5.02c"};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct spec_faults f = {0};
        struct aflprobe *afl = afl_load(versions[k]);
        struct plan *p = plan_of("[campaign]\ncores = 8\n" FULL
                                 "env =\n    AFL_TYPO=1\n    AFL_NO_UI=0\n    MINE=1\n",
                                 versions[k], &f);

        assert_int_equal(f.n, 2);
        assert_true(f.v[0].warning && f.v[1].warning);
        assert_int_equal(p->warnings.n, 2);
        for (size_t i = 0; i < 8; i++) {
            const struct strv *env = &instance(p, i)->env;

            assert_string_equal(strv_env(env, "MINE"), "1");
            assert_string_equal(strv_env(env, "AFL_NO_UI"), "1");
            assert_string_equal(strv_env(env, "AFL_STATSD_PORT"), PLAN_STATSD_PORT);
            for (size_t e = 0; e < env->n; e++) {
                char *name = xstrndup(env->v[e], strcspn(env->v[e], "="));

                assert_true(strncmp(name, "AFL_", 4) != 0 || aflprobe_has_env(afl, name));
                free(name);
            }
        }
        assert_int_equal(strv_env(&instance(p, 0)->env, "AFL_FINAL_SYNC") != NULL, k > 0);
        assert_int_equal(strv_env(&instance(p, 0)->env, "AFL_OLD_CHILD_SYNC") != NULL, k > 1);
        plan_free(p);
        aflprobe_free(afl);
        spec_faults_clear(&f);
    }
}

/* What a faulty target must be told: line, key and words. */
static void programs_that_cannot_be_fuzzed_are_refused_by_line(void **state)
{
    static const struct {
        const char *keys, *version;
        int line;
        const char *key, *words;
    } cases[] = {
        {"harness = bin/plain\n", "4.04c", 2, "harness", "is not instrumented"},
        {"harness = bin/script\n", "4.04c", 2, "harness", "is a script"},
        {"harness = bin/text\n", "4.04c", 2, "harness", "is not an ELF"},
        {"harness = bin/arm\n", "4.04c", 2, "harness", "another machine"},
        {"harness = bin/lf\n", "4.04c", 2, "harness", "libFuzzer"},
        {"harness = bin/new\n", "4.04c", 2, "harness", "new fork-server protocol"},
        {"harness = bin/new\n", "4.10c", 2, "harness", "new fork-server protocol"},
        {"harness = bin/afl\nsanitizer = bin/laf\n", "4.04c", 3, "sanitizer", "no sanitizer"},
        {"harness = bin/afl\ncmplog = bin/afl\n", "4.04c", 3, "cmplog", "no cmplog hook"},
        {"harness = bin/afl\ncmplog = bin/plain\n", "4.04c", 3, "cmplog", "is not instrumented"},
        {"harness = bin/afl\nlaf = bin/new\n", "4.04c", 3, "laf", "new fork-server protocol"},
        {"harness = bin/afl\ninstances = 9\n", "4.04c", 3, "instances", "has 7 cores"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct spec_faults f = {0};
        char *text = xasprintf("[target p]\n%sseeds = seeds\n", cases[i].keys);
        struct plan *p = plan_of(text, cases[i].version, &f);

        assert_null(p);
        assert_int_equal(f.n, 1);
        assert_int_equal(f.v[0].line, cases[i].line);
        assert_string_equal(f.v[0].section, "target p");
        assert_string_equal(f.v[0].key, cases[i].key);
        if (strstr(f.v[0].msg, cases[i].words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", f.v[0].msg, cases[i].words);
        spec_faults_clear(&f);
        free(text);
    }
}

static void what_the_host_says_of_a_dictionary_is_told(void **state)
{
    static const char text[] =
        "[target p]\nharness = bin/afl\nseeds = seeds\ndictionary = words.dict\n";
    struct spec_faults f = {0};

    (void)state;
    (void)snprintf(facts[0].dict_error, sizeof(facts[0].dict_error), "words.dict line 1: odd");
    assert_null(plan_of(text, "4.04c", &f));
    assert_int_equal(f.n, 1);
    assert_int_equal(f.v[0].line, 4);
    assert_string_equal(f.v[0].key, "dictionary");
    assert_string_equal(f.v[0].msg, "words.dict line 1: odd");
    spec_faults_clear(&f);
    facts[0].dict_harmless = true;
    struct plan *p = plan_of(text, "4.04c", &f);
    facts[0].dict_harmless = false;
    facts[0].dict_error[0] = '\0';
    assert_non_null(p);
    assert_int_equal(f.n, 1);
    assert_true(f.v[0].warning);
    spec_faults_clear(&f);
    plan_free(p);
}

static void builds_of_another_kind_are_warned_of(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[target p]\nharness = bin/afl\nreplay = bin/laf\n"
                             "coverage = bin/plain\nseeds = seeds\n",
                             "4.04c", &f);

    (void)state;
    assert_non_null(p);
    assert_int_equal(f.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(f.v[i].warning);
        assert_int_equal(f.v[i].line, 3 + (int)i);
        assert_non_null(strstr(f.v[i].msg, i == 0 ? "built by AFL++" : "no source coverage"));
    }
    spec_faults_clear(&f);
    plan_free(p);
}

static void only_tests_get_more_instances_than_cores(void **state)
{
    static const char spec[] =
        "[campaign]\ncores = 1\n[target q]\nharness = bin/afl\nseeds = seeds\ninstances = 100\n";
    struct spec_faults f = {0};
    struct plan *p = plan_of(spec, "4.04c", &f), *back;
    struct err err;
    json_t *j;

    (void)state;
    assert_null(p);
    spec_faults_clear(&f);
    oversubscribe = true;
    p = plan_of(spec, "4.04c", &f);
    oversubscribe = false;
    assert_non_null(p);
    assert_int_equal(p->targets[0].n_instances, 100);
    assert_true(p->oversubscribe);
    j = plan_to_json(p);
    assert_int_equal(plan_from_json(j, &back, &err), 0);
    assert_true(back->oversubscribe);
    json_decref(j);
    plan_free(back);
    plan_free(p);
    spec_faults_clear(&f);
}

static void more_cores_than_the_host_has_are_refused(void **state)
{
    struct spec_faults f = {0};

    (void)state;
    assert_null(plan_of("[campaign]\ncores = 9\n" FULL, "4.04c", &f));
    assert_int_equal(f.n, 1);
    assert_int_equal(f.v[0].line, 2);
    assert_string_equal(f.v[0].key, "cores");
    assert_non_null(strstr(f.v[0].msg, "9 cores, but this host lets us use 8"));
    spec_faults_clear(&f);
}

static void cores_that_an_option_asked_for_are_no_fault_of_a_line(void **state)
{
    struct spec_faults f = {0};
    struct aflprobe *afl = afl_load("4.04c");
    struct spec *spec = spec_of("[campaign]\ncores = 1\n" FULL, &f);
    struct plan *plan = NULL;
    struct err err = {0};

    (void)state;
    assert_non_null(spec);
    str_set(&spec->cores, "9"); /* as --cores 9 does */
    spec->cores_by_option = true;
    assert_true(plan_build(spec, afl, &host, &plan, &f, &err) < 0);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.v[0].line, 0);
    assert_string_equal(f.v[0].section, "");
    assert_string_equal(f.v[0].key, "--cores");
    spec_free(spec);
    aflprobe_free(afl);
    spec_faults_clear(&f);
}

static void all_faults_are_told_not_only_the_first(void **state)
{
    struct spec_faults f = {0};

    (void)state;
    assert_null(plan_of("[target a]\nharness = bin/plain\ncmplog = bin/laf\nseeds = seeds\n"
                        "[target b]\nharness = bin/script\nsanitizer = bin/afl\nseeds = seeds\n",
                        "4.04c", &f));
    assert_int_equal(f.n, 4);
    spec_faults_clear(&f);
}

static void a_new_harness_is_taken_by_a_new_afl_fuzz(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[target p]\nharness = bin/new\nseeds = seeds\n", "4.21c", &f);

    (void)state;
    assert_non_null(p);
    assert_int_equal(f.n, 0);
    plan_free(p);
}

static void a_harness_without_a_loop_is_warned_about(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[target p]\nharness = bin/noloop\nseeds = seeds\n", "4.21c", &f);

    (void)state;
    assert_non_null(p);
    assert_int_equal(f.n, 1);
    assert_true(f.v[0].warning);
    plan_free(p);
    spec_faults_clear(&f);
}

static void a_plan_comes_back_from_json_as_it_was(void **state)
{
    struct spec_faults f = {0};
    struct plan *p =
                    plan_of("[campaign]\ncores = 8\nseed = 9007199254740991\nstop_on = first\n" FULL
                            "args =\n    @@\n",
                            "4.21c", &f),
                *q = NULL;
    json_t *a = plan_to_json(p), *b;
    struct err err = {0};

    (void)state;
    if (plan_from_json(a, &q, &err) < 0)
        fail_msg("%s", err.msg);
    b = plan_to_json(q);
    assert_true(json_equal(a, b));
    assert_string_equal(p->hash, q->hash);
    assert_true(q->seed == 9007199254740991u);
    json_decref(a);
    json_decref(b);
    plan_free(p);
    plan_free(q);
    spec_faults_clear(&f);
}

/* Puts value at the dotted path of a copy and makes its hash right again, so that only the value is at fault. */
static int read_changed(const json_t *whole, const char *path, json_t *value, bool rehash,
                        struct err *err)
{
    json_t *j = json_deep_copy(whole), *at = j;
    char *copy = xstrdup(path), *rest = copy, *part, hex[65];
    struct plan *p = NULL;
    int r;

    while ((part = strsep(&rest, ".")) != NULL && rest != NULL)
        at = json_is_array(at) ? json_array_get(at, (size_t)(part[0] - '0'))
                               : json_object_get(at, part);
    if (value == NULL)
        (void)json_object_del(at, part);
    else
        (void)json_object_set_new(at, part, value);
    if (rehash) {
        plan_hash_json(j, hex);
        (void)json_object_set_new(j, "hash", json_string(hex));
    }
    r = plan_from_json(j, &p, err);
    plan_free(p);
    json_decref(j);
    free(copy);
    return r;
}

static void a_changed_or_hostile_plan_is_refused(void **state)
{
    struct spec_faults f = {0};
    struct plan *p = plan_of("[campaign]\ncores = 2\n" FULL, "4.04c", &f);
    json_t *j = plan_to_json(p), *big = json_array();
    struct err err = {0};
    const struct {
        const char *path;
        json_t *value;
    } cases[] = {
        {"version", json_integer(2)},
        {"run_dir", json_string("relative")},
        {"run_dir", json_string("/a/../b")},
        {"campaign", json_string("a/b")},
        {"campaign", NULL},
        {"seed", json_integer(-1)},
        {"cores", json_integer(99)},
        {"cores", json_real(1.5)},
        {"cpus", json_string("all")},
        {"stop_on", json_string("always")},
        {"targets", json_array()},
        {"targets", big},
        {"limits", json_null()},
        {"warnings", json_pack("[i]", 1)},
        {"targets.0.name", json_string("..")},
        {"targets.0.sync_dir", json_string("/etc")},
        {"targets.0.harness", json_null()},
        {"targets.0.instances", json_object()},
        {"targets.0.instances.0.out_dir", json_string("/state/campaigns/demo/RUNaway")},
        {"targets.0.instances.0.scratch_dir", json_string("/state/campaigns/demo/RUN/../x")},
        {"targets.0.instances.0.log_path", json_string("/state/campaigns/demo/RUN")},
        {"targets.0.instances.0.argv", json_array()},
        {"targets.0.instances.0.argv", json_pack("[s,s,s,s]", "/bin/sh", "-c", "x", "y")},
        {"targets.0.instances.0.role", json_string("boss")},
        {"targets.0.instances.0.is_main", json_integer(1)},
        {"targets.0.instances.0.cpu", json_integer(-3)},
        {"targets.0.instances.0.env", json_pack("[s%]", "A=\0B", (size_t)4)},
        {"targets.0.instances.1.name", json_string("main")},
        {"targets.0.instances.0.timeout_ms", NULL},
        {"targets.0.harness.path", json_null()},
        {"targets.0.cmplog.path", json_null()},
        {"budget_ms", json_integer(INT64_MAX)},
        {"limits.timeout_ms", json_integer(INT64_MAX)},
        {"targets.0.init_timeout_ms", json_integer((INT64_C(1) << 53) + 1)},
        {"targets.0.n_seeds", json_integer(INT64_MAX)},
        {"seed", json_integer(INT64_MAX)},
        {"targets.0.instances.0.full_id", json_string("demo/other/main")},
        {"targets.0.instances.0.full_id", json_string("demo/\x1b[31m")},
        {"afl_version", json_string("4.04c\x1b[31m")},
        {"git_commit", json_string("a\nb")},
        /* It would wait for ever, or come back without the list. */
        {"targets.0.after", json_pack("[s]", "nobody")},
        {"targets.0.after", json_pack("[s]", "p")},
        {"targets.0.after", json_array()},
        {"targets.0.after", json_null()},
        /* What is not read would be lost when the plan is kept, and the hash with it. */
        {"new", json_null()},
        {"limits.new", json_integer(1)},
        {"targets.0.new", json_integer(1)},
        {"targets.0.harness.new", json_integer(1)},
        {"targets.0.instances.0.new", json_integer(1)},
    };

    (void)state;
    for (int i = 0; i <= PLAN_MAX_TARGETS; i++)
        (void)json_array_append_new(big, json_object());
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (read_changed(j, cases[i].path, cases[i].value, true, &err) != -EINVAL)
            fail_msg("%s (case %zu) is taken", cases[i].path, i);
    assert_int_equal(read_changed(j, "budget_ms", json_integer(5), false, &err), -EBADMSG);
    assert_int_equal(read_changed(j, "hash", NULL, false, &err), -EBADMSG);
    assert_int_equal(read_changed(j, "budget_ms", json_integer(5), true, &err), 0);
    json_decref(j);
    plan_free(p);
    spec_faults_clear(&f);
}

static void a_printed_plan_can_be_read_and_pasted(void **state)
{
    struct spec_faults f = {0};
    struct plan *p =
        plan_of("[campaign]\ncores = 2\n" FULL "args =\n    it's\n    @@\n", "4.04c", &f);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    plan_print(p, out);
    (void)fclose(out);
    assert_non_null(strstr(text, "demo/p/main  (main, CPU 0)"));
    assert_non_null(strstr(text, "bin/afl 'it'\\''s' @@\n"));
    assert_non_null(strstr(text, " \\\n                -M main \\\n"));
    assert_non_null(strstr(text, "left out  AFL_FINAL_SYNC: afl-fuzz 4.04c does not know it"));
    assert_non_null(strstr(text, "bin/asan  [asan]\n"));
    assert_non_null(strstr(text, "bin/cmplog  [no instance runs it, give more cores]\n"));
    free(text);
    plan_free(p);
    spec_faults_clear(&f);
}

static void a_mutator_never_meets_mopt(void **state)
{
    struct spec_faults f = {0};

    (void)state;
    for (int n = 1; n <= 8; n++) {
        static const char head[] = "[campaign]\ncores = %d\n[target p]\nharness = bin/afl\n"
                                   "seeds = seeds\n%s";
        char own[256], user[256];
        struct plan *p, *q;
        int carriers = 0;

        (void)snprintf(own, sizeof(own), head, n, "mutator = bin/mutator.so\n");
        (void)snprintf(user, sizeof(user), head, n, "env =\n    AFL_PYTHON_MODULE=m\n");
        p = plan_of(own, "4.21c", &f);
        q = plan_of(user, "4.21c", &f);
        for (size_t i = 0; i < (size_t)n; i++) {
            const struct plan_instance *inst = instance(p, i);
            bool carries = strv_env(&inst->env, "AFL_CUSTOM_MUTATOR_LIBRARY") != NULL;

            carriers += carries;
            assert_false(carries && has_arg(inst, "-L", NULL));
            assert_false(carries && inst->is_main && n > 1);
            assert_false(has_arg(instance(q, i), "-L", NULL));
        }
        assert_int_equal(carriers, 1);
        plan_free(p);
        plan_free(q);
    }
    spec_faults_clear(&f);
}

static void seeds_that_cannot_be_read_are_a_fault_of_their_line(void **state)
{
    struct spec_faults f = {0};

    (void)state;
    (void)snprintf(facts[0].seeds_error, sizeof(facts[0].seeds_error), "seeds cannot be read");
    assert_null(plan_of("[target p]\nharness = bin/afl\nseeds = seeds\n", "4.21c", &f));
    facts[0].seeds_error[0] = '\0';
    assert_int_equal(f.n, 1);
    assert_int_equal(f.v[0].line, 3);
    assert_string_equal(f.v[0].key, "seeds");
    spec_faults_clear(&f);
}

static void what_json_cannot_carry_is_refused(void **state)
{
    struct spec_faults f = {0};
    struct aflprobe *afl = afl_load("4.04c");
    struct spec *spec = spec_of("[campaign]\ncores = 1\n" FULL, &f);
    char *home = host.home;
    struct plan *p = NULL;
    struct err err = {0};

    (void)state;
    host.home = (char *)(uintptr_t) "/home/\xe9";
    assert_int_equal(plan_build(spec, afl, &host, &p, &f, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "not UTF-8"));
    host.home = home;
    spec_free(spec);
    aflprobe_free(afl);
    spec_faults_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fixture_gives_its_plan),
        cmocka_unit_test(the_same_input_gives_the_same_bytes),
        cmocka_unit_test(more_cores_keep_the_instances_of_fewer),
        cmocka_unit_test(cores_are_shared_by_the_targets_of_a_wave),
        cmocka_unit_test(one_core_runs_the_plain_build_only),
        cmocka_unit_test(mopt_is_never_with_lin_or_quad_nor_where_it_hangs),
        cmocka_unit_test(sanitizer_options_end_with_what_afl_fuzz_demands),
        cmocka_unit_test(only_known_variables_are_passed_and_the_rest_is_told),
        cmocka_unit_test(programs_that_cannot_be_fuzzed_are_refused_by_line),
        cmocka_unit_test(only_tests_get_more_instances_than_cores),
        cmocka_unit_test(what_the_host_says_of_a_dictionary_is_told),
        cmocka_unit_test(builds_of_another_kind_are_warned_of),
        cmocka_unit_test(more_cores_than_the_host_has_are_refused),
        cmocka_unit_test(cores_that_an_option_asked_for_are_no_fault_of_a_line),
        cmocka_unit_test(all_faults_are_told_not_only_the_first),
        cmocka_unit_test(a_new_harness_is_taken_by_a_new_afl_fuzz),
        cmocka_unit_test(a_harness_without_a_loop_is_warned_about),
        cmocka_unit_test(a_plan_comes_back_from_json_as_it_was),
        cmocka_unit_test(a_changed_or_hostile_plan_is_refused),
        cmocka_unit_test(a_mutator_never_meets_mopt),
        cmocka_unit_test(seeds_that_cannot_be_read_are_a_fault_of_their_line),
        cmocka_unit_test(what_json_cannot_carry_is_refused),
        cmocka_unit_test(a_printed_plan_can_be_read_and_pasted),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
