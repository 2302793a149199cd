/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage cells of the kit's own: one for each failure id, one for each reach
 * id. Without them afl-fuzz keeps one of several failures that share a path. The
 * cells are registered in a constructor: later, the AFL++ runtime has told its
 * map size and aborts. A build without that runtime only counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/fz_kit.h"

#define CELL_MAX    512u
#define SPARE_CELLS 16u /* for ids that no list names */

/* The linker gives the bounds of the section that FZ_REACH fills. */
extern const char *const __start_fz_reach[] __attribute__((weak, visibility("hidden")));
extern const char *const __stop_fz_reach[] __attribute__((weak, visibility("hidden")));

static const char *const kit_ids[] = {"GUARD", "INV-LEAK", "INV-STATE", "SELFTEST"};
#define KIT_IDS (sizeof(kit_ids) / sizeof(kit_ids[0]))

static uint16_t first_of[CELL_MAX]; /* site -> first site of the same id */
static uint64_t own_counts[CELL_MAX];
static uint64_t *counts = own_counts;
static unsigned muted;

#ifdef FZ_LIBFUZZER
/* Source: LLVM libFuzzer, FuzzerExtraCounters: counters in this section are coverage. */
static uint8_t extra_cells[CELL_MAX] __attribute__((section("__libfuzzer_extra_counters")));

static void cells_register(size_t n)
{
    (void)n;
}

static void cell_mark(size_t i)
{
    extra_cells[i]++;
}
#else
/* Source: clang documentation, SanitizerCoverage, "Tracing PCs with guards". */
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) __attribute__((weak));
void __sanitizer_cov_trace_pc_guard(uint32_t *guard) __attribute__((weak));

static uint32_t cells[CELL_MAX];

static void cells_register(size_t n)
{
    if (__sanitizer_cov_trace_pc_guard_init != NULL)
        __sanitizer_cov_trace_pc_guard_init(cells, cells + n);
}

static void cell_mark(size_t i)
{
    if (__sanitizer_cov_trace_pc_guard != NULL)
        __sanitizer_cov_trace_pc_guard(&cells[i]);
}
#endif

size_t fz_reach_site_count(void)
{
    return ((uintptr_t)__stop_fz_reach - (uintptr_t)__start_fz_reach) / sizeof(char *);
}

const char *fz_reach_site_id(size_t i)
{
    return __start_fz_reach[i];
}

size_t fz_reach_site_first(size_t i)
{
    return first_of[i];
}

static size_t target_id_count(void)
{
    size_t n = 0;

    while (fz_target.invariants != NULL && fz_target.invariants[n] != NULL)
        n++;
    return n;
}

/* Cells lie as: reach sites, the kit's ids, the target's ids, spare ones. */
__attribute__((constructor)) static void cells_init(void)
{
    size_t sites = fz_reach_site_count();
    size_t total = sites + KIT_IDS + target_id_count() + SPARE_CELLS;

    if (total > CELL_MAX) {
        fprintf(stderr, "%s: %zu reach and failure ids, at most %u\n", fz_target.name, total,
                CELL_MAX);
        abort();
    }
    for (size_t i = 0; i < sites; i++) {
        size_t k = 0;

        while (strcmp(__start_fz_reach[k], __start_fz_reach[i]) != 0)
            k++;
        first_of[i] = (uint16_t)k;
    }
    cells_register(total);
}

void fz_cell_mark_failure(const char *id)
{
    size_t base = fz_reach_site_count();
    size_t target_ids = target_id_count();

    for (size_t i = 0; i < KIT_IDS; i++) {
        if (strcmp(kit_ids[i], id) == 0) {
            cell_mark(base + i);
            return;
        }
    }
    base += KIT_IDS;
    for (size_t i = 0; i < target_ids; i++) {
        if (strcmp(fz_target.invariants[i], id) == 0) {
            cell_mark(base + i);
            return;
        }
    }
    base += target_ids;
    cell_mark(base + fz_hash(id, strlen(id)) % SPARE_CELLS);
}

void fz_reach_hit(const char *const *site)
{
    size_t i = first_of[((uintptr_t)site - (uintptr_t)__start_fz_reach) / sizeof(char *)];

    if (muted > 0)
        return;
    counts[i]++;
    cell_mark(i);
}

void fz_reach_mute(void)
{
    muted++;
}

void fz_reach_unmute(void)
{
    muted--;
}

void fz_reach_count_into(uint64_t *into)
{
    counts = into;
}
