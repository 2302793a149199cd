/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a replay. Sanitizer options are merged: our defaults first,
 * then what the target's env says, then what classification relies on; of equal
 * options the last one counts.
 * Source: LLVM docs "AddressSanitizerFlags", "SanitizerCommonFlags"; compiler-rt flag_parser.
 */
#include "triage/replay_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SEARCH_PATH "/usr/local/bin:/usr/bin:/bin"

/* Each option name at most once a list; forced ones close it. */
static void options_set(struct strv *env, const char *name, const char *defaults,
                        const char *forced)
{
    const char *user = strv_env(env, name);
    cleanup_free char *all = NULL;

    all = xasprintf("%s%s%s:%s", defaults, user != NULL && user[0] != '\0' ? ":" : "",
                    user != NULL ? user : "", forced);
    strv_env_set(env, name, all);
}

void replay_env_make(const struct replay_program *prog, struct strv *ret)
{
    const char *sym = prog->symbolize ? "symbolize=1" : "symbolize=0";
    cleanup_free char *memory = NULL, *defaults = NULL, *forced = NULL;
    cleanup_free char *san_forced = NULL, *san_defaults = NULL;
    int64_t mb = prog->memory_bytes / (1 << 20);

    for (size_t i = 0; prog->env != NULL && i < prog->env->n; i++)
        strv_add(ret, prog->env->v[i]);
    memory = mb > 0 ? xasprintf(":max_allocation_size_mb=%lld:hard_rss_limit_mb=%lld",
                                (long long)mb, (long long)mb)
                    : xstrdup("");
    defaults = xasprintf(
        "detect_leaks=0:detect_odr_violation=0:handle_abort=0:disable_coredump=1%s", memory);
    forced = xasprintf("abort_on_error=1:allocator_may_return_null=0:%s", sym);
    san_defaults = xasprintf("handle_abort=0%s", memory);
    san_forced = xasprintf("abort_on_error=1:halt_on_error=1:%s", sym);
    if (prog->asan)
        options_set(ret, "ASAN_OPTIONS", defaults, forced);
    if (prog->ubsan || prog->asan)
        options_set(ret, "UBSAN_OPTIONS", "print_stacktrace=1", san_forced);
    if (prog->msan)
        options_set(ret, "MSAN_OPTIONS", san_defaults, san_forced);
    if (prog->tsan)
        options_set(ret, "TSAN_OPTIONS", san_defaults, san_forced);
    if (prog->kit)
        strv_env_set(ret, "FZ_TWICE", prog->twice ? "1" : "0");
}

/* An llvm-symbolizer in PATH, also one named with a version; by its real name, as the run time judges by the name. Caller frees; NULL none. */
static char *symbolizer_find(void)
{
    static const char *const dirs[] = {"/usr/local/bin", "/usr/bin", "/bin"};

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        for (int version = 0; version < 40; version++) {
            char path[128], *real;

            if (version == 0)
                snprintf(path, sizeof(path), "%s/llvm-symbolizer", dirs[i]);
            else if (version < 11)
                continue;
            else
                snprintf(path, sizeof(path), "%s/llvm-symbolizer-%d", dirs[i], version);
            if (access(path, X_OK) != 0)
                continue;
            real = realpath(path, NULL);
            if (real != NULL)
                return real;
        }
    }
    return NULL;
}

void replay_env_scratch(const char *dir, struct strv *env)
{
    static const char *const vars[] = {"ASAN_SYMBOLIZER_PATH", "UBSAN_SYMBOLIZER_PATH",
                                       "MSAN_SYMBOLIZER_PATH", "TSAN_SYMBOLIZER_PATH"};
    cleanup_free char *symbolizer = symbolizer_find();

    if (strv_env(env, "PATH") == NULL)
        strv_env_set(env, "PATH", SEARCH_PATH);
    if (strv_env(env, "HOME") == NULL)
        strv_env_set(env, "HOME", dir);
    strv_env_set(env, "TMPDIR", dir);
    for (size_t i = 0; symbolizer != NULL && i < sizeof(vars) / sizeof(vars[0]); i++) {
        if (strv_env(env, vars[i]) == NULL)
            strv_env_set(env, vars[i], symbolizer);
    }
}
