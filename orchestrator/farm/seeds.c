/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the answer about a target's seeds to a target that may start.
 *
 * Whoever ran them has put copies beside the run's folders; they are moved to their place, by folders that are no links,
 * and taken into the store like the files of an instance. Only then is the target free to start: a seed that fails is
 * held before afl-fuzz could hide it.
 */
#include "farm/seeds.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/path.h"
#include "farm/campaign.h"

#define RETRY_MS         2000
#define SANITIZER_FACTOR 3
#define TOLD_LINES       5 /* failing seeds that the log names */

/* campaigns/NAME/RUN/seeds/TARGET; what is not whole yet has a name of its own. Caller frees. */
static char *folder_of(const struct target *t, const char *rest)
{
    return xasprintf("%s/seeds/%s%s", t->plan->run_dir, t->spec->name, rest);
}

static char *found_dir(const struct target *t)
{
    return path_join(t->spec->sync_dir, SEEDS_INSTANCE);
}

static void done(struct target *t)
{
    struct campaign *c = t->owner;

    t->seeds.state = SEEDS_DONE;
    t->seeds.turn = sd_event_source_disable_unref(t->seeds.turn);
    c->saved_ms = 0; /* the next fuzzd must not run them again */
    campaign_ask_pump(c);
}

void seeds_ask(struct target *t)
{
    const struct farm_events *ev = t->farm->ev;
    cleanup_free char *dir = folder_of(t, ".new");
    int r;

    if (t->seeds.state != SEEDS_NEW)
        return;
    if (ev->seeds == NULL || t->spec->seeds == NULL) {
        t->seeds.state = SEEDS_DONE;
        return;
    }
    r = path_remove_tree_below(t->farm->state_dir, dir);
    if (r == 0)
        r = path_mkdirs_below(t->farm->state_dir, dir, 0700);
    if (r < 0) {
        (void)snprintf(t->seeds.why, sizeof(t->seeds.why), "%s: %s", dir, strerror(-r));
        t->seeds.state = SEEDS_DONE;
        if (r == -ENOSPC)
            campaign_no_space(t->owner);
        return;
    }
    t->seeds.state = SEEDS_ASKED;
    ev->seeds(t->farm->ctx, t->owner, t->spec, dir);
}

static int64_t count(const json_t *j, const char *key)
{
    int64_t n = json_integer_value(json_object_get(j, key));

    return n > 0 ? n : 0;
}

static void text(char *buf, size_t size, const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    (void)strlcpy(buf, s != NULL ? s : "", size);
}

static void take_failures(struct seeds *s, const json_t *list)
{
    const json_t *one;
    size_t i;

    json_decref(s->failures);
    s->failures = json_array();
    json_array_foreach (list, i, one) {
        if (i < SEEDS_TOLD && json_is_object(one))
            (void)json_array_append(s->failures, (json_t *)(uintptr_t)one);
    }
}

int64_t seeds_timeout_ms(int64_t slowest_us, int64_t hang_timeout_ms)
{
    int64_t ms = (slowest_us * SEEDS_TIMEOUT_FACTOR + 9999) / 10000 * 10;

    if (slowest_us <= 0)
        return 0;
    if (ms < SEEDS_TIMEOUT_MIN_MS)
        ms = SEEDS_TIMEOUT_MIN_MS;
    return ms < hang_timeout_ms / 2 ? ms : hang_timeout_ms / 2;
}

int64_t seeds_instance_timeout_ms(const struct target *t, bool sanitizer)
{
    int64_t ms = t->seeds.timeout_ms * (sanitizer ? SANITIZER_FACTOR : 1);

    return ms < t->spec->hang_timeout_ms / 2 ? ms : t->spec->hang_timeout_ms / 2;
}

static void take_start(struct target *t, const json_t *j)
{
    struct seeds *s = &t->seeds;

    json_decref(s->start);
    s->start = json_is_object(j) ? json_deep_copy(j) : NULL;
    s->timeout_ms = t->spec->timeout_ms > 0
                        ? 0
                        : seeds_timeout_ms(count(s->start, "slowest_us"), t->spec->hang_timeout_ms);
}

static int64_t kept_failed(const struct seeds *s)
{
    return count(s->start, "kept_failed");
}

/* Whether there is a folder that was made for afl-fuzz. */
static bool has_start(const struct seeds *s)
{
    return count(s->start, "files") > 0;
}

void seeds_from_json(struct target *t, const json_t *j)
{
    struct seeds *s = &t->seeds;

    if (!json_is_object(j) || json_object_get(j, "total") == NULL)
        return;
    s->total = count(j, "total");
    s->passed = count(j, "passed");
    s->failed = count(j, "failed");
    s->left = count(j, "left");
    s->unreadable = count(j, "unreadable");
    s->remaining = count(j, "remaining");
    s->apart = json_is_true(json_object_get(j, "left_out"));
    text(s->program, sizeof(s->program), j, "program");
    text(s->self_test, sizeof(s->self_test), j, "self_test");
    text(s->refused, sizeof(s->refused), j, "refused");
    text(s->why, sizeof(s->why), j, "why");
    take_failures(s, json_object_get(j, "failures"));
    take_start(t, json_object_get(j, "start"));
    s->state = SEEDS_DONE;
}

