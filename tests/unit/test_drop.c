/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as another user: whom we take, what he may read, and folders that become his without a link being followed.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "sys/drop.h"
#include "sys/proc.h"

static char dir[] = "/tmp/fz-drop.XXXXXX";

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void mode_is(const char *path, mode_t mode, uid_t uid)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
    assert_int_equal(st.st_uid, uid);
}

static void users_that_are_none_are_refused(void **state)
{
    struct drop d = {.uid = 7};
    struct err err = {0};

    (void)state;
    need_root();
    assert_int_equal(drop_find("no-such-user", &d, &err), -ENOENT);
    assert_int_equal(drop_find("root", &d, &err), -EINVAL);
    assert_int_equal(d.uid, 7);
    assert_int_equal(drop_find("nobody", &d, &err), 0);
    assert_true(d.uid > 0 && d.gid > 0);
}

static void children_have_the_user_and_nothing_more(void **state)
{
    struct strv argv = {0};
    struct proc_spec ps = {.argv = &argv, .timeout_ms = 10000, .max_out = 4096};
    struct proc_result pr = {0};
    struct drop d;
    struct err err = {0};

    (void)state;
    need_root();
    assert_int_equal(drop_find("nobody", &d, &err), 0);
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_add(&argv, "id -u; id -G; sed -n 's/^CapEff:.//p; s/^NoNewPrivs:.//p' /proc/self/status");
    drop_children(&d);
    assert_int_equal(proc_run(&ps, &pr, &err), 0);
    drop_children(NULL);
    char *want = xasprintf("%u\n%u\n0000000000000000\n1\n", (unsigned)d.uid, (unsigned)d.gid);
    assert_string_equal(pr.out, want);
    free(want);
    proc_result_clear(&pr);
    assert_int_equal(proc_run(&ps, &pr, &err), 0);
    assert_int_equal(strncmp(pr.out, "0\n", 2), 0);
    proc_result_clear(&pr);
    strv_clear(&argv);
}

static void a_folder_becomes_his_and_the_way_to_it_passable(void **state)
{
    char *a = path_join(dir, "a"), *b = path_join(dir, "a/b"), *c = path_join(dir, "a/b/c");
    struct drop d;
    struct err err = {0};

    (void)state;
    need_root();
    assert_int_equal(drop_find("nobody", &d, &err), 0);
    assert_int_equal(path_mkdirs(c, 0700), 0);
    assert_int_equal(drop_folder(dir, c, &d), 0);
    mode_is(dir, 0711, 0);
    mode_is(a, 0711, 0);
    mode_is(b, 0711, 0);
    mode_is(c, 0700, d.uid);
    assert_int_equal(drop_folder(dir, "/elsewhere", &d), -EXDEV);
    assert_int_equal(drop_folder(dir, "/tmp", &d), -EXDEV);
    free(a);
    free(b);
    free(c);
}

static void what_he_had_under_another_number_becomes_his(void **state)
{
    static const char *const names[] = {"was", "was/sub", "was/sub/his", "was/link"};
    char *was = path_join(dir, "was"), *sub = path_join(dir, "was/sub");
    char *his = path_join(dir, "was/sub/his"), *root_s = path_join(dir, "was/sub/root");
    char *link = path_join(dir, "was/link"), *away = path_join(dir, "away");
    struct drop d;
    struct err err = {0};
    struct stat st;

    (void)state;
    need_root();
    assert_int_equal(drop_find("nobody", &d, &err), 0);
    assert_int_equal(path_mkdirs(sub, 0700), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, his, "x", 1, 0600), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, root_s, "x", 1, 0600), 0);
    assert_int_equal(file_write_atomic(AT_FDCWD, away, "x", 1, 0600), 0);
    assert_int_equal(symlink("../away", link), 0);
    assert_int_equal(chown(away, 4711, 4711), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = path_join(dir, names[i]);

        assert_int_equal(lchown(path, 4711, 4711), 0);
        free(path);
    }
    assert_int_equal(drop_folder(dir, was, &d), 0);
    mode_is(was, 0700, d.uid);
    mode_is(sub, 0700, d.uid);
    mode_is(his, 0600, d.uid);
    mode_is(root_s, 0600, 0);
    mode_is(away, 0600, 4711);
    assert_int_equal(lstat(link, &st), 0);
    assert_int_equal(st.st_uid, d.uid);
    free(was);
    free(sub);
    free(his);
    free(root_s);
    free(link);
    free(away);
}

