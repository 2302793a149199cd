/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl artifacts: each kept input of the newest run, where it was first seen, and what triage said of it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "report/fields.h"
#include "store/artifact.h"
#include "store/runs.h"

static const char *class_of(const struct artifact_row *a)
{
    if (a->sha256[0] == '\0')
        return "not kept";
    return a->class_ != NULL ? a->class_ : "untriaged";
}

static json_t *artifact_json(const char *state_dir, const struct artifact_row *a)
{
    bool kept = a->sha256[0] != '\0';
    cleanup_free char *input = kept ? artifact_blob_path(state_dir, a->sha256) : NULL;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "class",
                     fields_string(a->class_), "target", fields_string(a->target), "kind",
                     fields_string(a->kind), "sha256", fields_string(kept ? a->sha256 : NULL),
                     "bucket", fields_string(a->bucket), "size", (json_int_t)a->size_bytes,
                     "instance", fields_string(a->instance), "file", fields_string(a->file),
                     "count", (json_int_t)a->occurrences, "first_seen",
                     fields_time(a->first_seen_at_ms), "input", fields_string(input));
}

static void artifact_print(const struct artifact_row *a)
{
    cleanup_free char *where = xasprintf("%s/%s", a->instance, a->file);
    cleanup_free char *file = fields_safe(where);
    cleanup_free char *target = fields_safe(a->target);
    char size[32];

    (void)printf("%-13s %-12s %-16s %6s %5lld  %s\n", class_of(a),
                 a->bucket != NULL ? a->bucket : "-", target,
                 format_size(size, sizeof(size), a->size_bytes), (long long)a->occurrences, file);
}

static void print_all(const struct cmd_env *env, const struct run_row *run,
                      const struct artifact_row *rows, size_t n)
{
    json_t *list;

    if (!env->json) {
        if (n > 0)
            (void)printf("%-13s %-12s %-16s %6s %5s  %s\n", "CLASS", "BUCKET", "TARGET", "SIZE",
                         "SEEN", "FIRST IN");
        else if (!env->quiet)
            (void)printf("%s has no crash or hang file\n", run->campaign);
        for (size_t i = 0; i < n; i++)
            artifact_print(&rows[i]);
        return;
    }
    list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, artifact_json(env->state_dir, &rows[i]));
    list = json_pack("{s:i, s:o, s:o, s:o}", "version", 1, "campaign", fields_string(run->campaign),
                     "run", fields_string(run->id), "artifacts", list);
    cmd_print_json(list);
    json_decref(list);
}

static int artifacts_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", NULL};
    struct artifact_row *rows = NULL;
    struct run_row run = {0};
    struct err err = {0};
    size_t n = 0;
    int code = cmd_plain(&cmd_artifacts, NULL, argc, argv, names, 0), r;

    if (code != EXIT_DONE)
        return code;
    code = cmd_adopt(&cmd_artifacts, env);
    if (code != EXIT_DONE)
        return code;
    struct db *db = NULL;
    code = cmd_run_find(&cmd_artifacts, env, argv[optind], &db, &run);
    if (code != EXIT_DONE)
        return code;
    r = artifact_list(db, run.id, &rows, &n, &err);
    db_close(db);
    if (r < 0)
        code = cmd_fail(&cmd_artifacts, EXIT_ERROR, "%s", err.msg);
    else
        print_all(env, &run, rows, n);
    artifact_rows_free(rows, n);
    run_row_clear(&run);
    return code;
}

const struct cmd_entry cmd_artifacts = {
    .name = "artifacts",
    .usage = "[NAME] [--json]",
    .help = "crashing, hanging and memory-eating inputs of the newest run",
    .exec = artifacts_exec,
};
