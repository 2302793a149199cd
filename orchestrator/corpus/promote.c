/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input must show before it becomes a seed, and the name it gets for it. The bytes are read once; what is
 * replayed, hashed and written is that copy, whatever happens to the file meanwhile.
 */
#include "corpus/promote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "plan/elfprobe.h"
#include "sys/proc.h"
#include "triage/classify.h"
#include "triage/replay.h"

#define SLUG_MAX         64
#define PROGRAMS         3
#define TIMEOUT_MIN_MS   1000
#define REACH_TIMEOUT_MS 60000
#define REACH_OUT_BYTES  (1 << 20)

struct program {
    const char *role;
    struct replay_program run;
};

struct promote {
    const struct spec_target *t;
    struct seedset *seeds;
    struct program programs[PROGRAMS];
    size_t n_programs;
    json_t *reached; /* ids the seeds reach, NULL when no build can tell */
    char *teller;    /* the kit build that can */
};

void promote_result_clear(struct promote_result *r)
{
    free(r->name);
    strv_clear(&r->reaches);
    *r = (struct promote_result){0};
}

static int64_t time_limit_ms(const struct spec_target *t)
{
    if (t->limits.hang_timeout_ms > 0)
        return t->limits.hang_timeout_ms;
    return 2 * t->limits.timeout_ms > TIMEOUT_MIN_MS ? 2 * t->limits.timeout_ms : TIMEOUT_MIN_MS;
}

static int add_program(struct promote *p, const char *role, const char *path, struct err *err)
{
    struct program *prog = &p->programs[p->n_programs];
    struct elfprobe e;
    int r;

    if (path == NULL)
        return 0;
    r = elfprobe_read(path, &e, err);
    if (r < 0)
        return r;
    if (e.kit && p->teller == NULL)
        p->teller = xstrdup(path);
    *prog = (struct program){.role = role,
                             .run = {.path = path,
                                     .args = &p->t->args,
                                     .env = &p->t->env,
                                     .kit = e.kit,
                                     .takes_file = e.driver || e.libfuzzer,
                                     .asan = e.asan,
                                     .msan = e.msan,
                                     .tsan = e.tsan,
                                     .ubsan = e.ubsan,
                                     .twice = true,
                                     .timeout_ms = time_limit_ms(p->t),
                                     .memory_bytes = p->t->limits.memory_bytes}};
    p->n_programs++;
    return 0;
}

/* {"id":count,...} of one file or folder, or NULL. New reference. */
static json_t *reach_of(const struct promote *p, const char *path)
{
    struct strv argv = {0};
    struct proc_result res = {0};
    struct err err = {0};
    json_t *j = NULL;

    strv_add(&argv, p->teller);
    strv_add(&argv, "--reach");
    strv_add(&argv, path);
    if (proc_run(&(struct proc_spec){.argv = &argv,
                                     .cwd = "/",
                                     .timeout_ms = REACH_TIMEOUT_MS,
                                     .max_out = REACH_OUT_BYTES,
                                     .sweep = true},
                 &res, &err) == 0 &&
        !res.timed_out && res.out != NULL)
        j = json_loads(res.out, JSON_DISABLE_EOF_CHECK, NULL);
    proc_result_clear(&res);
    strv_clear(&argv);
    if (json_is_object(j))
        return j;
    json_decref(j);
    return NULL;
}

int promote_open(const struct spec_target *t, struct promote **ret, struct err *err)
{
    struct promote *p = xcalloc(1, sizeof(*p));
    int r = 0;

    p->t = t;
    if (t->seeds == NULL)
        r = err_set(err, -EINVAL, "target %s has no folder of seeds", t->name);
    if (r == 0)
        r = add_program(p, "replay", t->replay, err);
    if (r == 0)
        r = add_program(p, "sanitizer", t->sanitizer, err);
    if (r == 0 && p->n_programs == 0)
        r = add_program(p, "harness", t->harness, err);
    if (r == 0 && p->n_programs == 0)
        r = err_set(err, -EINVAL,
                    "target %s has no build to replay in: none of replay, sanitizer and harness is "
                    "there; build them first",
                    t->name);
    if (r == 0)
        r = seedset_open(t->seeds, &p->seeds, err);
    if (r == 0 && p->teller != NULL)
        p->reached = reach_of(p, t->seeds);
    if (r < 0)
        promote_close(p);
    else
        *ret = p;
    return r;
}

void promote_close(struct promote *p)
{
    if (p == NULL)
        return;
    seedset_close(p->seeds);
    json_decref(p->reached);
    free(p->teller);
    free(p);
}

