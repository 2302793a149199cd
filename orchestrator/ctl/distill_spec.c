/* SPDX-License-Identifier: Apache-2.0 */
/* A target of a campaign file as what fuzzctl distill works on. */
#include "ctl/distill_spec.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "ctl/cmd.h"
#include "ctl/given.h"
#include "spec/spec.h"

static void take(const struct spec_target *t, char **ret_harness, struct strv *ret_args,
                 struct strv *ret_keep, int64_t *ret_timeout_ms, int64_t *ret_memory_bytes)
{
    struct stat st;

    str_set(ret_harness, t->harness);
    for (size_t i = 0; i < t->args.n; i++)
        strv_add(ret_args, t->args.v[i]);
    if (t->seeds != NULL && stat(t->seeds, &st) == 0)
        strv_add(ret_keep, t->seeds);
    if (ret_timeout_ms != NULL)
        *ret_timeout_ms = t->limits.hang_timeout_ms;
    if (ret_memory_bytes != NULL)
        *ret_memory_bytes = t->limits.memory_bytes;
}

int distill_spec_read(const char *path, const char *target, char **ret_harness,
                      struct strv *ret_args, struct strv *ret_keep, int64_t *ret_timeout_ms,
                      int64_t *ret_memory_bytes)
{
    struct spec_faults faults = {0};
    const struct spec_target *found = NULL;
    struct spec *spec = NULL;
    struct err err = {0};
    int code = EXIT_DONE;

    if (spec_load(path, NULL, &spec, &faults, &err) < 0) {
        if (faults.n > 0)
            spec_faults_print(&faults, path, stderr);
        else
            (void)cmd_fail(&cmd_distill, EXIT_USAGE, "%s", err.msg);
        spec_faults_clear(&faults);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < spec->n_targets; i++) {
        if (strcmp(spec->targets[i].name, target) == 0)
            found = &spec->targets[i];
    }
    if (found == NULL)
        code = given_no_target(&cmd_distill, NULL, spec, target);
    else
        take(found, ret_harness, ret_args, ret_keep, ret_timeout_ms, ret_memory_bytes);
    spec_free(spec);
    spec_faults_clear(&faults);
    return code;
}
