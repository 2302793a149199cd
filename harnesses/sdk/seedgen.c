/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main of every seed generator.
 *   gen_seeds DIR           writes DIR/<target>/NNN-slug and DIR/<target>-min/...
 *   gen_seeds --check DIR   compares byte for byte; also finds files too many
 * Exit status: 0 done or equal, 1 different, 2 usage or I/O error.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sdk/seedgen.h"

#define SET_MAX        4
#define NAME_MAX_BYTES 128

struct seed {
    char name[NAME_MAX_BYTES];
    uint8_t *d;
    size_t n;
};

struct set {
    const char *suffix;
    struct seed *seeds;
    size_t count;
};

static struct set sets[SET_MAX];
static size_t set_count;

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "gen_seeds: %s: %s\n", what, strerror(errno));
    exit(2);
}

static struct set *set_of(const char *suffix)
{
    for (size_t i = 0; i < set_count; i++) {
        if (strcmp(sets[i].suffix, suffix) == 0)
            return &sets[i];
    }
    if (set_count == SET_MAX) {
        errno = E2BIG;
        die(suffix);
    }
    sets[set_count].suffix = suffix;
    return &sets[set_count++];
}

void seed_add(const char *suffix, const void *d, size_t n, const char *fmt, ...)
{
    struct set *set = set_of(suffix);
    struct seed *s;
    va_list ap;
    int len;

    set->seeds = reallocarray(set->seeds, set->count + 1, sizeof(*set->seeds));
    if (set->seeds == NULL)
        die("seed_add");
    s = &set->seeds[set->count];
    s->d = malloc(n + 1);
    if (s->d == NULL)
        die("seed_add");
    if (n > 0)
        memcpy(s->d, d, n);
    s->n = n;
    len = snprintf(s->name, sizeof(s->name), "%03zu-", set->count);
    va_start(ap, fmt);
    vsnprintf(s->name + len, sizeof(s->name) - (size_t)len, fmt, ap);
    va_end(ap);
    set->count++;
}

static void dir_path(char *buf, size_t size, const char *dir, const struct set *set)
{
    if ((size_t)snprintf(buf, size, "%s/%s%s", dir, seed_target, set->suffix) >= size) {
        errno = ENAMETOOLONG;
        die(dir);
    }
}

static void file_path(char *buf, size_t size, const char *dir, const char *name)
{
    if ((size_t)snprintf(buf, size, "%s/%s", dir, name) >= size) {
        errno = ENAMETOOLONG;
        die(dir);
    }
}

static bool file_equals(const char *path, const struct seed *s)
{
    FILE *f = fopen(path, "rb");
    uint8_t *have;
    size_t n;
    bool same;

    if (f == NULL)
        return false;
    have = malloc(s->n + 1);
    if (have == NULL)
        die(path);
    n = fread(have, 1, s->n + 1, f);
    same = n == s->n && memcmp(have, s->d, n) == 0;
    free(have);
    fclose(f);
    return same;
}

static void file_write(const char *path, const struct seed *s)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL || fwrite(s->d, 1, s->n, f) != s->n || fclose(f) != 0)
        die(path);
}

static bool set_has(const struct set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->seeds[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Counts the files that the generator would not write. */
static size_t strangers_report(const struct set *set, const char *dir)
{
    struct dirent *e;
    size_t strangers = 0;
    DIR *d = opendir(dir);

    if (d == NULL)
        die(dir);
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || set_has(set, e->d_name))
            continue;
        printf("%s/%s: not a generated seed\n", dir, e->d_name);
        strangers++;
    }
    closedir(d);
    return strangers;
}

static size_t set_check(const struct set *set, const char *dir)
{
    size_t wrong = 0;

    for (size_t i = 0; i < set->count; i++) {
        char path[4096];

        file_path(path, sizeof(path), dir, set->seeds[i].name);
        if (!file_equals(path, &set->seeds[i])) {
            printf("%s: differs or is missing\n", path);
            wrong++;
        }
    }
    return wrong + strangers_report(set, dir);
}

static void set_write(const struct set *set, const char *dir)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        die(dir);
    for (size_t i = 0; i < set->count; i++) {
        char path[4096];

        file_path(path, sizeof(path), dir, set->seeds[i].name);
        if (!file_equals(path, &set->seeds[i]))
            file_write(path, &set->seeds[i]);
    }
}

int main(int argc, char **argv)
{
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    size_t wrong = 0;

    if (!check && (argc != 2 || argv[1][0] == '-')) {
        fprintf(stderr, "usage: gen_seeds [--check] DIR\n");
        return 2;
    }
    seeds_generate();
    for (size_t i = 0; i < set_count; i++) {
        char dir[4000];

        dir_path(dir, sizeof(dir), argv[argc - 1], &sets[i]);
        if (check)
            wrong += set_check(&sets[i], dir);
        else
            set_write(&sets[i], dir);
        printf("%s%s: %zu seeds\n", seed_target, sets[i].suffix, sets[i].count);
    }
    return wrong > 0 ? 1 : 0;
}
