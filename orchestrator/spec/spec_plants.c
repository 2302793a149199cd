/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted bugs: sections of the spec, or of the file that "plants" names. Each is held to
 * what can be told without its builds, which are made when they are wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "spec/spec_load.h"

#define CLASSES                                                                                    \
    "invariant, determinism, oom, internal, memory, arithmetic, trap, timeout, limit, crash"

char *spec_plant_section(const struct spec *spec, size_t i, char buf[64])
{
    (void)snprintf(buf, 64, "plant %s", spec->plants[i].name);
    return buf;
}

void spec_plant_faults(const struct spec *spec, size_t i, size_t n, struct spec_faults *faults)
{
    const char *file = spec->plants_file;
    size_t root = spec->root != NULL ? strlen(spec->root) : 0;

    if (!spec->plants[i].in_file || file == NULL)
        return;
    if (root > 0 && strncmp(file, spec->root, root) == 0 && file[root] == '/')
        file += root + 1;
    spec_faults_in_file(faults, n, file);
}

bool spec_allow_ok(const char *word)
{
    static const char id[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t n = strcspn(word, ":");

    for (const char *c = CLASSES; *c != '\0';) {
        size_t len = strcspn(c, ",");

        if (len == n && memcmp(c, word, n) == 0)
            return word[n] == '\0' ||
                   (word[n + 1] != '\0' && word[n + 1 + strspn(word + n + 1, id)] == '\0');
        c += len;
        c += strspn(c, ", ");
    }
    return false;
}

void spec_plant_open(struct spec_loader *ld, int line, const char *name)
{
    struct spec *spec = ld->spec;
    char msg[160];

    ld->scope = 0;
    for (size_t i = 0; i < spec->n_plants; i++) {
        if (strcmp(spec->plants[i].name, name) != 0)
            continue;
        (void)snprintf(
            msg, sizeof(msg), "section again, first on line %d%s; allowed: one section a plant",
            spec->plants[i].line,
            ld->plants_only && !spec->plants[i].in_file ? " of the campaign's file" : "");
        spec_section_fault(ld, line, msg);
        return;
    }
    if (spec->n_plants == SPEC_PLANTS_MAX) {
        spec_section_fault(ld, line, "too many plants; allowed: at most 256");
        return;
    }
    if (!path_name_ok(name, SPEC_NAME_LEN))
        spec_section_fault(ld, line, "not a plant's name; allowed: " SPEC_NAME_TEXT);
    spec->plants = xreallocarray(spec->plants, spec->n_plants + 1, sizeof(*spec->plants));
    struct spec_plant *p = &spec->plants[spec->n_plants];
    *p = (struct spec_plant){.name = xstrdup(name), .line = line, .in_file = ld->plants_only};
    ld->section = SPEC_MARK_PLANT + (int)spec->n_plants++;
    ld->scope = SPEC_PLANT;
    struct spec_where at = {line, ld->shown, NULL, NULL};
    for (size_t i = 0; i < spec_keys_count; i++) {
        const struct spec_key *k = &spec_keys[i];
        struct strv def = {0};

        if (k->def == NULL || k->scope != SPEC_PLANT)
            continue;
        strv_add(&def, k->def);
        (void)spec_value_set(k, p, &def, &at, ld->faults);
        strv_clear(&def);
    }
}

static int line_of(const struct spec *spec, size_t i, const char *key)
{
    int line = spec_mark_line(spec, SPEC_MARK_PLANT + (int)i, spec_key_find(key, SPEC_PLANT), 0);

    return line > 0 ? line : spec->plants[i].line;
}

static bool has_target(const struct spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_targets; i++)
        if (strcmp(spec->targets[i].name, name) == 0)
            return true;
    return false;
}

static void check_plant(const struct spec *spec, size_t i, struct spec_faults *faults)
{
    const struct spec_plant *p = &spec->plants[i];
    const struct spec_key *target = spec_key_find("target", SPEC_PLANT);
    char section[64], shown[64];

    (void)spec_plant_section(spec, i, section);
    if (has_target(spec, p->name))
        spec_faults_add(faults, p->line, section, NULL, false,
                        "has the name of a target; allowed: names that no target has");
    if (spec_mark_line(spec, SPEC_MARK_PLANT + (int)i, target, 0) == 0)
        spec_faults_add(faults, p->line, section, "target", false, "is missing; allowed: %s",
                        "the name of the target that holds the bug");
    else if (p->target != NULL && !has_target(spec, p->target))
        spec_faults_add(faults, line_of(spec, i, "target"), section, "target", false,
                        "\"%s\" is no target of this campaign; allowed: the name of one",
                        spec_value_shown(shown, p->target));
    if (p->allow.n == 0)
        spec_faults_add(faults, line_of(spec, i, "allow"), section, "allow", false,
                        "is missing; allowed: CLASS or CLASS:ID, with one of " CLASSES);
    for (size_t k = 0; k < p->allow.n; k++)
        if (!spec_allow_ok(p->allow.v[k]))
            spec_faults_add(
                faults, line_of(spec, i, "allow"), section, "allow", false,
                "\"%s\" is not a verdict; allowed: CLASS or CLASS:ID, with one of " CLASSES,
                spec_value_shown(shown, p->allow.v[k]));
}

void spec_plants_check(const struct spec *spec, struct spec_faults *faults)
{
    for (size_t i = 0; i < spec->n_plants; i++) {
        size_t n = faults->n;

        check_plant(spec, i, faults);
        spec_plant_faults(spec, i, n, faults);
    }
}
