/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real fuzz-keeper over small shell scripts in the place of afl-fuzz, with cgroups where this
 * user may make some and without. Whatever a script leaves running has to be gone, and the record
 * has to say how it ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/cgroup.h"
#include "sys/cpu.h"
#include "sys/keeper.h"
#include "sys/keeper_wire.h"
#include "sys/proc.h"
#include "sys/shmseg.h"

#define END_MS 15000

static char dir[] = "/tmp/fz-keeper.XXXXXX";
static char prefix[32];
static char *program;
static struct cgroup_root *root;

/* One keeper and what belongs to it. */
struct trial {
    struct keeper_desc d;
    struct cgroup *cg; /* NULL: without */
    pid_t pid;
    int pidfd, lock_fd;
};

static void trial_make(struct trial *t, const char *script, bool use_cgroup)
{
    const struct cgroup_limits lim = {.memory_bytes = 256 << 20, .pids = 64};
    struct err err = {0};

    memset(t, 0, sizeof(*t));
    t->pidfd = t->lock_fd = -1;
    strv_add(&t->d.argv, "/bin/sh");
    strv_add(&t->d.argv, "-c");
    strv_add(&t->d.argv, script);
    strv_add(&t->d.argv, "sh");
    strv_add(&t->d.argv, dir);
    strv_add(&t->d.env, "PATH=/usr/bin:/bin");
    str_set(&t->d.cwd, dir);
    t->d.log_path = path_join(dir, "log");
    t->d.run_path = path_join(dir, "a.run");
    t->d.exit_path = path_join(dir, "a.exit");
    str_set(&t->d.id, "c/a/main");
    str_set(&t->d.plan_hash, "0123");
    t->d.log_max_bytes = 65536;
    t->d.grace_ms = 400;
    t->d.cpu = -1;
    t->d.statsd_port = 8125;
    if (use_cgroup) {
        assert_int_equal(cgroup_create(root, "c/a.main", &lim, &t->cg, &err), 0);
        keeper_desc_set_cgroup(&t->d, t->cg);
    }
}

