/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One inotify descriptor for all folders, so that events come in their order. afl-fuzz makes its folders when it starts
 * and moves them away when it starts again, and an instance that rotates goes on in another, so they are looked for and watched anew all the
 * time; a folder that is watched already stays as it is.
 */
#include "ctl/added_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "store/rotation.h"

#define PARTY        ",sync:added_0," /* the folder's name, and its number among those of -F */
#define STEP_MS      250
#define ENTRY_BYTES  (2U << 20)
#define EVENTS_BYTES 65536

enum place { IN_DIR, IN_QUEUE, IN_CRASHES, IN_HANGS, PLACES };

struct added_watch {
    int fd;
    char *dir, *out;
    int wd[PLACES]; /* -1: not watched */
    char open[65];  /* the file that afl-fuzz has open now; "" none */
    enum added_state meant;
    char entry[256];
};

const char *added_state_name(enum added_state state)
{
    static const char *const names[] = {"unseen", "taken", "nothing new", "crash", "hang"};

    return names[state];
}

/* Caller frees. */
static char *path_of(const struct added_watch *w, enum place place)
{
    static const char *const names[] = {
        [IN_QUEUE] = "queue", [IN_CRASHES] = "crashes", [IN_HANGS] = "hangs"};
    cleanup_free char *newest = place == IN_DIR ? NULL : rotation_newest(w->out);

    return place == IN_DIR ? xstrdup(w->dir) : path_join(newest, names[place]);
}

static void watch_all(struct added_watch *w)
{
    for (enum place i = IN_DIR; i < PLACES; i++) {
        cleanup_free char *path = path_of(w, i);

        w->wd[i] = inotify_add_watch(w->fd, path,
                                     (i == IN_DIR ? IN_OPEN | IN_CLOSE_NOWRITE : IN_CREATE) |
                                         IN_ONLYDIR | IN_DONT_FOLLOW);
    }
}

int added_watch_open(const char *dir, const char *out, struct added_watch **ret, struct err *err)
{
    struct added_watch *w = xcalloc(1, sizeof(*w));
    int r;

    w->dir = xstrdup(dir);
    w->out = xstrdup(out);
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    r = w->fd < 0 ? -errno : 0;
    if (r == 0)
        watch_all(w);
    if (r == 0 && w->wd[IN_DIR] < 0)
        r = -errno;
    if (r < 0) {
        (void)err_sys(err, r, "cannot watch %s", dir);
        added_watch_close(w);
        return r;
    }
    *ret = w;
    return 0;
}

void added_watch_close(struct added_watch *w)
{
    if (w == NULL)
        return;
    if (w->fd >= 0)
        (void)close(w->fd);
    free(w->dir);
    free(w->out);
    free(w);
}

static struct added_file *file_of(struct added_file *files, size_t n, const char *sha256)
{
    for (size_t i = 0; i < n; i++) {
        if (sha256[0] != '\0' && strcmp(files[i].sha256, sha256) == 0)
            return &files[i];
    }
    return NULL;
}

/* Several files of one content have one state. */
static void settle(struct added_watch *w, struct added_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(files[i].sha256, w->open) != 0 || files[i].state != ADDED_UNSEEN)
            continue;
        files[i].state = w->meant;
        (void)strlcpy(files[i].entry, w->entry, sizeof(files[i].entry));
    }
}

static void take_event(struct added_watch *w, const struct inotify_event *e,
                       struct added_file *files, size_t n)
{
    const char *name = e->len > 0 ? e->name : "";

    if (e->wd == w->wd[IN_DIR] && (e->mask & IN_OPEN) != 0 && file_of(files, n, name) != NULL) {
        (void)strlcpy(w->open, name, sizeof(w->open));
        w->meant = ADDED_NOTHING_NEW;
        w->entry[0] = '\0';
    } else if (e->wd == w->wd[IN_DIR] && (e->mask & IN_CLOSE_NOWRITE) != 0 && w->open[0] != '\0' &&
               strcmp(w->open, name) == 0) {
        settle(w, files, n);
        w->open[0] = '\0';
    } else if (w->open[0] != '\0' && e->wd == w->wd[IN_QUEUE] && strncmp(name, "id", 2) == 0) {
        w->meant = ADDED_TAKEN;
        (void)strlcpy(w->entry, name, sizeof(w->entry));
    } else if (w->open[0] != '\0' && strncmp(name, "id", 2) == 0 &&
               (e->wd == w->wd[IN_CRASHES] || e->wd == w->wd[IN_HANGS])) {
        w->meant = e->wd == w->wd[IN_CRASHES] ? ADDED_CRASH : ADDED_HANG;
    }
}

static void read_events(struct added_watch *w, struct added_file *files, size_t n)
{
    _Alignas(struct inotify_event) char buf[EVENTS_BYTES];
    ssize_t got;

    while ((got = read(w->fd, buf, sizeof(buf))) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *e = (const void *)(buf + at);

            take_event(w, e, files, n);
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    }
}

void added_watch_compare(const struct added_watch *w, struct added_file *files, size_t n)
{
    cleanup_free char *queue = path_of(w, IN_QUEUE);
    cleanup_dir DIR *dir = opendir(queue);
    const struct dirent *de;

    while (dir != NULL && (de = readdir(dir)) != NULL) {
        struct added_file *f;
        char sha256[65];

        if (strstr(de->d_name, PARTY) == NULL ||
            file_sha256(dirfd(dir), de->d_name, ENTRY_BYTES, sha256, NULL) < 0)
            continue;
        f = file_of(files, n, sha256);
        if (f == NULL || f->state != ADDED_UNSEEN)
            continue;
        f->state = ADDED_TAKEN;
        (void)strlcpy(f->entry, de->d_name, sizeof(f->entry));
    }
}

static size_t unseen(const struct added_file *files, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += files[i].sha256[0] != '\0' && files[i].state == ADDED_UNSEEN;
    return k;
}

size_t added_watch_wait(struct added_watch *w, struct added_file *files, size_t n,
                        int64_t timeout_ms)
{
    const int64_t until_ms = clock_now_ms() + timeout_ms;
    int64_t left_ms = timeout_ms;

    read_events(w, files, n);
    while (unseen(files, n) > 0 && left_ms > 0) {
        struct pollfd p = {.fd = w->fd, .events = POLLIN};

        watch_all(w);
        if (poll(&p, 1, (int)(left_ms < STEP_MS ? left_ms : STEP_MS)) < 0)
            break;
        read_events(w, files, n);
        left_ms = until_ms - clock_now_ms();
    }
    return unseen(files, n);
}
