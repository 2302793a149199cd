/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of plans, which come from a client and from our own disk. The input is
 * the JSON; its hash is put right first, as nothing would pass without. What is
 * accepted goes out as it came in, so that the plan fuzzd keeps is one it can read
 * again after a restart, and writes nowhere but below its run's folder.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "plan/plan.h"
#include "selftest/check.h"

#define NUMBER_MAX (INT64_C(1) << 53)

static const char *const ids[] = {"N1", "N2", "N3", "N4", "N5", NULL};
static const char *const reach[] = {"accepted", "refused", "no_json", NULL};
const struct fz_target fz_target = {"selftest-plan", 256u << 20, ids, reach, NULL};

static bool is_below(const struct plan *p, const char *path)
{
    size_t n = strlen(p->run_dir);

    return strncmp(path, p->run_dir, n) == 0 && path[n] == '/' && strstr(path, "/../") == NULL;
}

static void check_limits(const struct spec_limits *l)
{
    const int64_t n[] = {l->memory_bytes,    l->pids,         l->cpu_pct,
                         l->timeout_ms,      l->disk_bytes,   l->disk_floor_bytes,
                         l->hang_timeout_ms, l->pressure_pct, l->log_max_bytes};

    for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
        MUST(n[i] >= 0 && n[i] <= NUMBER_MAX, "N2", "limit %zu is %lld", i, (long long)n[i]);
}

static void check_values(const struct plan *p)
{
    MUST(path_name_ok(p->campaign, PLAN_NAME_MAX) && path_name_ok(p->run_id, PLAN_NAME_MAX), "N1",
         "a name is none");
    MUST(p->n_targets >= 1 && p->n_targets <= PLAN_MAX_TARGETS && p->n_cpus >= 1 && p->cores >= 1 &&
             p->cores <= p->n_cpus,
         "N2", "%zu targets, %d cpus, %d cores", p->n_targets, p->n_cpus, p->cores);
    MUST(p->budget_ms <= NUMBER_MAX && p->execs <= NUMBER_MAX && p->plateau_ms <= NUMBER_MAX, "N2",
         "an end that cannot be reckoned with");
    check_limits(&p->limits);
    for (size_t t = 0; t < p->n_targets; t++) {
        const struct plan_target *tg = &p->targets[t];

        MUST(path_name_ok(tg->name, PLAN_NAME_MAX) && plan_target_find(p, tg->name) == tg, "N1",
             "target %zu is not found by its name", t);
        MUST(is_below(p, tg->sync_dir), "N3", "sync_dir is %s", tg->sync_dir);
        MUST(tg->n_seeds >= 0 && tg->n_seeds <= NUMBER_MAX && tg->timeout_ms <= NUMBER_MAX &&
                 tg->init_timeout_ms <= NUMBER_MAX && tg->hang_timeout_ms <= NUMBER_MAX,
             "N2", "a number of target %zu", t);
        check_limits(&tg->limits);
        for (size_t i = 0; i < tg->n_instances; i++) {
            const struct plan_instance *in = &tg->instances[i];

            MUST(path_name_ok(in->name, PLAN_NAME_MAX), "N1", "an instance's name is none");
            MUST(is_below(p, in->out_dir) && is_below(p, in->scratch_dir) &&
                     is_below(p, in->log_path) && is_below(p, in->run_path) &&
                     is_below(p, in->exit_path),
                 "N3", "instance %s writes elsewhere", in->name);
            MUST(in->argv.n >= 4 && in->argv.v[in->argv.n] == NULL &&
                     strcmp(in->argv.v[0], p->afl_path) == 0,
                 "N3", "instance %s runs another program", in->name);
            MUST(plan_role_name(in->role) != NULL, "N2", "a role without a name");
        }
    }
}

static void check_printed(const struct plan *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    plan_print(p, out);
    (void)fclose(out);
    for (size_t i = 0; i < n; i++)
        MUST((unsigned char)text[i] >= 0x20 || text[i] == '\n', "N5",
             "byte 0x%02x is shown to people", (unsigned char)text[i]);
    free(text);
}

int fz_one(const uint8_t *d, size_t n)
{
    json_t *j = json_loadb((const char *)d, n, JSON_REJECT_DUPLICATES, NULL), *out;
    struct plan *p = NULL, *second = NULL;
    struct err err = {0};
    char hex[65];
    int r;

    if (!json_is_object(j)) {
        FZ_REACH(no_json);
        json_decref(j);
        return 0;
    }
    plan_hash_json(j, hex);
    json_object_set_new(j, "hash", json_string(hex));
    r = plan_from_json(j, &p, &err);
    if (r < 0) {
        FZ_REACH(refused);
        MUST(p == NULL && r == -EINVAL && err.code == r && is_text(err.msg, sizeof(err.msg)) &&
                 err.msg[0] != '\0',
             "N4", "refused by %d: %.100s", r, err.msg);
        fz_trace(err.msg, strlen(err.msg));
        json_decref(j);
        return 0;
    }
    FZ_REACH(accepted);
    check_values(p);
    check_printed(p);
    out = plan_to_json(p);
    MUST(json_equal(j, out), "N4", "what was accepted does not go out as it came in");
    r = plan_from_json(out, &second, &err);
    MUST(r == 0, "N4", "the plan as it is kept cannot be read: %.100s", err.msg);
    MUST(strcmp(p->hash, second->hash) == 0 && strcmp(p->hash, hex) == 0, "N4", "the hash changed");
    plan_free(second);
    /* Another hash: another plan. */
    hex[0] = hex[0] == '0' ? '1' : '0';
    json_object_set_new(out, "hash", json_string(hex));
    second = NULL;
    MUST(plan_from_json(out, &second, &err) == -EBADMSG && second == NULL, "N4",
         "a plan with a wrong hash is taken");
    fz_trace(p->hash, 64);
    plan_free(p);
    json_decref(out);
    json_decref(j);
    return 0;
}