static void trial_start(struct trial *t)
{
    struct strv argv = {0};
    struct proc_spawn sp = {.argv = &argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
    int fd = keeper_desc_pack(&t->d);

    assert_true(fd >= 0);
    strv_add(&argv, program);
    sp.new_session = true;
    sp.keep_fd[0] = fd;
    sp.keep_fd[1] = t->lock_fd;
    sp.keep_fd[2] = -1;
    assert_int_equal(proc_start(&sp, &t->pid, &t->pidfd), 0);
    (void)close(fd);
    strv_clear(&argv);
}

/* The keeper's own wait status; fails when it does not end in time. */
static int trial_wait(struct trial *t)
{
    int64_t deadline_ms = clock_now_ms() + END_MS;
    int status = 0;

    while (waitpid(t->pid, &status, WNOHANG) == 0) {
        if (clock_now_ms() > deadline_ms) {
            (void)kill(t->pid, SIGKILL);
            (void)waitpid(t->pid, NULL, 0);
            fail_msg("the keeper did not end");
        }
        (void)usleep(2000);
    }
    (void)close(t->pidfd);
    t->pidfd = -1;
    return status;
}

static void trial_end(struct trial *t)
{
    if (t->cg != NULL) {
        assert_int_equal(cgroup_populated(t->cg, CGROUP_AFL), 0);
        assert_int_equal(cgroup_populated(t->cg, CGROUP_T), 0);
        assert_int_equal(cgroup_destroy(t->cg, 2000), 0);
        cgroup_free(t->cg);
    }
    (void)unlink(t->d.run_path);
    (void)unlink(t->d.exit_path);
    keeper_desc_clear(&t->d);
}

static void run_script(struct trial *t, const char *script, bool use_cgroup, struct keeper_exit *e)
{
    int status;

    trial_make(t, script, use_cgroup);
    trial_start(t);
    status = trial_wait(t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(keeper_exit_load(t->d.exit_path, e), 0);
}

static void wait_for_file(const char *name)
{
    char *path = path_join(dir, name);

    for (int i = 0; i < 2000 && access(path, F_OK) < 0; i++)
        (void)usleep(2000);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
}

static void remove_file(const char *name)
{
    char *path = path_join(dir, name);

    (void)unlink(path);
    free(path);
}

/* The pid a script wrote into a file of the trial's folder. */
static pid_t pid_in(const char *name)
{
    char *path = path_join(dir, name), *data = NULL;
    size_t size = 0;
    long pid;

    wait_for_file(name);
    assert_int_equal(file_read(AT_FDCWD, path, 100, &data, &size), 0);
    pid = strtol(data, NULL, 10);
    assert_true(pid > 1);
    free(data);
    free(path);
    return (pid_t)pid;
}

static void assert_gone(const char *name)
{
    struct proc_id id;

    assert_int_equal(proc_identify(pid_in(name), &id), -ESRCH);
    remove_file(name);
}

static void exit_code_is_recorded(void **state)
{
    static const int codes[] = {0, 3};
    struct keeper_exit e = {0};
    struct keeper_run r = {0};
    struct trial t;
    struct stat st;
    char script[32];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(script, sizeof(script), "exit %d", codes[i]);
        run_script(&t, script, root != NULL, &e);
        assert_int_equal(e.end, KEEPER_EXITED);
        assert_int_equal(e.code, codes[i]);
        assert_false(e.asked);
        assert_false(e.killed_after_grace);
        assert_int_equal(e.leftover, 0);
        assert_int_equal(e.oom_kills, 0);
        assert_string_equal(e.what, "");
        assert_int_equal(stat(t.d.exit_path, &st), 0);
        assert_int_equal(st.st_size, KEEPER_RECORD_BYTES);
        assert_int_equal(keeper_run_load(t.d.run_path, &r), 0);
        assert_string_equal(r.id, "c/a/main");
        assert_string_equal(r.plan_hash, "0123");
        assert_int_equal(r.keeper.pid, t.pid);
        assert_true(r.afl.pid > 1 && r.afl.start_ticks > 0);
        assert_int_equal(strtoull(e.started_afl, NULL, 10), r.afl.start_ticks);
        assert_int_equal(r.statsd_port, 8125);
        assert_int_equal(r.cgroups.n, t.d.cgroups.n);
        assert_true(e.ended_at_ms >= r.started_at_ms);
        keeper_run_clear(&r);
        trial_end(&t);
    }
}

static void signal_is_recorded(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;

    (void)state;
    run_script(&t, "kill -SEGV $$", root != NULL, &e);
    assert_int_equal(e.end, KEEPER_SIGNALLED);
    assert_int_equal(e.code, SIGSEGV);
    trial_end(&t);
}

static void failed_exec_is_recorded(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;

    (void)state;
    trial_make(&t, "", root != NULL);
    free(t.d.argv.v[0]);
    t.d.argv.v[0] = xstrdup("/nonexistent/afl-fuzz");
    trial_start(&t);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_EXEC_FAILED);
    assert_int_equal(e.code, ENOENT);
    assert_non_null(strstr(e.what, "/nonexistent/afl-fuzz: No such file"));
    trial_end(&t);
}

static void failed_setup_is_recorded(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;
    int status;

    (void)state;
    trial_make(&t, "exit 0", false);
    str_set(&t.d.cwd, "/nonexistent");
    trial_start(&t);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_SETUP_FAILED);
    assert_int_equal(e.code, ENOENT);
    assert_non_null(strstr(e.what, "scratch folder /nonexistent: No such file"));
    /* Nothing was started that a record would have to name. */
    assert_int_equal(access(t.d.run_path, F_OK), -1);
    trial_end(&t);

    /* Without a place for the record there is only the exit code left to tell. */
    trial_make(&t, "touch $1/started", false);
    str_set(&t.d.exit_path, "/nonexistent/a.exit");
    trial_start(&t);
    status = trial_wait(&t);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    char *path = path_join(dir, "started");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    trial_end(&t);
}

