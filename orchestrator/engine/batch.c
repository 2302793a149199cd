/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's side of batch mode. A load is as many inputs as the ring holds; a go is what one
 * process of the harness runs of it without a stop. While it runs we look at the slot it is at from
 * time to time. That slot only ever goes up within the load, or the harness lies; so each go ends.
 */
#include "engine/batch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/batch_maps.h"
#include "engine/batch_slot.h"
#include "engine/deadline.h"
#include "engine/forkserver_internal.h"
#include "engine/map.h"

#define ATTEMPTS    2
#define GRACE_MS    1000
#define LOOKS       20 /* at the slot, in the time of one input */
#define LOOK_MAX_MS 50
#define DATA_ALIGN  16U
#define FAIL_MARK   "FZ-FAIL "

struct batch {
    struct forkserver *fs;
    struct batch_maps *maps;
    int max_attempts, look_ms;
    long children;
    bool fresh; /* the process has run nothing yet */
    bool warm;  /* what a fresh process runs first is run again */
    uint8_t *map;
    char *text;
    uint32_t redo[FZ_RING_SLOTS];
};

/* How far a go came. */
struct step {
    uint32_t next;             /* the slots before it are done, as the harness says */
    bool ended;                /* slot next was begun and did not come to its end */
    struct forkserver_run run; /* of that slot then */
    bool cancelled;            /* next and what is behind it were not run to their ends */
};

int batch_open(const struct forkserver_opts *opts, int max_attempts, struct batch **ret,
               struct err *err)
{
    struct batch *b = xcalloc(1, sizeof(*b));
    int rc;

    b->fs = forkserver_new(opts, FORKSERVER_KIND_BATCH);
    b->max_attempts = max_attempts > 0 ? max_attempts : ATTEMPTS;
    b->look_ms = (int)(b->fs->opts.run_ms / LOOKS < LOOK_MAX_MS ? b->fs->opts.run_ms / LOOKS + 1
                                                                : LOOK_MAX_MS);
    rc = forkserver_start(b->fs, err);
    if (rc < 0) {
        batch_close(b);
        return rc;
    }
    b->maps = batch_maps_new(b->fs->greeting.map_bytes, b->fs->ring.seen);
    b->map = xcalloc(1, b->fs->greeting.map_bytes);
    b->text = xmalloc(FORKSERVER_TEXT_BYTES + FZ_RING_TEXT_BYTES + 1);
    *ret = b;
    return 0;
}

void batch_warm(struct batch *b)
{
    b->warm = true;
}

void batch_close(struct batch *b)
{
    if (b == NULL)
        return;
    forkserver_close(b->fs);
    batch_maps_free(b->maps);
    free(b->map);
    free(b->text);
    free(b);
}

size_t batch_map_bytes(const struct batch *b)
{
    return b->fs->greeting.map_bytes;
}

long batch_starts(const struct batch *b)
{
    return b->fs->starts;
}

long batch_children(const struct batch *b)
{
    return b->children;
}

/* ---- one go ---- */
static int hear(struct forkserver *fs, int64_t deadline_ms, uint32_t *ret_word, uint32_t *ret_value)
{
    int rc = forkserver_word(fs, deadline_ms, ret_word);

    /* Both are written at once. */
    return rc < 0 ? rc : forkserver_word(fs, deadline_ms + GRACE_MS, ret_value);
}

static uint32_t slot_now(const struct batch *b)
{
    return __atomic_load_n(&b->fs->ring.said->current, __ATOMIC_ACQUIRE);
}

/* The harness is of no use any more; slot at is what it is blamed for. */
static void lost(struct batch *b, uint32_t at, enum forkserver_loss loss, struct step *ret)
{
    int status = 0;

    forkserver_stop(b->fs, &status);
    *ret = (struct step){.next = at, .ended = true};
    ret->run.end = FORKSERVER_LOST;
    ret->run.loss = loss;
    ret->run.signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ret->run.exit_code = WIFEXITED(status) && status != 0 ? WEXITSTATUS(status) : -1;
}

static uint32_t state_of(const struct batch *b, uint32_t k)
{
    return __atomic_load_n(&b->fs->ring.slots[k].state, __ATOMIC_ACQUIRE);
}

