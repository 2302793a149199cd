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
#include "base/file.h"
#include "base/path.h"

#define SEED_DEPTH      16
#define PLANTS_FILE_MAX (256 * 1024)

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

/* No campaign runs it, so none waits for it. */
static bool is_optional(const struct spec_key *k)
{
    return strcmp(k->name, "coverage") == 0;
}

/* The absolute form of written, without "..", or NULL with a fault. Caller frees. */
static char *check_path(const struct spec *spec, const struct spec_key *k, const char *written,
                        int line, const char *section, struct spec_faults *faults)
{
    char shown[64], text[160];
    const char *allowed = NULL;
    cleanup_free char *path = path_resolve(spec->root, written);
    const char *wrong = file_fault(k, path, &allowed);
    if (wrong == NULL) /* a plan has no ".." */
        return path_without_up(steal_ptr(&path));
    size_t word = strcspn(written, " \t");
    if (k->type == SPEC_PATH_PROGRAM && written[word] != '\0') {
        cleanup_free char *program = xstrndup(written, word);
        cleanup_free char *first = path_resolve(spec->root, program);
        if (file_fault(k, first, &allowed) == NULL)
            allowed = "the program alone, its arguments belong in args";
    }
    if (allowed == NULL)
        allowed = spec_value_allowed(k, text, sizeof(text));
    spec_faults_add(faults, line, section, k->name, is_optional(k), "\"%s\" %s; allowed: %s",
                    spec_value_shown(shown, written), wrong, allowed);
    return NULL;
}

bool spec_root_check(struct spec *spec, struct spec_faults *faults)
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

/* A program, or a library, that is not there. */
static bool is_unbuilt(const struct spec *spec, const struct spec_key *k, const char *written)
{
    cleanup_free char *path = path_resolve(spec->root, written);
    struct stat st;

    return (k->type == SPEC_PATH_PROGRAM || strcmp(k->name, "mutator") == 0) &&
           !has_control(path) && stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void add_unbuilt(const struct spec_key *k, const char *written, int line,
                        const char *section, const char *build, struct spec_faults *faults)
{
    char shown[64], command[64], allowed[160];
    size_t n = faults->n;

    spec_faults_add(faults, line, section, k->name, is_optional(k),
                    "\"%s\" does not exist yet, \"%s\" builds it; allowed: %s",
                    spec_value_shown(shown, written), spec_value_shown(command, build),
                    spec_value_allowed(k, allowed, sizeof(allowed)));
    if (n < faults->n)
        faults->v[n].unbuilt = true;
}

/* The paths of one section: base is its struct. */
static void check_section(struct spec *spec, unsigned scope, void *base, int mark,
                          const char *section, bool root_ok, struct spec_faults *faults)
{
    const char *build = scope == SPEC_TARGET ? ((struct spec_target *)base)->build : NULL;
    for (size_t row = 0; row < spec_keys_count; row++) {
        const struct spec_key *k = &spec_keys[row];
        void *field = (char *)base + k->offset;
        if (k->scope != scope)
            continue;
        int line = spec_mark_line(spec, mark, k, 0);
        if (k->type == SPEC_PATH_LIST) {
            struct strv *list = field, absolute = {0};
            for (size_t j = 0; root_ok && j < list->n; j++) {
                char *path = check_path(spec, k, list->v[j],
                                        spec_mark_line(spec, mark, k, (int)j + 1), section, faults);
                if (path != NULL)
                    strv_take(&absolute, path);
            }
            strv_clear(list);
            *list = absolute;
        } else if (k->type == SPEC_PATH_DIR || k->type == SPEC_PATH_FILE ||
                   k->type == SPEC_PATH_PROGRAM) {
            char **path = field, *absolute = NULL;
            if (root_ok && *path != NULL && build != NULL && is_unbuilt(spec, k, *path)) {
                add_unbuilt(k, *path, line, section, build, faults);
            } else if (root_ok && *path != NULL) {
                absolute = check_path(spec, k, *path, line, section, faults);
            }
            free(*path);
            *path = absolute;
        }
    }
}

bool spec_plants_file_read(struct spec *spec, struct spec_faults *faults, char **ret_text,
                           size_t *ret_size)
{
    const struct spec_key *k = spec_key_find("plants", SPEC_CAMPAIGN);
    int line = spec_mark_line(spec, SPEC_MARK_CAMPAIGN, k, 0), r;
    cleanup_free char *written = steal_ptr(&spec->plants_file);

    if (written == NULL)
        return false;
    spec->plants_file = check_path(spec, k, written, line, "campaign", faults);
    if (spec->plants_file == NULL)
        return false;
    r = file_read_follow(AT_FDCWD, spec->plants_file, PLANTS_FILE_MAX, ret_text, ret_size);
    if (r < 0) {
        char shown[64];

        spec_faults_add(faults, line, "campaign", k->name, false,
                        "\"%s\": %s; allowed: a file of "
                        "at most %d bytes",
                        spec_value_shown(shown, written), strerror(-r), PLANTS_FILE_MAX);
        return false;
    }
    return true;
}

void spec_paths_check(struct spec *spec, bool root_ok, struct spec_faults *faults)
{
    char section[64];

    for (size_t i = 0; i < spec->n_targets; i++)
        check_section(spec, SPEC_TARGET, &spec->targets[i], (int)i,
                      spec_target_section(spec, i, section), root_ok, faults);
    for (size_t i = 0; i < spec->n_plants; i++) {
        size_t n = faults->n;

        check_section(spec, SPEC_PLANT, &spec->plants[i], SPEC_MARK_PLANT + (int)i,
                      spec_plant_section(spec, i, section), root_ok, faults);
        spec_plant_faults(spec, i, n, faults);
    }
}
