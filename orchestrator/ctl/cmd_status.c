/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl status: what runs, and how the newest run of each other campaign ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/parse.h"
#include "ctl/cmd.h"
#include "store/artifact.h"

static json_int_t number(const json_t *j, const char *key)
{
    return (json_int_t)json_number_value(json_object_get(j, key));
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : "";
}

static void instance_print(const json_t *in, FILE *out)
{
    char execs[32], rate[32];
    char name[64], reason[256];

    text_printable(name, sizeof name, text(in, "name"));
    fprintf(
        out, "    %-22s %-11s %8s %9s/s", name, text(in, "state"),
        format_count(execs, sizeof execs, (double)number(in, "execs_done")),
        format_count(rate, sizeof rate, json_number_value(json_object_get(in, "execs_per_sec"))));
    if (number(in, "pid") > 0)
        fprintf(out, "  cpu %lld  pid %lld", number(in, "cpu"), number(in, "pid"));
    if (number(in, "rotations") > 0)
        fprintf(out, "  rotated to %s", text_printable(name, sizeof name, text(in, "folder")));
    if (text(in, "lent_by")[0] != '\0')
        fprintf(out, "  core lent by %s", text_printable(name, sizeof name, text(in, "lent_by")));
    if (text(in, "lent_to")[0] != '\0')
        fprintf(out, "  core lent to %s", text_printable(name, sizeof name, text(in, "lent_to")));
    if (number(in, "restarts") > 0)
        fprintf(out, "  restarts %lld", number(in, "restarts"));
    if (text(in, "reason")[0] != '\0')
        fprintf(out, "\n      %s", text_printable(reason, sizeof reason, text(in, "reason")));
    fputc('\n', out);
}

/* Seeds that were not all run and passed before fuzzing. */
static void seeds_print(const json_t *seeds, FILE *out)
{
    char why[600];

    if (strcmp(text(seeds, "state"), "running") == 0)
        fputs("    its seeds are being replayed\n", out);
    if (number(seeds, "failed") > 0)
        fprintf(out, "    %lld of %lld seeds failed when replayed%s\n", number(seeds, "failed"),
                number(seeds, "total"),
                json_is_true(json_object_get(seeds, "left_out")) ? ", left out" : "");
    if (number(json_object_get(seeds, "start"), "files") > 0)
        fprintf(
            out,
            "    begins with %lld input%s, distilled from %lld seed%s and %lld of the last run\n",
            number(json_object_get(seeds, "start"), "files"),
            text_plural(number(json_object_get(seeds, "start"), "files")), number(seeds, "total"),
            text_plural(number(seeds, "total")), number(json_object_get(seeds, "start"), "kept"));
    if (number(json_object_get(seeds, "start"), "kept_failed") > 0)
        fprintf(out, "    %lld that the last run kept fail%s now\n",
                number(json_object_get(seeds, "start"), "kept_failed"),
                number(json_object_get(seeds, "start"), "kept_failed") == 1 ? "s" : "");
    if (number(seeds, "timeout_ms") > 0)
        fprintf(out, "    timeout %lld ms, by the slowest input\n", number(seeds, "timeout_ms"));
    if (number(seeds, "left") > 0)
        fprintf(out, "    %lld of %lld seeds were not replayed in time\n", number(seeds, "left"),
                number(seeds, "total"));
    if (text(seeds, "why")[0] != '\0')
        fprintf(out, "    seeds: %s\n", text_printable(why, sizeof why, text(seeds, "why")));
}

/* The queues in the sanitizer build. */
static void sweep_print(const json_t *sweep, FILE *out)
{
    char why[600];

    if (number(sweep, "swept") > 0 || number(sweep, "left") > 0)
        fprintf(out, "    swept %lld queue entr%s, %lld left\n", number(sweep, "swept"),
                number(sweep, "swept") == 1 ? "y" : "ies", number(sweep, "left"));
    if (text(sweep, "why")[0] != '\0')
        fprintf(out, "    sweep: %s\n", text_printable(why, sizeof why, text(sweep, "why")));
}

