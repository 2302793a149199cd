/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl stop: ends a campaign, its artifacts collected and triaged (at most 30 s); the verdict is then "interrupted" or "findings". */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"

static void nothing_print(const struct cmd_env *env, const char *name)
{
    if (env->json) {
        json_t *j = json_pack("{s:i, s:b, s:s?, s:n}", "version", 1, "ok", true, "campaign", name,
                              "verdict");

        cmd_print_json(j);
        json_decref(j);
    } else if (!env->quiet && name == NULL) {
        puts("nothing is running");
    } else if (!env->quiet) {
        printf("campaign %s is not running\n", name);
    }
}

/* Nothing to talk to: a name is either known and ended, or unknown. */
static int stop_nothing(struct cmd_env *env, const char *name)
{
    if (name == NULL) {
        nothing_print(env, NULL);
        return EXIT_DONE;
    }
    struct run_row row = {0};
    int code = cmd_run_find(&cmd_stop, env, name, NULL, &row);
    if (code != EXIT_DONE)
        return code;
    nothing_print(env, name);
    run_row_clear(&row);
    return EXIT_DONE;
}

static int stop_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {{"all", no_argument, NULL, 'a'}, {0}};
    static const char *const names[] = {"campaign", NULL};
    bool all = false;
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt != 'a')
            return cmd_usage(&cmd_stop);
        all = true;
    }
    const char *name = argv[optind];
    int code = cmd_words(&cmd_stop, NULL, argv + optind, names, 0);

    if (code == EXIT_DONE && all && name != NULL)
        code = cmd_misuse(&cmd_stop, NULL, "--all and %s do not go together", name);
    if (code != EXIT_DONE)
        return code;

    struct client *c = NULL;
    code = cmd_live(&cmd_stop, env, &c);
    if (code != EXIT_DONE)
        return code;
    if (c == NULL)
        return stop_nothing(env, name);

    json_t *args = json_object();
    if (name != NULL)
        json_object_set_new(args, "name", json_string(name));
    if (all)
        json_object_set_new(args, "all", json_true());
    json_t *answer = NULL;
    code = cmd_call(&cmd_stop, env, &c, "stop", args, -1, &answer);
    client_close(c);
    if (code != EXIT_DONE)
        return code;
    if (answer == NULL || json_integer_value(json_object_get(answer, "exit")) == EXIT_NO_CAMPAIGN) {
        json_decref(answer);
        return stop_nothing(env, name);
    }
    code = cmd_answer(&cmd_stop, answer);
    if (code == EXIT_DONE && env->json) {
        cmd_print_json(answer);
    } else if (code == EXIT_DONE && !env->quiet) {
        const char *verdict = json_string_value(json_object_get(answer, "verdict"));
        const char *which = json_string_value(json_object_get(answer, "campaign"));

        if (verdict != NULL)
            printf("campaign %s stopped: %s\n", which != NULL ? which : name, verdict);
        else
            puts("stopped");
    }
    json_decref(answer);
    return code;
}

const struct cmd_entry cmd_stop = {
    .name = "stop",
    .usage = "[NAME | --all]",
    .help = "stop a campaign, its artifacts collected and triaged",
    .exec = stop_exec,
};
