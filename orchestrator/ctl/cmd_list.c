/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl list: every run there is, newest first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "report/fields.h"
#include "store/runs.h"

static int64_t elapsed_ms(const struct run_row *r)
{
    return clock_span_ms(r->started_at_ms, r->ended_at_ms > 0 ? r->ended_at_ms : clock_wall_ms());
}

/* Why it stands still, in new reference's words, or JSON null; and its priority. */
static json_t *frozen_why(const struct run_row *r, json_int_t *ret_priority)
{
    json_t *extra = fields_parse(r->extra), *why = json_null();
    const json_t *one;
    size_t i;

    json_array_foreach (json_object_get(extra, "frozen"), i, one)
        if (strcmp(r->state, "running") == 0 && json_is_null(why) &&
            json_is_true(json_object_get(one, "now")))
            why = fields_string(fields_text(one, "why"));
    *ret_priority = json_integer_value(json_object_get(extra, "priority"));
    json_decref(extra);
    return why;
}

static json_t *run_json(const struct run_row *r)
{
    json_int_t priority;
    json_t *why = frozen_why(r, &priority);

    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "frozen", why,
                     "priority", priority, "campaign", fields_string(r->campaign), "run",
                     fields_string(r->id), "state", fields_string(r->state), "verdict",
                     fields_string(r->verdict), "started", fields_time(r->started_at_ms), "ended",
                     fields_time(r->ended_at_ms), "elapsed_s", (json_int_t)(elapsed_ms(r) / 1000),
                     "dir", fields_string(r->dir));
}

static void run_print(const struct run_row *r)
{
    cleanup_free char *name = fields_safe(r->campaign);
    char started[32], took[40];
    json_int_t priority;
    json_t *why = frozen_why(r, &priority);
    const char *state = json_is_null(why) ? r->state : "frozen";

    json_decref(why);
    (void)printf("%-20s %-16s %-22s %-10s %s\n", name, r->verdict != NULL ? r->verdict : state,
                 clock_iso8601(started, sizeof(started), r->started_at_ms),
                 format_duration(took, sizeof(took), elapsed_ms(r) / 1000 * 1000), r->id);
}

static void print_all(const struct cmd_env *env, const struct run_row *rows, size_t n)
{
    json_t *list;

    if (!env->json) {
        if (n > 0)
            (void)printf("%-20s %-16s %-22s %-10s %s\n", "CAMPAIGN", "VERDICT", "STARTED", "TOOK",
                         "RUN");
        else if (!env->quiet)
            (void)printf("nothing has run yet in %s\n", env->state_dir);
        for (size_t i = 0; i < n; i++)
            run_print(&rows[i]);
        return;
    }
    list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, run_json(&rows[i]));
    list = json_pack("{s:i, s:o}", "version", 1, "runs", list);
    cmd_print_json(list);
    json_decref(list);
}

static int list_exec(struct cmd_env *env, int argc, char **argv)
{
    struct run_row *rows = NULL;
    struct db *db = NULL;
    struct err err = {0};
    size_t n = 0;
    int code = cmd_plain(&cmd_list, NULL, argc, argv, (const char *const[]){NULL}, 0), r;

    if (code == EXIT_DONE)
        code = cmd_adopt(&cmd_list, env);
    if (code != EXIT_DONE)
        return code;
    r = db_open(env->state_dir, false, &db, &err);
    if (r == 0)
        r = runs_list(db, false, &rows, &n, &err);
    db_close(db);
    if (r < 0 && r != -ENOENT)
        return cmd_fail(&cmd_list, EXIT_ERROR, "%s", err.msg);
    print_all(env, rows, n);
    for (size_t i = 0; i < n; i++)
        run_row_clear(&rows[i]);
    free(rows);
    return EXIT_DONE;
}

const struct cmd_entry cmd_list = {
    .name = "list",
    .usage = "[--json]",
    .help = "all runs with their state and verdict",
    .exec = list_exec,
};