static void stop_lets_it_end_by_itself(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;

    (void)state;
    trial_make(&t, "trap 'exit 0' TERM; touch $1/up; while :; do sleep 0.02; done", root != NULL);
    t.d.grace_ms = 10000;
    trial_start(&t);
    wait_for_file("up");
    assert_int_equal(kill(t.pid, SIGTERM), 0);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_EXITED);
    assert_int_equal(e.code, 0);
    assert_true(e.asked);
    assert_false(e.killed_after_grace);
    remove_file("up");
    trial_end(&t);
}

/* One that ignores SIGTERM, with an escapee: own session, reparented, ignoring SIGTERM as well. */
#define STUBBORN                                                                                   \
    "trap '' TERM; cd $1; "                                                                        \
    "setsid sh -c 'setsid sh -c \"echo \\$\\$ >e.tmp; mv e.tmp escapee; while :; do sleep 9; "     \
    "done\" & exit 0'; "                                                                           \
    "echo $$ >m.tmp; mv m.tmp main; while :; do sleep 9; done"

static void stubborn_trial(bool use_cgroup)
{
    struct keeper_exit e = {0};
    struct trial t;
    int64_t start_ms;

    trial_make(&t, STUBBORN, use_cgroup);
    trial_start(&t);
    wait_for_file("main");
    wait_for_file("escapee");
    start_ms = clock_now_ms();
    assert_int_equal(kill(t.pid, SIGTERM), 0);
    assert_int_equal(trial_wait(&t), 0);
    assert_true(clock_now_ms() - start_ms >= 400);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_SIGNALLED);
    assert_int_equal(e.code, SIGKILL);
    assert_true(e.asked);
    assert_true(e.killed_after_grace);
    assert_gone("main");
    assert_gone("escapee");
    trial_end(&t);
}

static void stubborn_one_and_its_escapee_are_killed_by_cgroup(void **state)
{
    (void)state;
    if (root == NULL)
        skip();
    stubborn_trial(true);
}

static void stubborn_one_and_its_escapee_are_killed_without_cgroups(void **state)
{
    (void)state;
    stubborn_trial(false);
}

static void leftovers_are_killed_and_counted_after_the_end(bool use_cgroup)
{
    struct keeper_exit e = {0};
    struct trial t;

    run_script(&t,
               "cd $1; setsid sh -c 'trap \"\" TERM; echo $$ >l.tmp; mv l.tmp left; sleep 99' & "
               "while [ ! -e left ]; do sleep 0.01; done; exit 1",
               use_cgroup, &e);
    assert_int_equal(e.end, KEEPER_EXITED);
    assert_int_equal(e.code, 1);
    assert_in_range(e.leftover, 1, 2);
    assert_gone("left");
    trial_end(&t);
}

static void what_it_leaves_is_killed_by_cgroup(void **state)
{
    (void)state;
    if (root == NULL)
        skip();
    leftovers_are_killed_and_counted_after_the_end(true);
}

static void what_it_leaves_is_killed_without_cgroups(void **state)
{
    (void)state;
    leftovers_are_killed_and_counted_after_the_end(false);
}

static int64_t log_bytes(const struct trial *t)
{
    char *old = xasprintf("%s.1", t->d.log_path);
    struct stat a = {0}, b = {0};

    assert_int_equal(stat(t->d.log_path, &a), 0);
    (void)stat(old, &b);
    free(old);
    return (int64_t)a.st_size + (int64_t)b.st_size;
}

static void log_flood_stays_within_its_bound(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;
    char *data = NULL;
    size_t size = 0;

    (void)state;
    run_script(&t, "head -c 5000000 /dev/zero; echo the end >&2", false, &e);
    assert_int_equal(e.code, 0);
    assert_in_range(log_bytes(&t), 32768, 65536);
    assert_int_equal(file_read(AT_FDCWD, t.d.log_path, 65536, &data, &size), 0);
    assert_true(size >= 8 && memcmp(data + size - 8, "the end\n", 8) == 0);
    free(data);
    remove_file("log");
    remove_file("log.1");
    trial_end(&t);
}

