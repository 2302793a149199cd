/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a spec to keys with values. A key is complete only when the next begins,
 * because indented lines may continue it. Each key that was given leaves a mark, also
 * when its value is refused, so that nothing is reported twice.
 */
#include "spec/spec_load.h"

#include <bsd/string.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "spec/ini.h"

#define SECTIONS "[campaign], [limits], [target NAME], [plant NAME]"

static void *base_of(struct spec_loader *ld, const struct spec_key *k)
{
    if (ld->section == SPEC_MARK_CAMPAIGN)
        return ld->spec;
    if (ld->section == SPEC_MARK_LIMITS)
        return &ld->spec->limits;
    if (ld->section >= SPEC_MARK_PLANT)
        return &ld->spec->plants[ld->section - SPEC_MARK_PLANT];
    struct spec_target *t = &ld->spec->targets[ld->section];
    return k->scope & SPEC_LIMITS ? (void *)&t->limits : (void *)t;
}

static void add_mark(struct spec_loader *ld, const struct spec_key *k, int item, int line)
{
    struct spec *spec = ld->spec;
    spec->marks = xreallocarray(spec->marks, spec->n_marks + 1, sizeof(*spec->marks));
    spec->marks[spec->n_marks++] =
        (struct spec_mark){ld->section, (int)(k - spec_keys), item, line};
}

/* The key is complete: checks the number of its values and sets it. */
static void finish_key(struct spec_loader *ld)
{
    const struct spec_key *k = ld->key;
    bool list =
        k != NULL && (k->type == SPEC_LIST || k->type == SPEC_PATH_LIST || k->type == SPEC_WORDS);
    char allowed[160];
    if (k == NULL)
        return;
    struct spec_where at = {ld->key_line, ld->shown, k->name, ld->lines};
    if (!list && ld->values.n == 0) {
        spec_faults_add(ld->faults, ld->key_line, ld->shown, k->name, false,
                        "has no value; allowed: %s",
                        spec_value_allowed(k, allowed, sizeof(allowed)));
    } else if (!list && ld->values.n > 1) {
        spec_faults_add(
            ld->faults, ld->lines[1], ld->shown, k->name, false,
            "an indented line continues a key that takes one value; allowed: one value, "
            "and keys that start in the first column");
    } else if (list && ld->values.n > SPEC_ITEMS_MAX) {
        spec_faults_add(ld->faults, ld->lines[SPEC_ITEMS_MAX], ld->shown, k->name, false,
                        "too many items; allowed: at most %d", SPEC_ITEMS_MAX);
    } else if (spec_value_set(k, base_of(ld, k), &ld->values, &at, ld->faults) == 0) {
        for (size_t i = 0; k->type == SPEC_PATH_LIST && i < ld->values.n; i++)
            add_mark(ld, k, (int)i + 1, ld->lines[i]);
        if (ld->section >= 0 && ld->section < SPEC_MARK_PLANT)
            ld->spec->targets[ld->section].set |= UINT64_C(1) << (k - spec_keys);
        if (k->scope == SPEC_CAMPAIGN && strcmp(k->name, "seed") == 0)
            ld->spec->has_seed = strcmp(ld->values.v[0], "random") != 0;
    }
    strv_clear(&ld->values);
    ld->key = NULL;
}

static void add_value(struct spec_loader *ld, int line, const char *value)
{
    if (*value == '\0' || ld->values.n > SPEC_ITEMS_MAX)
        return;
    ld->lines[ld->values.n] = line;
    strv_add(&ld->values, value);
}

/* An item that looks like a key or a section was probably meant as one. */
static void on_more(struct spec_loader *ld, int line, const char *item)
{
    char word[INI_NAME_MAX + 1], shown[64];
    size_t len = strspn(item, "abcdefghijklmnopqrstuvwxyz_");
    if (ld->key == NULL)
        return;
    add_value(ld, line, item);
    if (ld->key->type != SPEC_LIST && ld->key->type != SPEC_PATH_LIST)
        return;
    bool meant = strncmp(item, "[target ", 8) == 0 || strncmp(item, "[plant ", 7) == 0 ||
                 strcmp(item, "[limits]") == 0 || strcmp(item, "[campaign]") == 0;
    if (len > 0 && len <= INI_NAME_MAX && item[len] == ' ') {
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, item);
        meant = item[len + strspn(item + len, " ")] == '=' && spec_key_find(word, ~0U) != NULL;
    }
    if (meant)
        spec_faults_add(
            ld->faults, line, ld->shown, ld->key->name, true,
            "\"%s\" is an item here, as its line is indented; keys and sections start in "
            "the first column",
            spec_value_shown(shown, item));
}

