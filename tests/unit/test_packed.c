/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed corpora: what was packed is read back byte by byte and in the order of a folder, and an archive
 * that anybody made is either taken as a whole or refused in one line.
 */
#include "corpus/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"
#include "corpus/inputs.h"
#include "corpus/pack.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
/* clang-format on */

#define BLOCK    512
#define PIECE    (256 << 10) /* of a file, at a time */
#define TAR_ROOM (3 << 20)
#define MAX      (1 << 20)

static char top[] = "/tmp/fuzzd-packed.XXXXXX";

/* ---- archives by hand ---- */
static char tar[TAR_ROOM];
static size_t tar_n;

static void sum_up(char *h)
{
    unsigned sum = 0;

    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)h[i];
    (void)snprintf(h + 148, 7, "%06o", sum);
}

/* size: as the header says it. Returns the header. */
static char *add_sized(char type, const char *name, const char *size, const void *data, size_t n)
{
    const size_t room = BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK, n_name = strlen(name);
    char *h = tar + tar_n;

    assert_true(tar_n + room <= sizeof(tar));
    memset(h, 0, room);
    memcpy(h, name, n_name < 100 ? n_name : 100);
    memcpy(h + 124, size, strlen(size) < 12 ? strlen(size) : 12);
    h[156] = type;
    memcpy(h + 257, "ustar\00000", 8);
    if (n > 0)
        memcpy(h + BLOCK, data, n);
    tar_n += room;
    sum_up(h);
    return h;
}

static char *add(char type, const char *name, const void *data, size_t n)
{
    char size[24];

    (void)snprintf(size, sizeof(size), "%011zo", n);
    return add_sized(type, name, size, data, n);
}

static void add_link(char type, const char *name, const char *to)
{
    char *h = add(type, name, "", 0);

    memcpy(h + 157, to, strlen(to));
    sum_up(h);
}

static void add_pax(const char *records)
{
    add('x', "PaxHeader", records, strlen(records));
}

/* One byte, a hole of a block before it, as GNU tar says it. */
static void add_gnu_sparse(void)
{
    char *h = add('S', "sparse", "1", 1);

    memcpy(h + 257, "ustar  ", 8);
    memcpy(h + 386, "00000001000", 12);
    memcpy(h + 398, "00000000001", 12);
    memcpy(h + 483, "00000001001", 12);
    sum_up(h);
}

static void end(void)
{
    memset(tar + tar_n, 0, 2 * BLOCK);
    tar_n += 2 * BLOCK;
}

static char *put(const char *name, const void *data, size_t n)
{
    char *path = path_join(top, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, data, n), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

static char *put_tar(void)
{
    return put("t.tar", tar, tar_n);
}

/* The same in a frame. */
static size_t freeze(char *frame, size_t room)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t n;

    assert_non_null(c);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    n = ZSTD_compress2(c, frame, room, tar, tar_n);
    assert_false(ZSTD_isError(n));
    (void)ZSTD_freeCCtx(c);
    return n;
}

/* ---- what is asserted ---- */
static void assert_input(const struct inputs *list, size_t i, const char *name, const char *want)
{
    const char *own = list->v[i] + strlen(top) + 1;
    uint8_t *data = NULL;
    size_t size = 0;

    own = strchr(own, '/') + 1;
    assert_string_equal(own, name);
    assert_int_equal(inputs_read(list, i, MAX, &data, &size), 0);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(data, want, size);
    free(data);
}

static void assert_list(const char *const *want)
{
    cleanup_free char *path = put_tar();
    struct inputs list = {0};
    struct err err = {0};
    size_t n = 0;

    if (inputs_add(&list, path, &err) != 0)
        fail_msg("%s", err.msg);
    for (; want[2 * n] != NULL; n++) {
        assert_true(n < list.n);
        assert_input(&list, n, want[2 * n], want[2 * n + 1]);
    }
    assert_int_equal(list.n, n);
    assert_true(inputs_all_packed(&list));
    inputs_clear(&list);
}

