/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles made from a real state folder, and hostile ones built by hand with
 * libarchive and zstd: whatever is wrong with them, nothing may be written
 * outside of the folder that was asked for, and nothing at all in the end.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "bundle/bundle_internal.h"
#include "bundle/manifest.h"
#include "sys/proc.h"
#include "triage/json_util.h"

static char *dir;

/* Without the fsyncs of file_write_atomic: this is done thousands of times. */
static void write_plain(const char *path, const void *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, data, n), 0);
    assert_int_equal(close(fd), 0);
}

/* ---- archives by hand ---- */

struct hand {
    struct archive *a;
    char *tar;
    size_t size, cap;
    json_t *members;
};

static la_ssize_t hand_write(struct archive *a, void *ctx, const void *data, size_t n)
{
    struct hand *h = ctx;

    (void)a;
    if (h->size + n > h->cap) {
        h->cap = (h->size + n) * 2;
        h->tar = xreallocarray(h->tar, h->cap, 1);
    }
    memcpy(h->tar + h->size, data, n);
    h->size += n;
    return (la_ssize_t)n;
}

static void hand_begin(struct hand *h)
{
    memset(h, 0, sizeof(*h));
    h->a = archive_write_new();
    h->members = json_array();
    assert_int_equal(archive_write_set_format_pax_restricted(h->a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_bytes_in_last_block(h->a, 1), ARCHIVE_OK);
    assert_int_equal(archive_write_open(h->a, h, NULL, hand_write, NULL), ARCHIVE_OK);
}

static struct archive_entry *entry_new(const char *name, unsigned type, size_t size)
{
    struct archive_entry *e = archive_entry_new();

    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, (__LA_MODE_T)type);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t)size);
    return e;
}

static void hand_list(struct hand *h, const char *name, const char *data, size_t n)
{
    char hex[65];

    hash_sha256_hex(data, n, hex);
    json_array_append_new(h->members, json_pack("{s:s, s:I, s:s}", "name", name, "size",
                                                (json_int_t)n, "sha256", hex));
}

static void hand_file(struct hand *h, const char *name, const char *data, size_t n)
{
    struct archive_entry *e = entry_new(name, AE_IFREG, n);

    assert_true(archive_write_header(h->a, e) >= ARCHIVE_WARN);
    if (n > 0)
        assert_int_equal(archive_write_data(h->a, data, n), n);
    archive_entry_free(e);
}

static void hand_good_file(struct hand *h, const char *name, const char *text)
{
    hand_list(h, name, text, strlen(text));
    hand_file(h, name, text, strlen(text));
}

static void hand_manifest(struct hand *h)
{
    json_t *m = json_pack("{s:i, s:O}", "version", BUNDLE_VERSION, "members", h->members);
    char *text = json_dumps(m, JSON_SORT_KEYS);

    hand_file(h, MANIFEST_NAME, text, strlen(text));
    free(text);
    json_decref(m);
}

/* Ends the tar and writes it in a zstd frame; frees h. Caller frees the path. */
static char *hand_save(struct hand *h, const char *name)
{
    char *path = path_join(dir, name), *z;
    size_t bound, n;
    ZSTD_CCtx *c = ZSTD_createCCtx();

    assert_int_equal(archive_write_close(h->a), ARCHIVE_OK);
    archive_write_free(h->a);
    bound = ZSTD_compressBound(h->size);
    z = xmalloc(bound);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    n = ZSTD_compress2(c, z, bound, h->tar, h->size);
    assert_false(ZSTD_isError(n));
    write_plain(path, z, n);
    ZSTD_freeCCtx(c);
    free(z);
    free(h->tar);
    json_decref(h->members);
    return path;
}

