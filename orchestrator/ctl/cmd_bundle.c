/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl bundle: make, list, show, verify and unpack. A bundle is named by its file or by its bucket's id. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/parse.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "ctl/cmd.h"
#include "report/fields.h"
#include "store/results.h"
#include "store/runs.h"

#define SUFFIX      ".tar.zst"
#define PREFIX_MIN  4
#define ONE         "file or bucket"
#define BUNDLES_MAX 100000

static const struct cmd_sub sub_make, sub_list, sub_show, sub_verify, sub_unpack;

static int fail_code(int r)
{
    switch (r) {
    case -EBADMSG:
        return EXIT_MISMATCH;
    case -ENOENT:
        return EXIT_NO_CAMPAIGN;
    default:
        return EXIT_ERROR;
    }
}

/* The bundles of the state folder, by name. */
static void bundles_find(const struct cmd_env *env, const char *prefix, struct strv *ret)
{
    cleanup_free char *dir = path_join(env->state_dir, "bundles");
    cleanup_close int fd = path_open_below(env->state_dir, dir, 0);
    struct dirent **list = NULL;
    int n = fd >= 0 ? scandirat(fd, ".", &list, NULL, alphasort) : 0;
    struct stat st;

    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        size_t len = strlen(name);

        if (ret->n < BUNDLES_MAX && len > strlen(SUFFIX) &&
            strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0 &&
            strncmp(name, prefix, strlen(prefix)) == 0 &&
            fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            strv_take(ret, path_join(dir, name));
        free(list[i]);
    }
    free(list);
}

/* A file as it is, else the one bundle whose bucket begins with arg. NULL with the reason printed. Caller frees. */
static char *bundle_named(const struct cmd_env *env, const char *arg, int *ret_code)
{
    struct strv found = {0};
    char *path = NULL;

    if (strchr(arg, '/') != NULL || access(arg, F_OK) == 0)
        return xstrdup(arg);
    *ret_code = cmd_state_check(env);
    if (*ret_code != EXIT_DONE)
        return NULL;
    if (strlen(arg) >= PREFIX_MIN)
        bundles_find(env, arg, &found);
    if (found.n == 1)
        path = xstrdup(found.v[0]);
    else
        *ret_code = cmd_fail(&cmd_bundle, EXIT_USAGE,
                             found.n == 0 ? "%s: no such file, and no bundle of that bucket"
                                          : "%s: more than one bundle begins so",
                             arg);
    strv_clear(&found);
    return path;
}

/* Of what reading the bundle at path came to. */
static int code_of(const char *path, int r)
{
    return r == -EBADMSG ? EXIT_MISMATCH : access(path, F_OK) < 0 ? EXIT_USAGE : EXIT_ERROR;
}

static int make_one(const struct cmd_env *env, const char *run, const char *bucket, json_t *paths)
{
    cleanup_free char *path = NULL;
    struct err err = {0};
    int r = bundle_make(env->state_dir, run, bucket, &path, &err);

    if (r < 0)
        return cmd_fail(&cmd_bundle, EXIT_ERROR, "%s", err.msg);
    (void)json_array_append_new(paths, fields_string(path));
    if (!env->json && !env->quiet)
        (void)puts(path);
    return EXIT_DONE;
}

/* All buckets of the run, or the one that begins with prefix. */
static int make_of_run(const struct cmd_env *env, struct db *db, const struct run_row *run,
                       const char *prefix, json_t *paths)
{
    struct bucket_row *rows = NULL;
    struct err err = {0};
    size_t n = 0, met = 0;
    int code = EXIT_DONE;

    if (results_buckets(db, run->id, &rows, &n, &err) < 0)
        return cmd_fail(&cmd_bundle, EXIT_ERROR, "%s", err.msg);
    for (size_t i = 0; i < n; i++) {
        int one;

        if (rows[i].id == NULL ||
            (prefix != NULL && strncmp(rows[i].id, prefix, strlen(prefix)) != 0))
            continue;
        met++;
        one = make_one(env, run->id, rows[i].id, paths);
        code = one != EXIT_DONE ? one : code;
    }
    bucket_rows_free(rows, n);
    if (met == 0 && prefix != NULL)
        return cmd_fail(&cmd_bundle, EXIT_ERROR, "run %s of %s has no bucket %s", run->id,
                        run->campaign, prefix);
    if (met == 0 && !env->quiet && !env->json)
        (void)printf("%s has no bucket\n", run->campaign);
    return code;
}

/* "make ID": the bucket in the newest run that has it. */
static int make_by_bucket(const struct cmd_env *env, struct db *db, const char *id, json_t *paths)
{
    struct bucket_row *row = xcalloc(1, sizeof(*row));
    cleanup_free char *run = NULL;
    struct err err = {0};
    int r = results_bucket_find(db, id, row, &run, &err), code;

    if (r < 0) {
        free(row);
        return cmd_fail(&cmd_bundle, fail_code(r), "%s", err.msg);
    }
    code = make_one(env, run, row->id, paths);
    bucket_rows_free(row, 1);
    return code;
}

