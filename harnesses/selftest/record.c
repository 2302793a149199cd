/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fuzzd and fuzz-keeper tell one another. The first byte of the input chooses
 * the message (0 run, 1 exit, 2 description; + 4: the sum is put right), the rest is
 * its text. A record that is cut or changed anywhere does not count; one that counts
 * is written and read again to the same, with figures that can be reckoned with.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "selftest/check.h"
#include "sys/keeper_wire.h"

#define NUMBER_MAX (INT64_C(1) << 53)

static const char *const ids[] = {"K1", "K2", "K3", "K4", NULL};
static const char *const reach[] = {"run", "exit", "description", "refused", NULL};
const struct fz_target fz_target = {"selftest-record", 256u << 20, ids, reach, NULL};

static char text[FZ_INPUT_MAX + 256];
static char out[KEEPER_DESC_BYTES_MAX];
static char again[KEEPER_DESC_BYTES_MAX];

static bool in_range(int64_t n)
{
    return n >= 0 && n <= NUMBER_MAX;
}

static void check_code(int r)
{
    MUST(r == 0 || r == -EBADMSG || r == -ENOENT || r == -E2BIG, "K1", "reading gave %d", r);
    if (r < 0)
        FZ_REACH(refused);
}

/* The record that stands in out, cut at or changed in one byte: neither counts. */
static void check_damage(bool run, size_t n, uint64_t h)
{
    for (int i = 0; i < 4; i++) {
        struct keeper_run kr;
        struct keeper_exit ke;
        size_t at = (size_t)(h % n);
        int r;

        memcpy(again, out, n + 1);
        if (i < 2)
            again[at] ^= (char)(1 + h % 255);
        else
            again[at] = '\0';
        h = h * 6364136223846793005u + 1442695040888963407u;
        r = run ? keeper_run_parse(again, i < 2 ? n : at, &kr)
                : keeper_exit_parse(again, i < 2 ? n : at, &ke);
        MUST(r < 0, "K3", "a record damaged at %zu of %zu counts", at, n);
    }
}

static void one_run(size_t n, uint64_t h)
{
    struct keeper_run a, b;
    int r = keeper_run_parse(text, n, &a), len;

    check_code(r);
    if (r < 0)
        return;
    FZ_REACH(run);
    MUST(is_printable(a.id, sizeof(a.id)) || strnlen(a.id, sizeof(a.id)) < sizeof(a.id), "K2",
         "the id is not terminated");
    MUST(in_range(a.started_at_ms) && a.cpu >= -1 && a.statsd_port >= 0 && a.statsd_port <= 65535 &&
             a.keeper.pid >= 0 && a.afl.pid >= 0,
         "K2", "started at %lld on cpu %d", (long long)a.started_at_ms, a.cpu);
    MUST(a.cgroups.n <= KEEPER_ITEMS_MAX, "K2", "%zu cgroups", a.cgroups.n);
    len = keeper_run_format(out, KEEPER_RUN_BYTES_MAX, &a);
    if (len > 0) {
        memcpy(again, out, (size_t)len + 1);
        MUST(keeper_run_parse(again, (size_t)len, &b) == 0, "K4", "what was written is refused");
        MUST(keeper_run_format(again, KEEPER_RUN_BYTES_MAX, &b) == len &&
                 memcmp(again, out, (size_t)len) == 0,
             "K4", "it changed on the way");
        strv_clear(&b.cgroups);
        fz_trace(out, (size_t)len);
        check_damage(true, (size_t)len, h);
    }
    strv_clear(&a.cgroups);
}

static void one_exit(size_t n, uint64_t h)
{
    struct keeper_exit a, b;
    int r = keeper_exit_parse(text, n, &a), len;

    check_code(r);
    if (r < 0)
        return;
    FZ_REACH(exit);
    MUST(in_range(a.ended_at_ms) && in_range(a.oom_kills) && in_range(a.user_ms) &&
             in_range(a.system_ms) && in_range(a.max_rss_bytes) && a.leftover >= 0,
         "K2", "ended at %lld", (long long)a.ended_at_ms);
    len = keeper_exit_format(out, KEEPER_RECORD_BYTES, &a);
    MUST(len > 0, "K4", "it cannot be written: %d", len);
    memcpy(again, out, (size_t)len + 1);
    MUST(keeper_exit_parse(again, (size_t)len, &b) == 0, "K4", "what was written is refused");
    MUST(keeper_exit_format(again, KEEPER_RECORD_BYTES, &b) == len &&
             memcmp(again, out, (size_t)len) == 0,
         "K4", "it changed on the way");
    fz_trace(out, (size_t)len);
    check_damage(false, (size_t)len, h);
}

static void check_list(const struct strv *list)
{
    MUST(list->n == 0 || list->v[list->n] == NULL, "K2", "a list has no end");
    for (size_t i = 0; i < list->n; i++)
        MUST(list->v[i] != NULL, "K2", "a list has a hole");
}

static void one_desc(size_t n)
{
    static char *slots[KEEPER_SLOTS_MAX], *slots_again[KEEPER_SLOTS_MAX];
    struct keeper_desc a, b;
    int r, len;

    /* Lines, as NULs are hard to write into a seed. */
    for (size_t i = 0; i < n; i++)
        text[i] = text[i] == '\n' ? '\0' : text[i];
    r = keeper_desc_parse(text, n, slots, &a);
    check_code(r);
    if (r < 0)
        return;
    FZ_REACH(description);
    const struct strv *const lists[] = {&a.argv,       &a.env,          &a.procs_keep, &a.procs_afl,
                                        &a.kill_files, &a.events_files, &a.oom_files,  &a.cgroups};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        check_list(lists[i]);
    MUST(a.argv.n > 0 && a.exit_path != NULL && a.run_path != NULL, "K2", "it is not complete");
    MUST(a.grace_ms >= 0 && a.grace_ms <= NUMBER_MAX && a.log_max_bytes >= 0 &&
             a.log_max_bytes <= NUMBER_MAX && a.fsize_bytes >= 0 && a.cpu >= -1,
         "K2", "a figure that cannot be reckoned with");
    len = keeper_desc_format(out, sizeof(out), &a);
    if (len < 0)
        return; /* more items than are sent */
    memcpy(again, out, (size_t)len);
    r = keeper_desc_parse(again, (size_t)len, slots_again, &b);
    MUST(r == 0, "K4", "what was written is refused: %d", r);
    fz_trace(out, (size_t)len);
    for (int cut = 1; cut < len && cut < 200; cut++) {
        memcpy(again, out, (size_t)len);
        r = keeper_desc_parse(again, (size_t)(len - cut), slots_again, &b);
        MUST(r < 0, "K3", "a description that is %d bytes short is taken", cut);
    }
}

int fz_one(const uint8_t *d, size_t n)
{
    uint8_t how;
    uint64_t h;
    char sum[65];

    if (n < 1)
        return 0;
    how = d[0];
    h = fz_hash(d, n);
    n--;
    memcpy(text, d + 1, n);
    if ((how & 4) && (how & 3) < 2) {
        hash_sha256_hex(text, n, sum);
        memcpy(text + n, "sum=", 4);
        memcpy(text + n + 4, sum, 64);
        text[n + 68] = '\n';
        n += 69;
    }
    text[n] = '\0';
    switch (how & 3) {
    case 0:
        one_run(n, h);
        break;
    case 1:
        one_exit(n, h);
        break;
    default:
        one_desc(n);
        break;
    }
    return 0;
}