/* Verify and unpack refuse it with -EBADMSG and these words, and leave nothing behind. */
static void refused(char *path, const char *words)
{
    char *to = path_join(dir, "to/out"), *parent = path_join(dir, "to");
    struct err err = {0};
    char hex[65];
    long n = 0;

    assert_int_equal(bundle_verify(path, &err), -EBADMSG);
    if (strstr(err.msg, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
    memset(&err, 0, sizeof(err));
    assert_int_equal(bundle_unpack(path, to, &err), -EBADMSG);
    assert_int_equal(file_tree_sha256(parent, NULL, hex, &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_not_equal(access(to, F_OK), 0);
    (void)unlink(path);
    free(path);
    free(to);
    free(parent);
}

static void a_good_bundle_passes(void **state)
{
    struct hand h;
    struct err err = {0};
    char *path, *to = path_join(dir, "good-out"), *file, *data;
    size_t size;
    json_t *list;

    (void)state;
    hand_begin(&h);
    hand_good_file(&h, "inputs/aa", "hello");
    hand_good_file(&h, "empty", "");
    hand_good_file(&h, "repro.sh", "#!/bin/sh\n");
    hand_manifest(&h);
    path = hand_save(&h, "good.tar.zst");
    if (bundle_verify(path, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(bundle_list(path, &list, &err), 0);
    assert_int_equal(json_array_size(json_object_get(list, "members")), 4);
    json_decref(list);
    assert_int_equal(bundle_unpack(path, to, &err), 0);
    file = path_join(to, "inputs/aa");
    assert_int_equal(file_read(AT_FDCWD, file, 100, &data, &size), 0);
    assert_string_equal(data, "hello");
    free(data);
    /* A folder that holds something is left alone. */
    assert_true(bundle_unpack(path, to, &err) < 0);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(path_remove_tree(to), 0);
    assert_int_equal(mkdir(to, 0755), 0);
    assert_int_equal(bundle_unpack(path, to, &err), 0);
    free(file);
    free(to);
    free(path);
}

static void names_that_lead_out_are_refused(void **state)
{
    static const char *const names[] = {
        "/etc/evil", "../evil", "inputs/../../evil", "a/./b",   "a//b", "..", "a/b/c/d/e",
        "bad\nname", "sp ace",  "back\\slash",       "\xc3\xa9"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct hand h;

        hand_begin(&h);
        hand_file(&h, names[i], "x", 1);
        hand_manifest(&h);
        refused(hand_save(&h, "bad.tar.zst"), "");
        assert_false(member_name_ok(names[i]));
    }
}

static void links_and_devices_are_refused(void **state)
{
    static const struct {
        unsigned type;
        const char *words;
    } t[] = {{AE_IFLNK, "links"},
             {AE_IFREG, "links"},
             {AE_IFCHR, "regular"},
             {AE_IFBLK, "regular"},
             {AE_IFIFO, "regular"}};

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        struct archive_entry *e = entry_new("inputs", t[i].type, 0);
        struct hand h;

        hand_begin(&h);
        if (t[i].type == AE_IFLNK)
            archive_entry_set_symlink(e, "/tmp");
        if (t[i].type == AE_IFREG)
            archive_entry_set_hardlink(e, "/etc/passwd");
        assert_true(archive_write_header(h.a, e) >= ARCHIVE_WARN);
        hand_file(&h, "inputs/x", "x", 1);
        hand_manifest(&h);
        archive_entry_free(e);
        refused(hand_save(&h, "bad.tar.zst"), t[i].words);
    }
}

static void members_and_manifest_must_agree(void **state)
{
    struct hand h;

    (void)state;
    hand_begin(&h); /* twice */
    hand_good_file(&h, "a", "1");
    hand_file(&h, "a", "1", 1);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "twice");

    hand_begin(&h); /* other bytes */
    hand_list(&h, "a", "1", 1);
    hand_file(&h, "a", "2", 1);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "SHA-256");

    hand_begin(&h); /* other size */
    hand_list(&h, "a", "1", 1);
    hand_file(&h, "a", "12", 2);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "size");

    hand_begin(&h); /* missing */
    hand_list(&h, "a", "1", 1);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "not there");

    hand_begin(&h); /* extra */
    hand_file(&h, "a", "1", 1);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "not listed");

    hand_begin(&h); /* listed twice */
    hand_good_file(&h, "a", "1");
    hand_list(&h, "a", "1", 1);
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "twice");

    hand_begin(&h); /* no manifest */
    hand_good_file(&h, "a", "1");
    refused(hand_save(&h, "bad.tar.zst"), "no manifest");

    hand_begin(&h); /* another version */
    hand_file(&h, MANIFEST_NAME, "{\"version\":2,\"members\":[]}", 26);
    refused(hand_save(&h, "bad.tar.zst"), "version");

    hand_begin(&h); /* no JSON */
    hand_file(&h, MANIFEST_NAME, "{\"version\":1,", 13);
    refused(hand_save(&h, "bad.tar.zst"), "line");

    hand_begin(&h); /* odd members */
    hand_file(&h, MANIFEST_NAME, "{\"version\":1,\"members\":[1]}", 27);
    refused(hand_save(&h, "bad.tar.zst"), "not described");
}

