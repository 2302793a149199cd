/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients ask, and when they are answered. Answers to start, stop and wait come when there is something to
 * say; each waits as a ticket, and a ticket of a client that has gone costs nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/version.h"
#include "fuzzd.h"
#include "plan/plan.h"
#include "report/fields.h"
#include "store/runs.h"

struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct daemon *d;
    struct run *run; /* NULL: all runs (stop --all) */
    uint64_t ticket;
    bool wait; /* a wait, else a stop */
    sd_event_source *timeout;
};

static void waiter_free(struct waiter *w)
{
    TAILQ_REMOVE(&w->d->waiters, w, link);
    sd_event_source_disable_unref(w->timeout);
    free(w);
}

static struct waiter *waiter_new(struct daemon *d, struct run *run, uint64_t ticket, bool wait)
{
    struct waiter *w = xcalloc(1, sizeof(*w));

    w->d = d;
    w->run = run;
    w->ticket = ticket;
    w->wait = wait;
    TAILQ_INSERT_TAIL(&d->waiters, w, link);
    return w;
}

static json_t *run_json(const struct run *run)
{
    const struct plan *plan = campaign_plan(run->campaign);

    return json_pack("{s:s, s:s}", "campaign", plan->campaign, "run", plan->run_id);
}

void serve_started(struct run *run)
{
    const char *why = campaign_start_failure(run->campaign);
    const char *stopped = campaign_interrupted(run->campaign);
    bool failed = !campaign_ever_up(run->campaign) &&
                  (campaign_given_up(run->campaign) || campaign_fuzzing_ended(run->campaign));
    json_t *answer;

    if (failed && stopped != NULL)
        why = stopped;

    if (run->start_ticket == 0)
        return;
    answer = run_json(run);
    json_object_set_new(answer, "state",
                        json_string(failed && stopped != NULL ? "interrupted"
                                    : failed                  ? "failed"
                                             : campaign_state_name(run->campaign)));
    if (!failed && freeze_why(&run->campaign->freeze) != NULL)
        json_object_set_new(answer, "why", json_string(freeze_why(&run->campaign->freeze)));
    if (failed && why != NULL)
        json_object_set_new(answer, "reason", json_string(why));
    server_answer(run->d->server, run->start_ticket, answer);
    run->start_ticket = 0;
}

void serve_over(struct run *run)
{
    struct daemon *d = run->d;
    const char *verdict = verdict_name(run->verdict);
    bool last = TAILQ_FIRST(&d->runs) == run && TAILQ_NEXT(run, link) == NULL;
    struct waiter *w, *next;

    TAILQ_FOREACH_SAFE (w, &d->waiters, link, next) {
        json_t *answer;

        if (w->run != run && !(w->run == NULL && last))
            continue;
        answer = w->run != NULL ? run_json(run) : json_object();
        if (w->wait)
            json_object_set_new(answer, "ended", json_true());
        if (w->run != NULL && verdict != NULL)
            json_object_set_new(answer, "verdict", json_string(verdict));
        server_answer(d->server, w->ticket, answer);
        waiter_free(w);
    }
}

void serve_stuck(struct run *run, const char *why)
{
    struct daemon *d = run->d;
    struct waiter *w, *next;

    TAILQ_FOREACH_SAFE (w, &d->waiters, link, next) {
        cleanup_free char *text = NULL;

        if (w->wait || (w->run != run && w->run != NULL))
            continue;
        text = xasprintf("campaign %s has stopped, but cannot be finished: %s",
                         campaign_plan(run->campaign)->campaign, why);
        server_refuse(d->server, w->ticket, EXIT_ERROR, text);
        waiter_free(w);
    }
}

static int on_wait_timeout(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct waiter *w = userdata;
    json_t *answer = run_json(w->run);

    (void)s;
    (void)usec;
    json_object_set_new(answer, "ended", json_false());
    server_answer(w->d->server, w->ticket, answer);
    waiter_free(w);
    return 0;
}

/* The run a request is about, or NULL when it was refused. Without a name: the only one. */
static struct run *run_named(struct daemon *d, uint64_t ticket, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "name"));
    const char *id = json_string_value(json_object_get(request, "run"));
    struct run *run, *found = NULL;
    int n = 0;
    char text[200];

    TAILQ_FOREACH (run, &d->runs, link) {
        const struct plan *plan = campaign_plan(run->campaign);

        if ((name == NULL || strcmp(plan->campaign, name) == 0) &&
            (id == NULL || strcmp(plan->run_id, id) == 0)) {
            found = run;
            n++;
        }
    }
    if (n == 1)
        return found;
    if (n > 1)
        server_refuse(d->server, ticket, EXIT_USAGE, "several campaigns run: name one");
    else {
        if (name != NULL)
            (void)snprintf(text, sizeof(text), "campaign %.100s is not running", name);
        else
            (void)snprintf(text, sizeof(text), "no campaign is running");
        server_refuse(d->server, ticket, EXIT_NO_CAMPAIGN, text);
    }
    return NULL;
}

