/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores and turns of the campaigns of one fuzzd, and their place in the line of the host.
 *
 * The invariant: of the instances on one core at most one is not frozen, unless all of them share. Whoever borrows is held still by, or
 * holds still, each of the others on that core, so who starts is told to cores_settle before anything of it runs.
 */
#include "farm/cores.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "farm/campaign.h"
#include "farm/turn.h"
#include "sys/cpu.h"
#include "sys/cpuline.h"

#define HOLDERS_MAX 64 /* of one core */

static bool lives(const struct target *t)
{
    if (t->state == TARGET_RUNNING)
        return true;
    for (size_t i = 0; t->state == TARGET_ENDING && i < t->spec->n_instances; i++)
        if (t->instances[i]->pidfd >= 0)
            return true;
    return false;
}

/* Also between two of its targets, but not while the next one waits for cores of others. */
static bool claims(const struct campaign *c)
{
    bool began = false;

    if (c->freeze.causes != 0 || c->told_ended)
        return false;
    for (size_t i = 0; i < c->plan->n_targets; i++) {
        if (lives(c->targets[i]))
            return true;
        began |= c->targets[i]->started_at_ms > 0;
    }
    return began && !c->waits && !campaign_ending(c);
}

/* For cores to begin with, or for one that an instance of it has lost. */
static bool waits(const struct campaign *c)
{
    if (c->waits || c->freeze.causes != 0 || c->farm->n_lacking == 0)
        return c->waits;
    for (size_t i = 0; i < c->plan->n_targets; i++)
        for (size_t k = 0; k < c->targets[i]->spec->n_instances; k++)
            if (c->targets[i]->instances[k]->lacks_core)
                return true;
    return false;
}

struct turns {
    struct turn *v;
    struct campaign **of;
    size_t n;
};

static void turns_load(struct farm *farm, struct turns *t)
{
    struct campaign *c;
    size_t n = 0;

    TAILQ_FOREACH (c, &farm->campaigns, link)
        n++;
    t->v = xcalloc(n + 1, sizeof(*t->v));
    t->of = xcalloc(n + 1, sizeof(struct campaign *));
    t->n = 0;
    TAILQ_FOREACH (c, &farm->campaigns, link) {
        t->v[t->n] = (struct turn){.priority = c->plan->priority,
                                   .queued_at_ms = c->queued_at_ms,
                                   .claims = claims(c),
                                   .waits = waits(c),
                                   .cpus = c->plan->cpus,
                                   .n_cpus = c->plan->n_cpus};
        t->of[t->n++] = c;
    }
}

static void turns_clear(struct turns *t)
{
    free(t->v);
    free(t->of);
}

void cores_settle(struct farm *farm)
{
    struct turns t;

    turns_load(farm, &t);
    /* All freezes before any thaw: what goes on may go on where something else has to stop first. */
    for (int thaw = 0; thaw < 2; thaw++) {
        for (size_t i = 0; i < t.n; i++) {
            struct campaign *c = t.of[i];
            int by = turn_held_by(t.v, t.n, i);
            cleanup_free char *why = NULL;

            if (thaw && by < 0)
                campaign_thaw(c, FREEZE_PRIORITY);
            if (thaw || by < 0)
                continue;
            why = xasprintf("campaign %s of priority %lld fuzzes", t.of[by]->plan->campaign,
                            (long long)t.of[by]->plan->priority);
            if (!freeze_holds(&c->freeze, FREEZE_PRIORITY) ||
                strcmp(c->freeze.of[FREEZE_PRIORITY].why, why) != 0)
                campaign_freeze(c, FREEZE_PRIORITY, why);
        }
    }
    turns_clear(&t);
}

/* ---- The line of the host ------------------------------------------------------------ */

