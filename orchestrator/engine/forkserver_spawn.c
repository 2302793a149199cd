/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program under test is given: memory, files, environment, arguments, limits. Segments of
 * shared memory are marked for removal as soon as we are attached: the kernel lets the program
 * attach them all the same, and none outlives its users, however we die.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/forkserver_internal.h"
#include "sys/drop.h"
#include "sys/gate.h"
#include "sys/guard.h"
#include "sys/launcher.h"
#include "sys/proc_child.h"

#define PROCS_MAX 8
#define SHM_MODE  0600
#define MAP_ROUND 4096U

/* What a sanitizer must do for its verdict to be seen: die by a signal, say why, and not look anything up. */
static const char *const sanitizer_env[] = {
    ("ASAN_OPTIONS=abort_on_error=1:allocator_may_return_null=0:symbolize=0:detect_leaks=0:"
     "detect_odr_violation=0:handle_abort=0:disable_coredump=1"),
    "UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:symbolize=0",
    "MSAN_OPTIONS=exit_code=86:abort_on_error=1:symbolize=0",
    "LSAN_OPTIONS=exitcode=23:symbolize=0",
};

static void *segment(size_t bytes, int *ret_id, struct err *err)
{
    void *at;
    int r;

    *ret_id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | IPC_EXCL | SHM_MODE);
    if (*ret_id < 0) {
        err_sys(err, -errno, "cannot make a segment of %zu bytes of shared memory", bytes);
        return NULL;
    }
    r = drop_give_segment(*ret_id);
    at = r < 0 ? (void *)-1 : shmat(*ret_id, NULL, 0);
    if (at == (void *)-1) {
        err_sys(err, r < 0 ? r : -errno, "cannot attach shared memory");
        at = NULL;
    }
    (void)shmctl(*ret_id, IPC_RMID, NULL);
    return at;
}

int forkserver_room_make(struct forkserver *fs, size_t bytes, struct err *err)
{
    int rc = 0;

    if (fs->map != NULL)
        (void)shmdt(fs->map);
    fs->map_room = (bytes + MAP_ROUND - 1) / MAP_ROUND * MAP_ROUND;
    fs->map = segment(fs->map_room, &fs->map_id, err);
    if (fs->map == NULL)
        return -ENOMEM;
    if (fs->kind == FORKSERVER_KIND_BATCH) {
        ring_drop(&fs->ring);
        rc = ring_make(&fs->ring, fs->map_room);
        return rc < 0 ? err_sys(err, rc, "cannot make the ring") : 0;
    }
    if (fs->testcase == NULL)
        fs->testcase = segment(sizeof(uint32_t) + FORKSERVER_INPUT_BYTES, &fs->testcase_id, err);
    return fs->testcase != NULL ? 0 : -ENOMEM;
}

/* What the program prints goes to a file in memory that cannot grow, so that it neither blocks nor fills anything. */
static int text_open(struct forkserver *fs)
{
    if (fs->text_fd >= 0)
        return 0;
    fs->text_fd = memfd_create("forkserver-text", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fs->text_fd < 0 || ftruncate(fs->text_fd, FORKSERVER_TEXT_BYTES) < 0)
        return -errno;
    (void)fcntl(fs->text_fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK);
    return 0;
}

static int input_open(struct forkserver *fs, struct err *err)
{
    size_t i;

    if (fs->input_fd >= 0)
        return forkserver_input_ready(fs, err);
    for (i = 0; i < fs->args.n; i++)
        fs->input_is_file = fs->input_is_file || strstr(fs->args.v[i], "@@") != NULL;
    if (!fs->input_is_file) {
        fs->input_fd = memfd_create("forkserver-input", MFD_CLOEXEC);
        return fs->input_fd < 0 ? err_sys(err, -errno, "cannot make a file in memory") : 0;
    }
    if (fs->work == NULL)
        return err_set(err, -EINVAL, "a program that reads its input by name needs a folder");
    return forkserver_input_ready(fs, err);
}

int forkserver_files_open(struct forkserver *fs, struct err *err)
{
    int rc = text_open(fs);

    if (rc < 0)
        return err_sys(err, rc, "cannot make a file in memory");
    rc = forkserver_folder_open(fs, err);
    if (rc == 0)
        rc = forkserver_folder_tidy(fs, err);
    return rc < 0 ? rc : input_open(fs, err);
}