static void log_that_cannot_be_written_costs_only_lines(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;
    char *full = path_join(dir, "full"), *fill = path_join(dir, "full/fill");
    static char zeros[65536];
    int fd;

    (void)state;
    trial_make(&t, "head -c 300000 /dev/zero; exit 5", false);
    str_set(&t.d.log_path, "/nonexistent/log");
    trial_start(&t);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.code, 5);
    trial_end(&t);

    assert_int_equal(mkdir(full, 0700), 0);
    if (mount("tmpfs", full, "tmpfs", 0, "size=256k") < 0) {
        print_message("cannot mount a tmpfs: full disk not tried\n");
        (void)rmdir(full);
        free(full);
        free(fill);
        skip();
    }
    /* Records and log on a disk that fills up while it runs; the record still gets written. */
    trial_make(&t,
               "cd $1; touch up; while [ ! -e go ]; do sleep 0.01; done; "
               "head -c 300000 /dev/zero; exit 6",
               false);
    free(t.d.log_path);
    t.d.log_path = path_join(full, "log");
    free(t.d.exit_path);
    t.d.exit_path = path_join(full, "a.exit");
    t.d.log_max_bytes = 1 << 20;
    trial_start(&t);
    wait_for_file("up");
    fd = open(fill, O_WRONLY | O_CREAT, 0600);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    (void)close(fd);
    char *go = path_join(dir, "go");
    (void)close(open(go, O_WRONLY | O_CREAT, 0600));
    free(go);
    assert_int_equal(trial_wait(&t), 0);
    memset(&e, 0, sizeof(e));
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_EXITED);
    assert_int_equal(e.code, 6);
    trial_end(&t);
    assert_int_equal(umount(full), 0);
    (void)rmdir(full);
    remove_file("up");
    remove_file("go");
    free(full);
    free(fill);
}

static void lock_is_held_for_life_and_not_passed_on(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;
    char *path = path_join(dir, "corelock");
    int fd;

    (void)state;
    trial_make(&t,
               "touch $1/up; for i in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$i ] && exit 9; done; "
               "while [ ! -e $1/go ]; do sleep 0.01; done",
               false);
    t.lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(t.lock_fd, LOCK_EX | LOCK_NB), 0);
    trial_start(&t);
    (void)close(t.lock_fd);
    wait_for_file("up");
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    char *go = path_join(dir, "go");
    (void)close(open(go, O_WRONLY | O_CREAT, 0600));
    free(go);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.code, 0);
    (void)close(fd);
    remove_file("up");
    remove_file("go");
    remove_file("corelock");
    free(path);
    trial_end(&t);
}

static void place_of_the_program_is_as_planned(void **state)
{
    struct keeper_exit e = {0};
    struct trial t;
    int cpus[CPU_MAX];
    char *data = NULL, *want;
    size_t size = 0;

    (void)state;
    /* sed: signals 32 and 33 are glibc's own, and ignored in what make starts. */
    trial_make(&t,
               "pwd; grep Cpus_allowed_list /proc/self/status; ulimit -c; ulimit -f; echo \"$X\"; "
               "grep -E '^Sig(Blk|Ign)' /proc/self/status | sed 's/180000000$/000000000/'; "
               "readlink /proc/self/fd/0; "
               "[ -z \"$HOME\" ] && echo no home; sed 's/.*://' /proc/self/cgroup | grep fuzzd- | "
               "sort -u",
               root != NULL);
    (void)cpu_allowed(cpus, CPU_MAX);
    t.d.cpu = cpus[0];
    t.d.fsize_bytes = 1 << 20;
    strv_add(&t.d.env, "X=a b");
    trial_start(&t);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.end, KEEPER_EXITED);
    assert_int_equal(file_read(AT_FDCWD, t.d.log_path, 65536, &data, &size), 0);
    want = xasprintf("%s\nCpus_allowed_list:\t%d\n0\n2048\na b\nSigBlk:\t0000000000000000\n"
                     "SigIgn:\t0000000000000000\n/dev/null\nno home\n",
                     dir, cpus[0]);
    assert_memory_equal(data, want, strlen(want));
    if (root != NULL && strcmp(cgroup_root_name(root), "v1") == 0) {
        free(want);
        want = xasprintf("/%s/c/a.main/afl\n", prefix);
        assert_non_null(strstr(data, want));
    }
    free(want);
    free(data);
    remove_file("log");
    trial_end(&t);
}

