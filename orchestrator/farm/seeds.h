/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_SEEDS_H
#define FARM_SEEDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/alloc.h"

/*
 * The seeds of a target, run once before it is fuzzed. Who runs them is fuzzd's affair (farm_events.seeds, seeds_answer); here is kept what came
 * of it. A seed that fails is an artifact of the instance SEEDS_INSTANCE, and afl-fuzz is given a folder without it.
 */
#define SEEDS_INSTANCE "seed"
#define SEEDS_TOLD     100 /* failing seeds that are named */

struct folder_walk;
struct target;
enum seeds_state {
    SEEDS_NEW,
    SEEDS_ASKED,   /* they are being run */
    SEEDS_STORING, /* what failed is being taken into the store */
    SEEDS_DONE
};
struct seeds {
    enum seeds_state state;
    int64_t total, passed, failed, left, unreadable, remaining;
    bool apart;          /* afl-fuzz gets a folder without those that failed */
    char program[16];    /* role of the build that ran them */
    char self_test[512]; /* the words of a start-up self-test that fails, "" it passes */
    char refused[512];   /* why the harness build cannot be talked to, "" it can */
    char why[512];      /* why some could not be run, or what failed not be put aside; "" nothing */
    json_t *start;      /* what the distillation came to, see corpus/job_corpus.h; or NULL */
    int64_t timeout_ms; /* chosen for afl-fuzz, 0: it chooses itself */
    json_t *failures;   /* [{"file","class","inv","detail"}] */
    sd_event_source *turn;
    struct folder_walk *walk; /* over what failed, or NULL */
};

/* Asks for them when that was not done; no-op otherwise. */
void seeds_ask(struct target *t);
/* The answer to what was asked, as triage/job.h has it. Ignored when nothing was asked, or the target has ended meanwhile. */
void seeds_answer(struct target *t, const json_t *answer);
/* Why the target cannot be fuzzed, or NULL. Text of buf. */
const char *seeds_refusal(const struct target *t, char *buf, size_t size);
/* The folder afl-fuzz begins with in the place of the spec's, or NULL. Caller frees. */
char *seeds_input_dir(const struct target *t);
/*
 * The time of one execution that is chosen where the spec says auto, by the slowest input of the start corpus: SEEDS_TIMEOUT_FACTOR times that,
 * in steps of 10 ms. At least SEEDS_TIMEOUT_MIN_MS: with less, what the scheduler of a loaded host takes is taken for a hang. At most half of hang_timeout,
 * so that afl-fuzz tries again with that before it saves a hang. 0 when nothing was measured.
 * Source: AFL++ src/afl-fuzz-init.c, perform_dry_run: five times the average, at least 20 ms, at most 1 s.
 */
#define SEEDS_TIMEOUT_FACTOR 5
#define SEEDS_TIMEOUT_MIN_MS 100
int64_t seeds_timeout_ms(int64_t slowest_us, int64_t hang_timeout_ms);
/* For an instance: a sanitizer's build gets three times that. 0: afl-fuzz chooses. */
int64_t seeds_instance_timeout_ms(const struct target *t, bool sanitizer);
/* As status and rows have it; NULL when they were not run. New reference. */
json_t *seeds_to_json(const struct target *t);
void seeds_from_json(struct target *t, const json_t *j);
/* A run that is gone on with: asked anew where they could not be run, or nothing came of it. */
void seeds_reopen(struct target *t);
void seeds_clear(struct target *t);

#endif
