/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of campaign specs. The input is the file. Whatever it holds, reading
 * ends with values and faults; a spec without faults, printed as --effective does,
 * loads back to the same values. The look at the file system is replaced: every
 * path exists, so that only the text decides. What is no text is refused in one line, for a NUL byte at least.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "selftest/check.h"
#include "spec/spec_load.h"

#define SPEC_FD     900 /* a number of its own, as the file's name is the campaign's */
#define FAULTS_KEPT 201u

static const char *const ids[] = {"I1", "I2", "I3", "I4", "I5", "I6", "I7", NULL};
static const char *const reach[] = {"accepted", "refused", "reloaded", "no_text", NULL};
const struct fz_target fz_target = {"selftest-ini", 256u << 20, ids, reach, NULL};

/* These stand for spec_paths.c: they make paths absolute and ask nobody. */
bool spec_root_check(struct spec *spec, struct spec_faults *faults)
{
    (void)faults;
    if (spec->root == NULL)
        return false;
    cleanup_free char *root = path_resolve("/srv", spec->root);
    str_set(&spec->root, root);
    return true;
}

bool spec_plants_file_read(struct spec *spec, struct spec_faults *faults, char **ret_text,
                           size_t *ret_size)
{
    (void)faults;
    (void)ret_text;
    (void)ret_size;
    if (spec->plants_file != NULL) {
        cleanup_free char *path = path_resolve(spec->root, spec->plants_file);

        str_set(&spec->plants_file, path);
    }
    return false;
}

static void make_absolute(const struct spec *spec, unsigned scope, void *base)
{
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        char **at = (char **)(void *)((char *)base + k->offset);

        if (k->scope != scope)
            continue;
        if (k->type == SPEC_PATH_LIST) {
            struct strv *list = (void *)at;

            for (size_t j = 0; j < list->n; j++) {
                char *path = path_resolve(spec->root, list->v[j]);

                free(list->v[j]);
                list->v[j] = path;
            }
        } else if ((k->type == SPEC_PATH_DIR || k->type == SPEC_PATH_FILE ||
                    k->type == SPEC_PATH_PROGRAM) &&
                   *at != NULL) {
            cleanup_free char *path = path_resolve(spec->root, *at);

            str_set(at, path);
        }
    }
}

void spec_paths_check(struct spec *spec, bool root_ok, struct spec_faults *faults)
{
    (void)faults;
    for (size_t t = 0; root_ok && t < spec->n_targets; t++)
        make_absolute(spec, SPEC_TARGET, &spec->targets[t]);
    for (size_t p = 0; root_ok && p < spec->n_plants; p++)
        make_absolute(spec, SPEC_PLANT, &spec->plants[p]);
}

/* I7: who gives no spec says why, once. */
static void check_no_text(const char *text, size_t n, int code, const struct err *err,
                          const struct spec_faults *faults)
{
    const bool elf = n >= SELFMAG && memcmp(text, ELFMAG, SELFMAG) == 0;

    MUST(code == (elf ? -ENOEXEC : -EINVAL) && code == err->code, "I7", "reading gave %d", code);
    MUST(elf || memchr(text, '\0', n) != NULL, "I7", "a text is told to be none");
    MUST(faults->n == 0 && err->msg[0] != '\0' && is_text(err->msg, sizeof(err->msg)), "I7",
         "%zu faults, and %.160s", faults->n, err->msg);
    FZ_REACH(no_text);
}

/* Reads text as the file that it is in the product. NULL: it is none. */
static struct spec *read_text(const void *text, size_t n, struct spec_faults *faults)
{
    static bool is_open;
    struct spec *spec = NULL;
    char path[32];

    if (!is_open) {
        int fd = memfd_create("spec", MFD_CLOEXEC);

        is_open = fd >= 0 && dup2(fd, SPEC_FD) == SPEC_FD && close(fd) == 0;
    }
    if (!is_open || ftruncate(SPEC_FD, 0) != 0 || pwrite(SPEC_FD, text, n, 0) != (ssize_t)n) {
        perror("selftest-ini");
        exit(2);
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", SPEC_FD);
    struct err err = {0};
    int r = spec_read(path, NULL, &spec, faults, &err);
    MUST((r == 0) == (spec != NULL), "I1", "reading gave %d", r);
    if (r < 0)
        check_no_text(text, n, r, &err, faults);
    return spec;
}

/* I2: every fault is one line of printable text that says what is allowed, and no more than are kept. */
static void check_faults(const struct spec_faults *f, size_t n_lines)
{
    cleanup_free char *text = NULL;
    size_t size = 0, newlines = 0;
    FILE *out = open_memstream(&text, &size);

    MUST(f->n <= FAULTS_KEPT, "I2", "%zu faults are kept", f->n);
    for (size_t i = 0; i < f->n; i++) {
        const struct spec_fault *ft = &f->v[i];
        bool last = i + 1 == FAULTS_KEPT;

        MUST(is_text(ft->msg, sizeof(ft->msg)) && ft->msg[0] != '\0' &&
                 is_text(ft->section, sizeof(ft->section)) && is_text(ft->key, sizeof(ft->key)),
             "I2", "fault %zu is not printable", i);
        MUST(last || ft->warning || strstr(ft->msg, "allowed") != NULL, "I2",
             "does not say what is allowed: %.120s", ft->msg);
        MUST(ft->line >= 0 && (size_t)ft->line <= n_lines, "I2", "line %d of %zu", ft->line,
             n_lines);
    }
    spec_faults_print(f, "x.ini", out);
    (void)fclose(out);
    for (size_t i = 0; i < size; i++)
        newlines += text[i] == '\n';
    MUST(newlines == f->n, "I2", "%zu faults are shown in %zu lines", f->n, newlines);
}

static char *print_text(const struct spec *spec, size_t *ret_n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_n);

