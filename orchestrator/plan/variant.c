/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles of a target's instances. One ordered list; a role whose build or option is missing is passed over and the reason
 * goes to the instance that stands in its place. After the named roles come schedules, without end. Every value is asked of the
 * probe: what this afl-fuzz does not take is left out and said.
 */
#include "plan/variant.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The order in which roles are handed out. */
enum slot {
    SLOT_MAIN,
    SLOT_SAN,
    SLOT_CMPLOG,
    SLOT_SCHED,
    SLOT_LAF,
    SLOT_MOPT,
    SLOT_OLD,
    SLOT_CMPLOG_TRANSFORM,
    SLOT_REST
};

/* Rotated over the sched instances; the first does not repeat what main runs. */
static const char *const schedules[] = {"explore", "coe", "lin", "quad", "exploit", "rare"};

static void left_out(struct variant *v, const struct aflprobe *afl, char flag, const char *value)
{
    if (aflprobe_has_flag(afl, flag))
        strv_addf(&v->left_out, "-%c %s: afl-fuzz %s does not name this value", flag, value,
                  afl->version);
    else
        strv_addf(&v->left_out, "-%c %s: afl-fuzz %s has no -%c", flag, value, afl->version, flag);
}

/* value when this afl-fuzz takes it, else NULL and a note. */
static const char *value_or_note(struct variant *v, const struct aflprobe *afl, char flag,
                                 const char *value)
{
    if (aflprobe_has_value(afl, flag, value))
        return value;
    left_out(v, afl, flag, value);
    return NULL;
}

/* sched1, sched2, ... k counts from 0. About two of three go without trimming, 40 % explore, 20 % exploit, 30 % each input type. */
static void fill_sched(struct variant *v, const struct aflprobe *afl, size_t k)
{
    size_t n = sizeof(schedules) / sizeof(schedules[0]);

    v->role = PLAN_SCHED;
    (void)snprintf(v->name, sizeof(v->name), "sched%zu", k + 1);
    v->schedule = value_or_note(v, afl, 'p', schedules[k % n]);
    v->no_trim = k % 3 != 2;
    if (k % 5 < 3)
        v->strategy = value_or_note(v, afl, 'P', k % 5 < 2 ? "explore" : "exploit");
    if (k % 10 < 6) {
        if (k % 10 < 3)
            v->input_type = value_or_note(v, afl, 'a', "binary");
        else if (aflprobe_has_value(afl, 'a', "text"))
            v->input_type = "text";
        else
            v->input_type = value_or_note(v, afl, 'a', "ascii");
    }
}

static void fill_cmplog(struct variant *v, const struct aflprobe *afl, const char *name,
                        const char *opts)
{
    v->role = PLAN_CMPLOG;
    (void)snprintf(v->name, sizeof(v->name), "%s", name);
    v->schedule = value_or_note(v, afl, 'p', "fast");
    v->cmplog_opts = value_or_note(v, afl, 'l', opts);
    if (v->cmplog_opts == NULL)
        v->cmplog_opts = "";
}

/* True when slot can be filled; v is then complete. On false a note may stay for what stands in its place. */
static bool slot_fill(struct variant *v, enum slot slot, const struct aflprobe *afl,
                      const struct variant_builds *b, size_t *scheds)
{
    switch (slot) {
    case SLOT_MAIN:
        v->role = PLAN_MAIN;
        (void)snprintf(v->name, sizeof(v->name), "main");
        v->schedule = value_or_note(v, afl, 'p', "fast");
        return true;
    case SLOT_SAN:
        if (!b->sanitizer)
            return false;
        v->role = PLAN_SAN;
        (void)snprintf(v->name, sizeof(v->name), "san");
        v->schedule = value_or_note(v, afl, 'p', "explore");
        return true;
    case SLOT_CMPLOG:
    case SLOT_CMPLOG_TRANSFORM:
        if (!b->cmplog)
            return false;
        if (!aflprobe_has_flag(afl, 'c')) {
            if (slot == SLOT_CMPLOG)
                left_out(v, afl, 'c', "CMPLOG");
            return false;
        }
        if (slot == SLOT_CMPLOG)
            fill_cmplog(v, afl, "cmplog1", "2");
        else
            fill_cmplog(v, afl, "cmplog2", "2AT");
        return true;
    case SLOT_LAF:
        if (!b->laf)
            return false;
        v->role = PLAN_LAF;
        (void)snprintf(v->name, sizeof(v->name), "laf");
        v->schedule = value_or_note(v, afl, 'p', "coe");
        return true;
    case SLOT_MOPT:
        if (!aflprobe_has_flag(afl, 'L')) {
            left_out(v, afl, 'L', "0");
            return false;
        }
        if (afl->version_num >= 409 && afl->version_num <= 410) {
            strv_addf(&v->left_out, "-L 0: MOpt hangs in afl-fuzz %s", afl->version);
            return false;
        }
        if (b->own_mutator) { /* a FATAL there. Source: AFL++ src/afl-fuzz-mutators.c */
            strv_addf(&v->left_out, "-L 0: MOpt takes no custom mutator (AFL_PYTHON_MODULE)");
            return false;
        }
        v->role = PLAN_MOPT; /* never with lin or quad */
        (void)snprintf(v->name, sizeof(v->name), "mopt");
        v->schedule = value_or_note(v, afl, 'p', "fast");
        v->mopt = v->no_trim = true;
        return true;
    case SLOT_OLD:
        if (!aflprobe_has_flag(afl, 'Z')) {
            strv_addf(&v->left_out, "-Z: afl-fuzz %s has no -Z", afl->version);
            return false;
        }
        v->role = PLAN_OLD;
        (void)snprintf(v->name, sizeof(v->name), "old");
        v->schedule = value_or_note(v, afl, 'p', "explore");
        v->sequential = true;
        return true;
    case SLOT_SCHED:
    case SLOT_REST:
        break;
    }
    fill_sched(v, afl, (*scheds)++);
    return true;
}

void variant_choose(const struct aflprobe *afl, const struct variant_builds *builds, size_t n,
                    struct variant *v)
{
    enum slot slot = SLOT_MAIN;
    size_t scheds = 0;

    memset(v, 0, n * sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        while (!slot_fill(&v[i], slot, afl, builds, &scheds))
            slot++;
        if (slot != SLOT_REST)
            slot++;
    }
}

void variant_clear(struct variant *v)
{
    strv_clear(&v->left_out);
}
