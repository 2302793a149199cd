/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of one input. The program under test is hostile by nature: it gets a
 * copy of the input, a folder of its own and limits, and nothing it does can
 * change the stored bytes. What it printed is kept bounded, head and tail.
 */
#include "triage/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/drop.h"
#include "sys/keeper.h"
#include "triage/replay_env.h"

#define CAPTURE_BYTES (4u << 20) /* read before head and tail are cut */

static bool input_named(const struct replay_program *prog)
{
    for (size_t i = 0; prog->args != NULL && i < prog->args->n; i++) {
        if (strstr(prog->args->v[i], "@@") != NULL)
            return true;
    }
    return false;
}

bool replay_uses_stdin(const struct replay_program *prog)
{
    return !prog->kit && !prog->takes_file && !input_named(prog);
}

/* arg with each @@ replaced, as afl-fuzz does. Source: AFL++ src/afl-common.c detect_file_args. */
static char *replace_input(const char *arg, const char *input)
{
    const char *at = strstr(arg, "@@");
    char *head, *rest, *both;

    if (at == NULL)
        return xstrdup(arg);
    head = xstrndup(arg, (size_t)(at - arg));
    rest = replace_input(at + 2, input);
    both = xasprintf("%s%s%s", head, input, rest);
    free(head);
    free(rest);
    return both;
}

void replay_command(const struct replay_program *prog, const char *input, struct strv *ret_argv,
                    struct strv *ret_env)
{
    strv_add(ret_argv, prog->path);
    if (prog->kit) {
        strv_add(ret_argv, "--one");
        strv_add(ret_argv, input);
    } else {
        for (size_t i = 0; prog->args != NULL && i < prog->args->n; i++)
            strv_take(ret_argv, replace_input(prog->args->v[i], input));
        if (prog->takes_file && !input_named(prog))
            strv_add(ret_argv, input);
    }
    replay_env_make(prog, ret_env);
}

