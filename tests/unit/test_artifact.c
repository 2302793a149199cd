/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in crash and hang files: none lost, none doubled, whatever lies beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "store/artifact.h"
#include "store/results.h"
#include "store/runs.h"

static char *state, *run_dir, *out;
static struct db *db;
static struct strv told; /* "name new|old|unsaved|lost" of each call */

static void on_seen(void *ctx, const struct artifact_source *src, const struct artifact_seen *seen)
{
    (void)ctx;
    (void)src;
    strv_addf(&told, "%s %s", seen->name,
              seen->unsaved       ? "unsaved"
              : seen->lost        ? "lost"
              : seen->new_content ? "new"
                                  : "old");
}

static int setup(void **ctx)
{
    char dir[] = "/tmp/fz-artifact.XXXXXX";
    struct err err;
    struct run_row r = {0};

    (void)ctx;
    assert_non_null(mkdtemp(dir));
    state = xstrdup(dir);
    run_dir = path_join(state, "campaigns/c/R1");
    out = path_join(run_dir, "out/t/main");
    assert_int_equal(path_mkdirs(out, 0700), 0);
    assert_int_equal(db_open(state, true, &db, &err), 0);
    r.id = xstrdup("R1");
    r.campaign = xstrdup("c");
    r.dir = xstrdup(run_dir);
    r.state = xstrdup("running");
    assert_int_equal(runs_put(db, &r, &err), 0);
    run_row_clear(&r);
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    db_close(db);
    strv_clear(&told);
    assert_int_equal(path_remove_tree(state), 0);
    free(state);
    free(run_dir);
    free(out);
    return 0;
}

