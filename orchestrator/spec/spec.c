/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spec from its file: lines to keys, keys to values, then what only the whole can
 * show. Reading never stops at a fault; a value that was refused keeps its default, and
 * its mark, so that nothing is reported twice.
 */
#include "spec/spec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "spec/spec_load.h"

#define SPEC_FILE_MAX (256 * 1024)
#define LOOKED_AT     4096 /* bytes of a file, to tell whether it is text */

char *spec_target_section(const struct spec *spec, size_t i, char buf[64])
{
    (void)snprintf(buf, 64, "target %s", spec->targets[i].name);
    return buf;
}

int spec_mark_line(const struct spec *spec, int section, const struct spec_key *k, int item)
{
    int row = (int)(k - spec_keys);
    for (size_t i = 0; i < spec->n_marks; i++) {
        if (spec->marks[i].section == section && spec->marks[i].row == row &&
            spec->marks[i].item == item)
            return spec->marks[i].line;
    }
    return 0;
}

int spec_line(const struct spec *spec, const char *section, const char *key)
{
    const struct spec_key *k = NULL;
    int at = SPEC_MARK_CAMPAIGN;
    if (strcmp(section, "campaign") == 0) {
        k = spec_key_find(key, SPEC_CAMPAIGN);
    } else if (strcmp(section, "limits") == 0) {
        at = SPEC_MARK_LIMITS;
        k = spec_key_find(key, SPEC_LIMITS);
    }
    int line = k != NULL ? spec_mark_line(spec, at, k, 0) : 0;
    const char *name = strncmp(section, "target ", 7) == 0 ? section + 7 : section;
    k = spec_key_find(key, SPEC_TARGET);
    for (size_t i = 0; line == 0 && k != NULL && i < spec->n_targets; i++) {
        if (strcmp(spec->targets[i].name, name) == 0)
            line = spec_mark_line(spec, (int)i, k, 0);
    }
    return line;
}

/* One value from outside the file; shown is the flag or variable. */
static void override(struct spec_loader *ld, const char *key, const char *value, const char *shown)
{
    const struct spec_key *k = spec_key_find(key, SPEC_CAMPAIGN);
    struct spec_where at = {0, NULL, shown, NULL};
    struct strv values = {0};
    strv_add(&values, value);
    if (spec_value_set(k, ld->spec, &values, &at, ld->faults) == 0 && strcmp(key, "seed") == 0)
        ld->spec->has_seed = strcmp(value, "random") != 0;
    strv_clear(&values);
}

static void override_all(struct spec_loader *ld, const struct spec_overrides *ov)
{
    static const struct spec_overrides none;
    const char *secs = getenv("FUZZ_RUNTIME_SECS");
    uint64_t n;
    if (ov == NULL)
        ov = &none;
    if (ov->budget != NULL) {
        override(ld, "budget", ov->budget, "--budget");
    } else if (secs != NULL && *secs != '\0') {
        if (parse_u64(secs, UINT32_MAX, &n) < 0 || n == 0 || n > UINT64_C(3650) * 86400)
            spec_faults_add(
                ld->faults, 0, NULL, "FUZZ_RUNTIME_SECS", false,
                "\"%.40s\" is not a number of seconds; allowed: a whole number from 1 to "
                "315360000",
                secs);
        else
            ld->spec->budget_ms = (int64_t)n * 1000;
    }
    if (ov->execs != NULL)
        override(ld, "execs", ov->execs, "--execs");
    if (ov->cores != NULL)
        override(ld, "cores", ov->cores, "--cores");
    ld->spec->cores_by_option = ov->cores != NULL;
    if (ov->seed != NULL)
        override(ld, "seed", ov->seed, "--seed");
    if (ov->name != NULL)
        override(ld, "name", ov->name, "--name");
    ld->spec->oversubscribe = ov->oversubscribe;
}

