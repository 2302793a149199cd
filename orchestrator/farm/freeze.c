/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of pauses. Causes are independent: a campaign that a user paused stays so when memory is free again, and
 * one that two causes hold goes on only when both are gone.
 */
#include "farm/freeze.h"

#include <bsd/string.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"

bool freeze_add(struct freeze *f, enum freeze_cause cause, const char *why, int64_t now_ms,
                int64_t wall_ms)
{
    struct freeze_account *a = &f->of[cause];
    bool first = f->causes == 0;

    (void)strlcpy(a->why, why, sizeof(a->why));
    if (freeze_holds(f, cause))
        return false;
    f->causes |= 1U << cause;
    a->since_ms = now_ms;
    a->since_at_ms = wall_ms;
    a->times++;
    return first;
}

bool freeze_remove(struct freeze *f, enum freeze_cause cause, int64_t now_ms)
{
    struct freeze_account *a = &f->of[cause];

    if (!freeze_holds(f, cause))
        return false;
    f->causes &= ~(1U << cause);
    if (now_ms > a->since_ms)
        a->total_ms += now_ms - a->since_ms;
    return f->causes == 0;
}

bool freeze_holds(const struct freeze *f, enum freeze_cause cause)
{
    return (f->causes & (1U << cause)) != 0;
}

const char *freeze_cause_name(enum freeze_cause cause)
{
    static const char *const names[FREEZE_CAUSES] = {
        [FREEZE_USER] = "user", [FREEZE_PRESSURE] = "pressure", [FREEZE_FLOOR] = "disk-floor",
        [FREEZE_DISK] = "disk", [FREEZE_SPACE] = "no-space",    [FREEZE_PRIORITY] = "priority",
    };

    return (unsigned)cause < FREEZE_CAUSES ? names[cause] : "?";
}

const char *freeze_why(const struct freeze *f)
{
    for (int i = 0; i < FREEZE_CAUSES; i++)
        if (freeze_holds(f, i))
            return f->of[i].why;
    return NULL;
}

json_t *freeze_to_json(const struct freeze *f, int64_t now_ms)
{
    json_t *list = json_array();

    for (int i = 0; i < FREEZE_CAUSES; i++) {
        const struct freeze_account *a = &f->of[i];
        bool now = freeze_holds(f, i);
        int64_t ms = a->total_ms + (now && now_ms > a->since_ms ? now_ms - a->since_ms : 0);
        char at[24];

        if (a->times == 0)
            continue;
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:s, s:I, s:b, s:I, s:I, s:I}", "cause",
                                              freeze_cause_name(i), "why", a->why, "since",
                                              clock_iso8601(at, sizeof(at), a->since_at_ms),
                                              "at_ms", (json_int_t)a->since_at_ms, "now", (int)now,
                                              "times", (json_int_t)a->times, "past_ms",
                                              (json_int_t)a->total_ms, "ms", (json_int_t)ms));
    }
    return list;
}

void freeze_from_json(struct freeze *f, const json_t *j, int64_t now_ms, int64_t wall_ms)
{
    const json_t *one;
    size_t k;

    json_array_foreach (j, k, one) {
        const char *cause = json_string_value(json_object_get(one, "cause"));
        const char *why = json_string_value(json_object_get(one, "why"));
        json_int_t times = json_integer_value(json_object_get(one, "times"));
        json_int_t ms = json_integer_value(json_object_get(one, "past_ms"));
        json_int_t at_ms = json_integer_value(json_object_get(one, "at_ms"));

        for (int i = 0; cause != NULL && why != NULL && i < FREEZE_CAUSES; i++) {
            struct freeze_account *a = &f->of[i];

            if (strcmp(freeze_cause_name(i), cause) != 0)
                continue;
            a->times = times > 0 ? times : 0;
            a->total_ms = ms > 0 ? ms : 0;
            (void)strlcpy(a->why, why, sizeof(a->why));
            a->since_at_ms = at_ms > 0 && at_ms <= wall_ms ? at_ms : wall_ms;
            if (!json_is_true(json_object_get(one, "now")))
                continue;
            f->causes |= 1U << i;
            a->since_ms = now_ms - (wall_ms - a->since_at_ms);
        }
    }
}
