/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl wait: returns when a campaign has ended, with the exit code of its verdict. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "oracle/verdict.h"

/* A campaign that is not live: the verdict of its newest run. */
static int verdict_from_index(struct cmd_env *env, const char *name)
{
    struct run_row row = {0};
    int code = cmd_run_find(&cmd_wait, env, name, NULL, &row);

    if (code != EXIT_DONE)
        return code;
    if (env->json) {
        json_t *j =
            json_pack("{s:i, s:s, s:s, s:s?, s:b}", "version", 1, "campaign", row.campaign, "run",
                      row.id, "verdict", row.verdict, "ended", strcmp(row.state, "ended") == 0);
        cmd_print_json(j);
        json_decref(j);
    } else if (!env->quiet) {
        printf("campaign %s: %s\n", row.campaign, row.verdict != NULL ? row.verdict : row.state);
    }
    code = row.verdict != NULL ? verdict_exit_code(verdict_parse(row.verdict)) : EXIT_DEGRADED;
    run_row_clear(&row);
    return code;
}

static int wait_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {{"timeout", required_argument, NULL, 't'}, {0}};
    static const char *const names[] = {"campaign", NULL};
    int64_t timeout_ms = -1;
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt != 't')
            return cmd_usage(&cmd_wait);
        if (parse_duration_ms(optarg, &timeout_ms) < 0)
            return cmd_fail(&cmd_wait, EXIT_USAGE,
                            "--timeout: \"%s\" is not a duration; allowed: 500ms, 90, 10m, 1h30m",
                            optarg);
    }
    const char *name = argv[optind];
    int code = cmd_words(&cmd_wait, NULL, argv + optind, names, 0);

    if (code != EXIT_DONE)
        return code;
    struct client *c = NULL;
    code = cmd_live(&cmd_wait, env, &c);
    if (code != EXIT_DONE)
        return code;
    if (c == NULL)
        return verdict_from_index(env, name);

    json_t *args = json_object();
    if (name != NULL)
        json_object_set_new(args, "name", json_string(name));
    json_t *answer = NULL;
    code = cmd_call(&cmd_wait, env, &c, "wait", args, timeout_ms, &answer);
    client_close(c);
    if (code == EXIT_TIMEOUT)
        return cmd_fail(&cmd_wait, EXIT_TIMEOUT, "%s has not ended yet",
                        name != NULL ? name : "the campaign");
    if (code != EXIT_DONE)
        return code;
    if (answer == NULL || json_integer_value(json_object_get(answer, "exit")) == EXIT_NO_CAMPAIGN) {
        json_decref(answer);
        return verdict_from_index(env, name);
    }
    code = cmd_answer(&cmd_wait, answer);
    if (code == EXIT_DONE) {
        const char *verdict = json_string_value(json_object_get(answer, "verdict"));
        const char *which = json_string_value(json_object_get(answer, "campaign"));

        if (env->json)
            cmd_print_json(answer);
        else if (!env->quiet)
            printf("campaign %s: %s\n",
                   which != NULL  ? which
                   : name != NULL ? name
                                  : "?",
                   verdict != NULL ? verdict : "ended");
        code = verdict_exit_code(verdict_parse(verdict));
    }
    json_decref(answer);
    return code;
}

const struct cmd_entry cmd_wait = {
    .name = "wait",
    .usage = "[NAME] [--timeout TIME]",
    .help = "wait for the end of a campaign; exit code of its verdict",
    .exec = wait_exec,
};