static int do_make(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", "bucket", NULL};
    struct run_row run = {0};
    struct err err = {0};
    struct db *db;
    json_t *paths;
    int code = EXIT_DONE, r;

    code = cmd_plain(&cmd_bundle, &sub_make, argc, argv, names, 0);
    if (code != EXIT_DONE)
        return code;
    argc -= optind - 1;
    argv += optind - 1;
    db = cmd_open_db(&cmd_bundle, env, &code);
    if (db == NULL)
        return code;
    paths = json_array();
    r = runs_get(db, argc > 1 ? argv[1] : NULL, NULL, &run, &err);
    if (r == 0)
        code = make_of_run(env, db, &run, argc > 2 ? argv[2] : NULL, paths);
    else if (r == -ENOENT && argc == 2 && strlen(argv[1]) >= PREFIX_MIN &&
             argv[1][strspn(argv[1], "0123456789abcdef")] == '\0')
        code = make_by_bucket(env, db, argv[1], paths);
    else
        code = cmd_fail(&cmd_bundle, fail_code(r), "%s", err.msg);
    run_row_clear(&run);
    db_close(db);
    if (env->json) {
        json_t *j = json_pack("{s:i, s:O}", "version", 1, "bundles", paths);

        cmd_print_json(j);
        json_decref(j);
    }
    json_decref(paths);
    return code;
}

static void list_print(const json_t *b)
{
    cleanup_free char *signature = fields_safe(fields_text(b, "signature"));
    cleanup_free char *target = fields_safe(fields_text(b, "target"));
    cleanup_free char *class_ = fields_safe(fields_text(b, "class"));
    cleanup_free char *name = fields_safe(fields_text(b, "name"));
    char size[32];

    (void)printf("%-13s %-12s %-16s %6s  %s\n", name, class_, target,
                 format_size(size, sizeof(size), json_integer_value(json_object_get(b, "size"))),
                 signature);
}

static int do_list(struct cmd_env *env, int argc, char **argv)
{
    struct strv found = {0};
    json_t *list, *b;
    size_t i;
    int code = cmd_plain(&cmd_bundle, &sub_list, argc, argv, (const char *const[]){NULL}, 0);

    if (code != EXIT_DONE)
        return code;
    list = json_array();
    bundles_find(env, "", &found);
    for (i = 0; i < found.n; i++) {
        cleanup_free char *stem = xstrdup(strrchr(found.v[i], '/') + 1);
        json_t *m = NULL;
        struct stat st = {0};
        struct err err = {0};

        if (bundle_show(found.v[i], &m, &err) < 0)
            code = cmd_fail(&cmd_bundle, EXIT_MISMATCH, "%s", err.msg);
        (void)stat(found.v[i], &st);
        stem[strlen(stem) - strlen(SUFFIX)] = '\0';
        (void)json_array_append_new(
            list, json_pack("{s:o, s:s, s:s, s:s, s:s, s:o, s:I}", "name", fields_string(stem),
                            "class", m != NULL ? fields_text(m, "class") : "damaged", "target",
                            fields_text(m, "target"), "kind", fields_text(m, "kind"), "signature",
                            fields_text(m, "signature"), "path", fields_string(found.v[i]), "size",
                            (json_int_t)st.st_size));
        json_decref(m);
    }
    if (env->json) {
        json_t *j = json_pack("{s:i, s:O}", "version", 1, "bundles", list);

        cmd_print_json(j);
        json_decref(j);
    } else {
        if (found.n > 0)
            (void)printf("%-13s %-12s %-16s %6s  %s\n", "BUCKET", "CLASS", "TARGET", "SIZE",
                         "SIGNATURE");
        json_array_foreach (list, i, b)
            list_print(b);
    }
    json_decref(list);
    strv_clear(&found);
    return code;
}

static void show_line(const char *name, const char *value)
{
    cleanup_free char *safe = fields_safe(value);

    (void)printf("%-12s %s\n", name, safe);
}

static void show_print(const json_t *doc)
{
    static const char *const keys[] = {"campaign", "run",  "target",    "bucket",
                                       "class",    "kind", "signature", "why"};
    const json_t *m = json_object_get(doc, "manifest"), *member;
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        show_line(keys[i], fields_text(m, keys[i]));
    (void)printf("%-12s %lld/%lld\n", "reproduced",
                 (long long)json_integer_value(json_object_get(m, "reproduced")),
                 (long long)json_integer_value(json_object_get(m, "runs")));
    (void)printf("%-12s %lld\n", "severity",
                 (long long)json_integer_value(json_object_get(m, "severity")));
    json_array_foreach (json_object_get(m, "programs"), i, member)
        show_line(i == 0 ? "programs" : "", fields_text(member, "path"));
    json_array_foreach (json_object_get(doc, "members"), i, member) {
        cleanup_free char *name = fields_safe(fields_text(member, "name"));

        (void)printf("%-12s %9lld  %s\n", i == 0 ? "members" : "",
                     (long long)json_integer_value(json_object_get(member, "size")), name);
    }
}

