/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl corpus add: inputs for a target while it is fuzzed. fuzzd puts them where the main instance reads a foreign queue; here it is
 * watched what becomes of each.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/parse.h"
#include "ctl/added_watch.h"
#include "ctl/corpus.h"
#include "ctl/given.h"
#include "ctl/manyrun.h"
#include "farm/additions.h"
#include "report/fields.h"

#define WAIT_MS     (120 * INT64_C(1000))
#define WAIT_MAX_MS (24 * 3600 * INT64_C(1000))
#define STEP_MS     500
#define CALL_MS     (30 * INT64_C(1000))

struct run {
    const struct cmd_env *env;
    const char *campaign, *target;
    int64_t wait_ms;
    struct client *client;
    struct inputs inputs;
    struct added_file *files; /* one an input */
    char **errors;            /* NULL: none */
    bool *present;
    char *why; /* the campaign is frozen */
};

/* Whether there ever was one of that name; 1 when that cannot be known. */
static int campaign_known(const struct run *r)
{
    struct run_row row = {0};
    struct db *db = NULL;
    struct err err = {0};
    int rc = db_open(r->env->state_dir, false, &db, &err);

    if (rc < 0)
        return rc != -ENOENT;
    rc = runs_get(db, r->campaign, NULL, &row, &err);
    if (rc == 0)
        run_row_clear(&row);
    db_close(db);
    return rc != -ENOENT;
}

static int tell_not_running(const struct run *r)
{
    if (campaign_known(r))
        return cmd_fail(&cmd_corpus, EXIT_NO_CAMPAIGN, "add: campaign %s is not running",
                        r->campaign);
    return cmd_fail(&cmd_corpus, EXIT_NO_CAMPAIGN, "add: there is no campaign %s%s", r->campaign,
                    access(r->campaign, F_OK) == 0
                        ? ", that is a file; wanted is the name of a campaign, as in fuzzctl list"
                        : "");
}

/* One request; data NULL: only where things are. EXIT_DONE with *ret, or an exit code; *ret_error: of this input, caller frees. */
static int call(struct run *r, const char *data, json_t **ret, char **ret_error)
{
    json_t *args = json_pack("{s:s, s:s}", "name", r->campaign, "target", r->target);
    json_t *answer = NULL;
    int code;

    if (data != NULL)
        (void)json_object_set_new(args, "data", json_string(data));
    code = cmd_call(&cmd_corpus, r->env, &r->client, "add", args, CALL_MS, &answer);
    if (code == EXIT_TIMEOUT)
        return cmd_fail(&cmd_corpus, code, "add: fuzzd does not answer");
    if (code != EXIT_DONE)
        return code;
    if (answer == NULL)
        return tell_not_running(r);
    if (!json_is_true(json_object_get(answer, "ok")) && ret_error != NULL) {
        *ret_error = xstrdup(fields_text(answer, "error"));
        json_decref(answer);
        return EXIT_DONE;
    }
    code = cmd_answer(&cmd_corpus, answer);
    if (code == EXIT_DONE)
        *ret = answer;
    else
        json_decref(answer);
    return code;
}

/* A file that is a link is not followed, even when it was named itself. */
static int read_one(const struct run *r, size_t i, char **ret_data, size_t *ret_size)
{
    uint8_t *data = NULL;
    int rc;

    if (!inputs_is_packed(&r->inputs, i))
        return file_read(AT_FDCWD, r->inputs.v[i], ADDITIONS_FILE_BYTES, ret_data, ret_size);
    rc = inputs_read(&r->inputs, i, ADDITIONS_FILE_BYTES, &data, ret_size);
    if (rc == 0)
        *ret_data = (char *)data;
    return rc;
}