/* Runs the copy in each build. 0, -EBADMSG with ret saying how it fails, -errno. */
static int replay_all(const struct promote *p, const char *copy, struct promote_result *ret,
                      struct err *err)
{
    for (size_t i = 0; i < p->n_programs; i++) {
        struct verdict_of_run v = {0};
        struct replay_run run = {0};
        int r = replay_once(&p->programs[i].run, copy, &run, err);

        if (r < 0)
            return r;
        classify_run(&run, p->t->name, "", &v);
        replay_run_clear(&run);
        if (strcmp(v.class_, "none") == 0)
            continue;
        strlcpy(ret->class_, v.class_, sizeof(ret->class_));
        strlcpy(ret->kind, v.kind, sizeof(ret->kind));
        strlcpy(ret->program, p->programs[i].role, sizeof(ret->program));
        return err_set(err, -EBADMSG, "fails: %s %s (%s build)", v.class_, v.kind,
                       p->programs[i].role);
    }
    return 0;
}

/* The ids that this input reaches and no seed did. */
static void find_reaches(const struct promote *p, const char *copy, struct strv *ret)
{
    json_t *mine = p->reached != NULL ? reach_of(p, copy) : NULL;
    const char *id;
    json_t *count;

    json_object_foreach (mine, id, count) {
        if (json_integer_value(count) > 0 &&
            json_integer_value(json_object_get(p->reached, id)) <= 0)
            strv_add(ret, id);
    }
    json_decref(mine);
}

char *promote_slug(const char *text)
{
    char *slug = xcalloc(1, SLUG_MAX + 1);
    size_t n = 0;

    for (; *text != '\0' && n < SLUG_MAX; text++) {
        if (isalnum((unsigned char)*text))
            slug[n++] = (char)tolower((unsigned char)*text);
        else if (n > 0 && slug[n - 1] != '-')
            slug[n++] = '-';
    }
    while (n > 0 && slug[n - 1] == '-')
        n--;
    slug[n] = '\0';
    return slug;
}

/* What the input shows, the most telling first. Caller frees. */
static char *slug_of(const struct promote_input *in, const struct strv *reaches)
{
    cleanup_free char *text = NULL;

    if (in->slug != NULL) {
        text = xstrdup(in->slug);
    } else if (reaches->n > 0) {
        text = xstrdup("reach");
        for (size_t i = 0; i < reaches->n && strlen(text) < SLUG_MAX; i++) {
            char *more = xasprintf("%s-%s", text, reaches->v[i]);

            free(text);
            text = more;
        }
    } else if (in->was != NULL) {
        text = xasprintf("was-%s", in->was);
    } else {
        /* afl-fuzz marks what brought a new edge. */
        text =
            xstrdup(in->origin.file != NULL && strstr(in->origin.file, ",+cov") != NULL ? "new-edge"
                                                                                        : "pass");
    }
    return promote_slug(text);
}

static int add_copy(struct promote *p, const struct promote_input *in, const char *data,
                    size_t size, const char *copy, struct promote_result *ret, struct err *err)
{
    int r = replay_all(p, copy, ret, err);

    if (r < 0)
        return r;
    find_reaches(p, copy, &ret->reaches);
    cleanup_free char *slug = slug_of(in, &ret->reaches);
    r = seedset_add(p->seeds, data, size, slug, &in->origin, &ret->name, err);
    for (size_t i = 0; r == 0 && i < ret->reaches.n; i++)
        (void)json_object_set_new(p->reached, ret->reaches.v[i], json_integer(1));
    return r;
}

int promote_add(struct promote *p, const struct promote_input *in, struct promote_result *ret,
                struct err *err)
{
    const char *tmp = getenv("TMPDIR"), *same;
    cleanup_free char *data = NULL;
    size_t size = 0;
    int r = file_read_follow(AT_FDCWD, in->path, SEEDSET_SEED_MAX, &data, &size);

    if (r == -EFBIG)
        return err_set(err, r, "longer than %d bytes, which afl-fuzz takes for a testcase",
                       SEEDSET_SEED_MAX);
    if (r < 0)
        return err_set(err, r, "%s", r == -EINVAL ? "is not a regular file" : strerror(-r));
    hash_sha256_hex(data, size, ret->sha256);
    same = seedset_find(p->seeds, ret->sha256);
    if (same != NULL) {
        ret->name = xstrdup(same);
        return err_set(err, -EEXIST, "is already there as %s", same);
    }
    cleanup_free char *dir =
        xasprintf("%s/fz-promote.XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return err_sys(err, -errno, "%s", dir);
    cleanup_free char *copy = path_join(dir, "input");
    r = file_write_atomic(AT_FDCWD, copy, data, size, 0600);
    r = r < 0 ? err_sys(err, r, "%s", copy) : add_copy(p, in, data, size, copy, ret, err);
    (void)path_remove_tree(dir);
    return r;
}
