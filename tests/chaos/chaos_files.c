/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults with memory, files and descriptors. Memory goes up to a fuse that is above every limit of
 * the tests and that any host has to spare.
 */
#include "chaos.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUSE_BYTES (1024 * MIB)
#define PART_BYTES (16 * MIB)

static volatile char sink;

/* ---- Memory ------------------------------------------------------------------------------- */

/* By the kernel where it can (Linux 5.14): in a guest a trap for each page takes long. */
static void touch_part(char *p, size_t bytes)
{
    size_t i;

#ifdef MADV_POPULATE_WRITE
    if (madvise(p, bytes, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    for (i = 0; i < bytes; i += 4096) {
        p[i] = 1;
        sink = p[i];
    }
}

void chaos_touch(size_t bytes)
{
    size_t i;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    if (p == MAP_FAILED)
        return;
    for (i = 0; i < bytes; i += PART_BYTES) {
        if (i >= FUSE_BYTES) {
            (void)chaos_mark("fuse");
            _exit(0);
        }
        touch_part(p + i, bytes - i < PART_BYTES ? bytes - i : PART_BYTES);
    }
}

void chaos_oom(void)
{
    chaos_touch(8192 * MIB);
}

void chaos_leak(void)
{
    static size_t leaked;

    chaos_touch(4 * MIB);
    leaked += 4 * MIB;
    if (leaked >= FUSE_BYTES) {
        (void)chaos_mark("fuse");
        _exit(0);
    }
}

/* Files in shared memory are charged like memory, and stay when their maker dies. */
void chaos_devshm(void)
{
    char path[64], block[65536];
    size_t done = 0;
    int fd;

    memset(block, 'x', sizeof(block));
    (void)snprintf(path, sizeof(path), "/dev/shm/fz-chaos.%d", (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && done < 300 * MIB && write(fd, block, sizeof(block)) > 0)
        done += sizeof(block);
    if (fd >= 0)
        (void)close(fd);
}

void chaos_sysv(void)
{
    int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);

    sink = (char)id;
}

/* ---- Files and descriptors ---------------------------------------------------------------- */

void chaos_fill(void)
{
    char name[32], block[65536];
    int i, fd;

    memset(block, 'x', sizeof(block));
    for (i = 0; i < 8; i++) {
        size_t done = 0;

        (void)snprintf(name, sizeof(name), "fill.%d", i);
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        while (fd >= 0 && done < 25 * MIB && write(fd, block, sizeof(block)) > 0)
            done += sizeof(block);
        if (fd >= 0)
            (void)close(fd);
    }
}

void chaos_fds(void)
{
    int fd;

    (void)close(198);
    (void)close(199);
    for (fd = 0; fd < 1024; fd++)
        (void)close(fd);
}

/* To its own output and to that of afl-fuzz, with lines that look like its last words. */
void chaos_flood(void)
{
    static const char line[] = "\n[-] PROGRAM ABORT : all is lost\n         Location : flood()\n\n";
    char path[64], block[4096];
    int fds[2] = {1, -1}, i, k;
    size_t n;

    for (n = 0; n + sizeof(line) < sizeof(block); n += sizeof(line) - 1)
        memcpy(block + n, line, sizeof(line) - 1);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)chaos_ancestor("afl-fuzz"));
    fds[1] = open(path, O_WRONLY | O_CLOEXEC);
    for (i = 0; i < 2; i++)
        for (k = 0; k < 4096 && fds[i] >= 0; k++)
            if (write(fds[i], block, n) < 0)
                break;
    if (fds[1] >= 0)
        (void)close(fds[1]);
}

static void dir_empty(const char *dir)
{
    struct dirent *e;
    char path[1024];
    DIR *d = opendir(dir);

    while (d != NULL && (e = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlink(path);
    }
    if (d != NULL)
        (void)closedir(d);
}

/* Its working directory under its feet, and a folder of files it was given. */
void chaos_delete(void)
{
    char cwd[512], victim[512];

    if (chaos_dir == NULL || getcwd(cwd, sizeof(cwd)) == NULL)
        return;
    (void)snprintf(victim, sizeof(victim), "%s/victim", chaos_dir);
    (void)!chdir("/");
    dir_empty(victim);
    if (strstr(cwd, "/scratch/") != NULL) {
        dir_empty(cwd);
        (void)rmdir(cwd);
    }
}