static void a_link_is_not_followed(void **state)
{
    char *precious = path_join(dir, "precious"), *link = path_join(dir, "link");
    char *below = path_join(dir, "link/below"), *inner = path_join(dir, "precious/below");
    struct drop d;
    struct err err = {0};

    (void)state;
    need_root();
    assert_int_equal(drop_find("nobody", &d, &err), 0);
    assert_int_equal(path_mkdirs(inner, 0700), 0);
    assert_int_equal(symlink("precious", link), 0);
    assert_int_equal(drop_folder(dir, link, &d), -ELOOP);
    assert_int_equal(drop_folder(dir, below, &d), -ELOOP);
    assert_int_equal(path_unlink_below(dir, below), -ELOOP);
    mode_is(precious, 0700, 0);
    mode_is(inner, 0700, 0);
    free(precious);
    free(link);
    free(below);
    free(inner);
}

static void what_he_may_not_read_is_named(void **state)
{
    char *shut = path_join(dir, "shut"), *file = path_join(dir, "shut/file");
    struct drop d = {.uid = 65534, .gid = 65534};
    struct err err = {0};
    int fd;

    (void)state;
    need_root();
    assert_int_equal(path_mkdirs(shut, 0700), 0);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(drop_may_read(&d, file, &err), -EACCES);
    assert_non_null(strstr(err.msg, "may not enter"));
    assert_int_equal(chmod(shut, 0711), 0);
    assert_int_equal(drop_may_read(&d, file, &err), 0);
    assert_int_equal(drop_may_read(&d, shut, &err), -EACCES);
    assert_int_equal(fchmod(fd, 0640), 0);
    assert_int_equal(drop_may_read(&d, file, &err), -EACCES);
    assert_non_null(strstr(err.msg, "may not read it"));
    assert_int_equal(fchmod(fd, 0744), 0);
    assert_int_equal(drop_may_read(&d, file, &err), 0);
    assert_int_equal(drop_may_run(&d, file, &err), -EACCES);
    assert_non_null(strstr(err.msg, "may not run it: chmod o+rx /"));
    assert_int_equal(fchmod(fd, 0755), 0);
    assert_int_equal(drop_may_run(&d, file, &err), 0);
    assert_int_equal(drop_may_read(&d, "/nonexistent/x", &err), -ENOENT);
    assert_int_equal(drop_may_reach(&d, file, &err), 0);
    assert_int_equal(chmod(shut, 0700), 0);
    assert_int_equal(drop_may_reach(&d, file, &err), -EACCES);
    assert_non_null(strstr(err.msg, "may not enter"));
    assert_non_null(strstr(err.msg, ": chmod o+x "));
    assert_int_equal(drop_may_reach(&d, "/nonexistent/x", &err), -EACCES);
    assert_non_null(strstr(err.msg, "install -d -m 711 /nonexistent"));
    assert_int_equal(drop_may_reach(&d, "/x", &err), 0);
    (void)close(fd);
    free(shut);
    free(file);
}

/* An ACL entry as the attribute has it: tag, bits, id. */
struct entry {
    uint16_t tag, perm;
    uint32_t id;
};

static int set_acl(const char *path, const struct entry *e, size_t n)
{
    struct {
        uint32_t version;
        struct entry e[8];
    } acl = {.version = htole32(2)};

    for (size_t i = 0; i < n; i++)
        acl.e[i] = (struct entry){htole16(e[i].tag), htole16(e[i].perm), htole32(e[i].id)};
    return setxattr(path, "system.posix_acl_access", &acl, sizeof(uint32_t) + n * sizeof(*e), 0);
}

/* What the kernel says to that user himself. */
static bool kernel_lets(const struct drop *d, const char *path)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(drop_self(d) < 0 ? 2 : access(path, R_OK) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 0;
}