/* What verifies can be unpacked: a name cannot be a file and a folder. */
static void a_file_that_is_also_a_folder_is_refused(void **state)
{
    static const char *const t[][2] = {{"a", "a/b"}, {"a/b", "a"}, {"a/b/c", "a/b"}};
    struct hand h;

    (void)state;
    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        hand_begin(&h);
        hand_good_file(&h, t[i][0], "1");
        hand_good_file(&h, t[i][1], "2");
        hand_manifest(&h);
        refused(hand_save(&h, "bad.tar.zst"), "as a file and a folder");
    }
}

static void too_many_members_are_refused(void **state)
{
    struct hand h;
    char name[32];

    (void)state;
    hand_begin(&h);
    for (int i = 0; i < BUNDLE_MAX_MEMBERS + 1; i++) {
        (void)snprintf(name, sizeof(name), "f%d", i);
        hand_good_file(&h, name, "");
    }
    hand_manifest(&h);
    refused(hand_save(&h, "bad.tar.zst"), "too many");
}

static void a_header_that_promises_too_much_is_refused(void **state)
{
    struct hand h;
    struct archive_entry *e = entry_new("big", AE_IFREG, (size_t)BUNDLE_MAX_BYTES + 1);

    (void)state;
    hand_begin(&h);
    assert_true(archive_write_header(h.a, e) >= ARCHIVE_WARN);
    archive_entry_free(e);
    /* The data never comes: cut the archive right behind the header. */
    h.size = h.size > 512 ? 512 : h.size;
    {
        char *path = path_join(dir, "bad.tar.zst"), *tar = xcalloc(1, 1024), *z;
        size_t bound = ZSTD_compressBound(1024), n;

        /* A ustar header with a size of 8 GiB - 1. */
        memcpy(tar, "big", 3);
        memcpy(tar + 100, "0000644", 7);
        memcpy(tar + 108, "0000000", 7);
        memcpy(tar + 116, "0000000", 7);
        memcpy(tar + 124, "77777777777", 11);
        memcpy(tar + 136, "00000000000", 11);
        memcpy(tar + 148, "        ", 8);
        tar[156] = '0';
        memcpy(tar + 257, "ustar\00000", 8);
        {
            unsigned sum = 0;

            for (int i = 0; i < 512; i++)
                sum += (unsigned char)tar[i];
            (void)snprintf(tar + 148, 8, "%06o", sum);
            tar[155] = ' ';
        }
        z = xmalloc(bound);
        n = ZSTD_compress(z, bound, tar, 1024, 1);
        write_plain(path, z, n);
        free(z);
        free(tar);
        refused(path, "larger");
    }
    archive_write_free(h.a);
    free(h.tar);
    json_decref(h.members);
}

static void a_bomb_is_refused(void **state)
{
    char *path = path_join(dir, "bad.tar.zst");
    size_t chunk = 1 << 20, n;
    char *zeros = xcalloc(1, chunk), *out = xmalloc(ZSTD_CStreamOutSize());
    ZSTD_CCtx *c = ZSTD_createCCtx();
    FILE *f = fopen(path, "we");

    (void)state;
    assert_non_null(f);
    /* 1.5 GiB of zeros behind an empty archive: an end mark, and then for ever nothing. */
    for (int i = 0; i < 1536; i++) {
        ZSTD_inBuffer in = {zeros, chunk, 0};

        while (in.pos < in.size) {
            ZSTD_outBuffer o = {out, ZSTD_CStreamOutSize(), 0};

            n = ZSTD_compressStream2(c, &o, &in, ZSTD_e_continue);
            assert_false(ZSTD_isError(n));
            (void)fwrite(out, 1, o.pos, f);
        }
    }
    for (n = 1; n > 0;) {
        ZSTD_inBuffer in = {NULL, 0, 0};
        ZSTD_outBuffer o = {out, ZSTD_CStreamOutSize(), 0};

        n = ZSTD_compressStream2(c, &o, &in, ZSTD_e_end);
        (void)fwrite(out, 1, o.pos, f);
    }
    assert_int_equal(fclose(f), 0);
    ZSTD_freeCCtx(c);
    free(zeros);
    free(out);
    refused(path, "");
}