static void shared_memory_goes_with_the_instance(void **state)
{
    struct keeper_exit e = {0};
    struct keeper_run r = {0};
    struct trial t;
    struct shmid_ds ds;
    char *path = path_join(dir, "seg"), *data = NULL;
    size_t size = 0;

    (void)state;
    if (access("/usr/bin/ipcmk", X_OK) < 0) {
        free(path);
        skip();
    }
    trial_make(&t, "exec ipcmk -M 4096 >$1/seg", false);
    free(t.d.argv.v[0]);
    t.d.argv.v[0] = xstrdup("/bin/sh");
    trial_start(&t);
    assert_int_equal(trial_wait(&t), 0);
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), 0);
    assert_int_equal(e.code, 0);
    assert_int_equal(keeper_run_load(t.d.run_path, &r), 0);
    assert_int_equal(file_read(AT_FDCWD, path, 100, &data, &size), 0);
    /* "Shared memory id: 5"; in a namespace of its own the number may be in use by others out here. */
    if (!r.own_ipc) {
        assert_non_null(strchr(data, ':'));
        assert_int_equal(shmctl((int)strtol(strchr(data, ':') + 1, NULL, 10), IPC_STAT, &ds), -1);
    }
    keeper_run_clear(&r);
    free(data);
    free(path);
    remove_file("seg");
    trial_end(&t);
}

/* A file whose name the keeper cannot have seen beforehand: what names /dev/shm keeps the host's. */
static void shm_trial(struct trial *t, const char *script)
{
    trial_make(t, script, false);
    trial_start(t);
    assert_int_equal(trial_wait(t), 0);
    trial_end(t);
}

static void files_in_shared_memory_go_with_the_instance(void **state)
{
    const char *name = "/dev/shm/fz-keeper-test";
    struct trial t;

    (void)state;
    if (geteuid() != 0)
        skip();
    (void)unlink(name);
    shm_trial(&t, "d=/dev/shm; echo x >$d/fz-keeper-test && cat $d/fz-keeper-test >$1/seen");
    assert_int_equal(access(name, F_OK), -1);
    wait_for_file("seen");
    remove_file("seen");
    shm_trial(&t, "echo x >/dev/shm/fz-keeper-test");
    assert_int_equal(access(name, F_OK), 0);
    (void)unlink(name);
}

static void segments_are_removed_by_creator_and_time(void **state)
{
    int64_t now_s = clock_wall_ms() / 1000;
    struct shmid_ds ds;
    int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

    (void)state;
    assert_true(id >= 0);
    assert_int_equal(shmseg_remove(1, now_s - 10, now_s + 10), 0);
    assert_int_equal(shmseg_remove(getpid(), now_s - 20, now_s - 10), 0);
    assert_int_equal(shmctl(id, IPC_STAT, &ds), 0);
    assert_int_equal(shmseg_remove(getpid(), now_s - 10, now_s + 10), 1);
    assert_int_equal(shmctl(id, IPC_STAT, &ds), -1);
}

static void death_of_the_keeper_reaches_the_program(void **state)
{
    struct trial t;
    struct proc_id afl;

    (void)state;
    trial_make(&t,
               "trap 'touch $1/told; exit 0' TERM; echo $$ >$1/p.tmp; mv $1/p.tmp $1/main; "
               "while :; do sleep 0.01; done",
               root != NULL);
    trial_start(&t);
    assert_int_equal(proc_identify(pid_in("main"), &afl), 0);
    assert_int_equal(kill(t.pid, SIGKILL), 0);
    assert_true(WIFSIGNALED(trial_wait(&t)));
    wait_for_file("told");
    for (int i = 0; i < 1000 && proc_alive(&afl); i++)
        (void)usleep(5000);
    assert_false(proc_alive(&afl));
    /* The blank record says that nobody recorded an end. */
    struct keeper_exit e;
    assert_int_equal(keeper_exit_load(t.d.exit_path, &e), -ENOENT);
    remove_file("told");
    remove_file("main");
    trial_end(&t);
}

