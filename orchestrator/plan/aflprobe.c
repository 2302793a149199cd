/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the installed afl-fuzz what it takes. One run of "afl-fuzz -hh" answers all: its environment holds every AFL_* name
 * that stands in the program file and those we may pass, and afl-fuzz calls the ones it does not know mistyped. A name that
 * cannot exist goes along: if that one is not called mistyped, the silence about the others means nothing, and only what
 * the help names counts. An unknown name costs afl-fuzz two seconds of sleep, so the answer is kept by the file's SHA-256.
 */
#include "plan/aflprobe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sort.h"
#include "sys/proc.h"

#define CANARY          "AFL_NO_SUCH_VARIABLE_AT_ALL"
#define FILE_MAX_BYTES  (64u << 20)
#define NAMES_MAX       1024
#define CACHE_MAX_BYTES (256u << 10)
#define CACHE_VERSION   1
#define ASK_TIMEOUT_MS  15000

/* What plan/argv.c may pass and a stripped-down or packed afl-fuzz might not show as a string. */
static const char *const may_pass[] = {
    "AFL_AUTORESUME",         "AFL_CUSTOM_MUTATOR_LIBRARY",
    "AFL_DISABLE_TRIM",       "AFL_FINAL_SYNC",
    "AFL_FORKSRV_INIT_TMOUT", "AFL_HANG_TMOUT",
    "AFL_IMPORT_FIRST",       "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES",
    "AFL_NO_AFFINITY",        "AFL_NO_UI",
    "AFL_OLD_CHILD_SYNC",     "AFL_PRELOAD",
    "AFL_SKIP_CPUFREQ",       "AFL_STATSD",
    "AFL_STATSD_HOST",        "AFL_STATSD_PORT",
    "AFL_STATSD_TAGS_FLAVOR", "AFL_TESTCACHE_SIZE",
};