static void serve_ping(struct daemon *d, uint64_t ticket, const json_t *request)
{
    char at[24];

    (void)request;
    server_answer(d->server, ticket,
                  json_pack("{s:i, s:s, s:s}", "pid", (int)getpid(), "fz_version", version_string(),
                            "started_at", clock_iso8601(at, sizeof(at), d->started_at_ms)));
}

static void serve_start(struct daemon *d, uint64_t ticket, const json_t *request)
{
    const char *spec_text = json_string_value(json_object_get(request, "spec_text"));
    struct campaign *c = NULL;
    struct plan *plan = NULL;
    struct err err = {0};
    struct run *run;
    int r;

    if (d->terminating) {
        server_refuse(d->server, ticket, EXIT_NO_DAEMON, "fuzzd is ending");
        return;
    }
    r = plan_from_json(json_object_get(request, "plan"), &plan, &err);
    if (r < 0) {
        server_refuse(d->server, ticket, EXIT_USAGE, err.msg);
        return;
    }
    r = campaign_start(d->farm, plan, spec_text != NULL ? spec_text : "", &c, &err);
    if (r < 0) {
        server_refuse(d->server, ticket, r == -EBUSY ? EXIT_LOCKED : EXIT_ERROR, err.msg);
        return;
    }
    run = run_new(d, c);
    run->start_ticket = ticket;
}

static json_t *run_status(const struct run *run)
{
    json_t *j = campaign_status_json(run->campaign);
    int64_t for_ms = 0;
    const char *trouble = finish_trouble(run->finish, &for_ms);

    if (trouble != NULL)
        (void)json_object_set_new(j, "trouble", fields_string(trouble));
    return j;
}

static void serve_status(struct daemon *d, uint64_t ticket, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "name"));
    json_t *list = json_array(), *status;
    struct run *run;
    char at[24];

    TAILQ_FOREACH (run, &d->runs, link)
        if (name == NULL || strcmp(campaign_plan(run->campaign)->campaign, name) == 0)
            json_array_append_new(list, run_status(run));
    status = json_pack("{s:i, s:{s:i, s:s, s:s}, s:o}", "version", 1, "fuzzd", "pid", (int)getpid(),
                       "fz_version", version_string(), "started",
                       clock_iso8601(at, sizeof(at), d->started_at_ms), "campaigns", list);
    server_answer(d->server, ticket, json_pack("{s:o}", "status", status));
}

static void serve_stop(struct daemon *d, uint64_t ticket, const json_t *request)
{
    struct run *run;

    if (json_is_true(json_object_get(request, "all"))) {
        if (TAILQ_EMPTY(&d->runs)) {
            server_answer(d->server, ticket, json_object());
            return;
        }
        (void)waiter_new(d, NULL, ticket, false);
        TAILQ_FOREACH (run, &d->runs, link)
            run_stop(run, "stopped by a user");
        return;
    }
    run = run_named(d, ticket, request);
    if (run == NULL)
        return;
    (void)waiter_new(d, run, ticket, false);
    run_stop(run, "stopped by a user");
}

static void serve_wait(struct daemon *d, uint64_t ticket, const json_t *request)
{
    const json_t *timeout = json_object_get(request, "timeout_ms");
    struct run *run = run_named(d, ticket, request);
    struct waiter *w;
    json_int_t ms;

    if (run == NULL)
        return;
    w = waiter_new(d, run, ticket, true);
    ms = json_integer_value(timeout);
    if (!json_is_integer(timeout) || ms < 0 || ms > 365LL * 86400 * 1000)
        return;
    if (sd_event_add_time_relative(d->loop, &w->timeout, CLOCK_MONOTONIC, (uint64_t)ms * 1000, 0,
                                   on_wait_timeout, w) < 0)
        log_warn("cannot set a timer for a wait, ignoring");
}

/* What a pause or a resume has come to. */
static void answer_freeze(struct run *run, uint64_t ticket, bool changed)
{
    const char *why = freeze_why(&run->campaign->freeze);
    const char *unstored = campaign_unstored(run->campaign);
    json_t *answer = run_json(run);

    json_object_set_new(answer, "state", json_string(campaign_state_name(run->campaign)));
    json_object_set_new(answer, "changed", json_boolean(changed));
    if (unstored != NULL)
        json_object_set_new(answer, "unstored", json_string(unstored));
    if (why != NULL)
        json_object_set_new(answer, "why", json_string(why));
    server_answer(run->d->server, ticket, answer);
}