static void assert_cut_refused(const char *path, const char *text, int len,
                               int (*load)(const char *path))
{
    for (int n = 0; n <= len; n++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), want;

        assert_int_equal(file_write_all(fd, text, (size_t)n), 0);
        (void)close(fd);
        want = n == 0 ? -ENOENT : n == len ? 0 : -EBADMSG;
        assert_int_equal(load(path), want);
    }
    for (int n = 0; n < len; n++) {
        char *copy = xstrdup(text);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        copy[n] ^= 1;
        assert_int_equal(file_write_all(fd, copy, (size_t)len), 0);
        (void)close(fd);
        assert_int_equal(load(path), -EBADMSG);
        free(copy);
    }
}

static int load_exit(const char *path)
{
    struct keeper_exit e;

    return keeper_exit_load(path, &e);
}

static int load_run(const char *path)
{
    struct keeper_run r;
    int rc = keeper_run_load(path, &r);

    if (rc == 0)
        keeper_run_clear(&r);
    return rc;
}

static void records_cut_or_changed_anywhere_are_refused(void **state)
{
    struct keeper_exit e = {.end = KEEPER_SIGNALLED, .code = 9, .ended_at_ms = 1700000000123};
    struct keeper_run r = {.id = "c/a/main", .cpu = 1, .keeper = {17, 18, "ab"}, .own_ipc = true};
    char *path = path_join(dir, "cut"), text[4096];
    struct keeper_exit back;
    int n;

    (void)state;
    (void)strlcpy(e.what, "line\nbreak", sizeof(e.what));
    n = keeper_exit_format(text, sizeof(text), &e);
    assert_true(n > 0);
    assert_cut_refused(path, text, n, load_exit);
    /* The refusals must not be for another reason: whole, it loads. */
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(file_write_all(fd, text, (size_t)n), 0);
    (void)close(fd);
    assert_int_equal(keeper_exit_load(path, &back), 0);
    assert_string_equal(back.what, "line?break");
    assert_int_equal(back.ended_at_ms, 1700000000123);
    strv_add(&r.cgroups, "/sys/fs/cgroup/x");
    n = keeper_run_format(text, sizeof(text), &r);
    assert_true(n > 0);
    assert_cut_refused(path, text, n, load_run);
    /* A record of the other kind is not ours either. */
    assert_int_equal(load_exit(path), -EBADMSG);
    assert_int_equal(keeper_run_format(text, (size_t)n, &r), -E2BIG);
    strv_clear(&r.cgroups);
    (void)unlink(path);
    free(path);
}

/* A record may be as whole as it likes: its figures are reckoned with. */
static void figures_out_of_range_are_refused(void **state)
{
    static const struct keeper_run runs[] = {{.started_at_ms = INT64_MAX},
                                             {.started_at_ms = -1},
                                             {.statsd_port = 65536},
                                             {.cpu = -2},
                                             {.cpu = 65536}};
    static const struct keeper_exit exits[] = {{.ended_at_ms = INT64_MAX},
                                               {.oom_kills = -1},
                                               {.max_rss_bytes = (INT64_C(1) << 53) + 1},
                                               {.code = -1},
                                               {.code = 4096},
                                               {.leftover = -1}};
    const struct keeper_run good = {.cpu = -1, .started_at_ms = INT64_C(1) << 53};
    char text[KEEPER_RECORD_BYTES];
    struct keeper_exit e;
    struct keeper_run r;
    int n;

    (void)state;
    n = keeper_run_format(text, sizeof(text), &good);
    assert_int_equal(keeper_run_parse(text, (size_t)n, &r), 0);
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        n = keeper_run_format(text, sizeof(text), &runs[i]);
        assert_int_equal(keeper_run_parse(text, (size_t)n, &r), -EBADMSG);
    }
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        n = keeper_exit_format(text, sizeof(text), &exits[i]);
        assert_int_equal(keeper_exit_parse(text, (size_t)n, &e), -EBADMSG);
    }
}