static void assert_refused(const char *path, const char *why)
{
    struct inputs list = {0};
    struct err err = {0};
    int rc;

    inputs_add_file(&list, "before");
    rc = inputs_add(&list, path, &err);
    if (rc != -EBADMSG || strstr(err.msg, why) == NULL)
        fail_msg("wanted \"%s\", got %d \"%s\"", why, rc, rc < 0 ? err.msg : "");
    assert_int_equal(err.code, rc);
    assert_int_equal(list.n, 1);
    inputs_clear(&list);
}

static void assert_tar_refused(const char *why)
{
    cleanup_free char *path = put_tar();

    assert_refused(path, why);
    tar_n = 0;
}

/* ---- tests ---- */
static int begin(void **state)
{
    (void)state;
    tar_n = 0;
    return 0;
}

static void members_are_in_the_order_of_a_folder(void **state)
{
    (void)state;
    add('5', "d/", "", 0);
    add('0', "d-a", "1", 1);
    add('0', "d/b", "2", 1);
    add('0', "./d.c", "", 0);
    add('\0', "/a", "3", 1);
    add('7', "z", "4", 1);
    add('0', "b/", "", 0); /* a folder of old */
    end();
    assert_list((const char *const[]){"a", "3", "d/b", "2", "d-a", "1", "d.c", "", "z", "4", NULL});
}

static void what_no_input_is_is_passed_over(void **state)
{
    (void)state;
    add('0', ".hidden", "1", 1);
    add('0', "d/.state/x", "1", 1);
    add('0', "d/README.txt", "1", 1);
    add_link('2', "s", "/etc/passwd");
    add('3', "null", "", 0);
    add('4', "disk", "", 0);
    add('6', "fifo", "", 0);
    add('V', "volume", "", 0);
    add('D', "dump", "names", 5);
    add('g', "git", "12 comment=a\n", 13);
    add('0', "x", "1", 1);
    end();
    assert_list((const char *const[]){"x", "1", NULL});
}

static void of_afl_output_the_queues_are_taken(void **state)
{
    (void)state;
    add('0', "out/main/fuzzer_setup", "", 0);
    add('0', "out/main/crashes/id:0", "c", 1);
    add('0', "out/main/queue/id:0", "0", 1);
    add('0', "out/main/queue/.state/x", "x", 1);
    add('0', "out/s/fuzzer_setup", "", 0);
    add_link('1', "out/s/queue/id:0", "out/main/queue/id:0");
    add('0', "other", "x", 1);
    end();
    assert_list((const char *const[]){"out/main/queue/id:0", "0", "out/s/queue/id:0", "0", NULL});
}

static void a_hard_link_is_the_file_before_it(void **state)
{
    (void)state;
    add('0', "./a", "first", 5);
    add_link('1', "./l", "./a");
    add('0', "a", "second", 6);
    add_link('1', "m", "l");
    add_link('1', "n", "a");
    end();
    assert_list((const char *const[]){"a", "first", "a", "second", "l", "first", "m", "first", "n",
                                      "second", NULL});
    tar_n = 0;
    add_link('1', "l", "a");
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("l: a link to what is not there before it");
    add_link('1', "l", "l");
    end();
    assert_tar_refused("a link to what is not there before it");
}

static void names_and_sizes_told_ahead_count(void **state)
{
    char name[300];

    (void)state;
    memset(name, 'n', 299);
    name[299] = '\0';
    add('L', "././@LongLink", name, 300);
    add('0', "nnn", "1", 1);
    add_pax("14 path=a=b\n\xff\n10 size=1\n");
    add_sized('0', "short", "00000000777", "2", 1);
    add_pax("18 linkpath=a=b\n\xff\n15 path=z/link\n");
    add_link('1', "nothing", "nowhere");
    end();
    assert_list((const char *const[]){"a=b\n\xff", "2", name, "1", "z/link", "2", NULL});
}