/* A hang is a slow execution that was not cut off: its limit lies above the timeout. */
static void check_hang(struct spec_loader *ld, const struct spec_limits *lim, int section,
                       const char *shown)
{
    const struct spec_key *hang = spec_key_find("hang_timeout", SPEC_LIMITS);
    const struct spec_key *timeout = spec_key_find("timeout", SPEC_LIMITS);
    int line = spec_mark_line(ld->spec, section, hang, 0);
    const char *key = hang->name;
    char text[2][32];
    if (line == 0) {
        line = spec_mark_line(ld->spec, section, timeout, 0);
        key = timeout->name;
    }
    if (line == 0 || lim->timeout_ms == 0 || lim->hang_timeout_ms == 0 ||
        lim->hang_timeout_ms > lim->timeout_ms)
        return;
    spec_faults_add(
        ld->faults, line, shown, key, false,
        "hang_timeout %s is not longer than timeout %s; allowed: hang_timeout = auto, or "
        "more than timeout",
        format_duration(text[0], 32, lim->hang_timeout_ms),
        format_duration(text[1], 32, lim->timeout_ms));
}

static void check_whole(struct spec_loader *ld)
{
    struct spec *spec = ld->spec;
    static const char *const required[] = {"harness", "seeds"};
    char allowed[160];
    if (spec->n_targets == 0 && !ld->bad_sections)
        spec_faults_add(ld->faults, 0, NULL, NULL, false,
                        "no [target NAME] section; allowed: at least one");
    check_hang(ld, &spec->limits, SPEC_MARK_LIMITS, "limits");
    for (size_t i = 0; i < spec->n_targets; i++) {
        struct spec_target *t = &spec->targets[i];
        char shown[64];
        (void)spec_target_section(spec, i, shown);
        for (size_t j = 0; j < 2; j++) {
            const struct spec_key *k = spec_key_find(required[j], SPEC_TARGET);
            if (spec_mark_line(spec, (int)i, k, 0) == 0)
                spec_faults_add(ld->faults, t->line, shown, k->name, false,
                                "is missing; allowed: %s",
                                spec_value_allowed(k, allowed, sizeof(allowed)));
        }
        for (size_t row = 0; row < spec_keys_count; row++) {
            const struct spec_key *k = &spec_keys[row];
            if ((k->scope & SPEC_LIMITS) && !(t->set & UINT64_C(1) << row))
                memcpy((char *)&t->limits + k->offset, (char *)&spec->limits + k->offset,
                       sizeof(int64_t));
        }
        check_hang(ld, &t->limits, (int)i, shown);
    }
}

static void set_defaults(struct spec_loader *ld)
{
    struct spec_where at = {0, NULL, NULL, NULL};
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        if (k->def == NULL || k->scope == SPEC_TARGET || k->scope == SPEC_PLANT)
            continue;
        struct strv def = {0};
        strv_add(&def, k->def);
        void *base = k->scope & SPEC_LIMITS ? (void *)&ld->spec->limits : (void *)ld->spec;
        (void)spec_value_set(k, base, &def, &at, ld->faults);
        strv_clear(&def);
    }
}

static void name_from_file(struct spec_loader *ld)
{
    char shown[64];
    if (ld->spec->name != NULL ||
        spec_mark_line(ld->spec, SPEC_MARK_CAMPAIGN, spec_key_find("name", SPEC_CAMPAIGN), 0) > 0)
        return;
    ld->spec->name = path_stem(ld->spec->path);
    if (!path_name_ok(ld->spec->name, SPEC_NAME_LEN))
        spec_faults_add(
            ld->faults, 0, "campaign", "name", false,
            "\"%s\", taken from the file's name, is not a name; allowed: " SPEC_NAME_TEXT,
            spec_value_shown(shown, ld->spec->name));
}

/* The file of "plants", as if it stood behind the spec. */
static void read_plants(struct spec_loader *ld)
{
    struct spec_loader more = {.spec = ld->spec, .faults = ld->faults, .plants_only = true};
    cleanup_free char *written = NULL;
    cleanup_free char *text = NULL;
    size_t size = 0, n = ld->faults->n;

    str_set(&written, ld->spec->plants_file);
    if (!spec_plants_file_read(ld->spec, ld->faults, &text, &size))
        return;
    spec_lines_read(&more, text, size);
    spec_faults_in_file(ld->faults, n, written);
}

/* A NUL byte and many others that no text has; a single one is a fault of its line. */
static bool is_binary(const char *text, size_t size)
{
    const size_t looked_at = size < LOOKED_AT ? size : LOOKED_AT;
    size_t control = 0;

    for (size_t i = 0; i < looked_at; i++) {
        unsigned char c = (unsigned char)text[i];

        control += c == '\0' || (c < 0x20 && strchr("\t\n\r\f", c) == NULL);
    }
    return memchr(text, '\0', looked_at) != NULL && control > looked_at / 32 + 1;
}

