/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that nothing was lost: every crash and hang file on disk has its
 * occurrence, every occurrence its file, every content its bytes under store/. All
 * bytes are hashed anew; nothing the index says is believed.
 */
#include "store/artifact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/path.h"
#include "store/folder.h"
#include "store/runs.h"
#include "store/stmt.h"

struct occurrence {
    char *name, *folder;
    char sha256[65];
    char kind[8];
    int64_t size_bytes;
    int code;
    bool found;
};

struct verify {
    struct db *db;
    const char *state_dir;
    artifact_diff_fn *fn;
    void *ctx;
    struct artifact_totals totals;
    int64_t n_diffs;
    /* of the instance at hand */
    const char *label; /* "run target/instance" */
    struct occurrence *seen;
    size_t n_seen;
};

static void tell(struct verify *v, enum artifact_word word, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(struct verify *v, enum artifact_word word, const char *fmt, ...)
{
    char line[2048], shown[4096];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (word == ARTIFACT_DIFFERS)
        v->n_diffs++;
    if (v->fn != NULL)
        v->fn(v->ctx, word, text_printable(shown, sizeof(shown), line));
}

/* The occurrence that a file stands for: of its name, and of its content unless sha256 is NULL (not to be had). */
static struct occurrence *occurrence_of(struct verify *v, const struct folder_file *f,
                                        const char *sha256)
{
    struct occurrence *moved = NULL;

    for (size_t i = 0; i < v->n_seen; i++) {
        struct occurrence *o = &v->seen[i];

        if (o->found || strcmp(o->name, f->name) != 0 ||
            strcmp(o->kind, artifact_kind_name(f->kind)) != 0 ||
            (sha256 != NULL && strcmp(o->sha256, sha256) != 0))
            continue;
        if (strcmp(o->folder, f->folder) == 0)
            return o;
        if (moved == NULL && !folder_has_twin(f, o->folder, o->sha256))
            moved = o;
    }
    return moved;
}

/* Empty, and no occurrence says that this is an input. */
static void check_lost(struct verify *v, const struct folder_file *f)
{
    struct occurrence *o = occurrence_of(v, f, "");

    v->totals.lost++;
    if (o != NULL && o->code == FOLDER_CODE_LOST) {
        o->found = true;
        tell(v, ARTIFACT_GONE, "%s: %s/%s is empty, its input is lost: %s", v->label, f->folder,
             f->name, ARTIFACT_LOST_WORDS);
    } else {
        tell(v, ARTIFACT_DIFFERS, "%s: %s/%s is empty and not recorded as lost", v->label,
             f->folder, f->name);
    }
}

static int check_file(void *ctx, const struct folder_file *f, struct err *err)
{
    struct verify *v = ctx;
    cleanup_free char *data = NULL;
    struct occurrence *o = NULL;
    struct stat sb = f->sb;
    char sha256[65] = "";
    int r;

    (void)err;
    if (f->skipped && f->name[0] == '\0') {
        tell(v, ARTIFACT_DIFFERS, "%s: %s is not a folder, not looked into", v->label, f->folder);
        return 0;
    }
    if (f->skipped) {
        tell(v, ARTIFACT_HARMLESS, "%s: %s/%s is not a regular file, passed over", v->label,
             f->folder, f->name);
        return 0;
    }
    r = folder_read(f, ARTIFACT_MAX_BYTES, &data, &sb);
    if (r == -ENOENT)
        return 0; /* gone since */
    v->totals.files++;
    if (r == -EBUSY) { /* whatever it holds now says nothing */
        v->totals.open++;
        tell(v, ARTIFACT_OPEN, "%s: %s/%s is still open for writing, its bytes are not judged",
             v->label, f->folder, f->name);
        o = occurrence_of(v, f, NULL);
        if (o != NULL)
            o->found = true;
        return 0;
    }
    if (r == 0)
        hash_sha256_hex(data, (size_t)sb.st_size, sha256);
    o = occurrence_of(v, f, sha256);
    if (o == NULL && r == 0 && sb.st_size == 0) {
        check_lost(v, f);
    } else if (o != NULL) {
        o->found = true;
    } else if (r < 0) {
        tell(v, ARTIFACT_DIFFERS, "%s: %s/%s cannot be read: %s", v->label, f->folder, f->name,
             strerror(-r));
    } else {
        tell(v, ARTIFACT_DIFFERS, "%s: %s/%s is on disk and not recorded", v->label, f->folder,
             f->name);
    }
    return 0;
}

static int load_seen(struct verify *v, const char *run, const char *target, const char *instance,
                     struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(v->db,
                      "SELECT name, folder, sha256, kind, size_bytes, code"
                      " FROM occurrences WHERE run = ?1 AND target = ?2 AND instance = ?3"
                      " ORDER BY kind, name, id",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    stmt_text(st, 2, target);
    stmt_text(st, 3, instance);
    while ((r = stmt_step(v->db, st, err)) == 1) {
        cleanup_free char *sha256 = stmt_dup(st, 2);
        cleanup_free char *kind = stmt_dup(st, 3);
        struct occurrence *o;

        v->seen = stmt_grow(v->seen, v->n_seen, sizeof(*v->seen));
        o = &v->seen[v->n_seen++];
        *o = (struct occurrence){.name = stmt_dup(st, 0),
                                 .folder = stmt_dup(st, 1),
                                 .size_bytes = stmt_col(st, 4),
                                 .code = (int)stmt_col(st, 5)};
        (void)strlcpy(o->sha256, sha256 != NULL ? sha256 : "", sizeof(o->sha256));
        (void)strlcpy(o->kind, kind != NULL ? kind : "", sizeof(o->kind));
    }
    return r;
}

static void clear_seen(struct verify *v)
{
    for (size_t i = 0; i < v->n_seen; i++) {
        free(v->seen[i].name);
        free(v->seen[i].folder);
    }
    free(v->seen);
    v->seen = NULL;
    v->n_seen = 0;
}

/* After the walk: what of the record has no file. */
static void check_occurrence(struct verify *v, const struct occurrence *o)
{
    if (o->code == FOLDER_CODE_LOST && o->sha256[0] == '\0') {
        if (!o->found)
            tell(v, ARTIFACT_GONE, "%s: %s/%s was empty, its input is lost: %s; it is not on disk",
                 v->label, o->folder, o->name, ARTIFACT_LOST_WORDS);
        return;
    }
    v->totals.occurrences++;
    if (o->sha256[0] == '\0')
        tell(v, ARTIFACT_DIFFERS, "%s: %s/%s was seen, but its %lld bytes could not be kept: %s",
             v->label, o->folder, o->name, (long long)o->size_bytes, strerror(-o->code));
    else if (!o->found)
        tell(v, ARTIFACT_DIFFERS,
             "%s: %s/%s is recorded and not on disk (its bytes are store/%.2s/%s)", v->label,
             o->folder, o->name, o->sha256, o->sha256);
}

static int check_instance(struct verify *v, const struct run_row *run, const char *target,
                          const char *instance, struct err *err)
{
    cleanup_free char *out = xasprintf("%s/out/%s/%s", run->dir, target, instance);
    cleanup_free char *label = xasprintf("%s %s/%s", run->campaign, target, instance);
    int r;

    v->label = label;
    if ((r = load_seen(v, run->id, target, instance, err)) == 0)
        r = folder_each(v->state_dir, out, check_file, v, err);
    for (size_t i = 0; r == 0 && i < v->n_seen; i++) {
        const struct occurrence *o = &v->seen[i];

        check_occurrence(v, o);
    }
    clear_seen(v);
    return r;
}

/* "target/instance" of every instance that the disk or the index knows, once. */
static void add_instance(struct strv *names, const char *target, const char *instance)
{
    cleanup_free char *name = xasprintf("%s/%s", target, instance);

    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->v[i], name) == 0)
            return;
    }
    strv_add(names, name);
}