json_t *seeds_to_json(const struct target *t)
{
    const struct seeds *s = &t->seeds;

    if (s->state == SEEDS_ASKED || s->state == SEEDS_STORING)
        return json_pack("{s:s}", "state", "running");
    if (s->state != SEEDS_DONE || (s->program[0] == '\0' && s->why[0] == '\0'))
        return NULL;
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:s?, s:s?, s:s?, s:O?, s:O?, s:I}", "state",
        "done", "total", (json_int_t)s->total, "passed", (json_int_t)s->passed, "failed",
        (json_int_t)s->failed, "left", (json_int_t)s->left, "unreadable", (json_int_t)s->unreadable,
        "remaining", (json_int_t)s->remaining, "left_out", (int)s->apart, "program", s->program,
        "self_test", s->self_test[0] != '\0' ? s->self_test : NULL, "refused",
        s->refused[0] != '\0' ? s->refused : NULL, "why", s->why[0] != '\0' ? s->why : NULL,
        "failures", s->failures, "start", s->start, "timeout_ms", (json_int_t)s->timeout_ms);
}

/* Renames a folder of the run to a place that nothing has yet. 0 or -errno. */
static int move(const struct target *t, const char *from, const char *to)
{
    cleanup_free char *parent = path_dirname(to);
    const char *from_name = NULL, *to_name = NULL;
    cleanup_close int from_fd = path_open_parent_below(t->farm->state_dir, from, &from_name);
    cleanup_close int to_fd = path_open_below(t->farm->state_dir, parent, 0700);

    if (from_fd < 0 || to_fd < 0)
        return from_fd < 0 ? from_fd : to_fd;
    to_name = strrchr(to, '/') + 1;
    return renameat2(from_fd, from_name, to_fd, to_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int move_all(struct target *t)
{
    cleanup_free char *from = folder_of(t, ".new"), *to = folder_of(t, "");
    cleanup_free char *found = folder_of(t, ".new/found"), *instance = found_dir(t);
    int r = t->seeds.failed + kept_failed(&t->seeds) > 0 ? move(t, found, instance) : 0;

    /* A fuzzd that died over this has moved them: what it may have recorded stays as it lies. */
    if (r == -EEXIST)
        r = path_remove_tree_below(t->farm->state_dir, found);
    if (r == 0)
        r = path_remove_tree_below(t->farm->state_dir, to);
    return r < 0 ? r : move(t, from, to);
}

static void log_failures(const struct target *t)
{
    const struct seeds *s = &t->seeds;
    const char *who = t->spec->name;
    const json_t *one;
    size_t i;

    json_array_foreach (s->failures, i, one) {
        char file[128], class_[32], inv[96], detail[256];

        if (i == TOLD_LINES)
            break;
        text(file, sizeof(file), one, "file");
        text(class_, sizeof(class_), one, "class");
        text(inv, sizeof(inv), one, "inv");
        text(detail, sizeof(detail), one, "detail");
        log_warn("%s/%s: seed %s fails: %s %s: %s", t->plan->campaign, who, file, class_, inv,
                 detail);
    }
    if (s->failed > 0)
        log_warn("%s/%s: %lld of %lld seeds fail when replayed, leaving them out",
                 t->plan->campaign, who, (long long)s->failed, (long long)s->total);
    if (s->left > 0)
        log_warn("%s/%s: %lld of %lld seeds were not replayed in time, going on", t->plan->campaign,
                 who, (long long)s->left, (long long)s->total);
    if (kept_failed(s) > 0)
        log_warn("%s/%s: %lld of %lld inputs that the last run kept fail now, leaving them out",
                 t->plan->campaign, who, (long long)kept_failed(s),
                 (long long)count(s->start, "kept"));
    if (count(s->start, "kept_damaged") > 0)
        log_warn("%s/%s: %lld of what the last run kept cannot be read whole, leaving it out",
                 t->plan->campaign, who, (long long)count(s->start, "kept_damaged"));
    if (json_is_string(json_object_get(s->start, "why")))
        log_warn("%s/%s: start corpus: %s", t->plan->campaign, who,
                 json_string_value(json_object_get(s->start, "why")));
    if (has_start(s))
        log_info(
            "%s/%s: begins with %lld input%s, distilled from %lld seed%s and %lld of the last run",
            t->plan->campaign, who, (long long)count(s->start, "files"),
            text_plural(count(s->start, "files")), (long long)s->total, text_plural(s->total),
            (long long)count(s->start, "kept"));
    if (s->why[0] != '\0')
        log_warn("%s/%s: seeds: %s, going on", t->plan->campaign, who, s->why);
}

/* One batch a turn; on a full disk again later, for as long as it takes. */
static int on_turn(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct target *t = userdata;
    cleanup_free char *dir = found_dir(t);
    const struct artifact_source src = {.run = t->plan->run_id,
                                        .target = t->spec->name,
                                        .instance = SEEDS_INSTANCE,
                                        .out_dir = dir,
                                        .empty_is_input = true};
    struct err err = {0};
    bool more = false;
    int r = artifact_scan(t->farm->db, t->farm->state_dir, &src, &t->seeds.walk, target_on_artifact,
                          t, &more, &err);

    (void)usec;
    if (r >= 0 && !more) {
        done(t);
        return 0;
    }
    if (r < 0) {
        log_warn("%s/%s: cannot take seeds that fail: %s, trying again", t->plan->campaign,
                 t->spec->name, err.msg);
        if (r == -ENOSPC)
            campaign_no_space(t->owner);
    }
    (void)sd_event_source_set_time_relative(source, r < 0 ? RETRY_MS * 1000ULL : 0);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* What failed is on disk: take it, then let the target start. */
static void store(struct target *t)
{
    int r;

    t->seeds.state = SEEDS_STORING;
    r = sd_event_add_time_relative(t->farm->loop, &t->seeds.turn, CLOCK_MONOTONIC, 0, 0, on_turn,
                                   t);
    if (r >= 0)
        r = sd_event_source_set_priority(t->seeds.turn, SD_EVENT_PRIORITY_IDLE);
    if (r < 0) {
        (void)snprintf(t->seeds.why, sizeof(t->seeds.why), "what failed cannot be stored: %s",
                       strerror(-r));
        done(t);
    }
}

void seeds_answer(struct target *t, const json_t *answer)
{
    struct seeds *s = &t->seeds;
    bool failed, whole;
    int r = 0;

    if (s->state != SEEDS_ASKED || t->state != TARGET_PLANNED)
        return;
    if (!json_is_true(json_object_get(answer, "ok"))) {
        text(s->why, sizeof(s->why), answer, "error");
        if (s->why[0] == '\0')
            (void)strlcpy(s->why, "they could not be run", sizeof(s->why));
        log_failures(t);
        done(t);
        return;
    }
    seeds_from_json(t, answer);
    failed = s->failed + kept_failed(s) > 0;
    /* Where some could not be run, what the others came to holds all the same. */
    whole = s->why[0] == '\0' || json_is_true(json_object_get(answer, "aside"));
    if ((failed || has_start(s)) && whole)
        r = move_all(t);
    if (r < 0 && !failed) {
        log_warn("%s/%s: the distilled seeds: %s, beginning with the seeds themselves",
                 t->plan->campaign, t->spec->name, strerror(-r));
        take_start(t, NULL);
    } else if (r < 0) {
        (void)snprintf(s->why, sizeof(s->why), "what failed could not be put aside: %s",
                       strerror(-r));
    }
    if (s->why[0] != '\0')
        take_start(t, NULL);
    s->apart = failed && whole && r == 0;
    log_failures(t);
    if (s->apart)
        store(t);
    else
        done(t);
}

const char *seeds_refusal(const struct target *t, char *buf, size_t size)
{
    const struct seeds *s = &t->seeds;

    if (s->state != SEEDS_DONE)
        return NULL;
    if (s->self_test[0] != '\0')
        (void)snprintf(buf, size, "its start-up self-test fails: %s", s->self_test);
    else if (s->refused[0] != '\0')
        (void)snprintf(buf, size, "%s", s->refused);
    else if (s->failed > 0 && s->remaining == 0)
        (void)snprintf(buf, size, "no seed is left to begin with: %lld of %lld fail when replayed",
                       (long long)s->failed, (long long)s->total);
    else
        return NULL;
    return buf;
}

char *seeds_input_dir(const struct target *t)
{
    if (has_start(&t->seeds))
        return folder_of(t, "/start");
    return t->seeds.apart && t->seeds.failed > 0 ? folder_of(t, "/in") : NULL;
}

void seeds_reopen(struct target *t)
{
    struct seeds *s = &t->seeds;

    s->refused[0] = '\0'; /* it may be another program now */
    if (s->apart || has_start(s))
        return; /* held already, and what is left is known */
    json_decref(s->failures);
    json_decref(s->start);
    *s = (struct seeds){0};
}

void seeds_clear(struct target *t)
{
    cleanup_free char *dir = folder_of(t, ".new");

    if (t->seeds.state != SEEDS_NEW)
        (void)path_remove_tree_below(t->farm->state_dir, dir);
    json_decref(t->seeds.failures);
    t->seeds.failures = NULL;
    json_decref(t->seeds.start);
    t->seeds.start = NULL;
    t->seeds.turn = sd_event_source_disable_unref(t->seeds.turn);
    artifact_walk_free(t->seeds.walk);
    t->seeds.walk = NULL;
}
