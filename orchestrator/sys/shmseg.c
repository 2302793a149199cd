/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared memory that must not outlive its instance: SysV segments that a killed afl-fuzz leaves
 * behind, for hosts where it cannot have an IPC namespace of its own, removed by nothing but creator
 * and creation time; and files in /dev/shm.
 */
#include "sys/shmseg.h"

#include <sched.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/shm.h>

int shmseg_remove(pid_t creator, int64_t from_s, int64_t to_s)
{
    struct shm_info info;
    struct shmid_ds ds;
    int last, i, id, removed = 0;

    last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
    for (i = 0; i <= last; i++) {
        id = shmctl(i, SHM_STAT, &ds);
        if (id < 0 || ds.shm_cpid != creator)
            continue;
        if ((int64_t)ds.shm_ctime < from_s || (int64_t)ds.shm_ctime > to_s)
            continue;
        if (shmctl(id, IPC_RMID, NULL) == 0)
            removed++;
    }
    return removed;
}

bool shmseg_own_files(void)
{
    if (unshare(CLONE_NEWNS) < 0)
        return false;
    /* Without this the new mount would appear in the host's tree too. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return false;
    return mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
}
