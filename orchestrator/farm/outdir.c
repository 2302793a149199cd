/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What afl-fuzz finds in its own folder when it resumes.
 *
 * The queue is the work of hours. afl-fuzz renames it to _resume, links its entries back, and then removes _resume; killed on the way,
 * it trusts whatever _resume is left and deletes the queue. So the two are made one here first, under names that both know.
 * All is done by descriptors of folders opened without following a link.
 */
#include "farm/outdir.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "farm/stats.h"

#define CASE_PREFIX  "id:"
#define ASIDE_TRIES  100
#define SAME_MAX     (1 << 20) /* of a test case; MAX_FILE of AFL++ */
#define SHA1_HEX_LEN 40        /* of a name under AFL_SHA1_FILENAMES */

struct mend {
    int fd; /* of the instance's folder */
    char *told;
    size_t told_size;
};

/* Of an entry: its type for S_IS…, 0 when there is none. */
static mode_t type_at(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & S_IFMT : 0;
}

static int open_folder(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static void tell(struct mend *m, const char *name)
{
    if (m->told[0] != '\0')
        (void)strlcat(m->told, ", ", m->told_size);
    (void)strlcat(m->told, name, m->told_size);
}

/* Moves dir/name to set-aside/TIME-name of the instance. 0 also when it is gone, or -errno. */
static int set_aside(struct mend *m, int dir, const char *name)
{
    cleanup_close int aside = -1;
    char at[24], to[300];

    if (mkdirat(m->fd, OUTDIR_ASIDE, 0700) < 0 && errno != EEXIST)
        return -errno;
    aside = open_folder(m->fd, OUTDIR_ASIDE);
    if (aside < 0)
        return aside;
    (void)clock_basic(at, sizeof(at), clock_wall_ms());
    for (int i = 0; i < ASIDE_TRIES; i++) {
        if (i == 0)
            (void)snprintf(to, sizeof(to), "%s-%.230s", at, name);
        else
            (void)snprintf(to, sizeof(to), "%s.%d-%.230s", at, i, name);
        if (renameat2(dir, name, aside, to, RENAME_NOREPLACE) == 0) {
            tell(m, name);
            return 0;
        }
        if (errno == ENOENT)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* What a queue may hold: "id:…", or a hash. */
static bool is_case(const char *name)
{
    return strncmp(name, CASE_PREFIX, strlen(CASE_PREFIX)) == 0 ||
           (strlen(name) >= SHA1_HEX_LEN && strspn(name, "0123456789abcdef") == SHA1_HEX_LEN);
}

typedef int each_fn(struct mend *m, int dir, const char *name);

/* fn for each entry but "." and "..", names taken first as fn moves them. 0 or the first that is not. */
static int each(struct mend *m, int dir, each_fn *fn)
{
    struct strv names = {0};
    int copy = open_folder(dir, "."), r = 0;
    cleanup_dir DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *de;

    if (copy < 0)
        return copy;
    if (d == NULL) {
        (void)close(copy);
        return -ENOMEM;
    }
    while ((de = readdir(d)) != NULL)
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
            strv_add(&names, de->d_name);
    for (size_t i = 0; i < names.n && r == 0; i++)
        r = fn(m, dir, names.v[i]);
    strv_clear(&names);
    return r;
}

static int found_case(struct mend *m, int dir, const char *name)
{
    (void)m;
    return is_case(name) && type_at(dir, name) == S_IFREG;
}

static bool has_cases(struct mend *m, const char *folder)
{
    cleanup_close int fd = open_folder(m->fd, folder);

    return fd >= 0 && each(m, fd, found_case) == 1;
}

/* ---- A resume that was cut off ------------------------------------------------------- */

static bool same_content(int a_dir, int b_dir, const char *name)
{
    cleanup_free char *a = NULL, *b = NULL;
    size_t a_size, b_size;

    return file_read(a_dir, name, SAME_MAX, &a, &a_size) == 0 &&
           file_read(b_dir, name, SAME_MAX, &b, &b_size) == 0 && a_size == b_size &&
           memcmp(a, b, a_size) == 0;
}

/* One entry of _resume back into the queue. */
static int bring_back(struct mend *m, int resume, const char *name)
{
    cleanup_close int queue = open_folder(m->fd, "queue");
    cleanup_free char *other = NULL;

    if (queue < 0)
        return queue;
    if (!is_case(name) || type_at(resume, name) != S_IFREG)
        return 0;
    if (renameat2(resume, name, queue, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    if (same_content(resume, queue, name)) /* two names of one file, mostly */
        return unlinkat(resume, name, 0) < 0 ? -errno : 0;
    other = xasprintf("%.240s,resumed", name);
    if (renameat2(resume, name, queue, other, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EEXIST ? set_aside(m, resume, name) : -errno;
}

/* Marks of what was done with an entry: afl-fuzz makes them anew. */
static int drop_mark(struct mend *m, int dir, const char *name)
{
    (void)m;
    if (type_at(dir, name) == S_IFREG)
        (void)unlinkat(dir, name, 0);
    return 0;
}

static int drop_marks(struct mend *m, int state, const char *name)
{
    cleanup_close int fd = open_folder(state, name);

    if (fd >= 0 && each(m, fd, drop_mark) == 0)
        (void)unlinkat(state, name, AT_REMOVEDIR);
    return 0;
}

static int join_queue(struct mend *m)
{
    cleanup_close int resume = open_folder(m->fd, "_resume");
    cleanup_close int state = -1;
    int r;

    if (resume < 0)
        return resume == -ENOENT ? 0 : resume;
    if (renameat2(m->fd, "_resume", m->fd, "queue", RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    r = each(m, resume, bring_back);
    if (r < 0)
        return r;
    state = open_folder(resume, ".state");
    if (state >= 0 && each(m, state, drop_marks) == 0)
        (void)unlinkat(resume, ".state", AT_REMOVEDIR);
    if (unlinkat(m->fd, "_resume", AT_REMOVEDIR) == 0)
        return 0;
    return set_aside(m, m->fd, "_resume");
}

/* ---- Files ---------------------------------------------------------------------------- */

bool outdir_stats_usable(const char *text)
{
    char start[21], last[21];

    return sscanf(text, "start_time : %20[0-9] last_update : %20[0-9]", start, last) == 2;
}

static bool is_folder_name(const char *name)
{
    return strcmp(name, "queue") == 0 || strcmp(name, "_resume") == 0 ||
           strcmp(name, ".synced") == 0 || strcmp(name, OUTDIR_ASIDE) == 0;
}

/* Ours to gather from, whatever they are: afl-fuzz only renames them. */
static bool is_found_name(const char *name)
{
    return strncmp(name, "crashes", 7) == 0 || strncmp(name, "hangs", 5) == 0;
}

/* What afl-fuzz opens to write, or reads. */
static bool is_file_name(const char *name)
{
    static const char *const names[] = {"fuzzer_stats", "fuzzer_setup", "fuzz_bitmap",
                                        "plot_data",    "cmdline",      "is_main_node",
                                        ".cur_input",   "target_hash",  "fastresume.bin"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int check_type(struct mend *m, int dir, const char *name)
{
    mode_t type = type_at(dir, name);
    bool fit = type == S_IFREG || type == S_IFDIR;

    if (is_found_name(name))
        return 0;
    if (is_folder_name(name))
        fit = type == S_IFDIR;
    else if (is_file_name(name))
        fit = type == S_IFREG;
    return fit ? 0 : set_aside(m, dir, name);
}

/* afl-fuzz has refused: it needs none of these to go on, and makes them anew. */
static int strip_top(struct mend *m, int dir, const char *name)
{
    return is_folder_name(name) || is_found_name(name) ? 0 : set_aside(m, dir, name);
}

static int strip_queue(struct mend *m, int queue, const char *name)
{
    return is_case(name) && type_at(queue, name) == S_IFREG ? 0 : set_aside(m, queue, name);
}

static int strip(struct mend *m)
{
    cleanup_close int queue = open_folder(m->fd, "queue");
    int r = each(m, m->fd, strip_top);

    if (r == 0 && queue >= 0)
        r = each(m, queue, strip_queue);
    return r;
}

/* afl-fuzz may run as another user than we do: the folder's, as it is handed to that one. */
static int write_as_owner(int dir, const char *name, const char *text)
{
    int r = file_write_atomic(dir, name, text, strlen(text), 0600);
    struct stat st;

    if (r == 0 && geteuid() == 0 && fstat(dir, &st) == 0 && st.st_uid != 0 &&
        fchownat(dir, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return r;
}

/* The two lines that a resume asks for, in the file's own words. */
static int write_stats(const struct mend *m)
{
    char head[96];
    long long at = (long long)(clock_wall_ms() / 1000);

    (void)snprintf(head, sizeof(head), "start_time        : %lld\nlast_update       : %lld\n", at,
                   at);
    return write_as_owner(m->fd, "fuzzer_stats", head);
}

/* afl-fuzz moves them only where it resumes, and deletes what is in them else. */
static int keep_found(struct mend *m, const char *folder)
{
    char at[24], to[64];

    if (unlinkat(m->fd, folder, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    (void)snprintf(to, sizeof(to), "%s.%s", folder, clock_basic(at, sizeof(at), clock_wall_ms()));
    return renameat2(m->fd, folder, m->fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int see_to_stats(struct mend *m)
{
    cleanup_free char *text = NULL;
    size_t size;
    int r = file_read(m->fd, "fuzzer_stats", STATS_MAX_BYTES, &text, &size);
    bool there = r != -ENOENT, usable = r == 0 && outdir_stats_usable(text);

    if (r == -EMFILE || r == -ENFILE || r == -EIO)
        return r;
    if (has_cases(m, "queue")) {
        r = there && !usable ? set_aside(m, m->fd, "fuzzer_stats") : 0;
        return r == 0 && !usable ? write_stats(m) : r;
    }
    /* Nothing to resume: it begins with its seeds, which it does only where there are no figures. */
    r = there ? set_aside(m, m->fd, "fuzzer_stats") : 0;
    if (r == 0)
        r = keep_found(m, "crashes");
    return r == 0 ? keep_found(m, "hangs") : r;
}

/* Of what it goes into no link is followed, so a link is an error and not set aside: somebody put it there. */
static int check_links(const struct mend *m)
{
    static const char *const names[] = {"queue", "queue/.state", "crashes",
                                        "hangs", "_resume",      ".synced"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (type_at(m->fd, names[i]) == S_IFLNK)
            return -ELOOP;
    return 0;
}

static int check_state(struct mend *m)
{
    cleanup_close int queue = open_folder(m->fd, "queue");
    mode_t type = queue >= 0 ? type_at(queue, ".state") : 0;

    return type == 0 || type == S_IFDIR ? 0 : set_aside(m, queue, ".state");
}

int outdir_mend(const char *state_dir, const char *out_dir, bool strict, char *told,
                size_t told_size)
{
    cleanup_close int fd = path_open_below(state_dir, out_dir, 0);
    struct mend m = {.fd = fd, .told = told, .told_size = told_size};
    int r;

    told[0] = '\0';
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    r = check_links(&m);
    if (r == 0)
        r = each(&m, fd, check_type);
    if (r == 0)
        r = join_queue(&m);
    if (r == 0)
        r = check_state(&m);
    if (r == 0 && strict)
        r = strip(&m);
    return r == 0 ? see_to_stats(&m) : r;
}

/* ---- Another folder ------------------------------------------------------------------ */

static int move_over(int from, int to, const char *name)
{
    if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0 || errno == ENOENT ||
        errno == EEXIST)
        return 0;
    return -errno;
}

int outdir_take_over(const char *state_dir, const char *before, const char *out_dir)
{
    cleanup_close int from = path_open_below(state_dir, before, 0);
    cleanup_close int to = path_open_below(state_dir, out_dir, 0);
    char told[200] = "";
    struct mend m = {.fd = from, .told = told, .told_size = sizeof(told)};
    struct stat st;
    int r;

    if (from < 0 || to < 0)
        return from == -ENOENT ? 0 : from < 0 ? from : to;
    if (fstat(from, &st) < 0 || (geteuid() == 0 && fchown(to, st.st_uid, st.st_gid) < 0))
        return -errno;
    if (type_at(to, "queue") != 0 || type_at(to, "_resume") != 0)
        return 0;
    r = check_links(&m);
    if (r == 0)
        r = join_queue(&m);
    /* The marks first: with the queue there, nobody looks again. */
    if (r == 0)
        r = move_over(from, to, ".synced");
    if (r == 0)
        r = move_over(from, to, "queue");
    /* Others sync from a main instance only where this says that it is one. */
    if (r == 0)
        (void)unlinkat(from, "is_main_node", 0);
    return r;
}