static int do_show(struct cmd_env *env, int argc, char **argv)
{
    cleanup_free char *path = NULL;
    json_t *doc = NULL;
    struct err err = {0};
    int code = cmd_plain(&cmd_bundle, &sub_show, argc, argv, (const char *const[]){ONE, NULL}, 1),
        r;

    if (code != EXIT_DONE)
        return code;
    path = bundle_named(env, argv[optind], &code);
    if (path == NULL)
        return code;
    r = bundle_list(path, &doc, &err);
    if (r < 0)
        return cmd_fail(&cmd_bundle, code_of(path, r), "%s", err.msg);
    if (env->json)
        cmd_print_json(json_object_get(doc, "manifest"));
    else
        show_print(doc);
    json_decref(doc);
    return EXIT_DONE;
}

static int do_verify(struct cmd_env *env, int argc, char **argv)
{
    json_t *list;
    int code = cmd_plain(&cmd_bundle, &sub_verify, argc, argv,
                         (const char *const[]){ONE, CMD_MORE, NULL}, 1);

    if (code != EXIT_DONE)
        return code;
    list = json_array();
    for (int i = optind; i < argc; i++) {
        cleanup_free char *path = NULL;
        struct err err = {0};
        int one = EXIT_DONE, r;

        path = bundle_named(env, argv[i], &one);
        if (path != NULL && (r = bundle_verify(path, &err)) < 0)
            one = cmd_fail(&cmd_bundle, code_of(path, r), "%s", err.msg);
        else if (path != NULL && !env->quiet && !env->json)
            (void)printf("%s: good\n", path);
        if (path != NULL)
            (void)json_array_append_new(
                list,
                json_pack("{s:o, s:b, s:o}", "file", fields_string(path), "good", one == EXIT_DONE,
                          "error", one == EXIT_DONE ? json_null() : fields_string(err.msg)));
        /* A difference outranks a file that could not be read. */
        if (one != EXIT_DONE && code != EXIT_MISMATCH)
            code = one;
    }
    if (env->json) {
        json_t *j = json_pack("{s:i, s:O}", "version", 1, "bundles", list);

        cmd_print_json(j);
        json_decref(j);
    }
    json_decref(list);
    return code;
}

static int do_unpack(struct cmd_env *env, int argc, char **argv)
{
    cleanup_free char *path = NULL;
    struct err err = {0};
    int code = cmd_plain(&cmd_bundle, &sub_unpack, argc, argv,
                         (const char *const[]){ONE, "folder to unpack into", NULL}, 2),
        r;

    if (code != EXIT_DONE)
        return code;
    path = bundle_named(env, argv[optind], &code);
    if (path == NULL)
        return code;
    r = bundle_unpack(path, argv[optind + 1], &err);
    if (r < 0)
        return cmd_fail(&cmd_bundle, code_of(path, r), "%s", err.msg);
    if (!env->quiet && !env->json) {
        cleanup_free char *dir = fields_safe(argv[optind + 1]);

        (void)printf("%s: good, unpacked into %s; repro.sh in it runs the input\n", path, dir);
    }
    return EXIT_DONE;
}

static int bundle_exec(struct cmd_env *env, int argc, char **argv)
{
    return cmd_sub_run(&cmd_bundle, env, argc, argv);
}

static const struct cmd_sub
    sub_make = {"make", "[NAME] [BUCKET] | BUCKET",
                "write the bundles of a campaign's newest run, or of one bucket", do_make, false},
    sub_list = {"list", "", "the bundles there are, with class, target and signature", do_list,
                false},
    sub_show = {"show", "FILE|BUCKET", "what is in one, and where it came from", do_show, true},
    sub_verify = {"verify", "FILE|BUCKET...",
                  "whether each is whole; exit code 7 for one that is not", do_verify, true},
    sub_unpack = {"unpack", "FILE|BUCKET FOLDER",
                  "verify one and put its members into a new folder; sh FOLDER/repro.sh runs it",
                  do_unpack, true};
static const struct cmd_sub *const subs[] = {&sub_make,   &sub_list,   &sub_show,
                                             &sub_verify, &sub_unpack, NULL};

const struct cmd_entry cmd_bundle = {
    .name = "bundle",
    .usage = "SUBCOMMAND ...",
    .help = "a bucket as one file: inputs, report, versions and a script that reproduces it",
    .exec = bundle_exec,
    .subs = subs,
};
