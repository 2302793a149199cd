/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks what was named, in the order of names, so that a run over the same files is the same run.
 * Folders of a campaign may grow meanwhile; what is gone when it is read is its reader's to tell.
 */
#include "corpus/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "corpus/packed.h"

#define SETUP  "fuzzer_setup"
#define QUEUE  "queue"
#define README "README.txt"

/* ---- the list ---- */
static void take(struct inputs *list, char *path, const struct packed_input *packed)
{
    if (list->n == list->room) {
        list->room = list->room == 0 ? 64 : 2 * list->room;
        list->v = xreallocarray(list->v, list->room, sizeof(*list->v));
        list->packed = xreallocarray(list->packed, list->room, sizeof(*list->packed));
    }
    list->v[list->n] = path;
    list->packed[list->n++] = packed;
}

void inputs_add_file(struct inputs *list, const char *path)
{
    take(list, xstrdup(path), NULL);
}

void inputs_add_from(struct inputs *list, const struct inputs *from, size_t index)
{
    take(list, xstrdup(from->v[index]), from->packed[index]);
}

int inputs_add_packed(struct inputs *list, struct packed *archive, const char *path,
                      struct err *err)
{
    if (archive->n > INPUTS_MAX - list->n) {
        packed_free(archive);
        return err_set(err, -E2BIG, "%s: over %d inputs", path, INPUTS_MAX);
    }
    for (size_t i = 0; i < archive->n; i++)
        take(list, path_join(path, archive->v[i].name), &archive->v[i]);
    list->archives = xreallocarray(list->archives, list->n_archives + 1, sizeof(*list->archives));
    list->archives[list->n_archives++] = archive;
    return 0;
}

void inputs_clear(struct inputs *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    for (size_t i = 0; i < list->n_archives; i++)
        packed_free(list->archives[i]);
    free(list->v);
    free(list->packed);
    free(list->archives);
    *list = (struct inputs){0};
}

/* ---- folders ---- */
static bool is_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* 0; -ENOENT, or what keeps us from knowing. */
static int look_for(const char *dir, const char *name)
{
    cleanup_free char *path = path_join(dir, name);
    struct stat st;

    return lstat(path, &st) == 0 ? 0 : -errno;
}

static int wanted(const struct dirent *de)
{
    return de->d_name[0] != '.' && strcmp(de->d_name, README) != 0;
}

/* By bytes: the same on every machine. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* DT_DIR, DT_REG or another. Few file systems do not tell it with the name. */
static int kind_of(const struct dirent *de, const char *path)
{
    struct stat st;

    if (de->d_type != DT_UNKNOWN)
        return de->d_type;
    return lstat(path, &st) == 0 ? IFTODT(st.st_mode) : DT_UNKNOWN;
}

static int list_folder(const char *dir, struct dirent ***ret)
{
    int n = scandir(dir, ret, wanted, by_name);

    return n < 0 ? -errno : n;
}

static void names_free(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* path is taken over. */
static int take_found(struct inputs *list, const char *dir, char *path, struct err *err)
{
    if (list->n < INPUTS_MAX) {
        take(list, path, NULL);
        return 0;
    }
    free(path);
    return err_set(err, -E2BIG, "%s: over %d inputs", dir, INPUTS_MAX);
}

/*
 * All files of dir; names are what is in it and are freed, NULL: not listed yet. A folder that was not named itself and cannot be listed is
 * an input that cannot be read: told, like a file that is closed, and no end of all the others.
 */
static int add_listed(struct inputs *list, const char *dir, struct dirent **names, int n, int depth,
                      struct err *err)
{
    int rc = 0;

    if (names == NULL) {
        n = depth < INPUTS_DEPTH_MAX ? list_folder(dir, &names) : -ELOOP;
        if (n < 0 && n != -ELOOP && depth > 0)
            return take_found(list, dir, xstrdup(dir), err);
        if (n < 0)
            return err_sys(err, n, "%s", dir);
    }
    for (int i = 0; i < n && rc == 0; i++) {
        cleanup_free char *path = path_join(dir, names[i]->d_name);
        const int kind = kind_of(names[i], path);

        if (kind == DT_DIR)
            rc = add_listed(list, path, NULL, 0, depth + 1, err);
        else if (kind == DT_REG)
            rc = take_found(list, dir, steal_ptr(&path), err);
        else
            list->passed_over++;
    }
    names_free(names, n);
    return rc;
}

static int add_queue(struct inputs *list, const char *instance, struct err *err)
{
    cleanup_free char *queue = path_join(instance, QUEUE);

    return is_folder(queue) ? add_listed(list, queue, NULL, 0, 1, err) : 0;
}

/*
 * Of the folders named in dir, those that are instances; and among instances those that we may not look into. How many, or -errno.
 */
static int add_queues(struct inputs *list, const char *dir, struct dirent **names, int n,
                      struct err *err)
{
    struct inputs closed = {0};
    int found = 0, rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        cleanup_free char *instance = NULL;
        int there;

        /* Most names of a large folder are files. */
        if (names[i]->d_type != DT_DIR && names[i]->d_type != DT_UNKNOWN)
            continue;
        instance = path_join(dir, names[i]->d_name);
        if (!is_folder(instance))
            continue;
        there = look_for(instance, SETUP);
        found += there == 0;
        if (there == 0)
            rc = add_queue(list, instance, err);
        else if (there != -ENOENT)
            inputs_add_file(&closed, instance);
    }
    for (size_t i = 0; i < closed.n && found > 0 && rc == 0; i++)
        rc = take_found(list, dir, xstrdup(closed.v[i]), err);
    inputs_clear(&closed);
    return rc < 0 ? rc : found;
}

