/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that a fuzzd before this one left unfinished.
 *
 * Each is gone on with; one whose plan cannot be read any more ends as interrupted, with the reason in its row, as
 * it would block its campaign's status for ever.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "fuzzd.h"
#include "store/runs.h"

static void give_up(struct daemon *d, struct run_row *row, const char *why)
{
    json_t *reasons = json_pack("[s]", why);
    struct err err = {0};

    log_error("campaign %s: run %s cannot be gone on with: %s", row->campaign, row->id, why);
    free(row->reasons);
    row->reasons = reasons != NULL ? json_dumps(reasons, JSON_COMPACT) : xstrdup("[]");
    json_decref(reasons);
    str_set(&row->state, "ended");
    str_set(&row->verdict, verdict_name(VERDICT_INTERRUPTED));
    row->ended_at_ms = clock_wall_ms();
    if (runs_put(d->db, row, &err) < 0)
        log_error("%s", err.msg);
}

void daemon_adopt(struct daemon *d)
{
    struct run_row *rows = NULL;
    struct err err = {0};
    size_t n = 0;

    if (runs_list(d->db, true, &rows, &n, &err) < 0) {
        log_error("cannot list unfinished runs: %s", err.msg);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct campaign *c = NULL;
        struct err why = {0};

        if (campaign_adopt(d->farm, &rows[i], &c, &why) < 0)
            give_up(d, &rows[i], why.msg);
        else
            run_push_untriaged(run_new(d, c));
        run_row_clear(&rows[i]);
    }
    free(rows);
}
