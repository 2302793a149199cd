/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of one instance: folders, cgroup, and the keeper with its description.
 *
 * Started again, an instance goes on in its own folder (AFL_AUTORESUME); what a killed afl-fuzz leaves there and would
 * stop or mislead the next one is cleared first. Nothing that was found is ever removed here.
 */
#include "farm/instance.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "farm/outdir.h"
#include "farm/target.h"
#include "farm/telemetry.h"
#include "store/rotation.h"
#include "sys/drop.h"

static int fail(struct instance *in, int code, const char *what)
{
    (void)snprintf(in->reason, sizeof(in->reason), "%s: %s", what,
                   code == -ELOOP ? "there is a symbolic link in it, refused" : strerror(-code));
    return code;
}

static int make_parent(const struct instance *in, const char *path)
{
    cleanup_free char *dir = path_dirname(path);

    return path_mkdirs_below(in->farm->state_dir, dir, 0700);
}

/* What a folder that it left keeps is all that was found; queue and sync marks go on with it. */
static int take_over_queue(struct instance *in)
{
    cleanup_free char *before = NULL;
    int r;

    if (in->rotation <= 1)
        return 0;
    before = rotation_of(in->spec->out_dir, rotation_before(in->spec->out_dir, in->rotation));
    r = outdir_take_over(in->farm->state_dir, before, in->out_dir);
    return r < 0 ? fail(in, r, in->out_dir) : 0;
}

/* What afl-fuzz would follow out of the state directory is refused, what it would stumble over set aside. */
static int mend_folder(struct instance *in)
{
    char told[200];
    int r = outdir_mend(in->farm->state_dir, in->out_dir, in->folder_refused, told, sizeof(told));

    if (told[0] != '\0')
        log_warn("%s: set aside in its folder: %s", in->spec->full_id, told);
    if (r < 0)
        return fail(in, r, in->out_dir);
    in->folder_refused = false;
    return 0;
}

/* Where the programs of another user write: theirs, and passable from the state directory on. */
static int hand_over(struct instance *in, const struct drop *user)
{
    const char *const paths[] = {in->target->sync_dir, in->out_dir, in->spec->scratch_dir};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int r = drop_folder(in->farm->state_dir, paths[i], user);

        if (r < 0)
            return fail(in, r, paths[i]);
    }
    return 0;
}

static int make_folders(struct instance *in)
{
    const struct plan_instance *pi = in->spec;
    int r;

    r = path_mkdirs_below(in->farm->state_dir, in->out_dir, 0700);
    if (r < 0)
        return fail(in, r, in->out_dir);
    r = take_over_queue(in);
    if (r < 0)
        return r;
    r = mend_folder(in);
    if (r < 0)
        return r;
    r = path_remove_tree_below(in->farm->state_dir, pi->scratch_dir);
    if (r == 0)
        r = path_mkdirs_below(in->farm->state_dir, pi->scratch_dir, 0700);
    if (r < 0)
        return fail(in, r, pi->scratch_dir);
    r = make_parent(in, pi->log_path);
    if (r == 0)
        r = make_parent(in, pi->run_path);
    if (r == 0)
        r = make_parent(in, pi->exit_path);
    if (r < 0)
        return fail(in, r, "cannot make the folders of logs and records");
    return 0;
}

static bool peer_runs(const struct instance *in)
{
    const struct target *t = in->owner;

    for (size_t i = 0; i < in->target->n_instances; i++) {
        const struct instance *peer = t->instances[i];

        if (peer != in && peer->afl.pid != 0 && proc_alive(&peer->afl))
            return true;
    }
    return false;
}

/* What a killed afl-fuzz leaves. Source: AFLplusplus src/afl-fuzz-init.c (bind_to_free_cpu), src/afl-fuzz-run.c (sync_fuzzers). */
static void clear_stale(const struct instance *in)
{
    cleanup_free char *main_node = path_join(in->out_dir, "is_main_node");
    cleanup_free char *affinity = path_join(in->target->sync_dir, ".affinity_lock");

    (void)path_unlink_below(in->farm->state_dir, main_node);
    /* Blocks every later start for ever. Ours run with AFL_NO_AFFINITY and never hold it. */
    if (!peer_runs(in))
        (void)path_unlink_below(in->farm->state_dir, affinity);
    (void)unlink(in->spec->run_path);
    (void)unlink(in->spec->exit_path);
}