static void key_names(unsigned scope, char *buf, size_t size)
{
    buf[0] = '\0';
    /* In a target its own keys come first. */
    for (int alone = 1; alone >= 0; alone--) {
        for (size_t i = 0; i < spec_keys_count; i++) {
            if (!(spec_keys[i].scope & scope) ||
                (scope != SPEC_LIMITS && spec_keys[i].scope == scope) != alone)
                continue;
            if (buf[0] != '\0')
                (void)strlcat(buf, ", ", size);
            (void)strlcat(buf, spec_keys[i].name, size);
        }
    }
}

static void unknown_key(struct spec_loader *ld, int line, const char *key)
{
    char names[400];
    const struct spec_key *near = spec_key_nearest(key, ld->scope);
    const struct spec_key *elsewhere = spec_key_find(key, ~0U);
    key_names(ld->scope, names, sizeof(names));
    if (elsewhere != NULL)
        spec_faults_add(ld->faults, line, ld->shown, key, false, "belongs to %s; allowed here: %s",
                        elsewhere->scope & SPEC_CAMPAIGN ? "[campaign]"
                        : elsewhere->scope & SPEC_LIMITS ? "[limits]"
                        : elsewhere->scope & SPEC_PLANT  ? "[plant NAME]"
                                                         : "[target NAME]",
                        names);
    else if (near != NULL)
        spec_faults_add(ld->faults, line, ld->shown, key, false,
                        "unknown key, did you mean \"%s\"? allowed: %s", near->name, names);
    else
        spec_faults_add(ld->faults, line, ld->shown, key, false, "unknown key; allowed: %s", names);
}

static void on_key(struct spec_loader *ld, const struct ini_event *ev)
{
    if (ev->section == NULL && !ld->told_no_section) {
        ld->told_no_section = true;
        spec_faults_add(ld->faults, ev->line, NULL, ev->key, false,
                        "a key before any section; allowed: %s first",
                        ld->plants_only ? "[NAME] of a planted bug" : SECTIONS);
    }
    if (ev->section == NULL || ld->scope == 0)
        return;
    const struct spec_key *k = spec_key_find(ev->key, ld->scope);
    if (k == NULL) {
        unknown_key(ld, ev->line, ev->key);
        return;
    }
    struct spec *spec = ld->spec;
    int first = spec_mark_line(spec, ld->section, k, 0);
    if (first > 0) {
        spec_faults_add(ld->faults, ev->line, ld->shown, k->name, false,
                        "set again, first on line %d; allowed: once a section", first);
        return;
    }
    add_mark(ld, k, 0, ev->line);
    ld->key = k;
    ld->key_line = ev->line;
    add_value(ld, ev->line, ev->value);
    if (k->type == SPEC_LIST && strcmp(k->name, "args") == 0 && strpbrk(ev->value, " \t") != NULL) {
        char shown[64];
        spec_faults_add(ld->faults, ev->line, ld->shown, k->name, true,
                        "\"%s\" is one argument; to have several write one an indented line, to "
                        "have this one indent it too",
                        spec_value_shown(shown, ev->value));
    }
}

void spec_section_fault(struct spec_loader *ld, int line, const char *msg)
{
    ld->bad_sections = true;
    spec_faults_add(ld->faults, line, ld->shown, NULL, false, "%s", msg);
}

static void open_target(struct spec_loader *ld, int line, const char *name)
{
    struct spec *spec = ld->spec;
    char msg[160];
    ld->scope = SPEC_TARGET;
    for (size_t i = 0; i < spec->n_targets; i++) {
        if (strcmp(spec->targets[i].name, name) != 0)
            continue;
        ld->section = (int)i;
        (void)snprintf(msg, sizeof(msg),
                       "section again, first on line %d; allowed: one section a target",
                       spec->targets[i].line);
        spec_section_fault(ld, line, msg);
        return;
    }
    if (!path_name_ok(name, SPEC_NAME_LEN))
        spec_section_fault(ld, line, "not a target's name; allowed: " SPEC_NAME_TEXT);
    if (spec->n_targets == SPEC_TARGETS_MAX) {
        ld->scope = 0;
        spec_section_fault(ld, line, "too many targets; allowed: at most 256");
        return;
    }
    spec->targets = xreallocarray(spec->targets, spec->n_targets + 1, sizeof(*spec->targets));
    struct spec_target *t = &spec->targets[spec->n_targets];
    *t = (struct spec_target){.name = xstrdup(name), .line = line};
    ld->section = (int)spec->n_targets++;
    struct spec_where at = {line, ld->shown, NULL, NULL};
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        if (k->def == NULL || k->scope != SPEC_TARGET)
            continue;
        struct strv def = {0};
        strv_add(&def, k->def);
        (void)spec_value_set(k, t, &def, &at, ld->faults);
        strv_clear(&def);
    }
}

