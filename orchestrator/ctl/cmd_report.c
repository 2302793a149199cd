/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl report: what a run found and how far it can be trusted; the exit code is that of its verdict. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/exitcode.h"
#include "ctl/cmd.h"
#include "oracle/verdict.h"
#include "report/fields.h"
#include "report/model.h"

struct report_args {
    const char *campaign, *run;
    bool md;
};

static int args_parse(int argc, char **argv, bool json, struct report_args *ret)
{
    static const char *const names[] = {"campaign", NULL};
    static const struct option options[] = {
        {"run", required_argument, NULL, 'r'}, {"md", no_argument, NULL, 'm'}, {0}};
    int opt;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'r')
            ret->run = optarg;
        else if (opt == 'm')
            ret->md = true;
        else
            return cmd_usage(&cmd_report);
    }
    if (ret->md && json)
        return cmd_misuse(&cmd_report, NULL, "--md and --json do not go together");
    ret->campaign = argv[optind];
    return cmd_words(&cmd_report, NULL, argv + optind, names, 0);
}

/* A run without a verdict has not ended: neither success nor a verdict's code. */
static int exit_code_of(const json_t *model)
{
    const char *verdict = fields_text(model, "verdict");

    return verdict[0] == '\0' ? EXIT_TIMEOUT : verdict_exit_code(verdict_parse(verdict));
}

static int report_exec(struct cmd_env *env, int argc, char **argv)
{
    struct report_args args = {0};
    struct err err = {0};
    json_t *model = NULL;
    int code = args_parse(argc, argv, env->json, &args);

    if (code == EXIT_DONE)
        code = cmd_adopt(&cmd_report, env);
    if (code != EXIT_DONE)
        return code;
    struct db *db = cmd_open_db(&cmd_report, env, &code);
    if (db == NULL)
        return code;
    int r = report_model(db, env->state_dir, args.campaign, args.run, &model, &err);
    db_close(db);
    if (r < 0)
        return cmd_fail(&cmd_report, r == -ENOENT ? EXIT_NO_CAMPAIGN : EXIT_ERROR, "%s", err.msg);
    if (env->json)
        cmd_print_json(model);
    else if (args.md)
        report_md(model, stdout);
    else if (!env->quiet)
        report_text(model, env->color, stdout);
    code = exit_code_of(model);
    json_decref(model);
    return code;
}

const struct cmd_entry cmd_report = {
    .name = "report",
    .usage = "[NAME] [--run RUN] [--json | --md]",
    .help = "verdict, reasons and findings of a run; exit code of its verdict",
    .exec = report_exec,
};
