/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guarded heap of the library under test. AFL++ has no class for running out
 * of memory and a limit on address space does not work under ASan, so the limit
 * is here: a single request above the target's, or too many live bytes, is class
 * oom. Each block carries its size before it and nothing behind it: under ASan
 * the first byte past the end is a red zone.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/fz_kit.h"

#define LIVE_LIMIT_MB 256u
#define BLOCK_MAGIC   0x667a626c6f636b21u

struct block {
    size_t size;
    uint64_t magic;
};
_Static_assert(sizeof(struct block) % _Alignof(max_align_t) == 0, "blocks stay aligned");

static struct fz_alloc_stats stats;
static int64_t fail_at = -1;
static size_t live_limit; /* bytes; 0 = not read yet */

static size_t live_limit_bytes(void)
{
    if (live_limit == 0) {
        const char *text = getenv("FZ_ALLOC_LIMIT_MB");
        char *end = NULL;
        unsigned long mb = text != NULL ? strtoul(text, &end, 10) : 0;

        if (text == NULL || end == text || *end != '\0' || mb == 0 || mb > SIZE_MAX >> 20)
            mb = LIVE_LIMIT_MB;
        live_limit = (size_t)mb << 20;
    }
    return live_limit;
}

/* Books a request of n bytes that replaces old live ones; false = must fail. */
static bool request_admit(size_t n, size_t old)
{
    stats.calls++;
    if (n > stats.max_single)
        stats.max_single = n;
    if (n > fz_target.alloc_limit)
        fz_fail(FZ_OOM, "GUARD", "one request of %zu bytes, limit %zu", n, fz_target.alloc_limit);
    if (n > live_limit_bytes() || stats.live_bytes - old > live_limit_bytes() - n)
        fz_fail(FZ_OOM, "GUARD", "%zu bytes live and a request of %zu, limit %zu", stats.live_bytes,
                n, live_limit_bytes());
    if (fail_at >= 0 && fail_at-- == 0)
        return false;
    return true;
}

static struct block *block_of(void *p)
{
    struct block *b = (struct block *)p - 1;

    if (b->magic != BLOCK_MAGIC)
        fz_fail(FZ_MEMORY, "GUARD", "a pointer that was not allocated, or is freed already");
    return b;
}

static void *mem_alloc(void *ctx, size_t n)
{
    struct block *b;

    (void)ctx;
    if (!request_admit(n, 0))
        return NULL;
    b = malloc(sizeof(*b) + n);
    if (b == NULL)
        return NULL;
    b->size = n;
    b->magic = BLOCK_MAGIC;
    stats.live_bytes += n;
    return b + 1;
}

static void mem_free(void *ctx, void *p)
{
    struct block *b;

    (void)ctx;
    if (p == NULL)
        return;
    b = block_of(p);
    stats.live_bytes -= b->size;
    b->magic = 0;
    free(b);
}

static void *mem_realloc(void *ctx, void *p, size_t n)
{
    struct block *b;
    struct block *moved;
    size_t old;

    if (p == NULL)
        return mem_alloc(ctx, n);
    b = block_of(p);
    old = b->size;
    if (!request_admit(n, old))
        return NULL;
    moved = realloc(b, sizeof(*b) + n);
    if (moved == NULL)
        return NULL;
    moved->size = n;
    stats.live_bytes = stats.live_bytes - old + n;
    return moved + 1;
}

const fz_allocator *fz_mem(void)
{
    static const fz_allocator mem = {mem_alloc, mem_realloc, mem_free, NULL};

    return &mem;
}

const struct fz_alloc_stats *fz_alloc_stats(void)
{
    return &stats;
}

void fz_alloc_mark(void)
{
    stats.calls = 0;
    stats.max_single = 0;
}

void fz_alloc_fail_at(int64_t k)
{
    fail_at = k;
}

void fz_alloc_reset(void)
{
    fz_alloc_mark();
    stats.live_bytes = 0;
    fail_at = -1;
}

void fz_leak_check(void)
{
    if (stats.live_bytes != 0)
        fz_fail(FZ_INVARIANT, "INV-LEAK", "%zu bytes live at the end of the input",
                stats.live_bytes);
}