/* These change what the question itself does; the help alone vouches for them. */
static bool not_askable(const char *name)
{
    static const char *const names[] = {
        "AFL_QUIET",       "AFL_IGNORE_UNKNOWN_ENVS", "AFL_NO_COLOR",   "AFL_NO_COLOUR",
        "AFL_DEBUG",       "AFL_DEBUG_CHILD",         "AFL_PIZZA_MODE", "AFL_PYTHON_MODULE",
        "AFL_FUZZER_ARGS", "AFL_PERFORMANCE_FILE"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void asked_add(struct strv *asked, const char *name)
{
    for (size_t i = 0; i < asked->n; i++)
        if (strcmp(asked->v[i], name) == 0)
            return;
    if (asked->n < NAMES_MAX && !not_askable(name))
        strv_add(asked, name);
}

/* Every whole string AFL_[A-Z0-9_]+ of the program file. */
static void asked_from_file(struct strv *asked, const char *data, size_t size)
{
    for (size_t i = 0; i + 5 < size; i++) {
        const char *hit = memmem(data + i, size - i, "AFL_", 4);
        size_t at, n = 4;
        char name[65];

        if (hit == NULL)
            return;
        at = (size_t)(hit - data);
        while (at + n < size && n < 64 &&
               (isupper((unsigned char)hit[n]) || isdigit((unsigned char)hit[n]) || hit[n] == '_'))
            n++;
        if (n > 4 && n < 64 && at > 0 && data[at - 1] == '\0' && at + n < size && hit[n] == '\0') {
            memcpy(name, hit, n);
            name[n] = '\0';
            asked_add(asked, name);
        }
        i = at + n - 1;
    }
}

/* afl-fuzz as named, or the first in PATH; with symlinks resolved. NULL when there is none. */
static char *afl_find(const char *name)
{
    const char *path = getenv("PATH");

    if (name != NULL && strchr(name, '/') != NULL)
        return realpath(name, NULL);
    if (path == NULL)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path != '\0') {
        size_t n = strcspn(path, ":");
        cleanup_free char *dir = xstrndup(path, n);
        cleanup_free char *full =
            xasprintf("%s/%s", n > 0 ? dir : ".", name != NULL ? name : "afl-fuzz");
        struct stat st;

        if (stat(full, &st) == 0 && S_ISREG(st.st_mode) && access(full, X_OK) == 0)
            return realpath(full, NULL);
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* Runs "afl-fuzz -hh"; its words of both streams, or NULL with err. */
static char *afl_ask(const char *path, const struct strv *asked, struct err *err)
{
    struct strv argv = {0}, env = {0};
    struct proc_spec ps = {.argv = &argv,
                           .env = &env,
                           .cwd = "/",
                           .timeout_ms = ASK_TIMEOUT_MS,
                           .cpu_limit_s = 10,
                           .max_out = 256 << 10};
    struct proc_result pr = {0};
    char *text = NULL;
    int r;

    strv_add(&argv, path);
    strv_add(&argv, "-hh");
    strv_addf(&env, "PATH=%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
    strv_add(&env, "HOME=/");
    strv_add(&env, "LANG=C");
    strv_add(&env, "TERM=dumb");
    strv_add(&env, CANARY "=1");
    for (size_t i = 0; i < asked->n; i++)
        strv_env_set(&env, asked->v[i], "1");
    r = proc_run(&ps, &pr, err);
    strv_clear(&argv);
    strv_clear(&env);
    if (r < 0) {
        err_wrap(err, "%s", path);
        return NULL;
    }
    if (pr.timed_out)
        (void)err_set(err, -ETIMEDOUT, "%s -hh does not end within %d s", path,
                      ASK_TIMEOUT_MS / 1000);
    else
        text = xasprintf("%s\n%s", pr.out != NULL ? pr.out : "", pr.err != NULL ? pr.err : "");
    proc_result_clear(&pr);
    return text;
}

static bool file_says(const char *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

static int strv_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Asks; everything but path and sha256. */
static int probe_ask(struct aflprobe *p, const char *data, size_t size, struct err *err)
{
    struct strv asked = {0}, canary = {0};
    struct aflprobe trial = {0};
    cleanup_free char *text = NULL;

    for (size_t i = 0; i < sizeof(may_pass) / sizeof(may_pass[0]); i++)
        asked_add(&asked, may_pass[i]);
    asked_from_file(&asked, data, size);
    text = afl_ask(p->path, &asked, err);
    if (text == NULL) {
        strv_clear(&asked);
        return err->code;
    }
    aflprobe_parse_help(p, text);
    strv_add(&canary, CANARY);
    aflprobe_parse_env(&trial, &canary, text);
    if (trial.env.n == 0)
        aflprobe_parse_env(p, &asked, text);
    strv_clear(&trial.env);
    strv_clear(&canary);
    strv_clear(&asked);
    if (p->version == NULL)
        return err_set(err, -EINVAL, "%s -hh does not print \"afl-fuzz++VERSION\": not AFL++",
                       p->path);
    if (!aflprobe_has_flag(p, 'i') || !aflprobe_has_flag(p, 'o'))
        return err_set(err, -EINVAL, "%s -hh prints no help on -i and -o: not AFL++", p->path);
    if (p->env.n > 1)
        array_sort(p->env.v, p->env.n, sizeof(p->env.v[0]), strv_compare);
    /* Source: AFL++ src/afl-forkserver.c since 4.20c; a wrapper script is judged by its version. */
    p->new_forkserver = file_says(data, size, "new fork server model") ||
                        file_says(data, size, "ld fork server model") || p->version_num >= 420;
    return 0;
}

static char *cache_path(const char *cache_dir, const char *sha256)
{
    return xasprintf("%s/aflprobe-%s.json", cache_dir, sha256);
}

/* A cached answer for this very file, or NULL; a damaged one counts as none. */
static struct aflprobe *cache_load(const char *cache_dir, const char *sha256)
{
    cleanup_free char *path = cache_path(cache_dir, sha256), *data = NULL;
    struct aflprobe *p = NULL;
    struct err err;
    json_t *j;
    size_t size;

    if (file_read(AT_FDCWD, path, CACHE_MAX_BYTES, &data, &size) < 0)
        return NULL;
    j = json_loadb(data, size, 0, NULL);
    if (j == NULL || json_integer_value(json_object_get(j, "cache")) != CACHE_VERSION ||
        aflprobe_from_json(j, &p, &err) < 0)
        p = NULL;
    json_decref(j);
    if (p != NULL && strcmp(p->sha256, sha256) != 0) {
        aflprobe_free(p);
        p = NULL;
    }
    return p;
}

/* Best effort: a cache that cannot be written costs two seconds next time. */
static void cache_store(const char *cache_dir, const struct aflprobe *p)
{
    cleanup_free char *path = cache_path(cache_dir, p->sha256), *text = NULL;
    json_t *j = aflprobe_to_json(p);

    if (j == NULL || path_mkdirs(cache_dir, 0700) < 0) {
        json_decref(j);
        return;
    }
    (void)json_object_set_new(j, "cache", json_integer(CACHE_VERSION));
    text = json_dumps(j, JSON_SORT_KEYS | JSON_INDENT(1));
    json_decref(j);
    if (text != NULL)
        (void)file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600);
}

int aflprobe_run(const char *afl_fuzz, const char *cache_dir, struct aflprobe **ret,
                 struct err *err)
{
    cleanup_free char *path = NULL, *data = NULL;
    char sha256[65];
    struct aflprobe *p = NULL;
    size_t size;
    int r;

    if (afl_fuzz == NULL)
        afl_fuzz = getenv("AFL_FUZZ");
    path = afl_find(afl_fuzz);
    if (path == NULL)
        return err_set(err, -ENOENT,
                       "%s is not installed (looked in %s); Debian and Ubuntu: apt install afl++",
                       afl_fuzz != NULL ? afl_fuzz : "afl-fuzz",
                       afl_fuzz != NULL ? "AFL_FUZZ, PATH" : "PATH");
    if (access(path, X_OK) < 0)
        return err_sys(err, -errno, "%s is not executable", path);
    r = file_read(AT_FDCWD, path, FILE_MAX_BYTES, &data, &size);
    if (r < 0)
        return err_sys(err, r, "%s", path);
    hash_sha256_hex(data, size, sha256);
    if (cache_dir != NULL)
        p = cache_load(cache_dir, sha256);
    if (p == NULL) {
        struct err local = {0};

        p = xcalloc(1, sizeof(*p));
        p->path = xstrdup(path);
        memcpy(p->sha256, sha256, sizeof(sha256));
        r = probe_ask(p, data, size, &local);
        if (r < 0) {
            aflprobe_free(p);
            return err_set(err, r, "%s", local.msg);
        }
        if (cache_dir != NULL)
            cache_store(cache_dir, p);
    }
    str_set(&p->path, path);
    *ret = p;
    return 0;
}

void aflprobe_free(struct aflprobe *p)
{
    if (p == NULL)
        return;
    free(p->path);
    free(p->version);
    strv_clear(&p->flag_forms);
    strv_clear(&p->env);
    free(p);
}

static json_t *list_to_json(const struct strv *sv)
{
    json_t *a = json_array();

    for (size_t i = 0; i < sv->n; i++)
        (void)json_array_append_new(a, json_string(sv->v[i]));
    return a;
}

json_t *aflprobe_to_json(const struct aflprobe *p)
{
    return json_pack("{s:s?,s:s,s:s?,s:i,s:s,s:o,s:o,s:b}", "path", p->path, "sha256", p->sha256,
                     "version", p->version, "version_num", p->version_num, "flags", p->flags,
                     "flag_forms", list_to_json(&p->flag_forms), "env", list_to_json(&p->env),
                     "new_forkserver", p->new_forkserver);
}

static bool text_ok(const char *s, size_t min, size_t max)
{
    size_t n = s != NULL ? strlen(s) : 0;

    if (s == NULL || n < min || n > max)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            return false;
    return true;
}

static int list_from_json(const json_t *a, size_t max, size_t max_bytes, struct strv *ret)
{
    if (!json_is_array(a) || json_array_size(a) > max)
        return -EINVAL;
    for (size_t i = 0; i < json_array_size(a); i++) {
        const char *s = json_string_value(json_array_get(a, i));

        if (!text_ok(s, 1, max_bytes))
            return -EINVAL;
        strv_add(ret, s);
    }
    return 0;
}

int aflprobe_from_json(const json_t *j, struct aflprobe **ret, struct err *err)
{
    const char *path = json_string_value(json_object_get(j, "path"));
    const char *sha256 = json_string_value(json_object_get(j, "sha256"));
    const char *version = json_string_value(json_object_get(j, "version"));
    const char *flags = json_string_value(json_object_get(j, "flags"));
    json_int_t num = json_integer_value(json_object_get(j, "version_num"));
    struct aflprobe *p;

    if (!text_ok(path, 1, 4096) || path[0] != '/' || !text_ok(version, 1, 31) || sha256 == NULL ||
        !hash_hex_ok(sha256) || !text_ok(flags, 1, sizeof(p->flags) - 1) || num < 0 || num > 99999)
        return err_set(err, -EINVAL, "not the answer of an afl-fuzz probe");
    p = xcalloc(1, sizeof(*p));
    if (list_from_json(json_object_get(j, "flag_forms"), 16, 256, &p->flag_forms) < 0 ||
        list_from_json(json_object_get(j, "env"), NAMES_MAX, 64, &p->env) < 0) {
        aflprobe_free(p);
        return err_set(err, -EINVAL, "not the answer of an afl-fuzz probe: bad list");
    }
    p->path = xstrdup(path);
    p->version = xstrdup(version);
    p->version_num = (int)num;
    (void)snprintf(p->sha256, sizeof(p->sha256), "%s", sha256);
    (void)snprintf(p->flags, sizeof(p->flags), "%s", flags);
    p->new_forkserver = json_is_true(json_object_get(j, "new_forkserver"));
    *ret = p;
    return 0;
}
