/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target's programs must be before anything is started. afl-fuzz finds most of this out too, but late, in each
 * instance, and in words that do not name the spec's key.
 */
#include "plan/admit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "plan/argv.h"

/* A target and where its faults go. */
struct admit {
    const struct spec *spec;
    const struct spec_target *t;
    const struct aflprobe *afl;
    const struct plan_host *host;
    struct spec_faults *faults;
    char section[64]; /* as shown */
};

#define FAULT(a, key, warning, ...)                                                                \
    spec_faults_add((a)->faults, fault_line(a, key), (a)->section, key, warning, __VA_ARGS__)

static int fault_line(const struct admit *a, const char *key)
{
    int line = spec_line(a->spec, a->t->name, key);

    return line > 0 ? line : a->t->line;
}

/* The ELF of a program that can be run here at all, or NULL with a fault. */
static const struct elfprobe *admit_program(const struct admit *a, const char *key,
                                            const char *path)
{
    const struct plan_file *f = plan_host_file(a->host, path);

    if (f == NULL || f->error < 0) {
        FAULT(a, key, false, "%s", f != NULL ? f->msg : "was not looked at");
        return NULL;
    }
    if (f->elf.is_script) {
        FAULT(a, key, false, "%s is a script; allowed: an instrumented ELF program", path);
        return NULL;
    }
    if (!f->elf.elf) {
        FAULT(a, key, false, "%s is not an ELF program", path);
        return NULL;
    }
    if (a->host->machine != 0 && f->elf.machine != a->host->machine) {
        FAULT(a, key, false, "%s is built for another machine (ELF machine %d, this host is %d)",
              path, f->elf.machine, a->host->machine);
        return NULL;
    }
    return &f->elf;
}

/* A program that afl-fuzz runs: it needs the runtime, and one whose protocol this afl-fuzz speaks. */
static const struct elfprobe *admit_fuzzed(const struct admit *a, const char *key, const char *path)
{
    const struct elfprobe *e = admit_program(a, key, path);

    if (e == NULL)
        return NULL;
    if (!e->instrumented) {
        FAULT(a, key, false,
              "%s is not instrumented%s; build it with afl-clang-fast or afl-clang-lto", path,
              e->libfuzzer ? " by AFL++ (it is a libFuzzer program)" : "");
        return NULL;
    }
    if (e->protocol == ELFPROBE_PROTO_NEW && !a->afl->new_forkserver) {
        FAULT(a, key, false,
              "%s was built by AFL++ 4.20c or later and speaks its new fork-server protocol, which "
              "afl-fuzz %s does not; rebuild it with the afl-clang-fast of %s, or use a newer "
              "afl-fuzz",
              path, a->afl->version, a->afl->version);
        return NULL;
    }
    if (e->is_static)
        FAULT(a, key, true,
              "%s is static: no own memory group; the instance's limit holds instead, and may end "
              "afl-fuzz with it",
              path);
    if (e->protocol == ELFPROBE_PROTO_UNKNOWN && !a->afl->new_forkserver)
        FAULT(a, key, true,
              "%s does not show which fork-server protocol it speaks; afl-fuzz %s drives only the "
              "old one",
              path, a->afl->version);
    return e;
}

static void admit_env(const struct admit *a)
{
    for (size_t i = 0; i < a->t->env.n; i++) {
        const char *why = argv_env_refusal(a->afl, a->t->env.v[i]);

        if (why != NULL)
            FAULT(a, "env", true, "%.*s %s (afl-fuzz %s); dropped",
                  (int)strcspn(a->t->env.v[i], "="), a->t->env.v[i], why, a->afl->version);
    }
}

static void admit_replay(const struct admit *a)
{
    const struct plan_file *f = plan_host_file(a->host, a->t->replay);

    if (f != NULL && f->error < 0)
        FAULT(a, "replay", false, "%s", f->msg);
    else if (f != NULL && f->elf.instrumented && !f->elf.kit && !f->elf.driver)
        FAULT(a, "replay", true,
              "%s is built by AFL++ and need not run an input as a plain build does; build it by a "
              "plain compiler",
              a->t->replay);
}

/* No campaign runs it. */
static void admit_coverage(const struct admit *a)
{
    const struct plan_file *f = plan_host_file(a->host, a->t->coverage);

    if (f != NULL && f->error == 0 && !f->elf.coverage)
        FAULT(a, "coverage", true,
              "%s has no source coverage; build it by clang -fprofile-instr-generate "
              "-fcoverage-mapping",
              a->t->coverage);
}

static void admit_dictionary(const struct admit *a)
{
    size_t i = (size_t)(a->t - a->spec->targets);

    if (i < a->host->n_targets && a->host->targets[i].dict_error[0] != '\0')
        FAULT(a, "dictionary", a->host->targets[i].dict_harmless, "%s",
              a->host->targets[i].dict_error);
}

void admit_target(const struct spec *spec, const struct spec_target *t, const struct aflprobe *afl,
                  const struct plan_host *host, struct spec_faults *faults)
{
    struct admit a = {.spec = spec, .t = t, .afl = afl, .host = host, .faults = faults};
    const struct elfprobe *e;

    (void)snprintf(a.section, sizeof(a.section), "target %s", t->name);
    if (!path_name_ok(t->name, PLAN_NAME_MAX))
        FAULT(&a, "", false, "the name is not 1 to %d of [A-Za-z0-9_-]", PLAN_NAME_MAX);
    if (t->harness != NULL) {
        e = admit_fuzzed(&a, "harness", t->harness);
        if (e != NULL && e->instrumented && !e->persistent)
            FAULT(&a, "harness", true,
                  "%s has no persistent loop (__AFL_LOOP): about 10 times slower", t->harness);
    }
    if (t->sanitizer != NULL) {
        e = admit_fuzzed(&a, "sanitizer", t->sanitizer);
        if (e != NULL && !e->asan && !e->ubsan && !e->msan && !e->tsan && !e->lsan)
            FAULT(&a, "sanitizer", false,
                  "%s carries no sanitizer; build it with AFL_USE_ASAN=1 (a trapping UBSan build "
                  "leaves no mark: use -fsanitize=undefined -fno-sanitize-recover=all)",
                  t->sanitizer);
    }
    if (t->cmplog != NULL) {
        e = admit_fuzzed(&a, "cmplog", t->cmplog);
        if (e != NULL && !e->cmplog)
            FAULT(&a, "cmplog", !e->cmplog_certain,
                  "%s calls no cmplog hook%s; build it with AFL_LLVM_CMPLOG=1", t->cmplog,
                  e->cmplog_certain ? "" : " that can be seen");
    }
    if (t->laf != NULL)
        (void)admit_fuzzed(&a, "laf", t->laf);
    if (t->mutator != NULL && !aflprobe_has_env(afl, "AFL_CUSTOM_MUTATOR_LIBRARY"))
        FAULT(&a, "mutator", true, "afl-fuzz %s does not know AFL_CUSTOM_MUTATOR_LIBRARY; left out",
              afl->version);
    if (t->replay != NULL)
        admit_replay(&a);
    if (t->coverage != NULL)
        admit_coverage(&a);
    admit_dictionary(&a);
    admit_env(&a);
}