static int send_one(struct run *r, size_t i)
{
    cleanup_free char *data = NULL, *text = NULL;
    json_t *answer = NULL;
    size_t size = 0;
    int rc = read_one(r, i, &data, &size), code;

    if (rc < 0) {
        r->errors[i] = xstrdup(rc == -ELOOP ? "is a link, which is not followed" : inputs_why(rc));
        return EXIT_DONE;
    }
    text = base64_encode(data, size);
    code = call(r, text, &answer, &r->errors[i]);
    if (code == EXIT_DONE && answer != NULL) {
        (void)snprintf(r->files[i].sha256, sizeof(r->files[i].sha256), "%s",
                       fields_text(answer, "sha256"));
        r->present[i] = json_is_true(json_object_get(answer, "present"));
        str_set(&r->why, json_string_value(json_object_get(answer, "why")));
    }
    json_decref(answer);
    return code;
}

/* Ctrl-C ends the wait; what was seen is told. */
static void wait_for_all(const struct run *r, struct added_watch *w)
{
    const int64_t until_ms = clock_now_ms() + r->wait_ms;
    size_t left = r->inputs.n;
    int64_t now_ms;

    while (left > 0 && manyrun_stop == 0) {
        now_ms = clock_now_ms();
        left = added_watch_wait(w, r->files, r->inputs.n,
                                until_ms - now_ms < STEP_MS ? until_ms - now_ms : STEP_MS);
        if (clock_now_ms() >= until_ms)
            break;
    }
}

/* ---- what is told ---- */
static const char *words(const struct run *r, size_t i)
{
    static const char *const all[] = {
        [ADDED_UNSEEN] = "not seen yet; the main instance reads it at its next sync",
        [ADDED_TAKEN] = "taken",
        [ADDED_NOTHING_NEW] = "no new coverage",
        [ADDED_CRASH] = "crashes: it is collected as a finding",
        [ADDED_HANG] = "hangs: it is collected as a finding"};

    if (r->present[i] && r->files[i].state == ADDED_UNSEEN)
        return "was added before";
    if (r->present[i] && r->files[i].state == ADDED_NOTHING_NEW)
        return "was added before; no coverage that the queue does not have";
    return all[r->files[i].state];
}

static int tell(const struct run *r)
{
    json_t *list = json_array();
    int code = EXIT_DONE;

    for (size_t i = 0; i < r->inputs.n; i++) {
        const char *path = r->inputs.v[i];
        cleanup_free char *name = fields_safe(path), *entry = fields_safe(r->files[i].entry);

        if (r->errors[i] != NULL)
            code = EXIT_ERROR;
        else if (r->files[i].state == ADDED_UNSEEN && !r->present[i] && code == EXIT_DONE &&
                 r->wait_ms > 0)
            code = EXIT_TIMEOUT;
        if (r->env->json)
            (void)json_array_append_new(
                list,
                json_pack(
                    "{s:o, s:o, s:s, s:b, s:o, s:o}", "file", fields_string(path), "sha256",
                    r->files[i].sha256[0] != '\0' ? json_string(r->files[i].sha256) : json_null(),
                    "state", r->errors[i] != NULL ? "refused" : added_state_name(r->files[i].state),
                    "present", (int)r->present[i], "entry",
                    r->files[i].entry[0] != '\0' ? fields_string(r->files[i].entry) : json_null(),
                    "error", fields_string(r->errors[i])));
        else if (r->errors[i] != NULL)
            (void)cmd_fail(&cmd_corpus, EXIT_ERROR, "add: %s: %s", path, r->errors[i]);
        else if (!r->env->quiet)
            printf("%s: %s%s%s\n", name, words(r, i), entry[0] != '\0' ? " as " : "", entry);
    }
    if (r->env->json)
        cmd_print_json_take(json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", 1, "campaign",
                                      fields_string(r->campaign), "target",
                                      fields_string(r->target), "frozen", fields_string(r->why),
                                      "files", json_incref(list)));
    else if (r->why != NULL && !r->env->quiet)
        printf("the campaign stands still (%s) and reads nothing until it goes on\n", r->why);
    json_decref(list);
    return code;
}

