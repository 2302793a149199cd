/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One input, run the same way by every main: cut to FZ_INPUT_MAX, the target's
 * invariants, no live allocation afterwards, and on request a second run that
 * must leave the same trace. Also the guard page and the sanitizers' defaults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sdk/fz_kit.h"

#define FNV_BASIS  0xcbf29ce484222325u
#define FNV_PRIME  0x100000001b3u
#define FRONT_FILL 16u /* bytes before a guarded copy that hold no earlier input */

/*
 * Defaults that ASAN_OPTIONS and UBSAN_OPTIONS override. symbolize=0 because
 * afl-fuzz insists on it; whoever wants frames replays with symbolize=1.
 * Source: AFL++ docs/env_variables.md; sanitizer_common, SanitizerCommonFlags.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1:halt_on_error=1:symbolize=0:detect_leaks=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:halt_on_error=1:symbolize=0:print_stacktrace=1";
}

static bool twice_default;
static bool twice;
static uint64_t trace;

uint64_t fz_hash(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint64_t h = FNV_BASIS;

    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * FNV_PRIME;
    return h;
}

void fz_trace(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        trace = (trace ^ b[i]) * FNV_PRIME;
}

void fz_trace_u64(uint64_t v)
{
    trace = (trace ^ v) * FNV_PRIME;
    trace ^= trace >> 32;
}

const uint8_t *fz_guarded_copy(const void *d, size_t n)
{
    static uint8_t *end; /* the first byte of the guard page */

    if (end == NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        size_t room = (FRONT_FILL + FZ_INPUT_MAX + page - 1) / page * page;
        uint8_t *map =
            mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (map == MAP_FAILED || mprotect(map + room, page, PROT_NONE) != 0) {
            perror("fz_guarded_copy: mmap");
            exit(2);
        }
        end = map + room;
    }
    if (n > FZ_INPUT_MAX)
        n = FZ_INPUT_MAX;
    memset(end - n - FRONT_FILL, 0xa5, FRONT_FILL);
    if (n > 0)
        memcpy(end - n, d, n);
    return end - n;
}

void fz_twice_default(bool on)
{
    twice_default = on;
}

bool fz_thorough(void)
{
    return twice;
}

void fz_start(void)
{
    const char *env = getenv("FZ_TWICE");

    twice = env != NULL && *env != '\0' ? strcmp(env, "0") != 0 : twice_default;
    if (fz_target.self_test != NULL) {
        fz_reach_mute();
        fz_target.self_test();
        fz_reach_unmute();
    }
    fz_alloc_reset();
}

static uint64_t run_once(const uint8_t *d, size_t n)
{
    trace = FNV_BASIS;
    fz_alloc_reset();
    fz_note_reset();
    fz_one(d, n);
    fz_leak_check();
    return trace;
}

void fz_run(const uint8_t *d, size_t n)
{
    uint64_t first;
    uint64_t second;

    if (n > FZ_INPUT_MAX)
        n = FZ_INPUT_MAX;
    first = run_once(d, n);
    if (!twice)
        return;
    fz_reach_mute();
    second = run_once(d, n);
    fz_reach_unmute();
    if (first != second)
        fz_fail(FZ_INVARIANT, "INV-STATE", "the trace of a second run differs: %016llx, %016llx",
                (unsigned long long)first, (unsigned long long)second);
}
