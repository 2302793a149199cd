/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl verify: proves that what AFL++ saved, what the index says and what is kept agree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/parse.h"
#include "corpus/keptdir.h"
#include "ctl/cmd.h"
#include "report/fields.h"
#include "store/artifact.h"
#include "store/runs.h"

/* A file that AFL++ saves while we look is in the index a moment later. */
#define SECOND_LOOK_S 2

struct outcome {
    struct artifact_totals totals;
    int64_t n_diffs;
    json_t *diffs, *notes, *open, *lost;
    struct keptdir_sum kept;
};

static void on_diff(void *ctx, enum artifact_word word, const char *line)
{
    const struct outcome *o = ctx;
    json_t *list = word == ARTIFACT_DIFFERS    ? o->diffs
                   : word == ARTIFACT_HARMLESS ? o->notes
                   : word == ARTIFACT_OPEN     ? o->open
                                               : o->lost;

    (void)json_array_append_new(list, fields_string(line));
}

/* All runs, or those of one campaign. */
static int verify_once(struct db *db, const char *state_dir, const char *campaign,
                       struct outcome *o, bool *ret_running, struct err *err)
{
    struct run_row *runs = NULL;
    size_t n = 0, met = 0;
    int64_t r = runs_list(db, false, &runs, &n, err);

    memset(&o->totals, 0, sizeof(o->totals));
    o->n_diffs = 0;
    (void)json_array_clear(o->diffs);
    (void)json_array_clear(o->notes);
    (void)json_array_clear(o->open);
    (void)json_array_clear(o->lost);
    *ret_running = false;
    if (r == 0 && campaign == NULL) {
        r = artifact_verify(db, state_dir, NULL, on_diff, o, &o->totals, err);
        o->n_diffs = r;
    }
    for (size_t i = 0; i < n; i++) {
        if (r >= 0 && (campaign == NULL || strcmp(runs[i].campaign, campaign) == 0)) {
            met++;
            *ret_running = *ret_running || strcmp(runs[i].state, "ended") != 0;
            if (campaign != NULL) {
                r = artifact_verify(db, state_dir, runs[i].id, on_diff, o, &o->totals, err);
                o->n_diffs += r;
            }
        }
        run_row_clear(&runs[i]);
    }
    free(runs);
    if (r >= 0 && campaign != NULL && met == 0)
        return err_set(err, -ENOENT, "no campaign named %s", campaign);
    return r < 0 ? (int)r : 0;
}

static void print_number(int64_t n, const char *noun, const char *end)
{
    (void)printf("%lld %s%s%s", (long long)n, noun, text_plural(n), end);
}

static void print_more(size_t n, const char *noun, const char *end)
{
    if (n == 0)
        return;
    (void)fputs(", ", stdout);
    print_number((int64_t)n, noun, end);
}

static void print_lines(const json_t *lines, const char *word)
{
    const json_t *line;
    size_t i;

    json_array_foreach (lines, i, line)
        (void)printf("%s%s\n", word, json_string_value(line));
}

static void print_text(const struct outcome *o)
{
    size_t n_lost = json_array_size(o->lost), n_open = json_array_size(o->open);

    print_lines(o->diffs, "");
    print_lines(o->lost, "lost: ");
    print_lines(o->open, "open: ");
    print_lines(o->notes, "note: ");
    if (o->kept.corpora > 0) {
        (void)printf("kept corpora: %zu, ", o->kept.corpora);
        print_number((int64_t)o->kept.files, "file", ", ");
        if (o->kept.damaged > 0)
            print_number((int64_t)o->kept.damaged, "file",
                         " more damaged, which no run begins with\n");
        else
            (void)puts("all whole");
    }
    print_number(o->totals.files, "file", ", ");
    print_number(o->totals.occurrences, "occurrence", ", ");
    print_number(o->totals.blobs, "blob", ": ");
    if (o->n_diffs > 0)
        print_number(o->n_diffs, "difference", "");
    else
        (void)fputs(n_lost + n_open > 0 ? "no difference" : "all accounted for", stdout);
    print_more(n_lost, "lost input", "");
    print_more(n_open, "file", " open for writing");
    (void)putchar('\n');
}

static int tell(const struct cmd_env *env, const struct outcome *o)
{
    if (env->json) {
        json_t *j = json_pack(
            "{s:i, s:{s:I, s:I, s:I}, s:I, s:I, s:I, s:O, s:O, s:O, s:O}", "version", 1, "kept",
            "corpora", (json_int_t)o->kept.corpora, "files", (json_int_t)o->kept.files, "damaged",
            (json_int_t)o->kept.damaged, "files", (json_int_t)o->totals.files, "occurrences",
            (json_int_t)o->totals.occurrences, "blobs", (json_int_t)o->totals.blobs, "differences",
            o->diffs, "notes", o->notes, "open", o->open, "lost", o->lost);

        cmd_print_json(j);
        json_decref(j);
    } else if (!env->quiet) {
        print_text(o);
    }
    return o->n_diffs == 0 ? EXIT_DONE : EXIT_MISMATCH;
}

static int verify_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", NULL};
    struct outcome o = {0};
    struct err err = {0};
    bool running = false;
    int code = EXIT_DONE, r;

    code = cmd_plain(&cmd_verify, NULL, argc, argv, names, 0);
    if (code == EXIT_DONE)
        code = cmd_adopt(&cmd_verify, env);
    if (code != EXIT_DONE)
        return code;
    struct db *db = cmd_open_db(&cmd_verify, env, &code);
    if (db == NULL)
        return code;
    o.diffs = json_array();
    o.notes = json_array();
    o.open = json_array();
    o.lost = json_array();
    r = verify_once(db, env->state_dir, argv[optind], &o, &running, &err);
    if (r == 0 && running && o.n_diffs > 0) {
        (void)sleep(SECOND_LOOK_S);
        r = verify_once(db, env->state_dir, argv[optind], &o, &running, &err);
    }
    db_close(db);
    if (r == 0)
        r = keptdir_sum(env->state_dir, argv[optind], &o.kept, &err);
    if (r < 0)
        code = cmd_fail(&cmd_verify, r == -ENOENT ? EXIT_NO_CAMPAIGN : EXIT_ERROR, "%s", err.msg);
    else
        code = tell(env, &o);
    json_decref(o.diffs);
    json_decref(o.notes);
    json_decref(o.open);
    json_decref(o.lost);
    return code;
}

const struct cmd_entry cmd_verify = {
    .name = "verify",
    .usage = "[NAME] [--json]",
    .help = "prove that no crash or hang file was lost",
    .exec = verify_exec,
};
