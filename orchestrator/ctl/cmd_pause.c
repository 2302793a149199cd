/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl pause: freezes a campaign where it stands; its clocks stand with it until "resume". */
#include <stdlib.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"
#include "store/runs.h"

/* Nothing to talk to: a name is either known and has ended, or unknown. */
static int pause_nothing(struct cmd_env *env, const char *name)
{
    struct run_row row = {0};
    int code = EXIT_DONE;

    if (name == NULL)
        return cmd_fail(&cmd_pause, EXIT_NO_CAMPAIGN, "no campaign is running");
    code = cmd_run_find(&cmd_pause, env, name, NULL, &row);
    if (code != EXIT_DONE)
        return code;
    run_row_clear(&row);
    return cmd_fail(&cmd_pause, EXIT_ERROR, "campaign %s is not running", name);
}

static int pause_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", NULL};
    int code = cmd_plain(&cmd_pause, NULL, argc, argv, names, 0);

    if (code != EXIT_DONE)
        return code;
    const char *name = argv[optind];
    struct client *c = NULL;
    code = cmd_live(&cmd_pause, env, &c);
    if (code != EXIT_DONE)
        return code;
    if (c == NULL)
        return pause_nothing(env, name);

    json_t *args = json_object();
    if (name != NULL)
        json_object_set_new(args, "name", json_string(name));
    json_t *answer = NULL;
    code = cmd_call(&cmd_pause, env, &c, "pause", args, -1, &answer);
    client_close(c);
    if (code != EXIT_DONE)
        return code;
    if (answer == NULL || json_integer_value(json_object_get(answer, "exit")) == EXIT_NO_CAMPAIGN) {
        json_decref(answer);
        return pause_nothing(env, name);
    }
    code = cmd_answer(&cmd_pause, answer);
    if (code == EXIT_DONE && env->json) {
        cmd_print_json(answer);
    } else if (code == EXIT_DONE && !env->quiet) {
        const char *which = json_string_value(json_object_get(answer, "campaign"));

        printf("campaign %s %s\n", which != NULL ? which : "?",
               json_is_true(json_object_get(answer, "changed")) ? "paused" : "is paused already");
    }
    if (code == EXIT_DONE)
        code = cmd_unstored(&cmd_pause, answer);
    json_decref(answer);
    return code;
}

const struct cmd_entry cmd_pause = {
    .name = "pause",
    .usage = "[NAME]",
    .help = "freeze a campaign and its clocks until resume",
    .exec = pause_exec,
};