static void note_session(struct instance *in)
{
    cleanup_free char *path = path_join(in->out_dir, "fuzzer_stats");
    cleanup_free char *text = NULL;
    struct stats st = {0};
    struct stat log;
    size_t size;

    /* What AFL++ takes over at a resume, so that it is not counted twice. */
    in->execs_saved = 0;
    if (file_read_below(in->farm->state_dir, path, STATS_MAX_BYTES, &text, &size) == 0 &&
        stats_parse(text, size, &st) == 0)
        in->execs_saved = st.execs_done;
    in->execs_seen = false;
    in->stats.saved_crashes = in->stats.saved_hangs = 0;
    in->log_from = stat(in->spec->log_path, &log) == 0 ? log.st_size : 0;
    in->up_ms = 0;
    in->spawned_ms = in->news_ms = clock_now_ms();
    in->life_ms = 0;
    in->spawned_wall_ms = clock_wall_ms();
    in->stats_mtime_ms = 0;
    in->keeper = (struct proc_id){0};
    in->afl = (struct proc_id){0};
}

/* The name that was planned for fuzz-preload.so may be gone: a link goes with the boot of the host or the user's session. */
static void renew_preload(struct strv *env)
{
    const char *planned = strv_env(env, "AFL_PRELOAD");
    const size_t n = planned != NULL ? strcspn(planned, ": ") : 0;
    cleanup_free char *first = n > 0 ? xstrndup(planned, n) : NULL;

    if (first == NULL || strstr(first, "/fuzz-preload.so") == NULL || access(first, F_OK) == 0)
        return;
    cleanup_free char *now = path_find_preload();
    cleanup_free char *value = now != NULL ? xasprintf("%s%s", now, planned + n) : NULL;
    if (value != NULL)
        strv_env_set(env, "AFL_PRELOAD", value);
}

static void fill_env(const struct instance *in, struct strv *env)
{
    char port[16];

    (void)snprintf(port, sizeof(port), "%u", (unsigned)telemetry_port(in->farm->telemetry));
    strv_copy(env, &in->spec->env);
    renew_preload(env);
    for (size_t i = 0; i < env->n; i++) {
        char *eq = strchr(env->v[i], '=');

        if (eq != NULL && strcmp(eq + 1, PLAN_STATSD_PORT) == 0) {
            char *with = xasprintf("%.*s%s", (int)(eq + 1 - env->v[i]), env->v[i], port);

            free(env->v[i]);
            env->v[i] = with;
        }
    }
}

/* Source: afl-fuzz(8), -M and -S: the name is that of the folder. */
static void set_name(const struct instance *in, struct strv *argv)
{
    for (size_t i = 1; i + 1 < argv->n && strcmp(argv->v[i], "--") != 0; i++) {
        if (strcmp(argv->v[i], "-M") != 0 && strcmp(argv->v[i], "-S") != 0)
            continue;
        free(argv->v[i + 1]);
        argv->v[i + 1] = xstrdup(in->name);
        return;
    }
}

/* As planned, but for the folder that was made of the seeds, and the time that was chosen by them. Source: afl-fuzz(8), -i and -t. */
static void fill_argv(const struct instance *in, struct strv *argv)
{
    cleanup_free char *seeds = seeds_input_dir(in->owner);
    const int64_t timeout_ms = seeds_instance_timeout_ms(in->owner, in->spec->role == PLAN_SAN);
    const struct strv *planned = &in->spec->argv;
    bool has_timeout = false, options = true;

    for (size_t i = 0; i < planned->n; i++) {
        options &= strcmp(planned->v[i], "--") != 0;
        has_timeout |= options && strcmp(planned->v[i], "-t") == 0;
    }
    for (size_t i = 0; i < planned->n; i++) {
        if (i > 0 && seeds != NULL && strcmp(planned->v[i - 1], "-i") == 0) {
            strv_add(argv, seeds);
            str_set(&seeds, NULL); /* the first is afl-fuzz's own */
        } else {
            strv_add(argv, planned->v[i]);
        }
        if (i == 0 && !has_timeout && timeout_ms > 0) {
            strv_add(argv, "-t");
            strv_addf(argv, "%lld", (long long)timeout_ms);
        }
    }
}