/* ---- the verb ---- */
static int add_all(struct run *r)
{
    struct added_watch *w = NULL;
    struct err err = {0};
    json_t *where = NULL;
    int code = cmd_live(&cmd_corpus, r->env, &r->client);

    if (code == EXIT_DONE && r->client == NULL)
        return tell_not_running(r);
    if (code == EXIT_DONE)
        code = call(r, NULL, &where, NULL);
    if (code == EXIT_DONE &&
        added_watch_open(fields_text(where, "dir"), fields_text(where, "out"), &w, &err) < 0)
        code = cmd_fail(&cmd_corpus, EXIT_ERROR, "add: %s", err.msg);
    json_decref(where);
    for (size_t i = 0; i < r->inputs.n && code == EXIT_DONE && manyrun_stop == 0; i++) {
        code = send_one(r, i);
        /* So that no event is lost for want of room while there are many. */
        (void)(code == EXIT_DONE ? added_watch_wait(w, r->files, i + 1, 0) : 0);
    }
    if (code == EXIT_DONE) {
        /* What was added before may have been taken before. */
        added_watch_compare(w, r->files, r->inputs.n);
        wait_for_all(r, w);
        added_watch_compare(w, r->files, r->inputs.n);
        code = tell(r);
    }
    added_watch_close(w);
    return code;
}

static int collect(struct run *r, char **words_given, int n)
{
    int code = EXIT_DONE;

    for (int i = 0; i < n && code == EXIT_DONE; i++)
        code = given_inputs_add(&cmd_corpus, "add", &r->inputs, words_given[i]);
    if (code == EXIT_DONE)
        code = given_inputs_check(&cmd_corpus, "add", &r->inputs);
    if (code != EXIT_DONE)
        return code;
    if (r->inputs.n > ADDITIONS_MAX)
        return cmd_fail(&cmd_corpus, EXIT_USAGE, "add: %zu inputs, allowed are %d; distill them",
                        r->inputs.n, ADDITIONS_MAX);
    r->files = xcalloc(r->inputs.n, sizeof(*r->files));
    r->errors = xcalloc(r->inputs.n, sizeof(*r->errors));
    r->present = xcalloc(r->inputs.n, sizeof(*r->present));
    return EXIT_DONE;
}

static int add_exec(struct cmd_env *env, int argc, char **argv)
{
    static const struct option options[] = {{"wait", required_argument, NULL, 'w'}, {0}};
    static const char *const names[] = {"campaign", "target", "file", CMD_MORE, NULL};
    struct run r = {.env = env, .wait_ms = WAIT_MS};
    int opt, code;

    optind = 1;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt != 'w')
            return cmd_sub_usage(&cmd_corpus, &corpus_add);
        if (parse_duration_ms(optarg, &r.wait_ms) < 0 || r.wait_ms > WAIT_MAX_MS)
            return cmd_fail(&cmd_corpus, EXIT_USAGE,
                            "add: --wait %s: allowed is a time up to 24h, as in 0s or 5m", optarg);
    }
    code = cmd_words(&cmd_corpus, &corpus_add, argv + optind, names, 3);
    if (code != EXIT_DONE)
        return code;
    r.campaign = argv[optind];
    r.target = argv[optind + 1];
    code = collect(&r, argv + optind + 2, argc - optind - 2);
    if (code == EXIT_DONE) {
        manyrun_catch();
        code = add_all(&r);
    }
    for (size_t i = 0; r.errors != NULL && i < r.inputs.n; i++)
        free(r.errors[i]);
    free(r.errors);
    free(r.files);
    free(r.present);
    free(r.why);
    inputs_clear(&r.inputs);
    client_close(r.client);
    return code;
}

const struct cmd_sub corpus_add = {
    .name = "add",
    .usage = "CAMPAIGN TARGET FILE... [--wait TIME]",
    .help = "give inputs to a target while it is fuzzed, and tell which were taken",
    .exec = add_exec,
};