/* Folders below path, for which fn is called with their name. A link in the place of one hides what it holds. */
static void each_folder(struct verify *v, const char *path, void (*fn)(void *ctx, const char *name),
                        void *ctx)
{
    int fd = path_open_below(v->state_dir, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;
    struct stat sb;

    if (fd == -ELOOP)
        tell(v, ARTIFACT_DIFFERS, "%s: there is a symbolic link in it, not looked into", path);
    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((de = readdir(dir)) != NULL) {
        if (!path_component_ok(de->d_name) || fstatat(fd, de->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(sb.st_mode))
            fn(ctx, de->d_name);
        else if (S_ISLNK(sb.st_mode))
            tell(v, ARTIFACT_DIFFERS, "%s/%s is a symbolic link, not looked into", path,
                 de->d_name);
    }
}

struct listing {
    struct verify *v;
    struct strv *names;
    const char *out, *target;
};

static void on_instance(void *ctx, const char *name)
{
    const struct listing *l = ctx;

    add_instance(l->names, l->target, name);
}

static void on_target(void *ctx, const char *name)
{
    const struct listing *l = ctx;
    struct listing below = {.v = l->v, .names = l->names, .target = name};
    cleanup_free char *path = path_join(l->out, name);

    each_folder(l->v, path, on_instance, &below);
}

static int list_instances(struct verify *v, const struct run_row *run, struct strv *names,
                          struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    cleanup_free char *out = path_join(run->dir, "out");
    struct listing listing = {.v = v, .names = names, .out = out};
    int r = stmt_open(v->db,
                      "SELECT DISTINCT target, instance FROM occurrences WHERE run = ?1"
                      " ORDER BY target, instance",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run->id);
    while ((r = stmt_step(v->db, st, err)) == 1) {
        cleanup_free char *target = stmt_dup(st, 0);
        cleanup_free char *instance = stmt_dup(st, 1);

        add_instance(names, target, instance);
    }
    each_folder(v, out, on_target, &listing);
    return r;
}

static int check_run(struct verify *v, const struct run_row *run, struct err *err)
{
    struct strv names = {0};
    int r = list_instances(v, run, &names, err);

    for (size_t i = 0; r == 0 && i < names.n; i++) {
        char *slash = strchr(names.v[i], '/');

        *slash = '\0';
        r = check_instance(v, run, names.v[i], slash + 1, err);
    }
    strv_clear(&names);
    return r;
}

/* Contents of a run (NULL: all) are held, whole, under their names. */
static int check_blobs(struct verify *v, const char *run, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    int r = stmt_open(v->db,
                      "SELECT sha256, size_bytes FROM blobs WHERE ?1 IS NULL OR sha256 IN"
                      " (SELECT sha256 FROM occurrences WHERE run = ?1) ORDER BY sha256",
                      &st, err);

    if (r < 0)
        return r;
    stmt_text(st, 1, run);
    while ((r = stmt_step(v->db, st, err)) == 1) {
        cleanup_free char *sha256 = stmt_dup(st, 0);
        cleanup_free char *path = artifact_blob_path(v->state_dir, sha256);
        char hex[65];
        const char *name;
        cleanup_close int fd = path_open_parent_below(v->state_dir, path, &name);
        int e = fd < 0 ? fd : file_sha256(fd, name, ARTIFACT_MAX_BYTES, hex, NULL);

        v->totals.blobs++;
        if (e < 0)
            tell(v, ARTIFACT_DIFFERS, "store/%.2s/%s cannot be read: %s", sha256, sha256,
                 strerror(-e));
        else if (strcmp(hex, sha256) != 0)
            tell(v, ARTIFACT_DIFFERS, "store/%.2s/%s holds other bytes: their SHA-256 is %s",
                 sha256, sha256, hex);
    }
    return r;
}

/* What lies in store/ and has no row. */
struct strays {
    struct verify *v;
    sqlite3_stmt *known;
    const char *store;
};

static void on_prefix(void *ctx, const char *prefix)
{
    const struct strays *s = ctx;
    cleanup_free char *path = path_join(s->store, prefix);
    int fd = path_open_below(s->v->state_dir, path, 0);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *de;

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((de = readdir(dir)) != NULL) {
        char hex[65];
        bool named = hash_hex_ok(de->d_name) && strncmp(de->d_name, prefix, 2) == 0;
        const char *dot = strchr(de->d_name, '.');

        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        stmt_text(s->known, 1, de->d_name);
        if (named && stmt_step(s->v->db, s->known, NULL) == 1) {
            (void)sqlite3_reset(s->known);
            continue;
        }
        (void)sqlite3_reset(s->known);
        if (dot != NULL && dot - de->d_name == 64 && strcmp(dot, ".tmp") == 0)
            tell(s->v, ARTIFACT_HARMLESS, "store/%s/%s is left of an interrupted copy", prefix,
                 de->d_name);
        else if (!named)
            tell(s->v, ARTIFACT_DIFFERS, "store/%s/%s does not belong there", prefix, de->d_name);
        else if (file_sha256(fd, de->d_name, ARTIFACT_MAX_BYTES, hex, NULL) < 0 ||
                 strcmp(hex, de->d_name) != 0)
            tell(s->v, ARTIFACT_DIFFERS, "store/%s/%s holds other bytes and has no row", prefix,
                 de->d_name);
        else
            tell(s->v, ARTIFACT_HARMLESS, "store/%s/%s is whole and has no row yet", prefix,
                 de->d_name);
    }
}

static int check_strays(struct verify *v, struct err *err)
{
    cleanup_stmt sqlite3_stmt *st = NULL;
    cleanup_free char *store = path_join(v->state_dir, "store");
    struct strays s = {.v = v, .store = store};
    int r = stmt_open(v->db, "SELECT 1 FROM blobs WHERE sha256 = ?1", &st, err);

    if (r < 0)
        return r;
    s.known = st;
    each_folder(v, store, on_prefix, &s);
    return 0;
}

int64_t artifact_verify(struct db *db, const char *state_dir, const char *run, artifact_diff_fn *fn,
                        void *ctx, struct artifact_totals *ret_totals, struct err *err)
{
    struct verify v = {.db = db, .state_dir = state_dir, .fn = fn, .ctx = ctx};
    struct run_row *runs = NULL;
    size_t n_runs = 0;
    bool met = run == NULL;
    int r = runs_list(db, false, &runs, &n_runs, err);

    for (size_t i = 0; i < n_runs; i++) {
        if (r == 0 && (run == NULL || strcmp(runs[i].id, run) == 0)) {
            met = true;
            r = check_run(&v, &runs[i], err);
        }
        run_row_clear(&runs[i]);
    }
    free(runs);
    if (r == 0 && !met)
        r = err_set(err, -ENOENT, "no run \"%s\"", run);
    if (r == 0)
        r = check_blobs(&v, run, err);
    if (r == 0 && run == NULL)
        r = check_strays(&v, err);
    if (r < 0)
        return r;
    if (ret_totals != NULL) {
        ret_totals->files += v.totals.files;
        ret_totals->lost += v.totals.lost;
        ret_totals->open += v.totals.open;
        ret_totals->occurrences += v.totals.occurrences;
        ret_totals->blobs += v.totals.blobs;
    }
    return v.n_diffs;
}
