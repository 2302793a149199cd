/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main of every seed generator.
 *   gen_seeds DIR           writes DIR/<target>/NNN-slug and DIR/<target>-min/...
 *   gen_seeds --check DIR   compares byte for byte; also finds files too many
 * Beside the generated seeds a folder may hold promoted ones: those that its README.txt
 * records as NAME TAB SHA256 TAB and more, with exactly these bytes.
 * Exit status: 0 done or equal, 1 different, 2 usage or I/O error.
 */
#include <dirent.h>
#include <errno.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sdk/seedgen.h"

#define SET_MAX        4
#define NAME_MAX_BYTES 128
#define RECORDS_NAME   "README.txt"
#define RECORD_TABS    6 /* between its fields */

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

/* A record of the folder's README.txt: `name` and `hash` are cut out of line. */
static bool record_split(char *line, const char **name, const char **hash)
{
    char *first = strchr(line, '\t');
    size_t tabs = 0;

    for (const char *p = line; *p != '\0'; p++)
        tabs += *p == '\t';
    if (first == NULL || tabs != RECORD_TABS || strlen(first) < 66 || first[65] != '\t' ||
        strspn(first + 1, "0123456789abcdef") != 64)
        return false;
    *first = first[65] = '\0';
    *name = line;
    *hash = first + 1;
    return true;
}

/* Compares the recorded files with their records; their names go to `promoted`. */
static size_t records_check(const char *dir, const struct set *set, struct set *promoted)
{
    char path[4096], hash[SHA256_DIGEST_STRING_LENGTH], *line = NULL;
    const char *name, *want;
    size_t cap = 0, wrong = 0;
    FILE *f;

    file_path(path, sizeof(path), dir, RECORDS_NAME);
    f = fopen(path, "r");
    if (f == NULL && errno != ENOENT)
        die(path);
    while (f != NULL && getline(&line, &cap, f) > 0) {
        if (!record_split(line, &name, &want))
            continue;
        file_path(path, sizeof(path), dir, name);
        if (set_has(set, name) || set_has(promoted, name)) {
            printf("%s: recorded as promoted, but it is another seed's name\n", path);
            wrong++;
        } else if (strchr(name, '/') != NULL || SHA256File(path, hash) == NULL ||
                   strcmp(hash, want) != 0) {
            printf("%s: a promoted seed differs from its record or is missing\n", path);
            wrong++;
        }
        promoted->seeds = reallocarray(promoted->seeds, promoted->count + 1, sizeof(struct seed));
        if (promoted->seeds == NULL)
            die(dir);
        snprintf(promoted->seeds[promoted->count++].name, NAME_MAX_BYTES, "%s", name);
    }
    if (f != NULL)
        fclose(f);
    free(line);
    return wrong;
}

/* Counts the files that the generator would not write and nobody promoted. */
static size_t strangers_report(const struct set *set, const struct set *promoted, const char *dir)
{
    struct dirent *e;
    size_t strangers = 0;
    DIR *d = opendir(dir);

    if (d == NULL)
        die(dir);
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, RECORDS_NAME) == 0 || set_has(set, e->d_name) ||
            set_has(promoted, e->d_name))
            continue;
        printf("%s/%s: neither a generated seed nor a recorded one\n", dir, e->d_name);
        strangers++;
    }
    closedir(d);
    return strangers;
}

static size_t set_check(const struct set *set, const char *dir, size_t *ret_promoted)
{
    struct set promoted = {0};
    size_t wrong = 0;

    for (size_t i = 0; i < set->count; i++) {
        char path[4096];

        file_path(path, sizeof(path), dir, set->seeds[i].name);
        if (!file_equals(path, &set->seeds[i])) {
            printf("%s: differs or is missing\n", path);
            wrong++;
        }
    }
    wrong += records_check(dir, set, &promoted);
    wrong += strangers_report(set, &promoted, dir);
    *ret_promoted = promoted.count;
    free(promoted.seeds);
    return wrong;
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
        size_t promoted = 0;

        dir_path(dir, sizeof(dir), argv[argc - 1], &sets[i]);
        if (check)
            wrong += set_check(&sets[i], dir, &promoted);
        else
            set_write(&sets[i], dir);
        printf("%s%s: %zu seeds", seed_target, sets[i].suffix, sets[i].count);
        if (promoted > 0)
            printf(", %zu promoted", promoted);
        putchar('\n');
    }
    return wrong > 0 ? 1 : 0;
}