/* The description, packed. fd or -errno. */
static int pack_desc(const struct instance *in, const struct drop *user)
{
    const struct plan_instance *pi = in->spec;
    struct keeper_desc d = {
        .log_max_bytes = in->target->limits.log_max_bytes,
        .grace_ms = INSTANCE_GRACE_MS,
        .fsize_bytes = INSTANCE_FSIZE_BYTES,
        .cpu = in->cpu,
        .statsd_port = telemetry_port(in->farm->telemetry),
        .uid = user != NULL ? (int)user->uid : 0,
        .gid = user != NULL ? (int)user->gid : 0,
    };
    int fd;

    fill_argv(in, &d.argv);
    set_name(in, &d.argv);
    fill_env(in, &d.env);
    keeper_desc_set_cgroup(&d, in->cg);
    d.cwd = xstrdup(pi->scratch_dir);
    d.log_path = xstrdup(pi->log_path);
    d.run_path = xstrdup(pi->run_path);
    d.exit_path = xstrdup(pi->exit_path);
    d.id = xstrdup(pi->full_id);
    d.plan_hash = xstrdup(in->plan->hash);
    fd = keeper_desc_pack(&d);
    keeper_desc_clear(&d);
    return fd;
}

static int on_keeper_end(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
    (void)s;
    (void)fd;
    (void)revents;
    instance_keeper_gone(userdata);
    return 0;
}

int instance_watch_keeper(struct instance *in, int pidfd)
{
    int r;

    in->pidfd = pidfd;
    /* Not sd_event_add_child_pidfd: for a keeper that is not our child it ends the loop with -ECHILD. */
    r = sd_event_add_io(in->farm->loop, &in->gone, pidfd, EPOLLIN, on_keeper_end, in);
    if (r < 0)
        return fail(in, r, "cannot watch the keeper");
    (void)sd_event_source_set_description(in->gone, "keeper");
    return 0;
}

int instance_spawn(struct instance *in)
{
    const struct spec_limits *l = &in->target->limits;
    struct cgroup_limits lim = {
        .memory_bytes = l->memory_bytes > 0 ? l->memory_bytes + INSTANCE_EXTRA_BYTES : 0,
        .target_memory_bytes = l->memory_bytes,
        .pids = l->pids,
        .cpu_pct = (int)l->cpu_pct,
    };
    struct proc_spawn spawn = {
        .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .new_session = true};
    struct strv argv = {0};
    cleanup_close int desc = -1;
    struct drop user = {0};
    struct err err = {0};
    pid_t pid;
    int r, pidfd;

    if (in->plan->user != NULL && drop_find(in->plan->user, &user, &err) < 0) {
        (void)strlcpy(in->reason, err.msg, sizeof(in->reason));
        return err.code;
    }
    r = make_folders(in);
    if (r == 0 && in->plan->user != NULL)
        r = hand_over(in, &user);
    if (r < 0)
        return r;
    note_session(in);
    clear_stale(in);
    cgroup_free(in->cg);
    in->cg = NULL;
    r = cgroup_create(in->farm->cgroups, in->cgroup_name, &lim, &in->cg, &err);
    if (r < 0) {
        (void)strlcpy(in->reason, err.msg, sizeof(in->reason));
        return r;
    }
    in->oom_from = cgroup_oom_kills(in->cg); /* one that was taken over has counted before */
    in->oom_live = 0;
    desc = pack_desc(in, in->plan->user != NULL ? &user : NULL);
    if (desc < 0)
        return fail(in, desc, "cannot describe the instance to its keeper");
    strv_add(&argv, in->farm->keeper);
    spawn.argv = &argv;
    spawn.keep_fd[0] = desc;
    spawn.keep_fd[1] = in->cpu_fd;
    spawn.keep_fd[2] = -1;
    r = proc_start(&spawn, &pid, &pidfd);
    strv_clear(&argv);
    if (r < 0)
        return fail(in, r, "cannot start fuzz-keeper");
    return instance_watch_keeper(in, pidfd);
}
