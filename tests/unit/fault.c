/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write faults and cut files for the unit programs. The shim is loaded by starting the
 * program over with LD_PRELOAD; it is then steered from inside, so that a round costs
 * no process and the object that met the fault is the one that goes on after it.
 */
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fault/shim.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/path.h"

#define ROUNDS_MAX  5000
#define EDGE_BYTES  4096
#define SMALL_BYTES (16 * 1024)

static struct fault_control *(*control_fn)(void);
static void (*dir_fn)(const char *);
static char *shim;

static void find(void *ret_fn, const char *name)
{
    void *fn = dlsym(RTLD_DEFAULT, name);

    memcpy(ret_fn, &fn, sizeof(fn));
}

const char *fault_shim(void)
{
    if (shim == NULL) {
        cleanup_free char *unit = path_self_dir();

        shim = path_join(unit, "../fault/shim.so");
    }
    return shim;
}

void fault_reexec(char **argv)
{
    const char *asan = getenv("ASAN_OPTIONS");
    cleanup_free char *options = NULL;

    find(&control_fn, "fault_control");
    find(&dir_fn, "fault_dir");
    if (control_fn != NULL && dir_fn != NULL) {
        (void)unsetenv("LD_PRELOAD");
        return;
    }
    if (getenv("LD_PRELOAD") != NULL || access(fault_shim(), R_OK) < 0) {
        (void)fprintf(stderr, "%s cannot be loaded\n", fault_shim());
        exit(1);
    }
    options = xasprintf("%s%sverify_asan_link_order=0", asan != NULL ? asan : "",
                        asan != NULL ? ":" : "");
    (void)setenv("ASAN_OPTIONS", options, 1);
    (void)setenv("LD_PRELOAD", fault_shim(), 1);
    (void)execv("/proc/self/exe", argv);
    perror("/proc/self/exe");
    exit(1);
}

bool fault_exhaustive(void)
{
    return getenv("FZ_FAULTS_ALL") != NULL;
}

char *fault_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir;

    /* The calls are what counts, and where they cost nothing there can be thousands of them. */
    if (access("/dev/shm", W_OK) == 0)
        tmp = "/dev/shm";
    dir = xasprintf("%s/fz-fault.XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

void fault_arm(const char *dir, int error, bool sticky, long at)
{
    struct fault_control *c = control_fn();

    dir_fn(dir);
    *c = (struct fault_control){.error = error, .sticky = sticky, .at = at};
}

long fault_disarm(void)
{
    long n = control_fn()->injected;

    *control_fn() = (struct fault_control){0};
    return n;
}

/* True when the fault was hit. */
static bool one_round(const struct fault_case *c, int error, bool sticky, long at)
{
    cleanup_free char *made = fault_folder();
    long hits;
    int r;

    if (c->make != NULL)
        c->make(made);
    fault_arm(made, error, sticky, at);
    r = c->act(made);
    hits = fault_disarm();
    if (hits == 0 && r != 0)
        fail_msg("%s: failed without a fault: %s", c->name, strerror(-r));
    if (getenv("FZ_FAULT_SHOW") != NULL)
        print_message("# %s: %s%s at %ld: %ld hit, %s\n", c->name, sticky ? "from then on " : "",
                      strerror(error), at, hits, r == 0 ? "done" : strerror(-r));
    c->check(made, r == 0);
    if (hits > 0) {
        r = c->act(made);
        if (r != 0)
            fail_msg("%s: %s%s at write %ld: the retry failed: %s", c->name,
                     sticky ? "from then on " : "", strerror(error), at, strerror(-r));
        c->check(made, true);
    }
    if (c->end != NULL)
        c->end();
    assert_int_equal(path_remove_tree(made), 0);
    return hits > 0;
}

long fault_sweep(const struct fault_case *c)
{
    static const struct {
        int error;
        bool sticky;
    } kinds[] = {{ENOSPC, false}, {ENOSPC, true}, {EIO, false}};
    long total = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        long at = 1;

        while (one_round(c, kinds[i].error, kinds[i].sticky, at)) {
            if (++at > ROUNDS_MAX)
                fail_msg("%s: never a clean pass", c->name);
        }
        assert_true(at > 1);
        total += at - 1;
    }
    print_message("# %s: %ld faults\n", c->name, total);
    return total;
}

void fault_cut(const char *path, void (*fn)(void *ctx, size_t size, size_t whole), void *ctx)
{
    cleanup_free char *data = NULL;
    size_t whole = 0, step = 1;

    assert_int_equal(file_read(AT_FDCWD, path, 64 << 20, &data, &whole), 0);
    for (size_t size = 0; size < whole; size += step) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(file_write_all(fd, data, size), 0);
        assert_int_equal(close(fd), 0);
        fn(ctx, size, whole);
        step = 1;
        if (whole > SMALL_BYTES && size >= EDGE_BYTES && whole - size > EDGE_BYTES)
            step = fault_exhaustive() ? 64 : 1021;
        else if (whole > SMALL_BYTES && !fault_exhaustive())
            step = 61;
        if (size < EDGE_BYTES && size + step > EDGE_BYTES)
            step = EDGE_BYTES - size;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, data, whole), 0);
    assert_int_equal(close(fd), 0);
}
