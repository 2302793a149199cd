/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzd's side of fuzz-keeper: the description it is started with, as a sealed memory file, and the
 * records it leaves. What is in them is keeper_wire.c's business.
 */
#include "sys/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sys/keeper_wire.h"

void keeper_desc_clear(struct keeper_desc *d)
{
    struct strv *const lists[] = {&d->argv,       &d->env,          &d->procs_keep, &d->procs_afl,
                                  &d->kill_files, &d->events_files, &d->oom_files,  &d->cgroups};
    char **const texts[] = {&d->cwd,       &d->log_path, &d->run_path,
                            &d->exit_path, &d->id,       &d->plan_hash};
    size_t i;

    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        strv_clear(lists[i]);
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        str_set(texts[i], NULL);
}

void keeper_desc_set_cgroup(struct keeper_desc *d, const struct cgroup *cg)
{
    struct strv *const lists[] = {&d->procs_keep,   &d->procs_afl, &d->kill_files,
                                  &d->events_files, &d->oom_files, &d->cgroups};
    struct strv target = {0};
    cleanup_free char *paths = NULL;
    size_t i;

    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        strv_clear(lists[i]);
    cgroup_procs_paths(cg, CGROUP_KEEP, &d->procs_keep);
    cgroup_procs_paths(cg, CGROUP_AFL, &d->procs_afl);
    cgroup_watch_paths(cg, &d->kill_files, &d->events_files, &d->oom_files);
    cgroup_paths(cg, &d->cgroups);
    cgroup_procs_paths(cg, CGROUP_T, &target);
    for (i = 0; i < target.n; i++) {
        char *more = xasprintf("%s%s%s", i > 0 ? paths : "", i > 0 ? ":" : "", target.v[i]);

        free(paths);
        paths = more;
    }
    if (paths != NULL)
        strv_env_set(&d->env, KEEPER_ENV_PROCS, paths);
    strv_clear(&target);
}

int keeper_desc_pack(const struct keeper_desc *d)
{
    cleanup_free char *buf = xmalloc(KEEPER_DESC_BYTES_MAX);
    int size = keeper_desc_format(buf, KEEPER_DESC_BYTES_MAX, d);
    cleanup_close int fd = -1;
    int rc;

    if (size < 0)
        return size;
    fd = memfd_create("fuzz-keeper", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    rc = file_write_all(fd, buf, (size_t)size);
    if (rc < 0)
        return rc;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0 ||
        lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* *ret_data is NUL-terminated; the caller frees it. */
static int record_read(const char *path, char **ret_data, size_t *ret_size)
{
    int rc = file_read(AT_FDCWD, path, KEEPER_RUN_BYTES_MAX, ret_data, ret_size);

    return rc == -EFBIG ? -EBADMSG : rc;
}

int keeper_run_load(const char *path, struct keeper_run *ret)
{
    cleanup_free char *data = NULL;
    size_t size = 0;
    int rc = record_read(path, &data, &size);

    return rc < 0 ? rc : keeper_run_parse(data, size, ret);
}

void keeper_run_clear(struct keeper_run *r)
{
    strv_clear(&r->cgroups);
}

int keeper_exit_load(const char *path, struct keeper_exit *ret)
{
    cleanup_free char *data = NULL;
    size_t size = 0;
    int rc = record_read(path, &data, &size);

    return rc < 0 ? rc : keeper_exit_parse(data, size, ret);
}
