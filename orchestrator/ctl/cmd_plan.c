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
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"cores", required_argument, NULL, 'c'},
                                            {"budget", required_argument, NULL, 'b'},
                                            {"execs", required_argument, NULL, 'e'},
                                            {"name", required_argument, NULL, 'n'},
                                            {0}};
    struct spec_overrides ov = {0};
    struct spec_faults faults = {0};
    struct plan *plan = NULL;
    struct spec *spec = NULL;
    struct err err = {0};
    bool json = env->json;
    int opt, r, code = EXIT_DONE;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'j':
            json = true;
            break;
        case 's':
            ov.seed = optarg;
            break;
        case 'c':
            ov.cores = optarg;
            break;
        case 'b':
            ov.budget = optarg;
            break;
        case 'e':
            ov.execs = optarg;
            break;
        case 'n':
            ov.name = optarg;
            break;
        default:
            return cmd_usage(&cmd_plan);
        }
    }
    if (argc - optind != 1)
        return cmd_usage(&cmd_plan);

    r = plan_from_spec_file(argv[optind], &ov, env->state_dir, true, &plan, &spec, &faults, &err);
    if (r == 0 && json) {
        json_t *j = plan_to_json(plan);

        cmd_print_json(j);
        json_decref(j);
    } else if (r == 0) {
        plan_print(plan, stdout);
        if (!spec->has_seed)
            printf("\nnote: the spec names no seed; each run draws its own (0 is shown here)\n");
    }
    if (r < 0 || json)
        spec_faults_print(&faults, argv[optind], stderr);
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
    .usage = "FILE [--json] [--seed N] [--cores N] [--budget T] [--execs N] [--name NAME]",
    .help = "show the instances a spec gives: role, command, environment, limits",
    .exec = plan_exec,
};