static void put_file_at(const char *instance, const char *name, const char *text)
{
    cleanup_free char *path = xasprintf("%s/out/t/%s/%s", run_dir, instance, name);
    cleanup_free char *dir = path_dirname(path);
    int fd;

    assert_int_equal(path_mkdirs(dir, 0700), 0);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void put_file(const char *name, const char *text)
{
    put_file_at("main", name, text);
}

static int scan_of(const char *instance, bool *more)
{
    cleanup_free char *dir = xasprintf("%s/out/t/%s", run_dir, instance);
    struct artifact_source src = {.run = "R1", .target = "t", .instance = instance, .out_dir = dir};
    struct err err = {0};
    int r;

    strv_clear(&told);
    r = artifact_scan(db, state, &src, NULL, on_seen, NULL, more, &err);
    if (r < 0)
        print_message("# %s\n", err.msg);
    return r;
}

static int scan(void)
{
    bool more = true;
    int r = scan_of("main", &more);

    if (r >= 0)
        assert_false(more);
    return r;
}

static struct strv lines;

static void on_diff(void *ctx, enum artifact_word word, const char *line)
{
    static const char *const words[] = {[ARTIFACT_DIFFERS] = "",
                                        [ARTIFACT_HARMLESS] = "note: ",
                                        [ARTIFACT_OPEN] = "open: ",
                                        [ARTIFACT_GONE] = "lost: "};

    (void)ctx;
    strv_addf(&lines, "%s%s", words[word], line);
}

/* The number of differences; the lines are kept until the next call. */
static int64_t verify(struct artifact_totals *totals)
{
    struct err err;
    struct artifact_totals own = {0};
    int64_t n;

    strv_clear(&lines);
    n = artifact_verify(db, state, NULL, on_diff, NULL, totals ? totals : &own, &err);
    return n;
}

static void assert_verified(int64_t files, int64_t occurrences, int64_t blobs)
{
    struct artifact_totals t = {0};
    int64_t n = verify(&t);

    for (size_t i = 0; i < lines.n; i++)
        print_message("# %s\n", lines.v[i]);
    assert_int_equal(n, 0);
    assert_int_equal(t.files, files);
    assert_int_equal(t.occurrences, occurrences);
    assert_int_equal(t.blobs, blobs);
    strv_clear(&lines);
}

static void nothing_is_found_where_nothing_is(void **ctx)
{
    bool more = true;

    (void)ctx;
    assert_int_equal(scan_of("main", &more), 0);
    assert_int_equal(scan_of("never_started", &more), 0);
    assert_verified(0, 0, 0);
}

static void one_name_with_different_bytes_is_two_artifacts(void **ctx)
{
    cleanup_free char *from = path_join(out, "crashes"), *to = path_join(out, "crashes.2026-11-29");
    const char *name = "crashes/id:000000,sig:06,src:000000,time:5,execs:9,op:havoc,rep:2";

    (void)ctx;
    put_file(name, "one");
    put_file("crashes/README.txt", "not an artifact");
    assert_int_equal(scan(), 1);
    assert_int_equal(rename(from, to), 0); /* as AFL++ does at resume */
    put_file(name, "two");
    assert_int_equal(scan(), 1);
    put_file_at("sec", name, "three");
    assert_int_equal(scan_of("sec", NULL), 1);
    assert_string_equal(told.v[0], "id:000000,sig:06,src:000000,time:5,execs:9,op:havoc,rep:2 new");
    assert_int_equal(scan(), 0);
    assert_int_equal(scan_of("sec", NULL), 0);
    assert_verified(3, 3, 3);
}

static void one_content_seen_five_times_has_five_occurrences(void **ctx)
{
    struct artifact_row *rows;
    struct occurrence_row *occ;
    struct err err;
    size_t n;

    (void)ctx;
    put_file("crashes/a", "same");
    put_file("crashes/b", "same");
    put_file("hangs/a", "same");
    put_file("crashes.2026-01-01-00:00:00/a", "same");
    assert_int_equal(scan(), 4);
    put_file_at("sec", "crashes/a", "same");
    assert_int_equal(scan_of("sec", NULL), 1);
    assert_string_equal(told.v[0], "a old");
    assert_verified(5, 5, 1);
    assert_int_equal(artifact_list(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].occurrences, 5);
    assert_string_equal(rows[0].kind, "crash");
    assert_null(rows[0].class_);
    assert_int_equal(results_occurrences(db, "R1", "t", rows[0].sha256, &occ, &n, &err), 0);
    assert_int_equal(n, 5);
    occurrence_rows_free(occ, n);
    artifact_rows_free(rows, 1);
}

static void a_renamed_folder_is_no_new_occurrence(void **ctx)
{
    cleanup_free char *from = path_join(out, "crashes"), *to = path_join(out, "crashes.x");
    struct artifact_row *rows;
    struct err err;
    size_t n;

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(scan(), 1);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(scan(), 0);
    assert_int_equal(artifact_list(db, NULL, &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].file, "crashes.x/a");
    artifact_rows_free(rows, n);
    assert_verified(1, 1, 1);
}

static void a_file_being_written_waits(void **ctx)
{
    cleanup_free char *path = path_join(out, "crashes/a");
    int fd;

    (void)ctx;
    struct artifact_source src = {.run = "R1", .target = "t", .instance = "main", .out_dir = out};

    put_file("crashes/b", "whole");
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(scan(), 1); /* empty so far */
    assert_int_equal(write(fd, "half", 4), 4);
    assert_int_equal(scan(), 0);
    assert_int_equal(artifact_unrecorded(db, &src, NULL), 1);
    assert_int_equal(write(fd, " and half", 9), 9);
    close(fd);
    assert_int_equal(scan(), 1);
    assert_int_equal(artifact_unrecorded(db, &src, NULL), 0);
    assert_verified(2, 2, 2);
}

static void set_times(const char *name, time_t s)
{
    cleanup_free char *path = path_join(out, name);
    const struct timespec at[2] = {{.tv_sec = s}, {.tv_sec = s}};

    assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void on_count(void *ctx, const char *target, const char *kind, const char *class_, int64_t n)
{
    strv_addf(ctx, "%s %s %s %lld", target, kind, class_ != NULL ? class_ : "-", (long long)n);
}

static void an_empty_file_is_a_lost_input_and_no_artifact(void **ctx)
{
    struct artifact_totals t = {0};
    struct artifact_row *rows = NULL;
    struct strv counts = {0};
    struct err err;
    size_t n = 9;

    (void)ctx;
    put_file("crashes/a", "");
    put_file("crashes/b", "1");
    put_file("hangs/c", "");
    assert_int_equal(scan(), 3);
    assert_string_equal(told.v[0], "a lost");
    assert_string_equal(told.v[2], "c lost");
    assert_int_equal(scan(), 0);
    set_times("crashes/a", 1700000000);
    assert_int_equal(scan(), 0); /* not told again */
    assert_int_equal(artifact_unsaved(db, "R1", NULL, &err), 0);
    assert_int_equal(artifact_list(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    artifact_rows_free(rows, n);
    assert_int_equal(artifact_untriaged(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    artifact_rows_free(rows, n);
    assert_int_equal(artifact_lost(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].file, "crashes/a");
    assert_string_equal(rows[1].file, "hangs/c");
    artifact_rows_free(rows, n);
    assert_int_equal(artifact_counts(db, "R1", on_count, &counts, &err), 0);
    assert_int_equal(counts.n, 2);
    assert_string_equal(counts.v[0], "t crash - 1");
    assert_string_equal(counts.v[1], "t lost - 2");
    strv_clear(&counts);
    assert_int_equal(verify(&t), 0);
    assert_int_equal(t.files, 3);
    assert_int_equal(t.lost, 2);
    assert_int_equal(t.occurrences, 1);
    assert_int_equal(lines.n, 2);
    assert_string_equal(lines.v[0], "lost: c t/main: crashes/a is empty, its input is lost: "
                                    "a full disk, or afl-fuzz killed as it saved");
    strv_clear(&lines);
}

static void a_lost_input_is_an_artifact_once_it_has_its_bytes(void **ctx)
{
    cleanup_free char *path = path_join(out, "crashes/a"), *b = path_join(out, "crashes/b");
    cleanup_free char *from = path_join(out, "crashes"), *to = path_join(out, "crashes.x");
    struct artifact_row *rows = NULL;
    struct err err;
    size_t n = 9;

    (void)ctx;
    put_file("crashes/a", "");
    put_file("crashes/b", "");
    assert_int_equal(scan(), 2);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, "1", 1, 0600), 0);
    assert_int_equal(scan(), 1);
    assert_string_equal(told.v[0], "a new");
    assert_int_equal(file_write_atomic(AT_FDCWD, b, "2", 1, 0600), 0);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(scan(), 1);
    assert_int_equal(artifact_lost(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 0);
    artifact_rows_free(rows, n);
    assert_verified(2, 2, 2);
}

static void an_empty_file_that_is_not_of_afl_fuzz_is_an_input(void **ctx)
{
    struct artifact_source src = {
        .run = "R1", .target = "t", .instance = "main", .out_dir = out, .empty_is_input = true};
    struct err err;

    (void)ctx;
    put_file("crashes/a", "");
    strv_clear(&told);
    assert_int_equal(artifact_scan(db, state, &src, NULL, on_seen, NULL, NULL, &err), 1);
    assert_string_equal(told.v[0], "a new");
    assert_verified(1, 1, 1);
}

/* As tar (whole seconds) and cp -r (now) leave it: other inodes, other times. */
static void a_copied_state_directory_holds_the_same_occurrences(void **ctx)
{
    static const char *const names[] = {"crashes/a", "crashes/b", "crashes.x/a", "hangs/a"};
    struct artifact_row *rows = NULL;
    struct err err;
    size_t n = 0;

    (void)ctx;
    for (size_t i = 0; i < 4; i++)
        put_file(names[i], i == 1 ? "2" : "1");
    assert_int_equal(scan(), 4);
    for (size_t i = 0; i < 4; i++) {
        cleanup_free char *path = path_join(out, names[i]), *old = xasprintf("%s.old", path);

        assert_int_equal(rename(path, old), 0);
        put_file(names[i], i == 1 ? "2" : "1");
        assert_int_equal(unlink(old), 0);
        set_times(names[i], 1700000000);
    }
    assert_verified(4, 4, 2); /* before anything is scanned, too */
    assert_int_equal(scan(), 0);
    assert_int_equal(scan(), 0);
    assert_verified(4, 4, 2);
    assert_int_equal(artifact_list(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].occurrences + rows[1].occurrences, 4);
    artifact_rows_free(rows, n);
}

/* A copy, a resume and a new file of the same name, all between two scans. */
static void a_copied_and_renamed_folder_holds_the_same_occurrences(void **ctx)
{
    cleanup_free char *from = path_join(out, "crashes"), *to = path_join(out, "crashes.x");

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(scan(), 1);
    set_times("crashes/a", 1700000000);
    assert_int_equal(rename(from, to), 0);
    put_file("crashes/a", "2");
    assert_int_equal(scan(), 1);
    assert_int_equal(scan(), 0);
    assert_verified(2, 2, 2);
}

static void a_file_open_for_writing_is_no_difference(void **ctx)
{
    cleanup_free char *known = path_join(out, "crashes/a"), *fresh = path_join(out, "crashes/b");
    struct artifact_totals t = {0};
    int fd[2];

    (void)ctx;
    put_file("crashes/a", "1");
    put_file("crashes/c", "1");
    assert_int_equal(scan(), 2);
    fd[0] = open(known, O_WRONLY | O_CLOEXEC);
    fd[1] = open(fresh, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(verify(&t), 0);
    assert_int_equal(t.files, 3);
    assert_int_equal(t.open, 2);
    assert_int_equal(t.occurrences, 2);
    assert_int_equal(lines.n, 2);
    assert_string_equal(
        lines.v[0],
        "open: c t/main: crashes/a is still open for writing, its bytes are not judged");
    strv_clear(&lines);
    close(fd[0]);
    close(fd[1]);
}

static void links_fifos_and_folders_are_left_alone(void **ctx)
{
    cleanup_free char *link = path_join(out, "crashes/link"),
                      *fifo = path_join(out, "crashes/fifo");
    cleanup_free char *sub = path_join(out, "crashes/sub"), *hangs = path_join(out, "hangs");
    cleanup_free char *sock = path_join(out, "crashesque");

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(symlink("/etc", hangs), 0); /* a folder that leads away */
    assert_int_equal(symlink("/etc", sock), 0);
    assert_int_equal(scan(), 1);
    assert_int_equal(verify(NULL), 1); /* what a folder of that name holds cannot be told */
    assert_int_equal(unlink(hangs), 0);
    assert_verified(1, 1, 1);
}

/* Each folder on the way to the files in turn becomes a link to one outside that looks like it. */
static void folders_that_became_links_are_not_followed(void **ctx)
{
    static const char *const steps[] = {
        "campaigns",          "campaigns/c",          "campaigns/c/R1",
        "campaigns/c/R1/out", "campaigns/c/R1/out/t", "campaigns/c/R1/out/t/main"};
    struct artifact_source src = {.run = "R1", .target = "t", .instance = "main", .out_dir = out};
    cleanup_free char *aside = xasprintf("%s.aside", state);
    struct err err;

    (void)ctx;
    put_file("crashes/a", "1");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        cleanup_free char *path = path_join(state, steps[i]);

        assert_int_equal(rename(path, aside), 0);
        assert_int_equal(symlink(aside, path), 0);
        assert_int_equal(artifact_scan(db, state, &src, NULL, NULL, NULL, NULL, &err), -ELOOP);
        assert_non_null(strstr(err.msg, "symbolic link"));
        assert_int_equal(artifact_unrecorded(db, &src, &err), -ELOOP);
        assert_int_equal(verify(NULL), 1);
        assert_non_null(strstr(lines.v[0], "symbolic link"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename(aside, path), 0);
    }
    assert_int_equal(scan(), 1);
    assert_verified(1, 1, 1);
}

static void a_store_that_became_a_link_is_not_written_or_read(void **ctx)
{
    cleanup_free char *aside = xasprintf("%s.aside", state), *store = path_join(state, "store");
    struct artifact_source src = {.run = "R1", .target = "t", .instance = "main", .out_dir = out};
    struct err err;

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(scan(), 1);
    put_file("crashes/b", "2");
    assert_int_equal(rename(store, aside), 0);
    assert_int_equal(symlink(aside, store), 0);
    assert_int_equal(artifact_scan(db, state, &src, NULL, NULL, NULL, NULL, &err), -ELOOP);
    assert_int_equal(verify(NULL), 3); /* the one not taken in, the blob not read, the link */
    assert_int_equal(unlink(store), 0);
    assert_int_equal(rename(aside, store), 0);
    assert_int_equal(scan(), 1);
    assert_verified(2, 2, 2);
}

static void odd_names_are_kept_byte_for_byte(void **ctx)
{
    const char *const names[] = {
        "new\nline", "quo'te\"s; DROP TABLE runs;--", "\xff\xfe not utf-8", "%s%n", " blank ",
        "-rf"};
    const size_t n_names = sizeof(names) / sizeof(names[0]);
    struct artifact_row *rows;
    struct err err;
    size_t n, found = 0;

    (void)ctx;
    for (size_t i = 0; i < n_names; i++) {
        cleanup_free char *name = xasprintf("crashes/%s", names[i]);

        put_file(name, names[i]);
    }
    assert_int_equal(scan(), n_names);
    assert_int_equal(scan(), 0);
    assert_verified((int64_t)n_names, (int64_t)n_names, (int64_t)n_names);
    assert_int_equal(artifact_list(db, "R1", &rows, &n, &err), 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_names; k++)
            found += strcmp(rows[i].file + strlen("crashes/"), names[k]) == 0;
    }
    assert_int_equal(found, n_names);
    artifact_rows_free(rows, n);
}

static void a_call_takes_one_batch_and_says_there_is_more(void **ctx)
{
    bool more = false;
    int total = 0, calls = 0;

    (void)ctx;
    for (int i = 0; i < 2 * ARTIFACT_BATCH + 5; i++) {
        cleanup_free char *name = xasprintf("crashes/id:%06d", i);

        put_file(name, i % 2 ? name : "same");
    }
    do {
        int r = scan_of("main", &more);

        assert_in_range(r, 0, ARTIFACT_BATCH);
        total += r;
        calls++;
    } while (more);
    assert_int_equal(total, 2 * ARTIFACT_BATCH + 5);
    assert_int_equal(calls, 3);
    assert_verified(total, total, ARTIFACT_BATCH + 3);
}

static int scan_on(struct folder_walk **walk, bool *more)
{
    struct artifact_source src = {.run = "R1", .target = "t", .instance = "main", .out_dir = out};
    struct err err = {0};

    strv_clear(&told);
    return artifact_scan(db, state, &src, walk, on_seen, NULL, more, &err);
}

static void a_walk_goes_on_where_it_stood(void **ctx)
{
    struct folder_walk *walk = NULL;
    bool more = false;
    int r, total;

    (void)ctx;
    for (int i = 0; i < 2 * ARTIFACT_BATCH; i++) {
        cleanup_free char *name = xasprintf("crashes/id:%06d", i);

        put_file(name, name);
    }
    total = r = scan_on(&walk, &more);
    assert_in_range(r, 1, ARTIFACT_BATCH);
    assert_true(more);
    assert_non_null(walk);
    put_file("crashes/aaa", "before the place where it stands");
    while (more) {
        r = scan_on(&walk, &more);
        assert_in_range(r, 0, ARTIFACT_BATCH);
        for (size_t i = 0; i < told.n; i++)
            assert_string_not_equal(told.v[i], "aaa new");
        total += r;
    }
    assert_null(walk);
    assert_int_equal(total, 2 * ARTIFACT_BATCH);
    assert_int_equal(scan(), 1); /* the next walk has it, and takes nothing twice */
    assert_verified(total + 1, total + 1, total + 1);
}

static void a_walk_that_failed_begins_again_and_loses_nothing(void **ctx)
{
    struct folder_walk *walk = NULL;
    bool more = false;
    int r, total;

    (void)ctx;
    for (int i = 0; i < 2 * ARTIFACT_BATCH; i++) {
        cleanup_free char *name = xasprintf("crashes/id:%06d", i);

        put_file(name, name);
    }
    total = scan_on(&walk, &more);
    assert_true(more);
    assert_int_equal(db_begin(db, NULL), 0); /* the scan cannot begin its own */
    assert_true(scan_on(&walk, &more) < 0);
    assert_null(walk);
    db_rollback(db);
    do {
        r = scan_on(&walk, &more);
        assert_in_range(r, 0, ARTIFACT_BATCH);
        total += r;
    } while (more);
    assert_int_equal(total, 2 * ARTIFACT_BATCH);
    assert_verified(total, total, total);
}

static void more_names_than_one_window_are_all_met(void **ctx)
{
    struct folder_walk *walk = NULL;
    bool more = false;
    int total = 0;

    (void)ctx;
    for (int i = 0; i < 5000; i++) { /* a window has 4096 */
        cleanup_free char *name = xasprintf("hangs/id:%06d", i);

        put_file(name, "same");
    }
    do
        total += scan_on(&walk, &more);
    while (more);
    assert_int_equal(total, 5000);
    assert_verified(5000, 5000, 1);
}

static void a_huge_file_is_recorded_as_not_kept(void **ctx)
{
    cleanup_free char *path = path_join(out, "crashes/huge");
    struct err err;

    (void)ctx;
    put_file("crashes/huge", "x");
    assert_int_equal(truncate(path, (off_t)ARTIFACT_MAX_BYTES + 1), 0);
    assert_int_equal(scan(), 1);
    assert_string_equal(told.v[0], "huge unsaved");
    assert_int_equal(scan(), 0);
    assert_int_equal(artifact_unsaved(db, "R1", "t", &err), 1);
    assert_int_equal(artifact_unsaved(db, "R1", "other", &err), 0);
    assert_int_equal(verify(NULL), 1);
    assert_non_null(strstr(lines.v[0], "could not be kept: File too large"));
    strv_clear(&lines);
}

static void a_file_without_permission_is_taken_once_it_can_be_read(void **ctx)
{
    cleanup_free char *path = path_join(out, "crashes/a"), *dir = path_join(out, "crashes");
    struct err err;
    bool root = geteuid() == 0;

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(chmod(path, 0), 0);
    if (root) { /* root reads everything: be somebody else for the scans */
        const char *const paths[] = {state, out, dir, path};
        cleanup_free char *store = path_join(state, "store");

        assert_int_equal(path_mkdirs(store, 0700), 0);
        assert_int_equal(chown(store, 65534, 65534), 0);
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
            assert_int_equal(chown(paths[i], 65534, 65534), 0);
        for (char *p = out + strlen(state) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
            *p = '\0';
            assert_int_equal(chown(out, 65534, 65534), 0);
        }
        assert_int_equal(seteuid(65534), 0);
    }
    assert_int_equal(scan(), 1);
    assert_string_equal(told.n > 0 ? told.v[0] : "", "a unsaved");
    assert_int_equal(scan(), 0);
    assert_int_equal(artifact_unsaved(db, "R1", NULL, &err), 1);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(scan(), 1);
    assert_string_equal(told.n > 0 ? told.v[0] : "", "a new");
    assert_int_equal(artifact_unsaved(db, "R1", NULL, &err), 0);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_verified(1, 1, 1);
}

static void untriaged_ones_are_listed_until_they_have_a_result(void **ctx)
{
    struct artifact_row *rows;
    struct result_row res = {0};
    struct err err;
    size_t n;

    (void)ctx;
    put_file("crashes/a", "1");
    put_file("hangs/b", "2");
    assert_int_equal(scan(), 2);
    assert_int_equal(artifact_untriaged(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 2);
    res.run = xstrdup("R1");
    res.target = xstrdup("t");
    res.sha256 = xstrdup(rows[0].sha256);
    res.class_ = xstrdup("crash");
    artifact_rows_free(rows, n);
    assert_int_equal(results_put(db, &res, &err), 0);
    assert_int_equal(artifact_untriaged(db, "R1", &rows, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_not_equal(rows[0].sha256, res.sha256);
    artifact_rows_free(rows, n);
    result_row_clear(&res);
}

static void verify_tells_each_kind_of_difference(void **ctx)
{
    cleanup_free char *gone = path_join(out, "crashes/gone"),
                      *other = path_join(out, "crashes/other");
    cleanup_free char *blob = NULL, *stray = NULL, *left = NULL, *orphan = NULL;
    char sha[65];
    int fd;

    (void)ctx;
    put_file("crashes/gone", "1");
    put_file("crashes/other", "2");
    put_file("crashes/rotten", "3");
    assert_int_equal(scan(), 3);
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(unlink(other), 0);
    put_file("crashes/other", "4");
    hash_sha256_hex("3", 1, sha);
    blob = artifact_blob_path(state, sha);
    assert_int_equal(chmod(blob, 0600), 0);
    fd = open(blob, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    stray = xasprintf("%s/store/%.2s/notes", state, sha);
    assert_int_equal(file_write_atomic(AT_FDCWD, stray, "x", 1, 0600), 0);
    left = xasprintf("%s.tmp", blob);
    assert_int_equal(file_write_atomic(AT_FDCWD, left, "x", 1, 0600), 0);
    hash_sha256_hex("orphan", 6, sha);
    orphan = xasprintf("%s/store/%.2s", state, sha);
    assert_int_equal(path_mkdirs(orphan, 0700), 0);
    free(orphan);
    orphan = artifact_blob_path(state, sha);
    assert_int_equal(file_write_atomic(AT_FDCWD, orphan, "orphan", 6, 0600), 0);

    assert_int_equal(verify(NULL), 5);
    assert_int_equal(lines.n, 7);
    assert_string_equal(lines.v[0], "c t/main: crashes/other is on disk and not recorded");
    assert_non_null(strstr(lines.v[1], "crashes/gone is recorded and not on disk"));
    assert_non_null(strstr(lines.v[2], "crashes/other is recorded and not on disk"));
    assert_non_null(strstr(lines.v[3], "holds other bytes"));
    for (size_t i = 4; i < 7; i++)
        assert_true(strstr(lines.v[i], "does not belong there") ||
                    strstr(lines.v[i], "left of an interrupted copy") ||
                    strstr(lines.v[i], "is whole and has no row yet"));
    strv_clear(&lines);
}

static void a_rotten_blob_is_healed_when_its_bytes_come_again(void **ctx)
{
    cleanup_free char *blob = NULL;
    char sha[65];
    int fd;

    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(scan(), 1);
    hash_sha256_hex("1", 1, sha);
    blob = artifact_blob_path(state, sha);
    assert_int_equal(chmod(blob, 0600), 0);
    fd = open(blob, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_int_equal(verify(NULL), 1);
    strv_clear(&lines);
    put_file("crashes/b", "1");
    assert_int_equal(scan(), 1);
    assert_verified(2, 2, 1);
}

/* A run interrupted between blobs and rows is the same as one that never scanned. */
static void a_failed_commit_is_made_good_by_the_next_scan(void **ctx)
{
    (void)ctx;
    put_file("crashes/a", "1");
    assert_int_equal(db_begin(db, NULL), 0); /* the scan cannot begin its own */
    assert_true(scan() < 0);
    assert_int_equal(told.n, 0);
    db_rollback(db);
    assert_int_equal(scan(), 1);
    assert_verified(1, 1, 1);
}

static void a_full_disk_leaves_nothing_half_written(void **ctx)
{
    cleanup_free char *store = path_join(state, "store"), *fill = path_join(state, "store/fill");
    cleanup_free char *text = xmalloc(40001);
    cleanup_free char *block = xcalloc(1, 4096);
    int fd;

    (void)ctx;
    /* EINVAL: in a chroot "/" is no mount point; what is mounted here is unmounted below. */
    if (unshare(CLONE_NEWNS) < 0 ||
        (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 && errno != EINVAL))
        skip();
    assert_int_equal(path_mkdirs(store, 0700), 0);
    if (mount("none", store, "tmpfs", 0, "size=128k") < 0)
        skip();
    memset(text, 'x', 40000);
    text[40000] = '\0';
    fd = open(fill, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, block, 4096) == 4096)
        ;
    assert_int_equal(ftruncate(fd, 96 << 10), 0);
    close(fd);
    put_file("crashes/a", "small");
    put_file("crashes/b", text); /* does not fit */
    assert_int_equal(scan(), -ENOSPC);
    assert_int_equal(told.n, 0);
    assert_int_equal(unlink(fill), 0);
    assert_int_equal(verify(NULL), 2); /* the two files, and at most a whole blob as a note */
    for (size_t i = 0; i < lines.n; i++)
        assert_null(strstr(lines.v[i], "interrupted copy"));
    strv_clear(&lines);
    assert_int_equal(scan(), 2);
    assert_verified(2, 2, 2);
    assert_int_equal(umount2(store, MNT_DETACH), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(nothing_is_found_where_nothing_is),
        T(one_name_with_different_bytes_is_two_artifacts),
        T(one_content_seen_five_times_has_five_occurrences),
        T(a_renamed_folder_is_no_new_occurrence),
        T(a_file_being_written_waits),
        T(an_empty_file_is_a_lost_input_and_no_artifact),
        T(a_lost_input_is_an_artifact_once_it_has_its_bytes),
        T(an_empty_file_that_is_not_of_afl_fuzz_is_an_input),
        T(a_copied_state_directory_holds_the_same_occurrences),
        T(a_copied_and_renamed_folder_holds_the_same_occurrences),
        T(a_file_open_for_writing_is_no_difference),
        T(links_fifos_and_folders_are_left_alone),
        T(folders_that_became_links_are_not_followed),
        T(a_store_that_became_a_link_is_not_written_or_read),
        T(odd_names_are_kept_byte_for_byte),
        T(a_call_takes_one_batch_and_says_there_is_more),
        T(a_walk_goes_on_where_it_stood),
        T(a_walk_that_failed_begins_again_and_loses_nothing),
        T(more_names_than_one_window_are_all_met),
        T(a_huge_file_is_recorded_as_not_kept),
        T(a_file_without_permission_is_taken_once_it_can_be_read),
        T(untriaged_ones_are_listed_until_they_have_a_result),
        T(verify_tells_each_kind_of_difference),
        T(a_rotten_blob_is_healed_when_its_bytes_come_again),
        T(a_failed_commit_is_made_good_by_the_next_scan),
        T(a_full_disk_leaves_nothing_half_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