/* A small good bundle's bytes. Caller frees. */
static char *good_bytes(size_t *ret_n)
{
    struct hand h;
    char *path, *data;

    hand_begin(&h);
    hand_good_file(&h, "inputs/aa", "hello, this is an input of some length");
    hand_good_file(&h, "report.txt", "FZ-FAIL target=t class=invariant inv=C1 detail=x\n");
    hand_manifest(&h);
    path = hand_save(&h, "good.tar.zst");
    assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data, ret_n), 0);
    free(path);
    return data;
}

static void a_bundle_cut_anywhere_is_refused(void **state)
{
    size_t n;
    char *data = good_bytes(&n);

    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        char *path = path_join(dir, "bad.tar.zst");

        write_plain(path, data, cut);
        refused(path, "");
    }
    free(data);
}

/* In the frame, and in the bytes that its end mark came with. */
static void what_follows_the_end_mark_is_refused(void **state)
{
    struct hand h;

    (void)state;
    hand_begin(&h);
    hand_good_file(&h, "a", "1");
    hand_manifest(&h);
    assert_int_equal(archive_write_close(h.a), ARCHIVE_OK);
    assert_int_equal(hand_write(NULL, &h, "x", 1), 1);
    refused(hand_save(&h, "bad.tar.zst"), "something follows the archive");
}

static void a_flipped_byte_and_what_follows_are_refused(void **state)
{
    size_t n;
    char *data = good_bytes(&n), *more, *path;

    (void)state;
    for (size_t i = 0; i < n; i += 3) {
        struct err err = {0};

        path = path_join(dir, "bad.tar.zst");
        data[i] ^= 0x10;
        write_plain(path, data, n);
        assert_true(bundle_verify(path, &err) < 0);
        data[i] ^= 0x10;
        free(path);
    }
    more = xmalloc(2 * n);
    memcpy(more, data, n);
    memcpy(more + n, data, n);
    path = path_join(dir, "bad.tar.zst");
    write_plain(path, more, 2 * n);
    refused(path, "follows");
    free(more);
    free(data);
}

static void what_is_no_file_is_refused(void **state)
{
    struct err err = {0};
    char *fifo = path_join(dir, "fifo");

    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_true(bundle_verify(fifo, &err) < 0);
    assert_true(bundle_verify(dir, &err) < 0);
    assert_true(bundle_verify("/nowhere", &err) < 0);
    assert_true(bundle_verify("/dev/zero", &err) < 0);
    free(fifo);
}

static void the_same_files_make_the_same_bytes(void **state)
{
    char *data[2];
    size_t size[2];

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct bundle_file f[3];
        struct err err = {0};
        char *path = path_join(dir, "same.tar.zst");
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        static const char *const names[] = {"b", "a/c", "manifest.json"};

        assert_true(fd >= 0);
        memset(f, 0, sizeof(f));
        for (int i = 0; i < 3; i++) {
            /* In another order each time. */
            struct bundle_file *x = &f[round == 0 ? i : 2 - i];

            (void)snprintf(x->m.name, sizeof(x->m.name), "%s", names[i]);
            x->data = xasprintf("text of %s", names[i]);
            x->m.size = strlen(x->data);
            x->mode = 0644;
        }
        assert_int_equal(bundle_write(fd, f, 3, &err), 0);
        assert_int_equal(close(fd), 0);
        for (int i = 0; i < 3; i++)
            free(f[i].data);
        assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data[round], &size[round]), 0);
        free(path);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(data[0], data[1], size[0]);
    free(data[0]);
    free(data[1]);
}

/* ---- repro.sh ---- */

static json_t *manifest_for(const char *path, const char *sha256, const json_t *args, bool on_stdin,
                            const char *evidence, const char *class_, const char *marker, int sig)
{
    return json_pack("{s:s, s:s, s:[s], s:{s:s, s:O, s:b, s:[s,s], s:i}, s:{s:s, s:s, s:s, s:i},"
                     " s:[{s:s, s:s}]}",
                     "class", class_, "signature", "a 'quoted' $(touch evil) `x`\nline", "inputs",
                     "input", "replay", "path", path, "args", args, "stdin", (int)on_stdin, "env",
                     "A=it's; touch evil", "B=$HOME\n`id`", "timeout_ms", 1000, "expect", "class",
                     class_, "evidence", evidence, "marker", marker, "signal", sig, "programs",
                     "path", path, "sha256", sha256);
}

