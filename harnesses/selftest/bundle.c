/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles that anybody may have made. The first byte of the input chooses what the
 * rest is: 0 a bundle as it is, 1 a tar that is compressed here, 2 a list of members
 * from which a bundle with a right manifest is made, so that the deeper checks are
 * reached. A bundle that verifies can be listed and unpacked to exactly its members;
 * one that does not leaves nothing behind.
 *
 * A member of the list: kind, length of the name, name, length of the data, data.
 * Kind: low bits the tar type, 0x10 left out of the manifest, 0x20 listed twice,
 * 0x40 with another size, 0x80 with another hash.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "bundle/bundle.h"
#include "bundle/manifest.h"
#include "selftest/check.h"

#define TAR_MAX    (1u << 20)
#define BLOCK      512u
#define LISTED_MAX 64u

static const char *const ids[] = {"B1", "B2", "B3", "B4", "B5", "B6", NULL};
static const char *const reach[] = {"verified", "listed", "refused", NULL};
const struct fz_target fz_target = {"selftest-bundle", 512u << 20, ids, reach, NULL};

static uint8_t tar[TAR_MAX];
static size_t tar_n;

/* A ustar header and its data. Source: POSIX.1-2017, pax, "ustar Interchange Format". */
static void tar_add(char type, const char *name, const void *data, size_t n)
{
    uint8_t *h = tar + tar_n;
    size_t room = BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK, name_n = strlen(name);
    unsigned sum = 0;

    if (tar_n + room + 2 * BLOCK > sizeof(tar))
        return;
    memset(h, 0, room);
    memcpy(h, name, name_n < 100 ? name_n : 100);
    memcpy(h + 100, "0000644", 8);
    memcpy(h + 108, "0000000", 8);
    memcpy(h + 116, "0000000", 8);
    (void)snprintf((char *)h + 124, 12, "%011zo", n);
    memcpy(h + 136, "00000000000", 12);
    memset(h + 148, ' ', 8);
    h[156] = (uint8_t)type;
    if (type == '1' || type == '2')
        memcpy(h + 157, "/etc/passwd", 11);
    memcpy(h + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += h[i];
    (void)snprintf((char *)h + 148, 7, "%06o", sum);
    if (n > 0)
        memcpy(h + BLOCK, data, n);
    tar_n += room;
}

/* Mode 2: the members of the input, then a manifest that describes them. */
static void tar_from_list(const uint8_t *d, size_t n)
{
    static const char types[] = {'0', '0', '5', '1', '2', '3', '4',
                                 '6', '7', 'L', 'x', 'g', 'S', '\0'};
    json_t *list = json_array(), *m = json_pack("{s:i}", "version", BUNDLE_VERSION);
    size_t at = 0;
    char *text;

    for (unsigned count = 0; n - at >= 3 && count < LISTED_MAX; count++) {
        uint8_t kind = d[at];
        size_t name_n = d[at + 1] % 64, data_n;
        char name[65], hex[65];
        json_t *e;

        at += 2;
        name_n = name_n < n - at ? name_n : n - at;
        for (size_t i = 0; i < name_n; i++)
            name[i] = d[at + i] != '\0' ? (char)d[at + i] : '/';
        name[name_n] = '\0';
        at += name_n;
        data_n = at < n ? d[at++] : 0;
        data_n = data_n < n - at ? data_n : n - at;
        tar_add(types[(kind & 15) % sizeof(types)], name, d + at, data_n);
        hash_sha256_hex(d + at, data_n, hex);
        if (kind & 0x80)
            hex[0] = hex[0] == '0' ? '1' : '0';
        e = json_pack("{s:s, s:I, s:s}", "name", name, "size",
                      (json_int_t)data_n + (kind & 0x40 ? 1 : 0), "sha256", hex);
        if (e != NULL && !(kind & 0x10))
            json_array_append(list, e);
        if (e != NULL && (kind & 0x20))
            json_array_append(list, e);
        json_decref(e);
        at += data_n;
    }
    json_object_set_new(m, "members", list);
    text = json_dumps(m, JSON_COMPACT);
    tar_add('0', MANIFEST_NAME, text, strlen(text));
    memset(tar + tar_n, 0, 2 * BLOCK);
    tar_n += 2 * BLOCK;
    free(text);
    json_decref(m);
}

static int file_of(const void *data, size_t n)
{
    int fd = memfd_create("bundle", MFD_CLOEXEC);

    if (fd < 0 || file_write_all(fd, data, n) < 0) {
        perror("selftest-bundle");
        exit(2);
    }
    return fd;
}

static int file_of_input(const uint8_t *d, size_t n)
{
    size_t bound, packed;
    void *frame;
    int fd;

    if (n == 0 || d[0] % 3 == 0)
        return file_of(d + (n > 0), n - (n > 0));
    tar_n = 0;
    if (d[0] % 3 == 1) {
        tar_n = n - 1;
        memcpy(tar, d + 1, tar_n);
    } else {
        tar_from_list(d + 1, n - 1);
    }
    bound = ZSTD_compressBound(tar_n);
    frame = xmalloc(bound);
    packed = ZSTD_compress(frame, bound, tar, tar_n, 1);
    if (ZSTD_isError(packed))
        exit(2);
    fd = file_of(frame, packed);
    free(frame);
    return fd;
}

/* One for each input, as a child that ends early cannot clean up after all of them. */
static char *work_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char *work;

    if (tmp == NULL || *tmp == '\0')
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    work = xasprintf("%s/selftest.XXXXXX", tmp);
    if (mkdtemp(work) == NULL) {
        perror("selftest-bundle");
        exit(2);
    }
    return work;
}