static int add_folder(struct inputs *list, const char *dir, struct err *err)
{
    struct dirent **names = NULL;
    int n, rc;

    if (look_for(dir, SETUP) == 0)
        return add_queue(list, dir, err);
    n = list_folder(dir, &names);
    if (n < 0)
        return err_sys(err, n, "%s", dir);
    rc = add_queues(list, dir, names, n, err);
    if (rc == 0)
        return add_listed(list, dir, names, n, 0, err);
    names_free(names, n);
    return rc < 0 ? rc : 0;
}

static int add_archive(struct inputs *list, const char *path, struct err *err)
{
    struct packed *archive;
    int rc = packed_read(path, &archive, err);

    if (rc < 0)
        return rc;
    rc = packed_choose(archive, path, NULL, err);
    if (rc == 0)
        return inputs_add_packed(list, archive, path, err);
    packed_free(archive);
    return rc;
}

int inputs_add(struct inputs *list, const char *path, struct err *err)
{
    const size_t before = list->n;
    struct stat st;
    int rc;

    if (stat(path, &st) < 0)
        return err_sys(err, -errno, "%s", path);
    if (!S_ISDIR(st.st_mode)) {
        if (packed_is(path))
            return add_archive(list, path, err);
        inputs_add_file(list, path);
        return 0;
    }
    rc = add_folder(list, path, err);
    while (rc < 0 && list->n > before)
        free(list->v[--list->n]);
    return rc;
}

/* ---- what is made in a folder of inputs ---- */
static bool is_output(const char *dir, const char *instance)
{
    cleanup_free char *path = path_join(dir, instance);

    return look_for(path, SETUP) == 0;
}

/* Whether dir is AFL++ output, of which queues alone are inputs. */
static bool has_instances(const char *dir)
{
    struct dirent **names = NULL;
    const int n = list_folder(dir, &names);
    bool has = look_for(dir, SETUP) == 0;

    for (int i = 0; i < n && !has; i++)
        has = (names[i]->d_type == DT_DIR || names[i]->d_type == DT_UNKNOWN) &&
              is_output(dir, names[i]->d_name);
    names_free(names, n);
    return has;
}

static bool in_queue(const char *dir, const char *rest)
{
    const char *slash = strchr(rest, '/');
    cleanup_free char *instance = slash != NULL ? xstrndup(rest, (size_t)(slash - rest)) : NULL;

    if (look_for(dir, SETUP) != 0) {
        if (instance == NULL || !is_output(dir, instance))
            return false;
        rest = slash + 1;
    }
    return strncmp(rest, QUEUE, strlen(QUEUE)) == 0 &&
           (rest[strlen(QUEUE)] == '\0' || rest[strlen(QUEUE)] == '/');
}

/* Where out is or will be, without links and slashes behind it; NULL: nowhere. Caller frees. */
static char *whole_path(const char *out)
{
    cleanup_free char *place = xstrdup(out), *parent = NULL, *real = NULL;
    const char *slash;

    for (size_t n = strlen(place); n > 1 && place[n - 1] == '/'; n--)
        place[n - 1] = '\0';
    parent = path_dirname(place);
    real = realpath(parent, NULL);
    slash = strrchr(place, '/');
    return real != NULL ? path_join(real, slash != NULL ? slash + 1 : place) : NULL;
}