/* What AFL++'s runtime must find before its constructors run. */
static void env_add_runtime(const struct forkserver *fs, struct strv *env)
{
    char num[32];

    (void)snprintf(num, sizeof(num), "%d", fs->map_id);
    strv_env_set(env, "__AFL_SHM_ID", num);
    (void)snprintf(num, sizeof(num), "%zu", fs->map_room);
    strv_env_set(env, "AFL_MAP_SIZE", num);
    if (fs->kind == FORKSERVER_KIND_BATCH) {
        /* The runtime attaches the map and waits for a call that does not come. */
        strv_env_set(env, "__AFL_DEFER_FORKSRV", "1");
        strv_env_set(env, FZ_RING_ENV, "1");
        return;
    }
    (void)snprintf(num, sizeof(num), "%d", fs->testcase_id);
    strv_env_set(env, "__AFL_SHM_FUZZ_ID", num);
    if (fs->opts.persistent)
        strv_env_set(env, "__AFL_PERSISTENT", "1");
    if (fs->opts.deferred)
        strv_env_set(env, "__AFL_DEFER_FORKSRV", "1");
}

static void env_make(const struct forkserver *fs, struct strv *env)
{
    const char *path = getenv("PATH");
    size_t i;

    strv_env_set(env, "PATH", path != NULL ? path : "/usr/bin:/bin");
    if (fs->work != NULL)
        strv_env_set(env, "TMPDIR", fs->work);
    for (i = 0; i < sizeof(sanitizer_env) / sizeof(*sanitizer_env); i++)
        strv_add(env, sanitizer_env[i]);
    for (i = 0; i < fs->env.n; i++) {
        const char *eq = strchr(fs->env.v[i], '=');
        cleanup_free char *name =
            eq != NULL ? xstrndup(fs->env.v[i], (size_t)(eq - fs->env.v[i])) : NULL;

        if (name != NULL)
            strv_env_set(env, name, eq + 1);
    }
    if (fs->kind != FORKSERVER_KIND_NATIVE)
        env_add_runtime(fs, env);
    if (fs->preload != NULL) {
        strv_env_set(env, "LD_PRELOAD", fs->preload);
        strv_env_set(env, GATE_ENV, ""); /* it is there already */
    }
}

static void argv_make(const struct forkserver *fs, struct strv *argv)
{
    size_t i;

    strv_add(argv, fs->path);
    for (i = 0; i < fs->args.n; i++) {
        const char *arg = fs->args.v[i], *at = strstr(arg, "@@");

        if (at != NULL)
            strv_addf(argv, "%.*s%s%s", (int)(at - arg), arg, fs->input_path, at + 2);
        else
            strv_add(argv, arg);
    }
}

int forkserver_spawn(struct forkserver *fs, const int *keep, const int *at, int n, struct err *err)
{
    int procs[PROCS_MAX], n_procs = 0;
    struct strv argv = {0}, env = {0};
    struct proc_child pc = {.argv = &argv,
                            .env = &env,
                            .cwd = fs->work,
                            .std_fd = {fs->input_fd, fs->text_fd, fs->text_fd},
                            .keep_fds = keep,
                            .keep_at = at,
                            .keep_count = n,
                            .procs_fds = procs,
                            .new_session = true,
                            .no_core = true,
                            .subreaper = true,
                            .seal = true,
                            .pdeathsig = SIGKILL,
                            .as_limit_bytes = fs->opts.as_bytes,
                            .fsize_limit_bytes = fs->opts.fsize_bytes};
    const struct sched_param none = {0};
    const char *step = "start";
    int policy;
    pid_t pid;
    size_t i;

    argv_make(fs, &argv);
    env_make(fs, &env);
    for (i = 0; i < fs->procs.n && n_procs < PROCS_MAX; i++)
        procs[n_procs++] = open(fs->procs.v[i], O_WRONLY | O_CLOEXEC);
    /* A client of batch scheduling does not interrupt its server; the program is to be like any other. */
    policy = sched_getscheduler(0);
    if (policy == SCHED_BATCH)
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    pc.procs_count = n_procs;
    pid = fs->kind == FORKSERVER_KIND_NATIVE ? launcher_open(&pc, &fs->control_fd)
                                             : proc_child_start(&pc, &step);
    if (policy == SCHED_BATCH)
        (void)sched_setscheduler(0, policy, &none);
    while (n_procs > 0)
        (void)close(procs[--n_procs]);
    strv_clear(&argv);
    strv_clear(&env);
    if (pid < 0)
        return err_sys(err, (int)pid, "%s: %s", fs->path, step);
    fs->server = pid;
    guard_add(fs->opts.guard, pid);
    return 0;
}
