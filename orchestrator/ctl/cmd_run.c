/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl run: start, a live view, wait, report; the exit code is the verdict's. Ctrl-C stops the campaign (a second one leaves it
 * running); any other signal ends only this view: the campaign belongs to fuzzd.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "oracle/verdict.h"
#include "report/model.h"
#include "store/runs.h"

#define VIEW_TTY_MS   1000  /* redraw on a terminal */
#define VIEW_PLAIN_MS 10000 /* a line a target elsewhere */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int sig)
{
    (void)sig;
    interrupts++;
}

static json_int_t number(const json_t *j, const char *key)
{
    return (json_int_t)json_number_value(json_object_get(j, key));
}

/* One line a target, for logs and pipes. */
static void view_plain(const json_t *campaign)
{
    char elapsed[32], execs[32], rate[32];
    size_t i;
    const json_t *t;

    format_duration(elapsed, sizeof elapsed, number(campaign, "elapsed_s") * 1000);
    json_array_foreach (json_object_get(campaign, "targets"), i, t) {
        const char *name = json_string_value(json_object_get(t, "name"));
        const char *state = json_string_value(json_object_get(t, "state"));

        printf(
            "%6s  %-22s %-8s %8s execs %8s/s %5lld edges  crash %lld oom %lld timeout %lld",
            elapsed, name != NULL ? name : "?", state != NULL ? state : "?",
            format_count(execs, sizeof execs, (double)number(t, "execs_done")),
            format_count(rate, sizeof rate, json_number_value(json_object_get(t, "execs_per_sec"))),
            number(t, "edges_found"), number(t, "crashes"), number(t, "ooms"),
            number(t, "timeouts"));
        if (number(json_object_get(t, "seeds"), "failed") > 0)
            printf("  seeds that fail %lld", number(json_object_get(t, "seeds"), "failed"));
        if (number(t, "pending") > 0)
            printf("  to triage %lld", number(t, "pending"));
        putchar('\n');
    }
    json_array_foreach (json_object_get(campaign, "frozen"), i, t) {
        const char *why = json_string_value(json_object_get(t, "why"));
        char words[300];

        if (json_is_true(json_object_get(t, "now")) && why != NULL)
            printf("%6s  frozen: %s\n", elapsed, text_printable(words, sizeof words, why));
    }
    (void)fflush(stdout);
}

/* The status block drawn over the one before. Returns the lines drawn. */
static int view_tty(const json_t *campaign, int lines_before)
{
    char *block = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&block, &size);
    int lines = 0;

    if (out == NULL)
        return lines_before;
    cmd_status_print(campaign, true, out);
    (void)fclose(out);
    if (lines_before > 0)
        printf("\033[%dA", lines_before);
    for (char *line = block, *end; *line != '\0'; line = end + 1, lines++) {
        end = strchr(line, '\n');
        printf("\033[2K%.*s\n", (int)(end - line), line);
    }
    printf("\033[J");
    free(block);
    (void)fflush(stdout);
    return lines;
}

/* The index knows the end first: it is written before the daemon forgets the run. True when the run has ended. */
static bool campaign_ended(const struct cmd_env *env, const char *run, char **ret_verdict)
{
    struct db *db = NULL;
    struct run_row row = {0};
    struct err err = {0};
    bool ended = false;

    if (db_open(env->state_dir, false, &db, &err) < 0)
        return false;
    if (runs_get(db, NULL, run, &row, &err) == 0) {
        ended = strcmp(row.state, "ended") == 0;
        if (ended)
            str_set(ret_verdict, row.verdict);
    }
    run_row_clear(&row);
    db_close(db);
    return ended;
}

static const json_t *campaign_find(const json_t *doc, const char *name)
{
    size_t i;
    const json_t *c;

    json_array_foreach (json_object_get(doc, "campaigns"), i, c) {
        const char *have = json_string_value(json_object_get(c, "name"));
        if (have != NULL && strcmp(have, name) == 0)
            return c;
    }
    return NULL;
}