/* What a run may write to: a fresh folder with the copied input. */
int replay_scratch_make(const char *input, char **ret_dir, char **ret_input, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *dir = NULL, *copy = NULL, *data = NULL;
    cleanup_close int fd = -1;
    size_t size;
    int r;

    dir = xasprintf("%s/fz-replay.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    r = file_read(AT_FDCWD, input, REPLAY_INPUT_MAX, &data, &size);
    if (r < 0)
        return err_sys(err, r, "%s", input);
    if (drop_mkdtemp(dir) < 0) {
        r = -errno;
        return err_sys(err, r, "%s", dir);
    }
    copy = path_join(dir, "input");
    fd = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    r = fd < 0 ? -errno : file_write_all(fd, data, size);
    if (r < 0) {
        (void)path_remove_tree(dir);
        return err_sys(err, r, "%s", copy);
    }
    *ret_dir = steal_ptr(&dir);
    *ret_input = steal_ptr(&copy);
    return 0;
}

/* Head and tail of the captured bytes as text; NUL bytes become '?'. */
static char *text_of(const char *data, size_t n)
{
    const size_t half = REPLAY_ERR_BYTES / 2 - 64;
    char *text;

    if (n <= 2 * half) {
        text = xmalloc(n + 1);
        if (n > 0)
            memcpy(text, data, n);
    } else {
        char mark[64];
        int m = snprintf(mark, sizeof(mark), "\n[%zu bytes left out]\n", n - 2 * half);

        text = xmalloc(2 * half + (size_t)m + 1);
        memcpy(text, data, half);
        memcpy(text + half, mark, (size_t)m);
        memcpy(text + half + (size_t)m, data + n - half, half);
        n = 2 * half + (size_t)m;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\0')
            text[i] = '?';
    }
    text[n] = '\0';
    return text;
}

bool replay_has_group(void)
{
    const char *paths = getenv(KEEPER_ENV_PROCS);

    return paths != NULL && paths[0] == '/';
}

/* Opens what FUZZ_TARGET_PROCS names. 0 or -errno; the caller closes what is open either way. */
int replay_group_open(int *fds, int *n)
{
    cleanup_free char *paths = xstrdup(getenv(KEEPER_ENV_PROCS));
    char *rest = paths, *path;

    while ((path = strsep(&rest, ":")) != NULL) {
        int fd = *n < REPLAY_GROUPS_MAX ? open(path, O_WRONLY | O_CLOEXEC) : -1;

        if (fd < 0)
            return *n < REPLAY_GROUPS_MAX ? -errno : -E2BIG;
        fds[(*n)++] = fd;
    }
    return 0;
}

static int run_once(const struct replay_program *prog, const char *input, int64_t wall_ms,
                    struct proc_result *ret, struct err *err)
{
    cleanup_free char *dir = NULL, *copy = NULL;
    struct strv argv = {0}, env = {0};
    struct proc_spec ps = {
        .argv = &argv,
        .env = &env,
        .timeout_ms = wall_ms,
        .as_limit_bytes =
            replay_hogs_address_space(prog) || prog->by_group ? 0 : prog->memory_bytes,
        .fsize_limit_bytes = REPLAY_FSIZE_MAX,
        .max_out = CAPTURE_BYTES,
        .sweep = true,
        .interruptible = true,
        .cancel = prog->cancel,
        .oom_victim = true,
        .seal = true,
        .cgroup_procs_fd = {-1, -1, -1, -1},
    };
    sigset_t held, before;
    int r;

    /* What ends us comes after the folder is gone. */
    proc_interrupts(&held);
    (void)pthread_sigmask(SIG_BLOCK, &held, &before);
    r = replay_scratch_make(input, &dir, &copy, err);
    if (r < 0) {
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r;
    }
    replay_command(prog, copy, &argv, &env);
    replay_env_scratch(dir, &env);
    ps.cwd = dir;
    ps.stdin_path = replay_uses_stdin(prog) ? copy : NULL;
    r = prog->by_group ? replay_group_open(ps.cgroup_procs_fd, &ps.cgroup_procs_count) : 0;
    if (r < 0)
        (void)err_sys(err, r, "cgroup of the target");
    else
        r = proc_run(&ps, ret, err);
    for (int i = 0; i < ps.cgroup_procs_count; i++)
        (void)close(ps.cgroup_procs_fd[i]);
    strv_clear(&argv);
    strv_clear(&env);
    (void)path_remove_tree(dir);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* As afl-fuzz takes it: from -127 to 128, compared as a byte. 0 is every good end. Source: AFL++ src/afl-fuzz.c. */
static bool is_crash_exit(const struct strv *env, int code)
{
    static const char name[] = "AFL_CRASH_EXITCODE=";

    for (size_t i = 0; env != NULL && code != 0 && i < env->n; i++) {
        if (strncmp(env->v[i], name, sizeof(name) - 1) == 0) {
            long want = strtol(env->v[i] + sizeof(name) - 1, NULL, 10);

            return want >= -127 && want <= 128 && (want & 0xff) == code;
        }
    }
    return false;
}

int replay_once(const struct replay_program *prog, const char *input, struct replay_run *ret,
                struct err *err)
{
    int64_t limit_ms = prog->timeout_ms * (prog->twice && prog->kit ? 2 : 1);
    const int64_t began_ms = clock_now_ms();
    struct proc_result pr = {0};
    struct replay_run run = {0};
    int r;

    r = run_once(prog, input, limit_ms, &pr, err);
    if (r == 0 && pr.timed_out && pr.cpu_ms < limit_ms / 2 && !prog->impatient) {
        proc_result_clear(&pr);
        run.starved = true;
        r = run_once(prog, input, limit_ms * REPLAY_PATIENCE, &pr, err);
    }
    if (r == -EOWNERDEAD) {
        run.end = REPLAY_PARENT;
        run.wall_ms = clock_now_ms() - began_ms;
        run.err_text = xstrdup(REPLAY_PARENT_WORDS "\n");
        *ret = run;
        return 0;
    }
    if (r < 0)
        return r;
    run.wall_ms = pr.wall_ms;
    run.cpu_ms = pr.cpu_ms;
    run.max_rss_bytes = pr.max_rss_bytes;
    run.err_text = text_of(pr.err, pr.err_len);
    if (pr.timed_out || (WIFEXITED(pr.status) && run.starved && pr.cpu_ms >= limit_ms)) {
        run.end = REPLAY_TIMEOUT;
    } else if (WIFSIGNALED(pr.status)) {
        run.code = WTERMSIG(pr.status);
        run.end = run.code == SIGKILL ? REPLAY_OOM : REPLAY_SIGNAL;
    } else {
        run.end = REPLAY_EXIT;
        run.code = WEXITSTATUS(pr.status);
        run.exit_is_crash = is_crash_exit(prog->env, run.code);
    }
    proc_result_clear(&pr);
    *ret = run;
    return 0;
}

void replay_run_clear(struct replay_run *r)
{
    free(r->err_text);
    memset(r, 0, sizeof(*r));
}
