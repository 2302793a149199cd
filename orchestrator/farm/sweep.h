/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FARM_SWEEP_H
#define FARM_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/*
 * What a target's queues came to in its sanitizer build. Who runs them is fuzzd's affair (campaign_sweep_answer); here the figures are kept,
 * and what failed is taken into the store as an artifact of the instance SWEEP_INSTANCE.
 */
#define SWEEP_INSTANCE "sweep"

struct folder_walk;
struct target;
struct sweep {
    bool asked;          /* some answer has come */
    int64_t swept, left; /* contents run; entries still to do, as of the last answer */
    int64_t failed;      /* distinct contents that failed */
    int64_t alike;       /* of those: not kept, as there are enough of the kind */
    int64_t too_large;   /* entries that no fork server takes */
    bool no_space;       /* the record of it, or a copy, could not be written for that */
    bool complete;       /* all there was when the target had ended */
    char why[512];       /* why some could not be run, "" nothing */
    bool storing;        /* what failed is being taken into the store */
    char trouble[512];   /* why that does not go, "" it does */
    sd_event_source *turn;
    struct folder_walk *walk;
};

/* An answer as triage/job_sweep.h has it; last: nothing of the target fuzzes any more. Then farm_events.swept is called, maybe at once. */
void sweep_answer(struct target *t, const json_t *answer, bool last);
/* Takes what an earlier fuzzd may have left in the folder; farm_events.swept is called when that is done. */
void sweep_collect(struct target *t);
/* As status and rows have it; NULL when there was none. New reference. */
json_t *sweep_to_json(const struct target *t);
void sweep_from_json(struct target *t, const json_t *j);
void sweep_clear(struct target *t);

#endif