static int report_print(const struct cmd_env *env, const char *name, const char *run)
{
    int code = EXIT_DONE;
    struct db *db = cmd_open_db(&cmd_run, env, &code);

    if (db == NULL)
        return code;
    json_t *model = NULL;
    struct err err = {0};
    int rc = report_model(db, env->state_dir, name, run, &model, &err);
    db_close(db);
    if (rc < 0)
        return cmd_fail(&cmd_run, EXIT_ERROR, "%s", err.msg);
    if (env->json) {
        cmd_print_json(model);
    } else {
        putchar('\n');
        report_text(model, env->color, stdout);
    }
    json_decref(model);
    return EXIT_DONE;
}

/* Shows the campaign until it has ended. The exit code of what cut the view short, else EXIT_DONE. */
static int view_loop(const struct cmd_env *env, struct client **c, const char *name,
                     const char *run, char **ret_verdict)
{
    bool tty = env->color && !env->json && !env->quiet;
    bool stop_told = false, stop_sent = false;
    int lines = 0;
    int64_t shown_ms = 0;

    while (!campaign_ended(env, run, ret_verdict)) {
        int code = EXIT_DONE;
        json_t *doc = cmd_status_doc(&cmd_run, env, c, name, &code);
        const json_t *campaign = doc == NULL ? NULL : campaign_find(doc, name);

        if (doc == NULL && interrupts == 0)
            return code;
        if (campaign != NULL && tty)
            lines = view_tty(campaign, lines);
        else if (campaign != NULL && !env->json && !env->quiet &&
                 (shown_ms == 0 || clock_now_ms() - shown_ms >= VIEW_PLAIN_MS)) {
            view_plain(campaign);
            shown_ms = clock_now_ms();
        }
        json_decref(doc);
        if (interrupts > 1)
            return cmd_fail(&cmd_run, EXIT_DEGRADED, "left; campaign %s goes on (fuzzctl stop %s)",
                            name, name);
        if (interrupts == 1 && !stop_sent) {
            json_t *args = json_pack("{s:s, s:s}", "name", name, "run", run);
            json_t *answer = NULL;
            struct err err = {0};
            int rc;

            if (!stop_told)
                fprintf(stderr, "fuzzctl run: stopping %s; Ctrl-C again leaves it running\n", name);
            stop_told = true;
            /* Its answer is not waited for; where it cannot be sent, it is tried again. */
            rc = *c != NULL ? client_call(*c, "stop", args, 0, &answer, &err) : -ENOTCONN;
            stop_sent = rc == 0 || rc == -ETIMEDOUT;
            json_decref(args);
            json_decref(answer);
        }
        struct timespec ts = {.tv_sec = VIEW_TTY_MS / 1000};
        (void)nanosleep(&ts, NULL);
    }
    return EXIT_DONE;
}

static int run_exec(struct cmd_env *env, int argc, char **argv)
{
    struct client *c = NULL;
    cleanup_free char *name = NULL;
    cleanup_free char *run = NULL;
    cleanup_free char *verdict = NULL;
    struct cmd_env start_env = *env;

    start_env.quiet = env->quiet || env->json;
    start_env.json = false;
    /* One that comes while it starts ends that; a second one ends us, then. */
    struct sigaction sa = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &sa, NULL);
    int code = cmd_start_file(&cmd_run, &start_env, &interrupts, argc, argv, &c, &name, &run);
    if (run == NULL) {
        client_close(c);
        return code;
    }
    sa.sa_flags = 0;
    (void)sigaction(SIGINT, &sa, NULL);
    code = view_loop(env, &c, name, run, &verdict);
    client_close(c);
    if (code != EXIT_DONE)
        return code;
    code = report_print(env, name, run);
    return code != EXIT_DONE ? code : verdict_exit_code(verdict_parse(verdict));
}

const struct cmd_entry cmd_run = {
    .name = "run",
    .usage = "FILE [--budget TIME] [--execs N] [--cores N] [--seed N] [--name NAME] [--json]",
    .help = "start a campaign, watch it, print its report; exit code of its verdict",
    .exec = run_exec,
};