/* There each section is a plant; the word may be left out. */
static void open_in_plants_file(struct spec_loader *ld, const struct ini_event *ev)
{
    const char *name = ev->section;

    if (strcmp(name, "campaign") == 0 || strcmp(name, "limits") == 0 ||
        strncmp(name, "target ", 7) == 0) {
        spec_section_fault(ld, ev->line,
                           "belongs to a campaign's own file; allowed here: [NAME] "
                           "of a planted bug");
        return;
    }
    if (strncmp(name, "plant ", 6) == 0)
        name += 6 + strspn(name + 6, " \t");
    (void)snprintf(ld->shown, sizeof(ld->shown), "plant %s", name);
    spec_plant_open(ld, ev->line, name);
}

static void on_section(struct spec_loader *ld, const struct ini_event *ev)
{
    static const char *const plain[] = {"campaign", "limits"};
    const char *name = ev->section;
    char msg[200];
    (void)strlcpy(ld->shown, name, sizeof(ld->shown));
    ld->scope = 0;
    if (ld->plants_only) {
        open_in_plants_file(ld, ev);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (strcmp(name, plain[i]) != 0)
            continue;
        ld->scope = i == 0 ? SPEC_CAMPAIGN : SPEC_LIMITS;
        ld->section = i == 0 ? SPEC_MARK_CAMPAIGN : SPEC_MARK_LIMITS;
        if (ld->first_line[i] > 0) {
            (void)snprintf(msg, sizeof(msg), "section again, first on line %d; allowed: once",
                           ld->first_line[i]);
            spec_section_fault(ld, ev->line, msg);
        } else {
            ld->first_line[i] = ev->line;
        }
        return;
    }
    size_t word = strcspn(name, " \t");
    const char *rest = name + word + strspn(name + word, " \t");
    if (word == 6 && memcmp(name, "target", 6) == 0) {
        (void)snprintf(ld->shown, sizeof(ld->shown), *rest != '\0' ? "target %s" : "target%s",
                       rest);
        open_target(ld, ev->line, rest);
        return;
    }
    if (word == 5 && memcmp(name, "plant", 5) == 0) {
        (void)snprintf(ld->shown, sizeof(ld->shown), *rest != '\0' ? "plant %s" : "plant%s", rest);
        spec_plant_open(ld, ev->line, rest);
        return;
    }
    char first[INI_NAME_MAX + 1];
    (void)snprintf(first, sizeof(first), "%.*s", (int)word, name);
    const char *near = parse_distance(first, "campaign") < 3 ? ", did you mean [campaign]?"
                       : parse_distance(first, "limits") < 3 ? ", did you mean [limits]?"
                       : parse_distance(first, "target") < 3 ? ", did you mean [target NAME]?"
                       : parse_distance(first, "plant") < 2  ? ", did you mean [plant NAME]?"
                                                             : ";";
    (void)snprintf(msg, sizeof(msg), "unknown section%s allowed: " SECTIONS, near);
    spec_section_fault(ld, ev->line, msg);
}

static void on_event(void *arg, const struct ini_event *ev)
{
    struct spec_loader *ld = arg;
    if (ev->kind == INI_MORE) {
        on_more(ld, ev->line, ev->value);
        return;
    }
    finish_key(ld);
    if (ev->kind == INI_KEY)
        on_key(ld, ev);
    else if (ev->kind == INI_SECTION)
        on_section(ld, ev);
    else
        spec_faults_add(ld->faults, ev->line, ev->section != NULL ? ld->shown : NULL, NULL, false,
                        "%s", ev->value);
}

void spec_lines_read(struct spec_loader *ld, const char *text, size_t size)
{
    ini_read(text, size, on_event, ld);
    finish_key(ld);
}