static void description_cut_anywhere_is_refused(void **state)
{
    static char data[4096], copy[4096];
    static char *slots[KEEPER_SLOTS_MAX];
    struct keeper_desc d, back;
    struct trial t;
    ssize_t size;
    int fd;

    (void)state;
    trial_make(&t, "true", false);
    d = t.d;
    fd = keeper_desc_pack(&d);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), -1); /* sealed */
    size = read(fd, data, sizeof(data));
    assert_true(size > 0);
    (void)close(fd);
    for (ssize_t n = 0; n < size; n++) {
        memcpy(copy, data, sizeof(copy));
        assert_int_equal(keeper_desc_parse(copy, (size_t)n, slots, &back), -EBADMSG);
    }
    memcpy(copy, data, sizeof(copy));
    assert_int_equal(keeper_desc_parse(copy, (size_t)size, slots, &back), 0);
    assert_int_equal(back.argv.n, d.argv.n);
    for (size_t i = 0; i < d.argv.n; i++)
        assert_string_equal(back.argv.v[i], d.argv.v[i]);
    assert_null(back.argv.v[back.argv.n]);
    assert_null(back.env.v[back.env.n]);
    assert_string_equal(back.exit_path, d.exit_path);
    assert_int_equal(back.log_max_bytes, d.log_max_bytes);
    for (int i = 0; i < KEEPER_ITEMS_MAX; i++)
        strv_add(&t.d.env, "A=b");
    assert_int_equal(keeper_desc_pack(&t.d), -E2BIG);
    keeper_desc_clear(&t.d);
}

static char *program_find(void)
{
    const char *build = getenv("BUILD");
    char *self = path_self_dir();
    char *path = build != NULL && build[0] == '/' ? path_join(build, "fuzz-keeper") : NULL;

    if (path == NULL || access(path, X_OK) < 0) {
        free(path);
        path = path_join(self, "../../fuzz-keeper");
    }
    if (access(path, X_OK) < 0) {
        free(path);
        path = path_find_program("fuzz-keeper");
    }
    free(self);
    return path;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_is_recorded),
        cmocka_unit_test(signal_is_recorded),
        cmocka_unit_test(failed_exec_is_recorded),
        cmocka_unit_test(failed_setup_is_recorded),
        cmocka_unit_test(stop_lets_it_end_by_itself),
        cmocka_unit_test(stubborn_one_and_its_escapee_are_killed_by_cgroup),
        cmocka_unit_test(stubborn_one_and_its_escapee_are_killed_without_cgroups),
        cmocka_unit_test(what_it_leaves_is_killed_by_cgroup),
        cmocka_unit_test(what_it_leaves_is_killed_without_cgroups),
        cmocka_unit_test(log_flood_stays_within_its_bound),
        cmocka_unit_test(log_that_cannot_be_written_costs_only_lines),
        cmocka_unit_test(lock_is_held_for_life_and_not_passed_on),
        cmocka_unit_test(place_of_the_program_is_as_planned),
        cmocka_unit_test(shared_memory_goes_with_the_instance),
        cmocka_unit_test(files_in_shared_memory_go_with_the_instance),
        cmocka_unit_test(segments_are_removed_by_creator_and_time),
        cmocka_unit_test(death_of_the_keeper_reaches_the_program),
        cmocka_unit_test(records_cut_or_changed_anywhere_are_refused),
        cmocka_unit_test(figures_out_of_range_are_refused),
        cmocka_unit_test(description_cut_anywhere_is_refused),
    };
    int failed;

    program = program_find();
    if (program == NULL || mkdtemp(dir) == NULL) {
        (void)fprintf(stderr, "no fuzz-keeper to test\n");
        return 1;
    }
    (void)snprintf(prefix, sizeof(prefix), "fuzzd-u%07x", (unsigned)getpid() & 0xfffffff);
    root = cgroup_root_open("/sys/fs/cgroup", prefix, NULL);
    if (strcmp(cgroup_root_name(root), "none") == 0) {
        print_message("SKIPPING what needs real cgroups:\n%s\n", cgroup_root_why(root));
        cgroup_root_free(root);
        root = NULL;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (root != NULL)
        cgroup_prune(root);
    cgroup_root_free(root);
    /* Still mounted only when the test of the full disk failed half-way. */
    char *full = path_join(dir, "full");
    (void)umount2(full, MNT_DETACH);
    free(full);
    (void)path_remove_tree(dir);
    free(program);
    return failed;
}
