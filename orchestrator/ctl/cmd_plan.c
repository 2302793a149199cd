/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl plan: every instance a spec gives, exactly as it would be run, and what was left out. Starts and writes nothing. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"
#include "plan/host.h"

static int plan_exec(struct cmd_env *env, int argc, char **argv)
{
    struct spec_overrides ov = {0};
    struct spec_faults faults = {0};
    struct plan *plan = NULL;
    struct spec *spec = NULL;
    struct err err = {0};
    const char *file = NULL;
    int code = cmd_spec_options(&cmd_plan, argc, argv, &ov, &file), r;

    if (code != EXIT_DONE)
        return code;
    r = plan_from_spec_file(file, &ov, env->state_dir, true, &plan, &spec, &faults, &err);
    if (r == 0 && env->json) {
        json_t *j = plan_to_json(plan);

        cmd_print_json(j);
        json_decref(j);
    } else if (r == 0) {
        plan_print(plan, stdout);
        if (!spec->has_seed)
            printf("\nnote: the spec names no seed; each run draws its own (0 is shown here)\n");
    }
    if (r < 0 || env->json)
        spec_faults_print(&faults, file, stderr);
    if (r < 0 && spec_faults_errors(&faults) > 0)
        code = EXIT_USAGE;
    else if (r < 0)
        code = cmd_fail(&cmd_plan, r == -ENOENT || r == -EINVAL ? EXIT_USAGE : EXIT_ERROR, "%s",
                        err.msg);
    plan_free(plan);
    spec_free(spec);
    spec_faults_clear(&faults);
    return code;
}

const struct cmd_entry cmd_plan = {
    .name = "plan",
    .usage = "FILE [--json] [--seed N] [--cores N] [--budget TIME] [--execs N] [--name NAME]",
    .help = "show the instances a spec gives: role, command, environment, limits",
    .exec = plan_exec,
};