/* What is no text is one fault, not one a line. size: of what was read of it. */
static int refuse_binary(const char *path, const char *text, size_t size, struct err *err)
{
    if (size >= SELFMAG && memcmp(text, ELFMAG, SELFMAG) == 0)
        return err_set(err, -ENOEXEC,
                       "%s: is a program, not a campaign file; `fuzzctl init %s` writes one", path,
                       path);
    if (is_binary(text, size))
        return err_set(err, -EINVAL, "%s: not text, so no campaign file", path);
    return 0;
}

/* Of a file that is too large to be read whole. */
static int refuse_large(const char *path, struct err *err)
{
    char head[LOOKED_AT];
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
    int r = n > 0 ? refuse_binary(path, head, (size_t)n, err) : 0;

    return r < 0 ? r : err_set(err, -EFBIG, "%s: larger than %d bytes", path, SPEC_FILE_MAX);
}

int spec_read(const char *path, const struct spec_overrides *ov, struct spec **ret,
              struct spec_faults *faults, struct err *err)
{
    cleanup_free char *text = NULL;
    size_t size = 0;
    int r = file_read_follow(AT_FDCWD, path, SPEC_FILE_MAX, &text, &size);
    if (r == -EFBIG)
        return refuse_large(path, err);
    if (r == -EINVAL)
        return err_set(err, -EISDIR, "%s: not a regular file", path);
    if (r < 0)
        return err_sys(err, r, "%s", path);
    if ((r = refuse_binary(path, text, size, err)) < 0)
        return r;
    cleanup_free char *cwd = path[0] != '/' ? getcwd(NULL, 0) : xstrdup("/");
    if (cwd == NULL)
        return err_sys(err, -errno, "the working directory");
    struct spec *spec = xcalloc(1, sizeof(*spec));
    spec->path = path_without_up(path_resolve(cwd, path));
    spec->text = steal_ptr(&text);
    spec->text_size = size;
    struct spec_loader *ld = xcalloc(1, sizeof(*ld));
    ld->spec = spec;
    ld->faults = faults;
    set_defaults(ld);
    spec_lines_read(ld, spec->text, size);
    override_all(ld, ov);
    name_from_file(ld);
    bool root_ok = spec_root_check(spec, faults);
    if (root_ok)
        read_plants(ld);
    check_whole(ld);
    spec_after_check(spec, faults);
    spec_plants_check(spec, faults);
    spec_paths_check(spec, root_ok, faults);
    free(ld);
    *ret = spec;
    return 0;
}

int spec_load(const char *path, const struct spec_overrides *ov, struct spec **ret,
              struct spec_faults *faults, struct err *err)
{
    struct spec *spec = NULL;
    int r = spec_read(path, ov, &spec, faults, err);
    if (r < 0)
        return r;
    size_t n = spec_faults_errors(faults);
    if (n > 0) {
        spec_free(spec);
        return err_set(err, -EINVAL, "%s: %zu fault%s", path, n, text_plural((int64_t)n));
    }
    *ret = spec;
    return 0;
}

static void free_fields(void *base, unsigned scope)
{
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        void *field = (char *)base + k->offset;
        if (k->scope != scope)
            continue;
        if (k->type == SPEC_LIST || k->type == SPEC_PATH_LIST || k->type == SPEC_WORDS)
            strv_clear(field);
        else if (k->type == SPEC_NAME || k->type == SPEC_CORES || k->type == SPEC_TEXT ||
                 k->type == SPEC_PATH_DIR || k->type == SPEC_PATH_FILE ||
                 k->type == SPEC_PATH_PROGRAM)
            free(*(char **)field);
    }
}

void spec_free(struct spec *spec)
{
    if (spec == NULL)
        return;
    for (size_t i = 0; i < spec->n_targets; i++) {
        free_fields(&spec->targets[i], SPEC_TARGET);
        free(spec->targets[i].name);
    }
    free(spec->targets);
    for (size_t i = 0; i < spec->n_plants; i++) {
        free_fields(&spec->plants[i], SPEC_PLANT);
        free(spec->plants[i].name);
    }
    free(spec->plants);
    free_fields(spec, SPEC_CAMPAIGN);
    free(spec->marks);
    free(spec->path);
    free(spec->text);
    free(spec);
}
