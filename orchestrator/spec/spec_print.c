/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec in force, as a spec that loads back to the same. Values that a key line
 * cannot hold go on an indented line of their own, where nothing but a leading ';',
 * '#' or '\' needs a mark.
 */
#include "spec/spec_load.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "spec/ini.h"

/* True when "key = s" reads back as s. */
static bool fits_key_line(const char *s)
{
    return *s != ';' && strstr(s, " ;") == NULL && strstr(s, "\t;") == NULL;
}

static void print_item(const char *s, FILE *out)
{
    bool mark = strchr(";#", *s) != NULL || (*s == '\\' && s[1] != '\0' && strchr(";#\\", s[1]));
    (void)fprintf(out, "    %s%s\n", mark ? "\\" : "", s);
}

static void print_text(const char *key, const char *s, FILE *out)
{
    if (fits_key_line(s)) {
        (void)fprintf(out, "%s = %s\n", key, s);
    } else {
        (void)fprintf(out, "%s =\n", key);
        print_item(s, out);
    }
}

/*
 * A path below root as relative to it, so that the text does not depend on where the tree lies. Blanks
 * around a value are no part of it: those of a path are put behind "./" and before "/.". Caller frees.
 */
static char *relative(const struct spec *spec, const char *path)
{
    const size_t n = strlen(spec->root);

    if (n > 1 && strncmp(path, spec->root, n) == 0 && path[n] == '/')
        path += n + 1;
    else if (strcmp(path, spec->root) == 0)
        path = ".";
    return xasprintf("%s%s%s", ini_is_blank(*path) ? "./" : "", path,
                     *path != '\0' && ini_is_blank(path[strlen(path) - 1]) ? "/." : "");
}

/* A value that was made absolute; root itself stays so. */
static bool is_path(const struct spec_key *k)
{
    return (k->type == SPEC_PATH_DIR || k->type == SPEC_PATH_FILE ||
            k->type == SPEC_PATH_PROGRAM) &&
           strcmp(k->name, "root") != 0;
}

static void print_number(const struct spec *spec, const struct spec_key *k, int64_t n, FILE *out)
{
    char buf[32];
    bool seed = k->scope == SPEC_CAMPAIGN && strcmp(k->name, "seed") == 0;
    if (k->words != NULL && n == 0 && !(seed && spec->has_seed))
        (void)fprintf(out, "%s = %s\n", k->name, k->words);
    else if (k->type == SPEC_DURATION)
        (void)fprintf(out, "%s = %s\n", k->name, format_duration(buf, sizeof(buf), n));
    else if (k->type == SPEC_SIZE)
        (void)fprintf(out, "%s = %s\n", k->name, format_size(buf, sizeof(buf), n));
    else
        (void)fprintf(out, "%s = %" PRId64 "\n", k->name, n);
}

static void print_list(const struct spec *spec, const struct spec_key *k, const struct strv *list,
                       FILE *out)
{
    (void)fprintf(out, "%s =\n", k->name);
    for (size_t i = 0; i < list->n; i++) {
        cleanup_free char *path = k->type == SPEC_PATH_LIST ? relative(spec, list->v[i]) : NULL;

        print_item(path != NULL ? path : list->v[i], out);
    }
}

static void print_words(const struct spec_key *k, const struct strv *words, FILE *out)
{
    (void)fprintf(out, "%s =", k->name);
    for (size_t i = 0; i < words->n; i++)
        (void)fprintf(out, " %s", words->v[i]);
    (void)fputc('\n', out);
}

static void print_key(const struct spec *spec, const struct spec_key *k, const void *base,
                      FILE *out)
{
    const void *field = (const char *)base + k->offset;
    const char *text;
    int word;
    int64_t n;
    switch (k->type) {
    case SPEC_DURATION:
    case SPEC_SIZE:
    case SPEC_COUNT:
    case SPEC_PERCENT:
        memcpy(&n, field, sizeof(n));
        print_number(spec, k, n, out);
        return;
    case SPEC_ENUM:
        memcpy(&word, field, sizeof(word));
        text = k->words;
        for (; word > 0 && strchr(text, '|') != NULL; word--)
            text = strchr(text, '|') + 1;
        (void)fprintf(out, "%s = %.*s\n", k->name, (int)strcspn(text, "|"), text);
        return;
    case SPEC_LIST:
    case SPEC_PATH_LIST:
        print_list(spec, k, field, out);
        return;
    case SPEC_WORDS:
        print_words(k, field, out);
        return;
    case SPEC_NAME:
    case SPEC_CORES:
    case SPEC_TEXT:
    case SPEC_PATH_DIR:
    case SPEC_PATH_FILE:
    case SPEC_PATH_PROGRAM:
        text = *(const char *const *)field;
        if (text == NULL) {
            (void)fprintf(out, "# %s is not set\n", k->name);
        } else {
            cleanup_free char *path = is_path(k) ? relative(spec, text) : NULL;

            print_text(k->name, path != NULL ? path : text, out);
        }
        return;
    }
}

void spec_print_effective(const struct spec *spec, FILE *out)
{
    (void)fprintf(out, "[campaign]\n");
    for (size_t i = 0; i < spec_keys_count; i++) {
        if (spec_keys[i].scope == SPEC_CAMPAIGN)
            print_key(spec, &spec_keys[i], spec, out);
    }
    (void)fprintf(out, "\n[limits]\n");
    for (size_t i = 0; i < spec_keys_count; i++) {
        if (spec_keys[i].scope & SPEC_LIMITS)
            print_key(spec, &spec_keys[i], &spec->limits, out);
    }
    for (size_t t = 0; t < spec->n_targets; t++) {
        const struct spec_target *tg = &spec->targets[t];
        (void)fprintf(out, "\n[target %s]\n", tg->name);
        for (size_t i = 0; i < spec_keys_count; i++) {
            if (spec_keys[i].scope == SPEC_TARGET)
                print_key(spec, &spec_keys[i], tg, out);
        }
        for (size_t i = 0; i < spec_keys_count; i++) {
            if (spec_keys[i].scope == (SPEC_TARGET | SPEC_LIMITS))
                print_key(spec, &spec_keys[i], &tg->limits, out);
        }
    }
    /* Those of plants_file come with it. */
    for (size_t p = 0; p < spec->n_plants; p++) {
        if (spec->plants[p].in_file)
            continue;
        (void)fprintf(out, "\n[plant %s]\n", spec->plants[p].name);
        for (size_t i = 0; i < spec_keys_count; i++) {
            if (spec_keys[i].scope == SPEC_PLANT)
                print_key(spec, &spec_keys[i], &spec->plants[p], out);
        }
    }
}