static void target_print(const json_t *t, bool instances, bool frozen, FILE *out)
{
    char execs[32], rate[32], name[64], words[800];
    const char *state = text(t, "end_reason")[0] != '\0' ? text(t, "end_reason") : text(t, "state");

    if (frozen && strcmp(state, "running") == 0)
        state = "frozen";
    text_printable(name, sizeof name, text(t, "name"));
    fprintf(out, "  %-24s %-11s %8s %9s/s %7lld %6lld %4lld %8lld %8lld\n", name, state,
            format_count(execs, sizeof execs, (double)number(t, "execs_done")),
            format_count(rate, sizeof rate, json_number_value(json_object_get(t, "execs_per_sec"))),
            number(t, "edges_found"), number(t, "crashes"), number(t, "ooms"),
            number(t, "timeouts"), number(t, "buckets"));
    if (text(t, "waits_for")[0] != '\0')
        fprintf(out, "    waits until %s has ended clean\n",
                text_printable(name, sizeof name, text(t, "waits_for")));
    if (text(t, "reason")[0] != '\0')
        fprintf(out, "    did not start: %s\n",
                text_printable(words, sizeof words, text(t, "reason")));
    seeds_print(json_object_get(t, "seeds"), out);
    sweep_print(json_object_get(t, "sweep"), out);
    if (text(t, "skipped")[0] != '\0')
        fprintf(out, "    skipped: %s\n", text_printable(words, sizeof words, text(t, "skipped")));
    if (number(t, "oom_kills") > 0)
        fprintf(out, "    %lld kill%s for want of memory, not all of which leave an input\n",
                number(t, "oom_kills"), text_plural(number(t, "oom_kills")));
    if (number(t, "pending") > 0)
        fprintf(out, "    %lld input%s to triage\n", number(t, "pending"),
                text_plural(number(t, "pending")));
    size_t i;
    const json_t *in;
    json_array_foreach (json_object_get(t, "instances"), i, in) {
        if (instances)
            instance_print(in, out);
    }
}

void cmd_status_print(const json_t *campaign, bool instances, FILE *out)
{
    char elapsed[32], budget[32];
    const char *verdict = text(campaign, "verdict");

    fprintf(out, "%s  %s  %s, budget %s a target  run %s\n", text(campaign, "name"),
            verdict[0] != '\0' ? verdict : text(campaign, "state"),
            format_duration(elapsed, sizeof elapsed, number(campaign, "elapsed_s") * 1000),
            format_duration(budget, sizeof budget, number(campaign, "budget_s") * 1000),
            text(campaign, "run"));
    if (number(campaign, "priority") > 0)
        fprintf(out, "  priority %lld\n", number(campaign, "priority"));
    if (text(campaign, "waits")[0] != '\0') {
        char why[400];

        fprintf(out, "  waits for cores: %s\n",
                text_printable(why, sizeof why, text(campaign, "waits")));
    }
    fprintf(out, "  %-24s %-11s %8s %11s %7s %6s %4s %8s %8s\n", "TARGET", "STATE", "EXECS", "RATE",
            "EDGES", "CRASH", "OOM", "TIMEOUT", "BUCKETS");
    size_t i;
    const json_t *t;
    json_array_foreach (json_object_get(campaign, "targets"), i, t)
        target_print(t, instances, strcmp(text(campaign, "state"), "frozen") == 0, out);
    if (text(campaign, "unstored")[0] != '\0') {
        char why[512];

        fprintf(out, "  its state cannot be stored: %s, trying again\n",
                text_printable(why, sizeof why, text(campaign, "unstored")));
    }
    if (text(campaign, "trouble")[0] != '\0') {
        char trouble[512];

        fprintf(out, "  trouble: %s, trying again\n",
                text_printable(trouble, sizeof trouble, text(campaign, "trouble")));
    }
    if (number(campaign, "lost") > 0)
        fprintf(out, "  lost: %lld crash or hang file%s empty: %s\n",
                (long long)number(campaign, "lost"),
                number(campaign, "lost") == 1 ? " is" : "s are", ARTIFACT_LOST_WORDS);
    const json_t *why;
    json_array_foreach (json_object_get(campaign, "frozen"), i, why) {
        char words[300];

        if (json_is_true(json_object_get(why, "now")))
            fprintf(out, "  frozen since %s: %s\n", text(why, "since"),
                    text_printable(words, sizeof words, text(why, "why")));
    }
    json_array_foreach (json_object_get(json_object_get(campaign, "isolation"), "why"), i, why) {
        if (json_is_string(why))
            fprintf(out, "  isolation: %s\n", json_string_value(why));
    }
}

static int status_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", NULL};
    int code = cmd_plain(&cmd_status, NULL, argc, argv, names, 0);

    if (code != EXIT_DONE)
        return code;
    struct client *c = NULL;
    code = cmd_live(&cmd_status, env, &c);
    if (code != EXIT_DONE)
        return code;
    json_t *doc = cmd_status_doc(&cmd_status, env, &c, argv[optind], &code);
    client_close(c);
    if (doc == NULL)
        return code;
    if (env->json) {
        cmd_print_json(doc);
        json_decref(doc);
        return EXIT_DONE;
    }
    size_t i;
    const json_t *campaign;
    const json_t *campaigns = json_object_get(doc, "campaigns");
    json_array_foreach (campaigns, i, campaign) {
        if (i > 0)
            putchar('\n');
        cmd_status_print(campaign, true, stdout);
    }
    if (json_array_size(campaigns) == 0)
        (void)printf("nothing is running, and nothing has run in %s\n", env->state_dir);
    json_decref(doc);
    return EXIT_DONE;
}

const struct cmd_entry cmd_status = {
    .name = "status",
    .usage = "[NAME] [--json]",
    .help = "what runs now, and how the other campaigns ended",
    .exec = status_exec,
};