/* The process of a go from first on has ended: in its first slot that is not done. */
static void ended(struct batch *b, uint32_t first, uint32_t end, uint32_t status, bool killed,
                  struct step *ret)
{
    uint32_t at = first;

    while (at + 1 < end && state_of(b, at) == FZ_SLOT_DONE)
        at++;
    b->fs->child = 0;
    *ret = (struct step){.next = at, .ended = true, .run = {.exit_code = -1}};
    if (status > 0xffff || WIFSTOPPED((int)status) ||
        !forkserver_judge(b->fs, status, killed, &ret->run)) {
        lost(b, at, FORKSERVER_BABBLED, ret);
        return;
    }
    /*
     * Between two inputs nobody is to blame but the harness. Where the program wrote over the ring, another is blamed, and is run again
     * alone, until it is its turn: an input that is alone is known, whatever the ring says.
     */
    if (state_of(b, at) == FZ_SLOT_DONE || (end - first > 1 && state_of(b, at) != FZ_SLOT_RUNNING))
        ret->run.end = FORKSERVER_LOST;
}

static void done(struct batch *b, uint32_t from, uint32_t end, bool last, uint32_t value,
                 struct step *ret)
{
    uint32_t word, status;

    if (value <= from || value > end) {
        lost(b, from, FORKSERVER_BABBLED, ret);
        return;
    }
    *ret = (struct step){.next = value};
    if (!last)
        return;
    if (hear(b->fs, clock_now_ms() + GRACE_MS, &word, &status) < 0 || word != FZ_RING_ENDED)
        forkserver_stop(b->fs, NULL);
    b->fs->child = 0;
}

/* Slot at has had its time. */
static void time_over(struct batch *b, uint32_t first, uint32_t at, uint32_t end, struct step *ret)
{
    const int64_t deadline_ms = clock_now_ms() + GRACE_MS;
    uint32_t word = 0, value = 0;
    int rc = forkserver_kill_child(b->fs) ? hear(b->fs, deadline_ms, &word, &value) : -ESRCH;

    if (rc == -ECANCELED) {
        *ret = (struct step){.next = at, .cancelled = true};
        return;
    }
    if (rc == 0 && (word == FZ_RING_DONE || word == FZ_RING_LAST)) {
        /* It came to its end after all. */
        done(b, first, end, true, value, ret);
        return;
    }
    if (rc < 0 || word != FZ_RING_ENDED) {
        lost(b, at, forkserver_loss_of(rc), ret);
        return;
    }
    ended(b, first, end, value, true, ret);
    /* The one that was struck is another. */
    if (ret->next != at)
        ret->run = (struct forkserver_run){
            .end = FORKSERVER_LOST, .loss = FORKSERVER_BABBLED, .exit_code = -1};
}

static void watch(struct batch *b, uint32_t first, uint32_t end, struct step *ret)
{
    struct deadline d;
    uint32_t at = first, now, word, value;
    int left_ms, rc;

    deadline_begin(&d, b->fs->child, b->fs->opts.run_ms);
    while ((left_ms = deadline_left_ms(&d)) > 0) {
        rc = hear(b->fs, clock_now_ms() + (left_ms < b->look_ms ? left_ms : b->look_ms), &word,
                  &value);
        if (rc == 0 && (word == FZ_RING_DONE || word == FZ_RING_LAST)) {
            done(b, first, end, word == FZ_RING_LAST, value, ret);
            return;
        }
        if (rc == 0 && word == FZ_RING_ENDED) {
            ended(b, first, end, value, false, ret);
            return;
        }
        now = slot_now(b);
        if (now < at || now >= end)
            now = at;
        if (rc == -ECANCELED) {
            *ret = (struct step){.next = now, .cancelled = true};
            return;
        }
        if (rc != -ETIMEDOUT) {
            lost(b, now, forkserver_loss_of(rc), ret);
            return;
        }
        if (now != at)
            deadline_begin(&d, b->fs->child, b->fs->opts.run_ms);
        at = now;
    }
    time_over(b, first, at, end, ret);
}

