/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "after" says, over the whole spec: only there it shows whether a name is a
 * target, and whether targets wait for each other. A circle is told once, at the
 * first of its targets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/spec_load.h"
#include "spec/waves.h"

static size_t target_index(const struct spec *spec, const char *name)
{
    size_t i = 0;

    while (i < spec->n_targets && strcmp(spec->targets[i].name, name) != 0)
        i++;
    return i;
}

/* True when it waits for itself: a circle that needs no second line. */
static bool check_names(const struct spec *spec, size_t i, int line, struct spec_faults *faults)
{
    const struct spec_target *t = &spec->targets[i];
    char section[64], shown[64];
    bool itself = false;

    (void)spec_target_section(spec, i, section);
    for (size_t k = 0; k < t->after.n; k++) {
        const char *name = t->after.v[k];
        bool again = false;

        for (size_t m = 0; m < k; m++)
            again |= strcmp(t->after.v[m], name) == 0;
        itself |= strcmp(name, t->name) == 0;
        if (strcmp(name, t->name) == 0)
            spec_faults_add(faults, line, section, "after", false,
                            "a target cannot wait for itself; allowed: names of other targets");
        else if (again)
            spec_faults_add(faults, line, section, "after", false,
                            "\"%s\" stands there twice; allowed: each target once",
                            spec_value_shown(shown, name));
        else if (target_index(spec, name) == spec->n_targets)
            spec_faults_add(faults, line, section, "after", false,
                            "\"%s\" is no target of this file; allowed: names of its other "
                            "targets, separated by blanks",
                            spec_value_shown(shown, name));
    }
    return itself;
}

void spec_after_check(const struct spec *spec, struct spec_faults *faults)
{
    const struct spec_key *k = spec_key_find("after", SPEC_TARGET);
    struct wave_node *nodes = xcalloc(spec->n_targets + 1, sizeof(*nodes));
    bool *told = xcalloc(spec->n_targets + 1, sizeof(*told));

    for (size_t i = 0; i < spec->n_targets; i++) {
        told[i] = check_names(spec, i, spec_mark_line(spec, (int)i, k, 0), faults);
        nodes[i] = (struct wave_node){spec->targets[i].name, &spec->targets[i].after};
    }
    for (size_t i = 0; i < spec->n_targets; i++) {
        cleanup_free char *cycle = told[i] ? NULL : waves_cycle(nodes, spec->n_targets, i);
        char section[64];

        if (cycle == NULL)
            continue;
        spec_faults_add(faults, spec_mark_line(spec, (int)i, k, 0),
                        spec_target_section(spec, i, section), "after", false,
                        "targets wait for each other: %s; allowed: no circle", cycle);
        for (size_t m = i; m < spec->n_targets; m++) {
            cleanup_free char *word = xasprintf(" %s ", spec->targets[m].name);
            cleanup_free char *padded = xasprintf(" %s ", cycle);

            told[m] |= strstr(padded, word) != NULL;
        }
    }
    free(nodes);
    free(told);
}
