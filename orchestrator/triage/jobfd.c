/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory files by which a job goes to fuzz-triage and its answer comes back, so that there is no pipe
 * to serve and no output without bound.
 */
#include "triage/jobfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "triage/job.h"

int jobfd_make(const char *text)
{
    cleanup_close int fd = memfd_create("fuzz-triage job", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = file_write_all(fd, text, strlen(text));
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    return r < 0 ? r : steal_fd(&fd);
}

int jobfd_make_answer(void)
{
    cleanup_close int fd = memfd_create("fuzz-triage answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, JOB_MAX_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return -errno;
    return steal_fd(&fd);
}

json_t *jobfd_read_answer(int fd)
{
    cleanup_free char *buf = malloc(JOB_MAX_BYTES + 1);
    size_t n = 0;
    json_t *j;

    if (buf == NULL)
        return NULL;
    while (n < JOB_MAX_BYTES) {
        size_t want = JOB_MAX_BYTES - n < 65536 ? JOB_MAX_BYTES - n : 65536;
        ssize_t r = pread(fd, buf + n, want, (off_t)n);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        n += (size_t)r;
        if (buf[n - 1] == '\0')
            break;
    }
    buf[n] = '\0';
    j = json_loads(buf, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(j) && json_is_boolean(json_object_get(j, "ok")))
        return j;
    json_decref(j);
    return NULL;
}