static int script_run(const char *script, const char *binary, struct proc_result *pr)
{
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv,
                           .cwd = "/",
                           .timeout_ms = 30000,
                           .max_out = 65536,
                           .cgroup_procs_fd = {-1, -1, -1, -1}};
    struct err err = {0};

    strv_add(&argv, "sh");
    strv_add(&argv, script);
    if (binary != NULL)
        strv_add(&argv, binary);
    assert_int_equal(proc_run(&ps, pr, &err), 0);
    strv_clear(&argv);
    return WIFEXITED(pr->status) ? WEXITSTATUS(pr->status) : -1;
}

/* A program under test as a script, an input, and the repro.sh that is made for them. */
static int repro(const char *program, const char *args, bool on_stdin, const char *evidence,
                 const char *class_, const char *marker, int sig, const char *binary,
                 const char *err_words)
{
    char *bin = path_join(dir, "pro'g ram"), *script = path_join(dir, "repro.sh");
    char *input = path_join(dir, "input"), *evil = path_join(dir, "evil"), *text;
    json_t *list = json_loads(args, 0, NULL), *m;
    struct proc_result pr;
    int rc;

    assert_non_null(list);
    assert_int_equal(file_write_atomic(AT_FDCWD, bin, program, strlen(program), 0755), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, input, "seed\n", 5, 0644), 0);
    m = manifest_for(bin, "00", list, on_stdin, evidence, class_, marker, sig);
    assert_non_null(m);
    json_object_set_new(json_object_get(m, "replay"), "address_space_limit", json_true());
    json_object_set_new(json_object_get(m, "replay"), "memory_bytes", json_integer(1LL << 31));
    text = bundle_script(m);
    assert_int_equal(file_write_atomic(AT_FDCWD, script, text, strlen(text), 0755), 0);
    rc = script_run(script, binary, &pr);
    if (err_words != NULL && strstr(pr.err, err_words) == NULL)
        fail_msg("\"%s\" not in: %s%s", err_words, pr.out, pr.err);
    assert_int_not_equal(access(evil, F_OK), 0);
    assert_int_not_equal(access("/evil", F_OK), 0);
    proc_result_clear(&pr);
    json_decref(m);
    json_decref(list);
    free(text);
    free(bin);
    free(script);
    free(input);
    free(evil);
    return rc;
}