/* 0, or -errno; with -ECANCELED, too, *ret tells how far it came. */
static int go(struct batch *b, uint32_t first, uint32_t end, struct step *ret, struct err *err)
{
    static const uint32_t word_go = FZ_RING_GO;
    struct forkserver *fs = b->fs;
    uint32_t word = 0, pid = 0;
    int rc;

    *ret = (struct step){.next = first};
    if (forkserver_cancelled(fs))
        return forkserver_give_up(fs, err);
    rc = fs->server > 0 ? 0 : forkserver_start(fs, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = first; i < end; i++)
        fs->ring.slots[i].state = FZ_SLOT_WAITING;
    fs->ring.head->first = first;
    fs->ring.head->end = end;
    fs->ring.said->fail_bytes = 0;
    __atomic_store_n(&fs->ring.said->current, first, __ATOMIC_RELEASE);
    (void)lseek(fs->text_fd, 0, SEEK_SET);
    b->fresh = fs->child == 0;
    if (file_write_all(fs->control_fd, &word_go, sizeof(word_go)) < 0) {
        lost(b, first, FORKSERVER_DIED, ret);
        return 0;
    }
    if (b->fresh) {
        rc = hear(fs, clock_now_ms() + fs->opts.start_ms, &word, &pid);
        if (rc == -ECANCELED)
            return forkserver_give_up(fs, err);
        if (rc < 0 || word != FZ_RING_STARTED || pid <= 1 || pid > INT32_MAX) {
            lost(b, first, forkserver_loss_of(rc), ret);
            return 0;
        }
        fs->child = (pid_t)pid;
        b->children++;
    }
    watch(b, first, end, ret);
    return ret->cancelled ? forkserver_give_up(fs, err) : 0;
}

/* A go by a process that is warm, where that is asked for. What ends the run before counts. */
static int go_warm(struct batch *b, uint32_t first, uint32_t end, struct step *ret, struct err *err)
{
    if (b->warm && (b->fs->server <= 0 || b->fs->child == 0)) {
        int rc = go(b, first, first + 1, ret, err);

        if (rc < 0 || ret->ended || b->fs->child == 0)
            return rc;
    }
    return go(b, first, end, ret, err);
}

/* ---- results ---- */
/* What was printed, with the line of a failure where it did not get there. */
static void text_result(struct batch *b, struct batch_result *ret)
{
    size_t n = 0, size;
    const char *text = forkserver_text(b->fs, &size);

    if (memmem(text, size, FAIL_MARK, strlen(FAIL_MARK)) == NULL)
        n = batch_slot_fail_line(&b->fs->ring, b->text);
    memcpy(b->text + n, text, size);
    b->text[n + size] = '\0';
    ret->text = b->text;
    ret->text_bytes = n + size;
}

/* Of the slot that a process ended in: the map is as it was left. */
static void ended_result(struct batch *b, const struct step *st, struct batch_result *ret)
{
    const size_t map_bytes = b->fs->greeting.map_bytes;

    *ret = (struct batch_result){.run = st->run, .map = b->map, .text = ""};
    memcpy(b->map, b->fs->map, map_bytes);
    map_classify(b->map, map_bytes);
    ret->edges = map_edges(b->map, map_bytes);
    ret->map_hash = map_hash(b->map, map_bytes);
    if (st->run.end != FORKSERVER_OK)
        text_result(b, ret);
}

/* ---- one input alone ---- */
void batch_fresh(struct batch *b)
{
    uint32_t word = 0, status;

    if (b->fs->child == 0 || b->fs->server <= 0)
        return;
    if (!forkserver_kill_child(b->fs) ||
        hear(b->fs, clock_now_ms() + GRACE_MS, &word, &status) < 0 || word != FZ_RING_ENDED)
        forkserver_stop(b->fs, NULL);
    b->fs->child = 0;
}

/* In a fresh process, again where the harness is lost. before: how it ended behind others, NULL where that is not known. */
static int alone(struct batch *b, uint32_t k, const struct forkserver_run *before, int attempts,
                 struct batch_result *ret, struct err *err)
{
    struct step st = {.run = {.end = FORKSERVER_LOST, .exit_code = -1}};
    int rc;

