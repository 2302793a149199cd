/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch mode: a child runs inputs from the ring one after the other, each as AFL++'s loop would,
 * and takes each one's coverage out of the map that the instrumentation writes to. The parent only
 * forks and tells how a child ended. Empty where the compiler is not AFL++'s.
 *
 * AFL++'s pass makes __afl_area_ptr in every file it compiles, and renames one that is declared there
 * already, so the runtime's variables are reached by words of the assembler.
 * Source: AFL++ instrumentation/afl-compiler-rt.o.c, src/afl-fuzz-bitmap.c.
 */
#include "sdk/fz_batch.h"

#ifdef __AFL_HAVE_MANUAL_CONTROL

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sdk/fz_kit.h"
#include "sdk/fz_ring.h"

#define PREV_LOC_BYTES 32                /* at least so many has __afl_prev_loc */
#define GUARD_BYTES    ((size_t)1 << 20) /* around the ring, for who writes past another mapping */

__asm__(".pushsection .data.rel.fz_batch,\"aw\"\n"
        ".balign 8\n"
        ".globl fz_batch_area_at\n.hidden fz_batch_area_at\n"
        "fz_batch_area_at: .quad __afl_area_ptr\n"
        ".globl fz_batch_map_size_at\n.hidden fz_batch_map_size_at\n"
        "fz_batch_map_size_at: .quad __afl_map_size\n"
        ".popsection\n");
extern uint8_t **fz_batch_area_at __attribute__((visibility("hidden")));
extern uint32_t *fz_batch_map_size_at __attribute__((visibility("hidden")));

struct batch {
    /* The engine's, which cannot be written. */
    const struct fz_ring *ring;
    const struct fz_input *inputs;
    const uint64_t *seen;
    const uint8_t *data;
    struct fz_said *said;
    struct fz_slot *slots;
    uint8_t *maps;
    uint32_t maps_room, maps_used; /* in maps */
    uint8_t *map;                  /* the runtime's */
    uint32_t map_bytes;
    uint8_t *input; /* FZ_INPUT_MAX bytes of ours */
    uint8_t buckets[65536][2];
};
static struct batch b;