/* One place for this fuzzd, as old as the oldest of its campaigns that wait; within it priority counts. */
static void stand_in_line(struct farm *farm)
{
    const struct campaign *first = NULL, *c;
    cleanup_free int *cpus = NULL;
    cleanup_free char *line = NULL;
    int n = 0, room = 0;
    char at[24];
    int r;

    TAILQ_FOREACH (c, &farm->campaigns, link)
        if (waits(c)) {
            room += c->plan->n_cpus;
            if (first == NULL || c->queued_at_ms < first->queued_at_ms)
                first = c;
        }
    if (first == NULL) {
        cpu_place_leave(&farm->place);
        return;
    }
    cpus = xcalloc((size_t)room + 1, sizeof(*cpus));
    TAILQ_FOREACH (c, &farm->campaigns, link) {
        const int wanted = waits(c) ? c->plan->n_cpus : 0;

        for (int i = 0; i < wanted; i++) {
            bool there = false;

            for (int k = 0; k < n; k++)
                there |= cpus[k] == c->plan->cpus[i];
            if (!there)
                cpus[n++] = c->plan->cpus[i];
        }
    }
    line = xasprintf("campaign %s of fuzzd pid %d, waiting since %s", first->plan->campaign,
                     (int)getpid(), clock_iso8601(at, sizeof(at), first->queued_at_ms));
    r = cpu_place_take(&farm->place, first->queued_at_ms, cpus, n, line);
    if (r < 0 && !farm->place_told)
        log_warn("cannot stand in line for cores: %s, taking them as they come", strerror(-r));
    farm->place_told = r < 0;
}

static void start_waiting(struct campaign *c, const char *why)
{
    if (!c->waits)
        log_info("campaign %s: waiting for cores: %s", c->plan->campaign, why);
    c->waits = true;
    (void)strlcpy(c->waits_why, why, sizeof(c->waits_why));
    stand_in_line(c->farm);
}

/* It was served, by priority before one that asked earlier: that one goes on with the place of c, as the older one is used up. */
static void served(struct campaign *c)
{
    struct campaign *o, *oldest = c;
    int64_t at_ms;

    TAILQ_FOREACH (o, &c->farm->campaigns, link)
        if (o->waits && o->plan->priority < c->plan->priority &&
            o->queued_at_ms < oldest->queued_at_ms)
            oldest = o;
    at_ms = oldest->queued_at_ms;
    oldest->queued_at_ms = c->queued_at_ms;
    c->queued_at_ms = at_ms;
}

void cores_leave(struct campaign *c)
{
    if (!c->waits && c->farm->n_lacking == 0)
        return;
    c->waits = false;
    c->waits_why[0] = '\0';
    stand_in_line(c->farm);
}

/* Since when this fuzzd waits, c included. */
static int64_t since_ms(const struct campaign *c)
{
    const struct campaign *o;
    int64_t at_ms = c->queued_at_ms;

    TAILQ_FOREACH (o, &c->farm->campaigns, link)
        if (waits(o) && o->queued_at_ms < at_ms)
            at_ms = o->queued_at_ms;
    return at_ms;
}

/* ---- Taking -------------------------------------------------------------------------- */

static bool holds(const struct instance *in)
{
    return in->cpu >= 0 && (in->cpu_fd >= 0 || instance_active(in));
}

static bool leaves(const struct instance *in)
{
    const struct target *t = in->owner;

    return t->state != TARGET_RUNNING || in->state == INSTANCE_STOPPING;
}

/* Who of this farm has that core. True with lock, a descriptor of its lock, when it may be used by in as well. */
static bool may_borrow(const struct instance *in, int cpu, int *ret_lock)
{
    const struct campaign *mine = campaign_of(in), *c;
    struct turn_holder h[HOLDERS_MAX];
    size_t n = 0;
    int lock = -1;

    TAILQ_FOREACH (c, &mine->farm->campaigns, link)
        for (size_t i = 0; i < c->plan->n_targets; i++)
            for (size_t k = 0; k < c->targets[i]->spec->n_instances; k++) {
                const struct instance *o = c->targets[i]->instances[k];

                if (o == in || o->cpu != cpu || !holds(o))
                    continue;
                if (n == HOLDERS_MAX)
                    return false;
                h[n++] = (struct turn_holder){.priority = c->plan->priority,
                                              .frozen = c->freeze.causes != 0,
                                              .own = c == mine,
                                              .leaves = leaves(o),
                                              .shared = c->plan->share_cores};
                if (o->cpu_fd >= 0)
                    lock = o->cpu_fd;
            }
    *ret_lock = lock;
    return lock >= 0 && turn_may_borrow(h, n, mine->plan->priority, mine->plan->share_cores);
}