    if (before != NULL)
        (void)forkserver_littered(b->fs, before);
    for (int i = 0; i < attempts; i++) {
        int64_t began_us;

        batch_fresh(b);
        began_us = deadline_now_us();
        rc = go_warm(b, k, k + 1, &st, err);
        if (rc < 0)
            return rc;
        if (!st.ended && batch_slot_read(&b->fs->ring, b->maps, b->fs->greeting.map_bytes, k, ret))
            break;
        if (!st.ended)
            lost(b, k, FORKSERVER_BABBLED, &st);
        st.run.wall_us = deadline_now_us() - began_us;
        ended_result(b, &st, ret);
        if (st.run.end != FORKSERVER_LOST)
            break;
    }
    if (st.ended)
        (void)forkserver_littered(b->fs, &ret->run);
    /* SIGKILL is the kernel's, or an operator's: the memory that was short need not be its own. */
    ret->after_others = before != NULL && before->end != FORKSERVER_LOST &&
                        before->signo != SIGKILL && !st.ended && ret->run.end == FORKSERVER_OK;
    return 0;
}

/* ---- loads ---- */
static size_t load(struct batch *b, const struct batch_input *in, size_t n)
{
    const struct ring *r = &b->fs->ring;
    size_t k = 0, at = 0;

    while (k < n && k < FZ_RING_SLOTS && in[k].size <= FORKSERVER_INPUT_BYTES &&
           in[k].size <= FZ_RING_DATA_BYTES - at) {
        r->inputs[k] = (struct fz_input){(uint32_t)at, (uint32_t)in[k].size};
        if (in[k].size > 0)
            memcpy(r->data + at, in[k].data, in[k].size);
        at += (in[k].size + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
        if (at > FZ_RING_DATA_BYTES)
            at = FZ_RING_DATA_BYTES;
        k++;
    }
    return k;
}

/* Slots first..end-1 as far as one go brings them, and what stood in its way. */
static int advance(struct batch *b, uint32_t *first, uint32_t end, size_t base,
                   const struct batch_calls *calls, struct err *err)
{
    struct batch_result res;
    struct step st;
    uint32_t redo = 0;
    int64_t began_us = deadline_now_us();
    bool was_fresh;
    int rc = go_warm(b, *first, end, &st, err);

    if (rc < 0 && rc != -ECANCELED)
        return rc;
    was_fresh = b->fresh;
    /* What had been run before somebody interrupted counts. */
    for (uint32_t k = *first; k < st.next; k++) {
        if (batch_slot_read(&b->fs->ring, b->maps, b->fs->greeting.map_bytes, k, &res))
            calls->done(calls->ctx, base + k, &res);
        else
            b->redo[redo++] = k;
    }
    if (st.ended) {
        /* The first of its process was alone; lost, it has had an attempt. */
        const bool was_alone = st.next == *first && was_fresh;
        const int left = b->max_attempts - was_alone;

        if (was_alone && (st.run.end != FORKSERVER_LOST || left == 0) &&
            !forkserver_littered(b->fs, &st.run)) {
            st.run.wall_us = deadline_now_us() - began_us;
            ended_result(b, &st, &res);
        } else {
            if (calls->pause != NULL)
                calls->pause(calls->ctx);
            rc = alone(b, st.next, &st.run, left, &res, err);
        }
        if (rc == 0)
            calls->done(calls->ctx, base + st.next, &res);
    }
    for (uint32_t i = 0; i < redo && rc == 0; i++) {
        if (calls->pause != NULL)
            calls->pause(calls->ctx);
        rc = alone(b, b->redo[i], NULL, b->max_attempts, &res, err);
        if (rc == 0)
            calls->done(calls->ctx, base + b->redo[i], &res);
    }
    *first = st.next + st.ended;
    return rc;
}

int batch_run(struct batch *b, const struct batch_input *in, size_t n,
              const struct batch_calls *calls, struct err *err)
{
    size_t base = 0;
    int rc = 0;

    while (base < n && rc == 0) {
        const uint32_t end = (uint32_t)load(b, in + base, n - base);
        uint32_t first = 0;

        if (end == 0)
            return err_set(err, -EFBIG, "an input of %zu bytes; %u is the most", in[base].size,
                           FORKSERVER_INPUT_BYTES);
        while (first < end && rc == 0) {
            if (calls->pause != NULL)
                calls->pause(calls->ctx);
            rc = advance(b, &first, end, base, calls, err);
        }
        base += end;
    }
    return rc;
}