bool fz_batch_wanted(void)
{
    return getenv(FZ_RING_ENV) != NULL;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* False when nobody listens any more. */
static bool say(uint32_t word, uint32_t value)
{
    const uint32_t words[2] = {word, value};

    return write(FZ_RING_STATUS, words, sizeof(words)) == (ssize_t)sizeof(words);
}

static bool hear_go(void)
{
    uint32_t word = 0;
    ssize_t n;

    do
        n = read(FZ_RING_CONTROL, &word, sizeof(word));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(word) && word == FZ_RING_GO;
}

/* What the runtime forgets between two rounds of its own loop. */
static void forget_edge(void)
{
#if defined(__x86_64__)
    char *at;

    __asm__("movq __afl_prev_loc@gottpoff(%%rip), %0\n\taddq %%fs:0, %0" : "=r"(at));
    memset(at, 0, PREV_LOC_BYTES);
#elif defined(__aarch64__)
    char *at, *offset;

    __asm__("mrs %0, tpidr_el0\n\tadrp %1, :gottprel:__afl_prev_loc\n\t"
            "ldr %1, [%1, #:gottprel_lo12:__afl_prev_loc]"
            : "=&r"(at), "=&r"(offset));
    memset(at + (uintptr_t)offset, 0, PREV_LOC_BYTES);
#endif
}

static uint8_t bucket(unsigned count)
{
    if (count <= 2)
        return (uint8_t)count;
    if (count == 3)
        return 4;
    if (count >= 128)
        return 128;
    if (count >= 32)
        return 64;
    return count >= 16 ? 32 : count >= 8 ? 16 : 8;
}

static void buckets_init(void)
{
    for (unsigned i = 0; i < 65536; i++) {
        uint16_t two = (uint16_t)i;
        uint8_t bytes[2];

        memcpy(bytes, &two, sizeof(bytes));
        b.buckets[i][0] = bucket(bytes[0]);
        b.buckets[i][1] = bucket(bytes[1]);
    }
}

/* Sorts the counts of the map into buckets and returns its fz_ring_hash. */
static uint64_t map_take(void)
{
    uint64_t h = FZ_RING_MIX;
    uint32_t i = 0;

    for (; i + 8 <= b.map_bytes; i += 8) {
        uint64_t v;
        uint16_t two[4];

        memcpy(&v, b.map + i, sizeof(v));
        if (v == 0)
            continue;
        memcpy(two, &v, sizeof(two));
        for (unsigned k = 0; k < 4; k++)
            memcpy((uint8_t *)&v + 2 * k, b.buckets[two[k]], 2);
        memcpy(b.map + i, &v, sizeof(v));
        h = fz_ring_mix(h, i, v);
    }
    for (; i < b.map_bytes; i++) {
        if (b.map[i] != 0) {
            b.map[i] = bucket(b.map[i]);
            h = fz_ring_mix(h, i, b.map[i]);
        }
    }
    return fz_ring_hashed(h);
}

static void slot_run(uint32_t k, int64_t *began_us, int64_t *cpu_us)
{
    struct fz_slot *s = &b.slots[k];
    const uint32_t at = b.inputs[k].data_at, n = b.inputs[k].data_bytes;
    int64_t ended_us, took_us, now_cpu_us;

    if (at > FZ_RING_DATA_BYTES || n > FZ_RING_DATA_BYTES - at)
        _exit(2);
    b.said->fail_bytes = 0;
    __atomic_store_n(&b.said->current, k, __ATOMIC_RELEASE);
    __atomic_store_n(&s->state, FZ_SLOT_RUNNING, __ATOMIC_RELEASE);
    memcpy(b.input, b.data + at, n < FZ_INPUT_MAX ? n : FZ_INPUT_MAX);
    memset(b.map, 0, b.map_bytes);
    b.map[0] = 1;
    forget_edge();
    fz_run(b.input, n);
    s->hash = map_take();
    s->map_at = 0;
    if (b.seen[fz_ring_place(b.seen, s->hash)] != s->hash) {
        memcpy(b.maps + (size_t)b.maps_used * b.map_bytes, b.map, b.map_bytes);
        s->map_at = ++b.maps_used;
    }
    ended_us = clock_us(CLOCK_MONOTONIC);
    took_us = ended_us - *began_us;
    *began_us = ended_us;
    s->wall_us = took_us < UINT32_MAX ? (uint32_t)took_us : UINT32_MAX;
    s->cpu_us = 0;
    if (took_us >= FZ_RING_CPU_US) {
        now_cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        s->cpu_us =
            now_cpu_us - *cpu_us < UINT32_MAX ? (uint32_t)(now_cpu_us - *cpu_us) : UINT32_MAX;
        *cpu_us = now_cpu_us;
    }
    __atomic_store_n(&s->state, FZ_SLOT_DONE, __ATOMIC_RELEASE);
}

static void take_line(const char *line, size_t n)
{
    if (n > FZ_RING_TEXT_BYTES)
        n = FZ_RING_TEXT_BYTES;
    memcpy(b.said->fail_text, line, n);
    b.said->fail_bytes = (uint32_t)n;
}

_Noreturn static void child_main(pid_t parent)
{
    uint32_t rounds = FZ_RING_ROUNDS;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(2);
    fz_line_hook = take_line;
    for (;;) {
        const uint32_t first = b.ring->first, end = b.ring->end;
        int64_t began_us = clock_us(CLOCK_MONOTONIC), cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        uint32_t k = first;

        if (first >= end || end > FZ_RING_SLOTS)
            _exit(2);
        b.maps_used = 0;
        while (k < end && rounds > 0 && b.maps_used < b.maps_room) {
            slot_run(k++, &began_us, &cpu_us);
            rounds--;
        }
        if (!say(rounds > 0 ? FZ_RING_DONE : FZ_RING_LAST, k) || rounds == 0 || !hear_go())
            _exit(0);
    }
}

static const char *ring_map(void)
{
    struct stat st;
    size_t bytes;
    uint8_t *at;

    if (fstat(FZ_RING_FD, &st) != 0 || st.st_size <= FZ_RING_MAPS_AT)
        return "descriptor of the ring";
    bytes = (size_t)st.st_size;
    at = mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
    if (at == MAP_FAILED)
        return "place for the ring";
    at += GUARD_BYTES;
    /* The library under test shall not be able to change inputs that are still to come. */
    if (mmap(at, FZ_RING_SAID_AT, PROT_READ, MAP_SHARED | MAP_FIXED, FZ_RING_FD, 0) == MAP_FAILED ||
        mmap(at + FZ_RING_SAID_AT, bytes - FZ_RING_SAID_AT, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, FZ_RING_FD, FZ_RING_SAID_AT) == MAP_FAILED)
        return "mapping of the ring";
    b.ring = (const struct fz_ring *)(const void *)at;
    if (b.ring->magic != FZ_RING_MAGIC || b.ring->version != FZ_RING_VERSION ||
        b.ring->total_bytes != (uint64_t)st.st_size)
        return "version of the ring";
    b.input = mmap(NULL, FZ_INPUT_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.input == MAP_FAILED)
        return "memory for a test case";
    close(FZ_RING_FD);
    b.said = (struct fz_said *)(void *)(at + FZ_RING_SAID_AT);
    b.slots = (struct fz_slot *)(void *)(at + FZ_RING_SLOTS_AT);
    b.inputs = (const struct fz_input *)(const void *)(at + FZ_RING_INPUTS_AT);
    b.seen = (const uint64_t *)(const void *)(at + FZ_RING_SEEN_AT);
    b.data = at + FZ_RING_DATA_AT;
    b.maps = at + FZ_RING_MAPS_AT;
    b.map = *fz_batch_area_at;
    b.map_bytes = *fz_batch_map_size_at;
    if (b.map == NULL || b.map_bytes == 0)
        return "coverage map";
    b.maps_room = (uint32_t)(((uint64_t)st.st_size - FZ_RING_MAPS_AT) / b.map_bytes);
    b.said->map_bytes = b.map_bytes;
    buckets_init();
    return NULL;
}

int fz_batch_main(void)
{
    const char *fault = ring_map();
    const pid_t self = getpid();
    int status;
    pid_t pid;

    if (fault != NULL) {
        fprintf(stderr, "batch mode is for fuzzctl: no usable %s\n", fault);
        return 2;
    }
    /* An engine that gave us room for no map starts us again with more. */
    if (!say(FZ_RING_HELLO, FZ_RING_VERSION))
        return 2;
    while (hear_go()) {
        pid = fork();
        if (pid == 0) {
            if (!say(FZ_RING_STARTED, (uint32_t)getpid()))
                _exit(2);
            child_main(self);
        }
        if (pid < 0)
            return 2;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (!say(FZ_RING_ENDED, (uint32_t)status))
            return 2;
    }
    return 0;
}
#endif