static void repro_tells_by_the_same_evidence(void **state)
{
    (void)state;
    /* The harness's own line, and the input by name. */
    assert_int_equal(repro("#!/bin/sh\n[ \"$(cat \"$2\")\" = seed ] && echo 'FZ-FAIL target=t "
                           "class=invariant inv=C3 detail=x' >&2\nkill -ABRT $$\n",
                           "[\"--one\",\"@@\"]", false, "kit", "invariant", " inv=C3 ", 6, NULL,
                           "not the build of the campaign"),
                     0);
    assert_int_equal(
        repro("#!/bin/sh\necho 'FZ-FAIL target=t class=invariant inv=C30 detail=x' >&2\n"
              "kill -ABRT $$\n",
              "[\"--one\",\"@@\"]", false, "kit", "invariant", " inv=C3 ", 6, NULL, NULL),
        1);
    /* By standard input; words of a sanitizer; exit code 0 is no failure. */
    assert_int_equal(repro("#!/bin/sh\n[ \"$(cat)\" = seed ] && echo 'ERROR: heap-buffer-overflow' "
                           ">&2\nexit 1\n",
                           "[]", true, "sanitizer", "crash", "heap-buffer-overflow", 0, NULL, NULL),
                     0);
    assert_int_equal(repro("#!/bin/sh\necho 'ERROR: heap-buffer-overflow' >&2\nexit 0\n", "[]",
                           true, "sanitizer", "crash", "heap-buffer-overflow", 0, NULL, NULL),
                     1);
    /* A bare signal, its own and another. */
    assert_int_equal(
        repro("#!/bin/sh\nkill -SEGV $$\n", "[]", true, "signal", "crash", "", 11, NULL, NULL), 0);
    assert_int_equal(
        repro("#!/bin/sh\nkill -ABRT $$\n", "[]", true, "signal", "crash", "", 11, NULL, NULL), 1);
    /* Time. */
    assert_int_equal(
        repro("#!/bin/sh\nsleep 20\n", "[]", true, "limit", "timeout", "", 0, NULL, NULL), 0);
    assert_int_equal(
        repro("#!/bin/sh\nexit 0\n", "[]", true, "limit", "timeout", "", 0, NULL, NULL), 1);
    /* It does away with its parent, which is not the one that holds the limit. */
    assert_int_equal(
        repro("#!/bin/sh\nkill -KILL $PPID\n", "[]", true, "parent", "crash", "", 0, NULL, NULL),
        0);
    assert_int_equal(repro("#!/bin/sh\nkill -STOP $PPID\nexec sleep 60\n", "[]", true, "parent",
                           "crash", "", 0, NULL, NULL),
                     0);
    assert_int_equal(repro("#!/bin/sh\n[ \"$A\" = \"it's; touch evil\" ] || kill -KILL $PPID\n",
                           "[]", true, "parent", "crash", "", 0, NULL, NULL),
                     1);
    /* Odd arguments and environment arrive as they are. */
    assert_int_equal(repro("#!/bin/sh\n[ \"$A\" = \"it's; touch evil\" ] && [ \"$1\" = 'a b$(touch "
                           "evil)' ] && [ -f \"${2#--in=}\" ] && kill -SEGV $$\n",
                           "[\"a b$(touch evil)\",\"--in=@@\"]", false, "signal", "crash", "", 11,
                           NULL, NULL),
                     0);
    /* A flaky one is tried again. */
    assert_int_equal(repro("#!/bin/sh\n[ -f ../once ] && kill -SEGV $$\ntouch ../once\n", "[]",
                           true, "signal", "flaky", "", 11, NULL, NULL),
                     0);
    /* The address space has its limit, but not that of a sanitizer build given instead. */
    assert_int_equal(repro("#!/bin/sh\n[ \"$(ulimit -v)\" = 2097152 ] && kill -SEGV $$\n", "[]",
                           true, "signal", "crash", "", 11, NULL, NULL),
                     0);
    assert_int_equal(repro("#!/bin/sh\n# __asan_init\n[ \"$(ulimit -v)\" = unlimited ] || "
                           "kill -SEGV $$\n",
                           "[]", true, "signal", "crash", "", 11, NULL, NULL),
                     1);
    /* No target. */
    assert_int_equal(repro("#!/bin/sh\nexit 0\n", "[]", true, "signal", "crash", "", 11,
                           "/nowhere/target", NULL),
                     2);
}

static void repro_passes_shellcheck(void **state)
{
    struct strv argv = {0};
    struct proc_spec ps = {
        .argv = &argv, .timeout_ms = 30000, .max_out = 65536, .cgroup_procs_fd = {-1, -1, -1, -1}};
    struct proc_result pr = {0};
    struct err err = {0};

    (void)state;
    (void)repro("#!/bin/sh\nexit 0\n", "[\"x y\",\"@@\",\"--in=@@,@@\"]", false, "parent", "crash",
                "", 11, NULL, NULL);
    strv_add(&argv, "shellcheck");
    strv_take(&argv, path_join(dir, "repro.sh"));
    if (proc_run(&ps, &pr, &err) < 0) {
        strv_clear(&argv);
        skip(); /* not installed */
    }
    if (pr.status != 0)
        fail_msg("%s", pr.out);
    proc_result_clear(&pr);
    strv_clear(&argv);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *to;
    int r;

    (void)state;
    dir = xasprintf("%s/fz-test.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    to = path_join(dir, "to");
    r = mkdir(to, 0755);
    free(to);
    return r;
}

static int teardown(void **state)
{
    int r = path_remove_tree(dir);

    (void)state;
    free(dir);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_bundle_passes),
        cmocka_unit_test(names_that_lead_out_are_refused),
        cmocka_unit_test(links_and_devices_are_refused),
        cmocka_unit_test(members_and_manifest_must_agree),
        cmocka_unit_test(a_file_that_is_also_a_folder_is_refused),
        cmocka_unit_test(too_many_members_are_refused),
        cmocka_unit_test(a_header_that_promises_too_much_is_refused),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(a_bundle_cut_anywhere_is_refused),
        cmocka_unit_test(what_follows_the_end_mark_is_refused),
        cmocka_unit_test(a_flipped_byte_and_what_follows_are_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(the_same_files_make_the_same_bytes),
        cmocka_unit_test(repro_tells_by_the_same_evidence),
        cmocka_unit_test(repro_passes_shellcheck),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