static void a_header_is_looked_at_wherever_pieces_of_the_file_end(void **state)
{
    static const char attribute[] = "23 SCHILY.xattr.a=\0\1\0=\n11 path=zz\n";
    static const char zero[] = "13 path=zz\0b\n";
    static char fill[PIECE];

    (void)state;
    for (size_t back = 0; back <= 5; back++) {
        const size_t n = sizeof(fill) - BLOCK - back * BLOCK;

        memset(fill, 'f', n);
        fill[n] = '\0';
        add('0', "fill", fill, n);
        add('x', "PaxHeader", attribute, sizeof(attribute) - 1);
        add('0', "a", "1", 1);
        end();
        assert_list((const char *const[]){"fill", fill, "zz", "1", NULL});
        tar_n = 0;
        add('0', "fill", fill, n);
        add('x', "PaxHeader", zero, sizeof(zero) - 1);
        add('0', "a", "1", 1);
        end();
        assert_tar_refused("a member's name has a zero byte in it");
    }
}

static void what_is_no_right_archive_is_refused(void **state)
{
    static const char map[600] = "1\n1\n1\n";
    char path[5000], record[5100];

    (void)state;
    add('0', "../up", "1", 1);
    end();
    assert_tar_refused("is not allowed");
    add('0', "d/..", "1", 1);
    end();
    assert_tar_refused("is not allowed");
    add('0', "", "1", 1);
    end();
    assert_tar_refused("a member has no name");
    add_link('1', "./", "./");
    end();
    assert_tar_refused("a member has no name");
    add_gnu_sparse();
    end();
    assert_tar_refused("sparse");
    add_pax("22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n");
    add('0', "sparse", map, sizeof(map));
    end();
    assert_tar_refused("sparse");
    add('M', "volume", "1", 1);
    end();
    assert_tar_refused("a kind that is not known");
    add('5', "d", "1", 1);
    end();
    assert_tar_refused("Damaged tar archive");
    add_pax("10 size=1\n");
    add_link('1', "l", "a");
    tar_n += BLOCK;
    end();
    assert_tar_refused("a link is said to have bytes");
    add_sized('0', "a", "77777777777", "1", 1);
    end();
    assert_tar_refused("cut short");
    add_sized('0', "a", "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "1", 1);
    end();
    assert_tar_refused("size overflow");
    add_sized('0', "a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "1", 1);
    end();
    assert_tar_refused("negative size");
    add_sized('0', "a", "12x", "1", 1);
    end();
    assert_tar_refused("Unrecognized archive format");
    add_pax("32 size=99999999999999999999999\n");
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("size attribute overflow");
    add_pax("11 path=\xff\n");
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("malformed pax");
    add('x', "PaxHeader", "13 path=a\0b\n", 12);
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("malformed pax");
    add('0', "before", "1", 1);
    add('x', "PaxHeader", "12 path=a\0b\n", 12);
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("a member's name has a zero byte in it");
    add('x', "PaxHeader", "9 size=1\n15 linkpath=\0b\n", 24);
    add_link('1', "l", "before");
    end();
    assert_tar_refused("a member's name has a zero byte in it");
    add('L', "././@LongLink", "a\0b", 4);
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("a member's name has a zero byte in it");
    add_pax("999999 path=a\n");
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("malformed pax");
    memset(path, 'p', 4999);
    path[4999] = '\0';
    (void)snprintf(record, sizeof(record), "5010 path=%s\n", path);
    add_pax(record);
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("too long");
    for (int i = 0; i < 40; i++)
        add_pax("10 path=a\n");
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("malformed pax");
    add_pax("10 path=a\n");
    end();
    assert_tar_refused("Damaged tar archive");
    add('0', "a", "1", 1);
    end();
    add('0', "b", "1", 1);
    end();
    assert_tar_refused("something follows the archive");
    add('0', "a", "1", 1);
    memset(tar + tar_n, 0, BLOCK);
    tar_n += BLOCK;
    add('0', "b", "1", 1);
    end();
    assert_tar_refused("a block of zeros is in the middle");
    add('0', "a", "1", 1);
    end();
    memset(tar + tar_n, 0, (1 << 20) + BLOCK);
    tar_n += (1 << 20) + BLOCK;
    assert_tar_refused("too much follows the archive");
    add('0', "a", "1", 1)[0] = 'b';
    end();
    assert_tar_refused("Unrecognized archive format");
}

/* What they are in, or that nobody knows, makes no other names of them. */
static void names_are_bytes(void **state)
{
    (void)state;
    add('0', "\xff", "1", 1);
    add_pax("11 path=b\xff\n");
    add('0', "x", "2", 1);
    add_pax("21 hdrcharset=BINARY\n11 path=c\xff\n");
    add('0', "x", "3", 1);
    add_pax("12 path=d\xc3\xa9\n");
    add('0', "x", "4", 1);
    add_pax("15 linkpath=b\xff\n");
    add_link('1', "e", "b");
    add_pax("12 uname=u\xff\n");
    add('0', "f", "6", 1);
    end();
    assert_list((const char *const[]){"b\xff", "2", "c\xff", "3", "d\xc3\xa9", "4", "e", "2", "f",
                                      "6", "\xff", "1", NULL});
}

static void a_header_has_its_bounds(void **state)
{
    (void)state;
    cleanup_free char *large = xmalloc((1 << 20) + 1);

    memset(large, 'x', 1 << 20);
    large[1 << 20] = '\0';
    memcpy(large, "15000 comment=", 14);
    large[14999] = '\n';
    large[15000] = '\0';
    add_pax(large);
    add('0', "a", "1", 1);
    end();
    assert_list((const char *const[]){"a", "1", NULL});
    tar_n = 0;
    large[15000] = 'x';
    memcpy(large, "16000", 5);
    large[15999] = '\n';
    large[16000] = '\0';
    add_pax(large);
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("header is too large");
    for (int i = 0; i < 2; i++) {
        large[15999] = large[16000] = 'x';
        memcpy(large, "999999", 6);
        large[999998] = '\n';
        add('x', "x", large, 1 << 20);
    }
    add('0', "a", "1", 1);
    end();
    assert_tar_refused("header is too large");
    add_sized('x', "pax", "00777777777", "1", 1);
    end();
    assert_tar_refused("Special header too large");
}

static void an_empty_archive_has_no_inputs(void **state)
{
    (void)state;
    end();
    assert_list((const char *const[]){NULL});
    tar_n = 0;
    assert_tar_refused("cut short");
}

static void cut_anywhere_it_is_refused(void **state)
{
    static char frame[1 << 16];
    size_t n, whole;

    (void)state;
    add('0', "a", "some bytes", 10);
    add_pax("14 path=b/c/d\n");
    add('0', "x", frame, 1500);
    add('0', "empty", "", 0);
    add_link('1', "l", "a");
    end();
    whole = tar_n;
    n = freeze(frame, sizeof(frame));
    for (size_t cut = 0; cut < whole; cut += 64) {
        cleanup_free char *path = put("cut.tar", tar, cut);

        assert_refused(path, "cut short");
    }
    for (size_t cut = 0; cut < n; cut++) {
        cleanup_free char *path = put("cut.tar.zst", frame, cut);

        assert_refused(path, "cut short");
    }
    /* A bit that means nothing to the format may be another. */
    for (size_t at = 0; at < n; at++) {
        cleanup_free char *path = NULL;
        struct inputs list = {0};

        frame[at] ^= 0x40;
        path = put("bent.tar.zst", frame, n);
        if (inputs_add(&list, path, NULL) == 0) {
            assert_int_equal(list.n, 4);
            assert_input(&list, 0, "a", "some bytes");
        }
        inputs_clear(&list);
        frame[at] ^= 0x40;
    }
    frame[n] = 'x';
    cleanup_free char *path = put("more.tar.zst", frame, n + 1);
    assert_refused(path, "something follows the compressed frame");
}

/* libzstd would take the window of 128 MiB that it asks for, whatever limit is set. */
static void a_frame_of_a_format_before_zstd_0_8_is_refused(void **state)
{
    char frame[64] = "\x27\xb5\x2f\xfd\0\x88";

    (void)state;
    for (char version = 0x1e; version <= 0x27; version++) {
        cleanup_free char *path = NULL;

        frame[0] = version;
        path = put("old.tar.zst", frame, sizeof(frame));
        assert_refused(path, "it does not begin with a zstd frame");
    }
    for (size_t n = 1; n < 4; n++) {
        cleanup_free char *path = put("short.tar.zst", frame, n);

        assert_refused(path, "it does not begin with a zstd frame");
    }
}

static void a_large_member_is_an_input_that_cannot_be_run(void **state)
{
    (void)state;
    cleanup_free char *large = xcalloc(1, MAX + 1), *path = NULL;
    struct inputs list = {0};
    uint8_t *data = NULL;
    uint64_t size64 = 0;
    int64_t time_s = 1;
    size_t size = 0;

    add('0', "a", large, MAX);
    add('0', "b", large, MAX + 1);
    add('0', "c", "1", 1);
    end();
    path = put_tar();
    assert_int_equal(inputs_add(&list, path, NULL), 0);
    assert_int_equal(list.n, 3);
    assert_int_equal(inputs_read(&list, 0, MAX, &data, &size), 0);
    assert_int_equal(size, MAX);
    free(data);
    assert_int_equal(inputs_read(&list, 1, MAX, &data, &size), -EFBIG);
    assert_int_equal(inputs_stat(&list, 1, &size64, &time_s), 0);
    assert_int_equal(size64, MAX + 1);
    assert_int_equal(time_s, 0);
    assert_input(&list, 2, "c", "1");
    inputs_clear(&list);
}

static void a_file_with_holes_costs_no_time(void **state)
{
    (void)state;
    cleanup_free char *path = NULL;
    struct inputs list = {0};
    struct err err = {0};

    add('0', "hole", "", 0);
    tar[124] = (char)0x80;
    memset(tar + 125, 0, 11);
    tar[124 + 7] = (char)0x80; /* 512 GiB */
    sum_up(tar);
    path = put_tar();
    assert_refused(path, "cut short");
    if (truncate(path, (off_t)(512 + ((int64_t)0x80 << 32))) < 0)
        skip();
    assert_int_equal(inputs_add(&list, path, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "it has no end mark"));
    inputs_clear(&list);
    tar[124 + 4] = (char)0x40;
    sum_up(tar);
    free(path);
    path = put_tar();
    assert_refused(path, "more than 4T");
}

static void what_is_packed_is_read_back(void **state)
{
    (void)state;
    static const char *const names[] = {"z", "b\n\xff", "a", "d/e"};
    struct inputs in = {0}, out = {0};
    struct err err = {0};
    uint64_t bytes = 0;

    for (int i = 0; i < 4; i++) {
        char text[2] = {(char)('0' + i), '\0'}, name[2] = {(char)('p' + i), '\0'};
        cleanup_free char *path = put(name, text, (size_t)(i > 0));

        inputs_add_file(&in, path);
    }
    for (int zst = 0; zst < 2; zst++) {
        cleanup_free char *path = path_join(top, zst ? "w.tar.zst" : "w.tar");
        cleanup_free char *other = path_join(top, zst ? "v.tar.zst" : "v.tar");
        char one[65], two[65];

        assert_int_equal(pack_check(path, &err), 0);
        assert_int_equal(pack_write(path, &in, names, NULL, &bytes, &err), 0);
        assert_int_equal(bytes, 3);
        assert_int_equal(pack_check(path, &err), -EEXIST);
        assert_int_equal(pack_write(path, &in, names, NULL, &bytes, &err), -EEXIST);
        assert_int_equal(inputs_add(&out, path, &err), 0);
        assert_int_equal(out.n, 4);
        assert_input(&out, 0, "a", "2");
        assert_input(&out, 1, "b\n\xff", "1");
        assert_input(&out, 2, "d/e", "3");
        assert_input(&out, 3, "z", "");
        inputs_clear(&out);
        assert_int_equal(pack_write(other, &in, names, NULL, &bytes, &err), 0);
        assert_int_equal(file_sha256(AT_FDCWD, path, MAX, one, &bytes), 0);
        assert_int_equal(file_sha256(AT_FDCWD, other, MAX, two, &bytes), 0);
        assert_string_equal(one, two);
    }
    inputs_clear(&in);
}

static void a_pack_is_whole_or_not_there(void **state)
{
    (void)state;
    static const char *const same[] = {"x", "x"}, *const dot[] = {"x", "d/.y"},
                             *const good[] = {"x", "y"};
    static volatile sig_atomic_t cancelled = 1;
    cleanup_free char *path = path_join(top, "no.tar"), *a = put("k", "1", 1);
    cleanup_free char *gone = path_join(top, "gone"), *plain = path_join(top, "plain");
    cleanup_free char *nowhere = path_join(top, "none/x.tar"), *in_file = path_join(a, "x.tar");
    struct inputs in = {0};
    struct err err = {0};
    uint64_t bytes;

    inputs_add_file(&in, a);
    inputs_add_file(&in, a);
    assert_int_equal(pack_write(path, &in, same, NULL, &bytes, &err), -EEXIST);
    assert_int_equal(pack_write(path, &in, dot, NULL, &bytes, &err), -EINVAL);
    assert_int_equal(pack_write(path, &in, good, &cancelled, &bytes, &err), -ECANCELED);
    inputs_clear(&in);
    inputs_add_file(&in, a);
    inputs_add_file(&in, gone);
    assert_int_equal(pack_write(path, &in, good, NULL, &bytes, &err), -ENOENT);
    assert_non_null(strstr(err.msg, gone));
    inputs_clear(&in);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(pack_check(plain, &err), -EINVAL);
    assert_int_equal(pack_check(nowhere, &err), -ENOENT);
    assert_int_equal(pack_check(in_file, &err), -ENOTDIR);
}

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(top) != NULL ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return path_remove_tree(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(members_are_in_the_order_of_a_folder, begin),
        cmocka_unit_test_setup(what_no_input_is_is_passed_over, begin),
        cmocka_unit_test_setup(of_afl_output_the_queues_are_taken, begin),
        cmocka_unit_test_setup(a_hard_link_is_the_file_before_it, begin),
        cmocka_unit_test_setup(names_and_sizes_told_ahead_count, begin),
        cmocka_unit_test_setup(names_are_bytes, begin),
        cmocka_unit_test_setup(a_header_is_looked_at_wherever_pieces_of_the_file_end, begin),
        cmocka_unit_test_setup(what_is_no_right_archive_is_refused, begin),
        cmocka_unit_test_setup(a_header_has_its_bounds, begin),
        cmocka_unit_test_setup(an_empty_archive_has_no_inputs, begin),
        cmocka_unit_test_setup(cut_anywhere_it_is_refused, begin),
        cmocka_unit_test_setup(a_frame_of_a_format_before_zstd_0_8_is_refused, begin),
        cmocka_unit_test_setup(a_large_member_is_an_input_that_cannot_be_run, begin),
        cmocka_unit_test_setup(a_file_with_holes_costs_no_time, begin),
        cmocka_unit_test_setup(what_is_packed_is_read_back, begin),
        cmocka_unit_test_setup(a_pack_is_whole_or_not_there, begin),
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
