/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of a spec: made absolute, and what they name looked at, but never opened
 * for its content. Messages show the path as it was written. A path that is refused
 * becomes NULL, so that later checks do not trip over it.
 */
#include "spec/spec_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

#define SEED_DEPTH 16

/*
 * Whether a folder holds something afl-fuzz takes for a seed: a regular file that is
 * not empty and not README.txt, in it or below. Takes ownership of fd.
 * Source: AFL++ 4.04c src/afl-fuzz-init.c, read_testcases.
 */
static bool holds_seed(int fd, int depth)
{
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    const struct dirent *de;
    while ((de = readdir(dir)) != NULL) {
        struct stat st;
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 ||
            fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode) && st.st_size > 0 && strcmp(de->d_name, "README.txt") != 0)
            return true;
        if (S_ISDIR(st.st_mode) && depth < SEED_DEPTH &&
            holds_seed(
                openat(dirfd(dir), de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                depth + 1))
            return true;
    }
    return false;
}

/* Control bytes have no place in a path that goes into plans, logs and scripts. */
static bool has_control(const char *path)
{
    for (; *path != '\0'; path++) {
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return true;
    }
    return false;
}

/* What is wrong with the file at path for a key of this type; NULL: nothing. */
static const char *file_fault(const struct spec_key *k, const char *path, const char **ret_allowed)
{
    struct stat st;
    if (has_control(path))
        return "has a control byte in its name";
    if (stat(path, &st) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return "does not exist";
        return errno == EACCES ? "cannot be reached: permission denied" : "cannot be reached";
    }
    switch (k->type) {
    case SPEC_PATH_DIR:
        if (!S_ISDIR(st.st_mode))
            return "is not a folder";
        if (access(path, R_OK | X_OK) < 0)
            return "cannot be read";
        if (strcmp(k->name, "seeds") == 0 &&
            !holds_seed(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0)) {
            *ret_allowed = "a folder with at least one file that is not empty";
            return SPEC_NO_SEED;
        }
        return NULL;
    case SPEC_PATH_PROGRAM:
        if (!S_ISREG(st.st_mode))
            return S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file";
        return access(path, X_OK) < 0 ? "is not executable" : NULL;
    case SPEC_PATH_FILE:
        if (!S_ISREG(st.st_mode))
            return S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file";
        return access(path, R_OK) < 0 ? "cannot be read" : NULL;
    default:
        return NULL;
    }
}

/* The absolute form of written, or NULL with a fault. Caller frees. */
static char *check_path(const struct spec *spec, const struct spec_key *k, const char *written,
                        int line, const char *section, struct spec_faults *faults)
{
    char shown[64], text[160];
    const char *allowed = NULL;
    cleanup_free char *path = path_resolve(spec->root, written);
    const char *wrong = file_fault(k, path, &allowed);
    if (wrong == NULL)
        return steal_ptr(&path);
    size_t word = strcspn(written, " \t");
    if (k->type == SPEC_PATH_PROGRAM && written[word] != '\0') {
        cleanup_free char *program = xstrndup(written, word);
        cleanup_free char *first = path_resolve(spec->root, program);
        if (file_fault(k, first, &allowed) == NULL)
            allowed = "the program alone, its arguments belong in args";
    }
    if (allowed == NULL)
        allowed = spec_value_allowed(k, text, sizeof(text));
    spec_faults_add(faults, line, section, k->name, false, "\"%s\" %s; allowed: %s",
                    spec_value_shown(shown, written), wrong, allowed);
    return NULL;
}

static bool check_root(struct spec *spec, struct spec_faults *faults)
{
    char shown[64], real[PATH_MAX];
    cleanup_free char *folder = path_dirname(spec->path);
    cleanup_free char *path = path_resolve(folder, spec->root);
    struct stat st;
    const char *wrong = NULL;
    if (stat(path, &st) < 0 || realpath(path, real) == NULL)
        wrong = errno == EACCES ? "cannot be reached: permission denied" : "does not exist";
    else if (!S_ISDIR(st.st_mode))
        wrong = "is not a folder";
    else if (has_control(real))
        wrong = "lies below a folder with a control byte in its name";
    if (wrong != NULL) {
        spec_faults_add(
            faults,
            spec_mark_line(spec, SPEC_MARK_CAMPAIGN, spec_key_find("root", SPEC_CAMPAIGN), 0),
            "campaign", "root", false,
            "\"%s\" %s; allowed: a folder, relative to the one that holds this file",
            spec_value_shown(shown, spec->root), wrong);
        return false;
    }
    str_set(&spec->root, real);
    return true;
}

static void check_target(struct spec *spec, size_t i, bool root_ok, struct spec_faults *faults)
{
    char section[64];
    (void)spec_target_section(spec, i, section);
    for (size_t row = 0; row < spec_keys_count; row++) {
        const struct spec_key *k = &spec_keys[row];
        void *field = (char *)&spec->targets[i] + k->offset;
        if (k->scope != SPEC_TARGET)
            continue;
        int line = spec_mark_line(spec, (int)i, k, 0);
        if (k->type == SPEC_PATH_LIST) {
            struct strv *list = field, absolute = {0};
            for (size_t j = 0; root_ok && j < list->n; j++) {
                char *path =
                    check_path(spec, k, list->v[j], spec_mark_line(spec, (int)i, k, (int)j + 1),
                               section, faults);
                if (path != NULL)
                    strv_take(&absolute, path);
            }
            strv_clear(list);
            *list = absolute;
        } else if (k->type == SPEC_PATH_DIR || k->type == SPEC_PATH_FILE ||
                   k->type == SPEC_PATH_PROGRAM) {
            char **path = field, *absolute = NULL;
            if (root_ok && *path != NULL)
                absolute = check_path(spec, k, *path, line, section, faults);
            free(*path);
            *path = absolute;
        }
    }
}

void spec_paths_check(struct spec *spec, struct spec_faults *faults)
{
    bool root_ok = check_root(spec, faults);
    for (size_t i = 0; i < spec->n_targets; i++)
        check_target(spec, i, root_ok, faults);
}