/* Regular files below path; anything else but folders fails B3. */
static size_t count_files(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *de;
    size_t count = 0;

    MUST(dir != NULL, "B3", "%s cannot be read", path);
    while ((de = readdir(dir)) != NULL) {
        cleanup_free char *name = path_join(path, de->d_name);
        struct stat st;

        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        MUST(lstat(name, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)), "B3",
             "%s is neither file nor folder", name);
        count += S_ISDIR(st.st_mode) ? count_files(name) : 1;
    }
    (void)closedir(dir);
    return count;
}

/* B3: exactly the members of the list, each of its size. */
static void check_unpacked(const char *dir, const json_t *list)
{
    const json_t *members = json_object_get(list, "members"), *e;
    size_t i;

    MUST(count_files(dir) == json_array_size(members), "B3", "%zu members, but %zu files",
         json_array_size(members), count_files(dir));
    json_array_foreach (members, i, e) {
        const char *name = json_string_value(json_object_get(e, "name"));
        cleanup_free char *path = path_join(dir, name);
        struct stat st;

        MUST(member_name_ok(name), "B3", "member %zu has a name that is not allowed", i);
        MUST(lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                 st.st_size == json_integer_value(json_object_get(e, "size")),
             "B3", "%s is not as it was listed", name);
    }
}

static void check_refusal(int r, const struct err *err)
{
    MUST(r < 0 && err->code == r && err->msg[0] != '\0' && is_text(err->msg, sizeof(err->msg)),
         "B5", "refused by %d: %.200s", r, err->msg);
}

/* work: an empty folder, and empty again afterwards. */
static void check_bundle(const char *path, const char *work)
{
    struct err err = {0}, err_list = {0}, err_unpack = {0};
    cleanup_free char *dir = path_join(work, "out");
    json_t *list = NULL, *manifest = NULL;
    int verify = bundle_verify(path, &err), listed = bundle_list(path, &list, &err_list);
    int shown = bundle_show(path, &manifest, NULL),
        unpacked = bundle_unpack(path, dir, &err_unpack);

    MUST(verify < 0 || (listed == 0 && shown == 0), "B1", "it verifies, but is not listed: %.200s",
         err_list.msg);
    MUST((verify == 0) == (unpacked == 0), "B2", "verified: %d %.200s, unpacked: %d %.200s", verify,
         err.msg, unpacked, err_unpack.msg);
    MUST(listed == shown, "B1", "listed: %d, shown: %d", listed, shown);
    if (listed == 0) {
        FZ_REACH(listed);
        MUST(json_equal(json_object_get(list, "manifest"), manifest), "B1", "two manifests");
        MUST(json_array_size(json_object_get(list, "members")) <= BUNDLE_MAX_MEMBERS, "B4",
             "%zu members", json_array_size(json_object_get(list, "members")));
    } else {
        check_refusal(listed, &err_list);
    }
    if (verify == 0) {
        FZ_REACH(verified);
        check_unpacked(dir, list);
        (void)path_remove_tree(dir);
    } else {
        FZ_REACH(refused);
        check_refusal(verify, &err);
        check_refusal(unpacked, &err_unpack);
    }
    MUST(count_files(work) == 0 && access(dir, F_OK) != 0, "B6", "something is left behind");
    fz_trace_u64((uint64_t)verify);
    fz_trace_u64((uint64_t)listed);
    json_decref(list);
    json_decref(manifest);
}

int fz_one(const uint8_t *d, size_t n)
{
    cleanup_free char *work = work_make();
    int fd = file_of_input(d, n);
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_bundle(path, work);
    (void)rmdir(work);
    (void)close(fd);
    return 0;
}