static bool refused_ending(struct run *run, uint64_t ticket)
{
    if (!campaign_ending(run->campaign))
        return false;
    server_refuse(run->d->server, ticket, EXIT_LOCKED, "the campaign is ending");
    return true;
}

static void serve_pause(struct daemon *d, uint64_t ticket, const json_t *request)
{
    struct run *run = run_named(d, ticket, request);
    bool held;

    if (run == NULL || refused_ending(run, ticket))
        return;
    held = freeze_holds(&run->campaign->freeze, FREEZE_USER);
    campaign_freeze(run->campaign, FREEZE_USER, "paused by a user");
    answer_freeze(run, ticket, !held);
}

/* An interrupted run of the index, by the name of its campaign. */
static void resume_ended(struct daemon *d, uint64_t ticket, const char *name)
{
    struct campaign *c = NULL;
    struct run_row row = {0};
    struct err err = {0};
    struct run *run;
    int r;

    if (d->terminating) {
        server_refuse(d->server, ticket, EXIT_NO_DAEMON, "fuzzd is ending");
        return;
    }
    r = runs_get(d->db, name, NULL, &row, &err);
    if (r < 0) {
        server_refuse(d->server, ticket, r == -ENOENT ? EXIT_NO_CAMPAIGN : EXIT_ERROR,
                      r == -ENOENT ? "no such campaign" : err.msg);
        return;
    }
    r = campaign_resume(d->farm, &row, &c, &err);
    run_row_clear(&row);
    if (r < 0) {
        server_refuse(d->server, ticket, r == -EBUSY ? EXIT_LOCKED : EXIT_ERROR, err.msg);
        return;
    }
    run = run_new(d, c);
    run->start_ticket = ticket;
    run_push_untriaged(run);
    run_judge_waited(run);
}

static void serve_resume(struct daemon *d, uint64_t ticket, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "name"));
    struct run *run;
    bool held, live = name == NULL;

    TAILQ_FOREACH (run, &d->runs, link)
        live |= name != NULL && strcmp(campaign_plan(run->campaign)->campaign, name) == 0;
    if (!live) {
        resume_ended(d, ticket, name);
        return;
    }
    if (name == NULL && TAILQ_EMPTY(&d->runs)) {
        server_refuse(d->server, ticket, EXIT_USAGE,
                      "no campaign is running: name the one to resume");
        return;
    }
    run = run_named(d, ticket, request);
    if (run == NULL)
        return;
    if (campaign_ending(run->campaign)) {
        json_t *answer = run_json(run);

        json_object_set_new(answer, "ending", json_true());
        server_answer(d->server, ticket, answer);
        return;
    }
    held = freeze_holds(&run->campaign->freeze, FREEZE_USER);
    campaign_thaw(run->campaign, FREEZE_USER);
    answer_freeze(run, ticket, held);
}

static void serve_add_to(struct daemon *d, uint64_t ticket, const json_t *request)
{
    struct run *run = run_named(d, ticket, request);

    if (run != NULL && !refused_ending(run, ticket))
        serve_add(run, ticket, request);
}

static void serve_shutdown(struct daemon *d, uint64_t ticket, const json_t *request)
{
    (void)request;
    if (!TAILQ_EMPTY(&d->runs)) {
        server_refuse(d->server, ticket, EXIT_LOCKED, "campaigns are running: stop them first");
        return;
    }
    server_answer(d->server, ticket, json_object());
    (void)sd_event_exit(d->loop, 0);
}

static void on_request(void *ctx, uint64_t ticket, const char *verb, const json_t *request)
{
    static const struct {
        const char *verb;
        void (*fn)(struct daemon *, uint64_t, const json_t *);
    } verbs[] = {
        {"ping", serve_ping},   {"start", serve_start},   {"status", serve_status},
        {"stop", serve_stop},   {"wait", serve_wait},     {"shutdown", serve_shutdown},
        {"pause", serve_pause}, {"resume", serve_resume}, {"add", serve_add_to},
    };
    struct daemon *d = ctx;
    char text[100];

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, verb) == 0) {
            verbs[i].fn(d, ticket, request);
            return;
        }
    }
    (void)snprintf(text, sizeof(text), "unknown request %.60s", verb);
    server_refuse(d->server, ticket, EXIT_USAGE, text);
}

int serve_init(struct daemon *d, struct err *err)
{
    return server_new(d->loop, d->state_dir, on_request, d, &d->server, err);
}

void serve_fini(struct daemon *d)
{
    while (!TAILQ_EMPTY(&d->waiters))
        waiter_free(TAILQ_FIRST(&d->waiters));
    server_free(d->server);
    d->server = NULL;
}