static int borrow(struct instance *in)
{
    for (int i = 0; i < in->n_cpus; i++) {
        int lock, fd;

        if (!may_borrow(in, in->cpus[i], &lock))
            continue;
        fd = fcntl(lock, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
            return -errno;
        in->cpu_fd = fd;
        in->cpu = in->cpus[i];
        return 0;
    }
    return -EBUSY;
}

static void lacks(struct instance *in, bool lacks_core)
{
    if (in->lacks_core == lacks_core)
        return;
    in->lacks_core = lacks_core;
    if (lacks_core)
        in->farm->n_lacking++;
    else
        in->farm->n_lacking--;
    stand_in_line(in->farm);
}

int cores_take_one(struct instance *in)
{
    int r = instance_take_cpu(in);

    if (r == -EBUSY)
        r = borrow(in);
    if (r == -EBUSY)
        in->cpu = -1;
    lacks(in, r == -EBUSY);
    return r;
}

void cores_give_up(struct instance *in)
{
    instance_release_cpu(in);
    lacks(in, false);
}

void cores_keep(struct instance *in)
{
    const int cpu = in->cpu;

    if (in->cpu_fd < 0 && cpu >= 0 && !in->plan->oversubscribe && !campaign_of(in)->interrupted)
        (void)instance_take_one_of(in, &cpu, 1);
}

static int take_all(struct target *t, bool turn, bool *ret_lent)
{
    int r = 0;

    *ret_lent = true;

    for (size_t i = 0; i < t->spec->n_instances && r == 0; i++) {
        r = turn ? instance_take_cpu(t->instances[i]) : -EBUSY;
        *ret_lent &= r == -EBUSY;
        if (r == -EBUSY)
            r = borrow(t->instances[i]);
    }
    for (size_t i = 0; r < 0 && i < t->spec->n_instances; i++)
        instance_release_cpu(t->instances[i]);
    return r;
}

/* Whether nobody comes before c; else who, in words. */
static bool its_turn(struct campaign *c, bool *ret_ours, char *words, size_t size)
{
    struct turns t;
    size_t i = 0;
    char who[256];
    int k;

    turns_load(c->farm, &t);
    while (t.of[i] != c)
        i++;
    k = turn_behind(t.v, t.n, i);
    *ret_ours = k >= 0;
    if (k >= 0)
        (void)snprintf(words, size, "behind campaign %s", t.of[k]->plan->campaign);
    turns_clear(&t);
    if (k >= 0)
        return false;
    if (cpu_line_ahead(c->farm->place, since_ms(c), c->plan->cpus, c->plan->n_cpus, who,
                       sizeof(who)) != 1)
        return true;
    (void)snprintf(words, size, "behind %s", who);
    return false;
}

int cores_take(struct target *t)
{
    struct campaign *c = t->owner;
    char words[300] = "";
    bool ours, lent = false, turn;
    int r;

    if (c->plan->oversubscribe)
        return take_all(t, true, &lent);
    turn = its_turn(c, &ours, words, sizeof(words));
    r = ours ? -EBUSY : take_all(t, turn, &lent);

    if (r == 0) {
        if (!lent)
            served(c);
        cores_leave(c);
        return 0;
    }
    if (turn && r != -EBUSY)
        (void)snprintf(words, sizeof(words),
                       "the lock of one cannot be had (fuzzctl doctor tells why): %s",
                       strerror(-r));
    else if (turn)
        (void)snprintf(words, sizeof(words), "%s needs %zu, and too few are free", t->spec->name,
                       t->spec->n_instances);
    start_waiting(c, words);
    return -EBUSY;
}

void cores_adopt(struct instance *in)
{
    int fd;

    if (in->cpu_fd >= 0 || in->cpu < 0 || in->pidfd < 0 || in->plan->oversubscribe)
        return;
    fd = cpu_take_over(in->pidfd, KEEPER_LOCK_FD, in->cpu);
    if (fd >= 0)
        in->cpu_fd = fd;
    else
        log_debug("%s: no copy of its core's lock: %s", in->spec->full_id, strerror(-fd));
}

const char *cores_shared_with(const struct instance *in, int *ret_lends)
{
    const struct campaign *mine = campaign_of(in), *c;

    TAILQ_FOREACH (c, &mine->farm->campaigns, link)
        for (size_t i = 0; holds(in) && c != mine && i < c->plan->n_targets; i++)
            for (size_t k = 0; k < c->targets[i]->spec->n_instances; k++) {
                const struct instance *o = c->targets[i]->instances[k];

                if (o->cpu != in->cpu || !holds(o) || c->plan->priority == mine->plan->priority)
                    continue;
                *ret_lends = mine->plan->priority < c->plan->priority;
                return c->plan->campaign;
            }
    return NULL;
}
