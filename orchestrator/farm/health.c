/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stall window. Too long costs minutes of one core; too short kills a healthy instance in its calibration, so
 * each state is given several times what AFL++ can need there.
 */
#include "farm/health.h"

/* afl-fuzz runs a queue entry up to CAL_CYCLES_LONG times at calibration. Source: AFL++ include/config.h. */
#define HEALTH_CAL_RUNS     40
#define HEALTH_MAX_MS       (3600 * 1000LL)
#define HEALTH_MIN_CALIB_MS (120 * 1000LL)
#define HEALTH_MIN_FUZZ_MS  (120 * 1000LL)
#define HEALTH_STATS_MS     (60 * 1000LL) /* STATS_UPDATE_SEC of 4.04c */

#define HEALTH_STUCK_MS (60 * 1000LL)
#define HEALTH_INIT_MS  (10 * 1000LL) /* AFL++'s own, for the fork server's start */

static int64_t clamp(int64_t v, int64_t min, int64_t max)
{
    return v < min ? min : v > max ? max : v;
}

int64_t health_window_ms(const struct health *h, enum instance_state state)
{
    int64_t one_ms = h->exec_timeout_ms > 0 ? clamp(h->exec_timeout_ms, 1, 60000) : 1000;
    int64_t n = clamp(h->n_inputs, 1, 100000);
    int64_t init_ms = h->init_timeout_ms > 0 ? h->init_timeout_ms : HEALTH_INIT_MS;

    switch (state) {
    case INSTANCE_STARTING:
    case INSTANCE_CALIBRATING:
        if (h->window_ms > 0)
            return h->window_ms;
        return clamp(2 * init_ms + n * HEALTH_CAL_RUNS * one_ms, HEALTH_MIN_CALIB_MS,
                     HEALTH_MAX_MS);
    case INSTANCE_FUZZING:
        if (h->window_ms > 0)
            return h->window_ms;
        /* An entry in trim or calibration that times out each time reports between executions. */
        return clamp(HEALTH_CAL_RUNS * one_ms + (h->telemetry ? 0 : 3 * HEALTH_STATS_MS),
                     HEALTH_MIN_FUZZ_MS + (h->telemetry ? 0 : 2 * HEALTH_STATS_MS), HEALTH_MAX_MS);
    default:
        return 0;
    }
}

int64_t health_stuck_ms(const struct health *h)
{
    const int64_t one_ms =
        h->exec_timeout_ms > h->hang_timeout_ms ? h->exec_timeout_ms : h->hang_timeout_ms;
    const int64_t init_ms = h->init_timeout_ms > 0 ? h->init_timeout_ms : HEALTH_INIT_MS;
    const int64_t longest_ms = 3 * one_ms > 2 * init_ms ? 3 * one_ms : 2 * init_ms;

    if (h->window_ms > 0)
        return h->window_ms;
    return longest_ms > HEALTH_STUCK_MS ? longest_ms : HEALTH_STUCK_MS;
}