bool inputs_takes(const char *path, const char *out)
{
    cleanup_free char *top = realpath(path, NULL), *whole = whole_path(out);
    const size_t n = top != NULL ? strlen(top) : 0;
    const char *rest;

    if (n == 0 || whole == NULL || !is_folder(top) || strncmp(top, whole, n) != 0 ||
        (whole[n] != '/' && n > 1))
        return false;
    rest = whole + n;
    if (strstr(rest, "/.") != NULL || strcmp(rest + strspn(rest, "/"), README) == 0)
        return false;
    rest += strspn(rest, "/");
    return !has_instances(top) || in_queue(top, rest);
}

/* ---- bytes ---- */
const char *inputs_why(int code)
{
    switch (code) {
    case -EFBIG:
        return "over 1 MiB";
    case -EINVAL:
    case -ENXIO: /* a socket */
        return "not a regular file";
    default:
        return strerror(-code);
    }
}

/* 0, with the size where it is told without asking what the file is: nothing but a file with bytes in it has one. */
static int size_of(int fd, size_t max_bytes, size_t *ret)
{
    off_t end = lseek(fd, 0, SEEK_END);
    struct stat st;

    if (end > 0 && (uint64_t)end <= max_bytes) {
        *ret = (size_t)end;
        return 0;
    }
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if ((uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    *ret = (size_t)st.st_size;
    return 0;
}

/*
 * Without a note in the file that it was read: of a new file each first read would write its inode. Only its owner and root may; of
 * somebody else's corpus the first file tells, and the others are not asked twice.
 */
static int open_quietly(const char *path)
{
    static atomic_bool others;
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd;

    if (!atomic_load_explicit(&others, memory_order_relaxed)) {
        fd = open(path, flags | O_NOATIME);
        if (fd >= 0 || errno != EPERM)
            return fd;
    }
    fd = open(path, flags);
    if (fd >= 0)
        atomic_store_explicit(&others, true, memory_order_relaxed);
    return fd;
}

int inputs_read_file(const char *path, size_t max_bytes, uint8_t **ret_data, size_t *ret_size)
{
    cleanup_close int fd = open_quietly(path);
    cleanup_free uint8_t *data = NULL;
    size_t n = 0, room = 0;
    ssize_t got;
    int rc = fd < 0 ? -errno : size_of(fd, max_bytes, &room);

    if (rc < 0)
        return rc;
    /* That many are taken: a file that grows meanwhile is as it was. */
    data = xmalloc(room + 1);
    while (n < room && (got = pread(fd, data + n, room - n, (off_t)n)) != 0) {
        if (got < 0 && errno != EINTR)
            return -errno;
        n += got > 0 ? (size_t)got : 0;
    }
    *ret_data = steal_ptr(&data);
    *ret_size = n;
    return 0;
}

bool inputs_is_packed(const struct inputs *list, size_t index)
{
    return list->packed[index] != NULL;
}

bool inputs_all_packed(const struct inputs *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->packed[i] == NULL)
            return false;
    }
    return true;
}

int inputs_borrow(const struct inputs *list, size_t index, size_t max_bytes,
                  const uint8_t **ret_data, size_t *ret_size)
{
    const struct packed_input *in = list->packed[index];

    if (in == NULL)
        return -EINVAL;
    if (in->size > max_bytes || in->data == NULL)
        return -EFBIG;
    *ret_data = in->data;
    *ret_size = (size_t)in->size;
    return 0;
}

int inputs_read(const struct inputs *list, size_t index, size_t max_bytes, uint8_t **ret_data,
                size_t *ret_size)
{
    const uint8_t *data;
    size_t size;
    int rc;

    if (list->packed[index] == NULL)
        return inputs_read_file(list->v[index], max_bytes, ret_data, ret_size);
    rc = inputs_borrow(list, index, max_bytes, &data, &size);
    if (rc < 0)
        return rc;
    *ret_data = xmalloc(size + 1);
    memcpy(*ret_data, data, size);
    *ret_size = size;
    return 0;
}

int inputs_stat(const struct inputs *list, size_t index, uint64_t *ret_size, int64_t *ret_mtime_s)
{
    const struct packed_input *in = list->packed[index];
    struct stat st = {0};

    if (in == NULL && stat(list->v[index], &st) < 0)
        return -errno;
    *ret_size = in != NULL ? in->size : (uint64_t)st.st_size;
    *ret_mtime_s = st.st_mtime;
    return 0;
}