    spec_print_effective(spec, out);
    (void)fclose(out);
    return text;
}

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* I4: one value of both. */
static void check_same(const struct spec_key *k, const void *a, const void *b)
{
    const void *at[] = {(const char *)a + k->offset, (const char *)b + k->offset};
    const struct strv *list[] = {at[0], at[1]};
    bool same = true;

    switch (k->type) {
    case SPEC_DURATION:
    case SPEC_SIZE:
    case SPEC_COUNT:
    case SPEC_PERCENT:
        same = memcmp(at[0], at[1], sizeof(int64_t)) == 0;
        break;
    case SPEC_ENUM:
        same = memcmp(at[0], at[1], sizeof(int)) == 0;
        break;
    case SPEC_LIST:
    case SPEC_WORDS:
    case SPEC_PATH_LIST:
        same = list[0]->n == list[1]->n;
        for (size_t i = 0; same && i < list[0]->n; i++)
            same = strcmp(list[0]->v[i], list[1]->v[i]) == 0;
        break;
    case SPEC_NAME:
    case SPEC_CORES:
    case SPEC_TEXT:
    case SPEC_PATH_DIR:
    case SPEC_PATH_FILE:
    case SPEC_PATH_PROGRAM:
        same = same_text(*(char *const *)at[0], *(char *const *)at[1]);
        break;
    }
    MUST(same, "I4", "%s differs after printing and reading", k->name);
}

static void check_equal(const struct spec *a, const struct spec *b)
{
    MUST(a->n_targets == b->n_targets, "I4", "%zu targets, printed %zu", a->n_targets,
         b->n_targets);
    MUST(a->n_plants == b->n_plants, "I4", "%zu plants, printed %zu", a->n_plants, b->n_plants);
    MUST(a->has_seed == b->has_seed, "I4", "seed is set in one");
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];

        if (k->scope == SPEC_CAMPAIGN)
            check_same(k, a, b);
        else if (k->scope & SPEC_LIMITS)
            check_same(k, &a->limits, &b->limits);
        for (size_t t = 0; t < a->n_targets; t++) {
            const struct spec_target *x = &a->targets[t], *y = &b->targets[t];

            MUST(strcmp(x->name, y->name) == 0, "I4", "target %zu has another name", t);
            if (k->scope == SPEC_TARGET)
                check_same(k, x, y);
            else if (k->scope & SPEC_LIMITS)
                check_same(k, &x->limits, &y->limits);
        }
        for (size_t p = 0; k->scope == SPEC_PLANT && p < a->n_plants; p++)
            check_same(k, &a->plants[p], &b->plants[p]);
    }
}

/* I3: what is accepted lies in its range. */
static void check_ranges(const struct spec *spec)
{
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        bool number = k->type == SPEC_DURATION || k->type == SPEC_SIZE || k->type == SPEC_COUNT ||
                      k->type == SPEC_PERCENT;

        for (size_t t = 0; number && (k->scope & SPEC_TARGET) && t < spec->n_targets; t++) {
            const struct spec_target *tg = &spec->targets[t];
            int64_t n;

            memcpy(&n,
                   k->scope & SPEC_LIMITS ? (const char *)&tg->limits + k->offset
                                          : (const char *)tg + k->offset,
                   sizeof(n));
            MUST((n == 0 && k->words != NULL) || (n >= k->min && n <= k->max), "I3", "%s is %lld",
                 k->name, (long long)n);
        }
    }
}

static void check_reload(const struct spec *spec)
{
    struct spec_faults faults = {0};
    size_t n = 0, again_n = 0;
    cleanup_free char *text = print_text(spec, &n), *again = NULL;
    struct spec *second = read_text(text, n, &faults);

    MUST(second != NULL, "I5", "the printed spec is no text");
    FZ_REACH(reloaded);
    MUST(spec_faults_errors(&faults) == 0, "I5", "the printed spec is refused: line %d: %.160s",
         faults.v[0].line, faults.v[0].msg);
    check_equal(spec, second);
    again = print_text(second, &again_n);
    MUST(n == again_n && memcmp(text, again, n) == 0, "I6", "printed twice it differs");
    fz_trace(text, n);
    spec_free(second);
    spec_faults_clear(&faults);
}

int fz_one(const uint8_t *d, size_t n)
{
    struct spec_faults faults = {0};
    struct spec *spec = read_text(d, n, &faults);
    size_t n_lines = 1;

    if (spec == NULL)
        return 0;
    for (size_t i = 0; i < n; i++)
        n_lines += d[i] == '\n';
    check_faults(&faults, n_lines);
    fz_trace_u64(faults.n);
    if (spec_faults_errors(&faults) == 0) {
        FZ_REACH(accepted);
        check_ranges(spec);
        check_reload(spec);
    } else {
        FZ_REACH(refused);
    }
    spec_free(spec);
    spec_faults_clear(&faults);
    return 0;
}
