/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_afl DIR HARNESS SEEDS stop|kill: $AFL_FUZZ under the real fuzz-keeper, in its own
 * cgroups, without a daemon. Ends it after a second of fuzzing, by a SIGTERM to the keeper or a
 * SIGKILL to $AFL_FUZZ ($BACKEND forces a cgroup back-end), and prints what was seen as key=value lines for the script to judge.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/cpu.h"
#include "sys/keeper.h"
#include "sys/proc.h"

#define START_MS 30000
#define FUZZ_MS  1500

static int segments_of(pid_t creator)
{
    struct shm_info info;
    struct shmid_ds ds;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
    int n = 0;

    for (int i = 0; i <= last; i++)
        if (shmctl(i, SHM_STAT, &ds) >= 0 && ds.shm_cpid == creator)
            n++;
    return n;
}

static void describe(struct keeper_desc *d, const struct cgroup *cg, char **argv, const char *build)
{
    strv_add(&d->argv, getenv("AFL_FUZZ"));
    strv_add(&d->argv, "-i");
    strv_add(&d->argv, argv[3]);
    strv_add(&d->argv, "-o");
    strv_addf(&d->argv, "%s/out", argv[1]);
    strv_add(&d->argv, "-M");
    strv_add(&d->argv, "main");
    strv_add(&d->argv, "--");
    strv_add(&d->argv, argv[2]);
    strv_add(&d->env, "PATH=/usr/bin:/bin");
    strv_add(&d->env, "AFL_NO_UI=1");
    strv_add(&d->env, "AFL_NO_AFFINITY=1");
    strv_add(&d->env, "AFL_SKIP_CPUFREQ=1");
    strv_add(&d->env, "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1");
    strv_addf(&d->env, "AFL_PRELOAD=%s/fuzz-preload.so", build);
    keeper_desc_set_cgroup(d, cg);
    str_set(&d->cwd, argv[1]);
    d->log_path = path_join(argv[1], "log");
    d->run_path = path_join(argv[1], "a.run");
    d->exit_path = path_join(argv[1], "a.exit");
    str_set(&d->id, "e2e/chunk/main");
    str_set(&d->plan_hash, "0");
    d->log_max_bytes = 1 << 20;
    d->grace_ms = 10000;
}

/* Until afl-fuzz has written its first fuzzer_stats, or has ended. */
static bool wait_up(const char *dir, const struct proc_id *keeper)
{
    char *stats = path_join(dir, "out/main/fuzzer_stats");
    int64_t deadline_ms = clock_now_ms() + START_MS;
    bool up = false;

    while (!up && clock_now_ms() < deadline_ms && proc_alive(keeper)) {
        (void)usleep(20000);
        up = access(stats, F_OK) == 0;
    }
    free(stats);
    return up;
}

static void report(struct cgroup *cg, const struct keeper_desc *d)
{
    struct keeper_exit e = {0};
    int rc = keeper_exit_load(d->exit_path, &e);

    printf("record=%d end=%d code=%d asked=%d after_grace=%d oom=%lld what=%s\n", rc, (int)e.end,
           e.code, e.asked, e.killed_after_grace, (long long)e.oom_kills, e.what);
    printf("leftover=%d\n", e.leftover);
    printf("afl_after=%d t_after=%d\n", cgroup_populated(cg, CGROUP_AFL),
           cgroup_populated(cg, CGROUP_T));
}

int main(int argc, char **argv)
{
    const struct cgroup_limits lim = {.memory_bytes = 2560LL << 20,
                                      .target_memory_bytes = 2LL << 30,
                                      .pids = 128,
                                      .cpu_pct = 100};
    struct proc_spawn sp = {.stdin_fd = -1, .stdout_fd = -1, .stderr_fd = STDERR_FILENO};
    struct keeper_desc d = {.cpu = -1};
    struct keeper_run r = {0};
    struct strv keeper_argv = {0};
    struct cgroup_root *root;
    struct cgroup *cg = NULL;
    struct err err = {0};
    int cpus[CPU_MAX], pidfd = -1, status = 0;
    char prefix[32], *build;
    pid_t pid = 0;

    if (argc != 5 || getenv("BUILD") == NULL || getenv("AFL_FUZZ") == NULL)
        return 2;
    build = getenv("BUILD");
    if (cgroup_prefix(argv[1], prefix, sizeof(prefix)) < 0)
        return 1;
    root = cgroup_root_open("/sys/fs/cgroup", prefix, getenv("BACKEND"));
    printf("backend=%s prefix=%s\n", cgroup_root_name(root), prefix);
    if (cgroup_create(root, "e2e/chunk.main", &lim, &cg, &err) < 0) {
        printf("error=%s\n", err.msg);
        return 1;
    }
    describe(&d, cg, argv, build);
    sp.keep_fd[1] = cpu_take(cpus, cpu_allowed(cpus, CPU_MAX), &d.cpu);
    sp.keep_fd[0] = keeper_desc_pack(&d);
    sp.keep_fd[2] = -1;
    strv_addf(&keeper_argv, "%s/fuzz-keeper", build);
    sp.argv = &keeper_argv;
    sp.new_session = true;
    if (sp.keep_fd[0] < 0 || proc_start(&sp, &pid, &pidfd) < 0) {
        printf("error=cannot start the keeper\n");
        return 1;
    }
    struct proc_id keeper = {.pid = pid};
    (void)proc_identify(pid, &keeper);
    bool up = wait_up(argv[1], &keeper);
    if (up) {
        (void)usleep(FUZZ_MS * 1000);
        int rc = keeper_run_load(d.run_path, &r);

        printf("run=%d own_ipc=%d\n", rc, r.own_ipc);
        printf("afl=%d t=%d keep=%d\n", cgroup_populated(cg, CGROUP_AFL),
               cgroup_populated(cg, CGROUP_T), cgroup_populated(cg, CGROUP_KEEP));
        printf("segments_seen=%d\n", segments_of(r.afl.pid));
    }
    printf("up=%d pinned=%d\n", up, d.cpu >= 0);
    if (up && strcmp(argv[4], "kill") == 0)
        (void)proc_signal(&r.afl, SIGKILL);
    else
        (void)proc_signal(&keeper, SIGTERM);
    (void)waitpid(pid, &status, 0);
    printf("keeper_status=%d segments_after=%d\n", status, segments_of(r.afl.pid));
    report(cg, &d);
    printf("destroy=%d\n", cgroup_destroy(cg, 5000));
    cgroup_free(cg);
    cgroup_prune(root);
    cgroup_root_free(root);
    keeper_run_clear(&r);
    keeper_desc_clear(&d);
    strv_clear(&keeper_argv);
    return 0;
}
