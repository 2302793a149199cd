/* SPDX-License-Identifier: Apache-2.0 */
/* "add" of the protocol: an input for a target that is fuzzed. What comes is bounded, and only its content gives the file its name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "farm/additions.h"
#include "fuzzd.h"
#include "plan/plan.h"
#include "report/fields.h"

/* The target of a run that can be added to, or NULL when it was refused. */
static const struct plan_target *target_added_to(struct run *run, uint64_t ticket, const char *name)
{
    const struct campaign *c = run->campaign;
    const struct plan *plan = campaign_plan(c);
    const struct target *t = NULL;
    char text[200];

    for (size_t i = 0; i < plan->n_targets && t == NULL; i++) {
        if (strcmp(plan->targets[i].name, name) == 0)
            t = c->targets[i];
    }
    if (t == NULL)
        (void)snprintf(text, sizeof(text), "campaign %s has no target %.100s", plan->campaign,
                       name);
    else if (t->state != TARGET_PLANNED && t->state != TARGET_RUNNING)
        (void)snprintf(text, sizeof(text), "target %s is not fuzzed any more", t->spec->name);
    else if (!additions_read(plan, t->spec))
        (void)snprintf(text, sizeof(text),
                       "target %s reads nothing while it runs: its afl-fuzz has no -F, or the run "
                       "is of an older fuzzd",
                       t->spec->name);
    else
        return t->spec;
    server_refuse(run->d->server, ticket, t == NULL ? EXIT_USAGE : EXIT_ERROR, text);
    return NULL;
}

/* Without data: where it goes, and where it is seen that it was read. */
void serve_add(struct run *run, uint64_t ticket, const json_t *request)
{
    struct server *server = run->d->server;
    const struct plan *plan = campaign_plan(run->campaign);
    const char *name = json_string_value(json_object_get(request, "target"));
    const json_t *text = json_object_get(request, "data");
    cleanup_free uint8_t *data = NULL;
    cleanup_free char *dir = NULL;
    const struct plan_target *t;
    bool present = false;
    char sha256[65] = "";
    struct err err = {0};
    json_t *answer;
    size_t size = 0;
    int r;

    if (name == NULL) {
        server_refuse(server, ticket, EXIT_USAGE, "name a target");
        return;
    }
    t = target_added_to(run, ticket, name);
    if (t == NULL)
        return;
    r = additions_open(plan, t, &dir, &err);
    if (r == 0 && text != NULL) {
        r = base64_decode(json_is_string(text) ? json_string_value(text) : "=",
                          json_is_string(text) ? json_string_length(text) : 1, ADDITIONS_FILE_BYTES,
                          &data, &size);
        if (r < 0)
            (void)err_set(
                &err, r, r == -EFBIG ? "is larger than AFL++ takes (1 MiB)" : "data is not base64");
        else
            r = additions_put(plan, t, data, size, sha256, &present, &err);
    }
    if (r < 0) {
        server_refuse(server, ticket, r == -EINVAL || r == -EFBIG ? EXIT_USAGE : EXIT_ERROR,
                      err.msg);
        return;
    }
    answer = json_pack("{s:s, s:s}", "campaign", plan->campaign, "run", plan->run_id);
    json_object_set_new(answer, "dir", fields_string(dir));
    json_object_set_new(answer, "out", fields_string(additions_out(t)));
    json_object_set_new(answer, "sha256", json_string(sha256));
    json_object_set_new(answer, "present", json_boolean(present));
    if (freeze_why(&run->campaign->freeze) != NULL)
        json_object_set_new(answer, "why", json_string(freeze_why(&run->campaign->freeze)));
    server_answer(server, ticket, answer);
}