static void an_acl_decides_as_it_does_for_the_kernel(void **state)
{
    enum { OWNER = 1, USER = 2, GROUP_OF = 4, GROUP = 8, MASK = 16, OTHER = 32, HIM = 65534 };
    const uint32_t none = UINT32_MAX;
    const struct {
        gid_t gid;
        bool lets;
        struct entry e[6];
    } cases[] = {
        {0,
         true,
         {{OWNER, 7, none},
          {USER, 5, HIM},
          {GROUP_OF, 0, none},
          {MASK, 5, none},
          {OTHER, 0, none}}},
        {0,
         false,
         {{OWNER, 7, none}, {USER, 5, 7}, {GROUP_OF, 0, none}, {MASK, 5, none}, {OTHER, 0, none}}},
        {0,
         false,
         {{OWNER, 7, none},
          {USER, 0, HIM},
          {GROUP_OF, 5, none},
          {MASK, 5, none},
          {OTHER, 5, none}}},
        {0,
         false,
         {{OWNER, 7, none},
          {USER, 7, HIM},
          {GROUP_OF, 7, none},
          {MASK, 2, none},
          {OTHER, 7, none}}},
        {0,
         true,
         {{OWNER, 7, none},
          {USER, 7, HIM},
          {GROUP_OF, 7, none},
          {MASK, 0, none},
          {OTHER, 7, none}}},
        {0,
         true,
         {{OWNER, 7, none},
          {GROUP_OF, 0, none},
          {GROUP, 5, HIM},
          {MASK, 7, none},
          {OTHER, 0, none}}},
        {0,
         false,
         {{OWNER, 7, none},
          {GROUP_OF, 7, none},
          {GROUP, 0, HIM},
          {MASK, 7, none},
          {OTHER, 7, none}}},
        {HIM,
         false,
         {{OWNER, 7, none}, {USER, 7, 7}, {GROUP_OF, 0, none}, {MASK, 7, none}, {OTHER, 7, none}}},
        {HIM,
         true,
         {{OWNER, 7, none},
          {GROUP_OF, 0, none},
          {GROUP, 5, HIM},
          {MASK, 5, none},
          {OTHER, 0, none}}},
        {0,
         true,
         {{OWNER, 7, none}, {USER, 0, 7}, {GROUP_OF, 0, none}, {MASK, 7, none}, {OTHER, 5, none}}},
    };
    char *folder = path_join(dir, "acl"), *file = path_join(dir, "acl/file");
    const struct drop d = {.uid = HIM, .gid = HIM};
    struct err err = {0};

    (void)state;
    need_root();
    assert_int_equal(path_mkdirs(folder, 0700), 0);
    assert_int_equal(chmod(dir, 0711), 0);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = 0;

        while (n < 6 && cases[i].e[n].tag != 0)
            n++;
        assert_int_equal(chown(folder, 0, cases[i].gid), 0);
        if (set_acl(folder, cases[i].e, n) < 0) {
            assert_int_equal(errno, EOPNOTSUPP);
            print_message("%s: no ACL here\n", folder);
            skip();
        }
        assert_int_equal(kernel_lets(&d, file), cases[i].lets);
        assert_int_equal(drop_may_reach(&d, file, &err), cases[i].lets ? 0 : -EACCES);
        assert_int_equal(drop_may_read(&d, file, &err), cases[i].lets ? 0 : -EACCES);
        assert_int_equal(drop_may_read(&d, folder, &err), cases[i].lets ? 0 : -EACCES);
    }
    assert_int_equal(set_acl(folder, cases[2].e, 5), 0);
    assert_int_equal(drop_may_read(&d, folder, &err), -EACCES);
    assert_non_null(strstr(err.msg, ": setfacl -m u:65534:rx /"));
    assert_int_equal(path_remove_tree(folder), 0);
    free(folder);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_that_are_none_are_refused),
        cmocka_unit_test(children_have_the_user_and_nothing_more),
        cmocka_unit_test(a_folder_becomes_his_and_the_way_to_it_passable),
        cmocka_unit_test(what_he_had_under_another_number_becomes_his),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(what_he_may_not_read_is_named),
        cmocka_unit_test(an_acl_decides_as_it_does_for_the_kernel),
    };
    int rc;

    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)path_remove_tree(dir);
    return rc;
}
