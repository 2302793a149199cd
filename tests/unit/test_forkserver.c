/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork-server client with programs built by the real AFL++, and with a server that plays each
 * step wrong. Every test ends with the same processes, descriptors and segments as it began with.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "engine/forkserver.h"
#include "engine/map.h"
#include "engine/native.h"
#include "plan/elfprobe.h"
#include "census.h"

static char dir[] = "/tmp/fz-engine.XXXXXX";
static char *targets; /* build/tests/engine */

static struct forkserver *open_target(const char *name, const char *arg, int64_t run_ms)
{
    cleanup_free char *path = path_join(targets, name);
    struct strv args = {0};
    struct forkserver_opts o = {.path = path, .args = &args, .scratch = dir, .run_ms = run_ms};
    struct forkserver *fs = NULL;
    struct elfprobe elf;
    struct err err = {0};

    if (arg != NULL)
        strv_add(&args, arg);
    assert_int_equal(elfprobe_read(path, &elf, &err), 0);
    o.persistent = elf.persistent;
    o.deferred = elf.deferred;
    if (forkserver_open(&o, &fs, &err) < 0)
        fail_msg("%s", err.msg);
    strv_clear(&args);
    return fs;
}

static struct forkserver_run run(struct forkserver *fs, const char *input)
{
    struct forkserver_run r;
    struct err err = {0};

    if (forkserver_run(fs, input, strlen(input), &r, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

/* Whatever a program was given before, it runs this one as always. */
static void assert_goes_on(struct forkserver *fs, size_t edges)
{
    /* The first run of a new child enters the loop another way. */
    assert_int_equal(run(fs, "abc").end, FORKSERVER_OK);
    assert_int_equal(run(fs, "abc").end, FORKSERVER_OK);
    assert_int_equal(map_edges(forkserver_map(fs), forkserver_map_bytes(fs)), edges);
}

static void ways_to_end(const char *name, const char *arg, bool persistent)
{
    struct forkserver *fs = open_target(name, arg, 300);
    struct forkserver_run r;
    size_t edges, n;

    assert_int_equal(run(fs, "abc").end, FORKSERVER_OK);
    r = run(fs, "abc");
    assert_int_equal(r.end, FORKSERVER_OK);
    edges = map_edges(forkserver_map(fs), forkserver_map_bytes(fs));
    assert_true(edges > 0);
    assert_int_equal(r.exit_code, persistent ? -1 : 0);
    assert_goes_on(fs, edges);
    assert_int_equal(run(fs, "az\xff").end, FORKSERVER_OK);
    assert_true(map_edges(forkserver_map(fs), forkserver_map_bytes(fs)) > edges);

    r = run(fs, "A");
    assert_int_equal(r.end, FORKSERVER_CRASH);
    assert_int_equal(r.signo, SIGABRT);
    assert_string_equal(forkserver_text(fs, &n), "about to abort\n");
    assert_int_equal(n, 15);
    assert_goes_on(fs, edges);
    (void)forkserver_text(fs, &n);
    assert_int_equal(n, 0);
    r = run(fs, "S");
    assert_int_equal(r.end, FORKSERVER_CRASH);
    assert_int_equal(r.signo, SIGSEGV);
    r = run(fs, "9");
    assert_int_equal(r.end, FORKSERVER_CRASH);
    assert_int_equal(r.signo, SIGKILL);
    r = run(fs, "L");
    assert_int_equal(r.end, FORKSERVER_TIMEOUT);
    assert_int_equal(r.signo, 0);
    assert_true(r.wall_us >= 300000);
    assert_goes_on(fs, edges);
    r = run(fs, "E");
    assert_int_equal(r.end, FORKSERVER_OK);
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(run(fs, "M").end, FORKSERVER_CRASH);
    assert_int_equal(run(fs, "W").end, FORKSERVER_OK);
    (void)forkserver_text(fs, &n);
    assert_true(n <= FORKSERVER_TEXT_BYTES);
    assert_int_equal(run(fs, "").end, FORKSERVER_OK);
    assert_goes_on(fs, edges);
    assert_int_equal(forkserver_starts(fs), 1);

    r = run(fs, "K");
    assert_int_equal(r.end, FORKSERVER_LOST);
    assert_int_equal(r.loss, FORKSERVER_DIED);
    assert_int_equal(r.signo, SIGKILL);
    assert_goes_on(fs, edges);
    assert_int_equal(forkserver_starts(fs), 2);
    assert_int_equal(run(fs, "F").end, FORKSERVER_OK);
    forkserver_close(fs);
}

static void a_persistent_program_ends_in_every_way(void **state)
{
    (void)state;
    ways_to_end("persistent", NULL, true);
}

static void a_program_that_reads_standard_input_ends_in_every_way(void **state)
{
    (void)state;
    ways_to_end("stdin", NULL, false);
}

static void a_program_that_reads_a_file_ends_in_every_way(void **state)
{
    (void)state;
    ways_to_end("stdin", "@@", false);
}

static void a_sanitizer_build_tells_why(void **state)
{
    struct forkserver *fs = open_target("asan", NULL, 2000);
    struct forkserver_run r = run(fs, "S");
    size_t n;

    (void)state;
    assert_int_equal(r.end, FORKSERVER_CRASH);
    assert_non_null(strstr(forkserver_text(fs, &n), "AddressSanitizer"));
    forkserver_close(fs);
}

static void inputs_are_as_large_as_aflpp_takes(void **state)
{
    char *big = xcalloc(1, FORKSERVER_INPUT_BYTES + 1);
    static const char *const names[] = {"persistent", "stdin"};
    struct forkserver_run r;
    struct err err = {0};
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        struct forkserver *fs = open_target(names[i], NULL, 2000);

        assert_int_equal(forkserver_run(fs, big, FORKSERVER_INPUT_BYTES, &r, &err), 0);
        assert_int_equal(r.end, FORKSERVER_OK);
        assert_int_equal(forkserver_run(fs, big, FORKSERVER_INPUT_BYTES + 1, &r, &err), -EFBIG);
        assert_non_null(strstr(err.msg, "1048577"));
        assert_int_equal(run(fs, "A").end, FORKSERVER_CRASH);
        assert_int_equal(run(fs, "a").end, FORKSERVER_OK);
        forkserver_close(fs);
    }
    free(big);
}

static void a_fresh_child_knows_nothing_of_the_last(void **state)
{
    struct forkserver *fs = open_target("stateful", NULL, 2000);
    int i;

    (void)state;
    for (i = 0; i < 50; i++) {
        assert_int_equal(run(fs, "p").end, FORKSERVER_OK);
        if (i % 2 == 0)
            forkserver_fresh(fs);
        assert_int_equal(run(fs, "x").end, i % 2 == 0 ? FORKSERVER_OK : FORKSERVER_CRASH);
        forkserver_fresh(fs);
        forkserver_fresh(fs);
    }
    assert_int_equal(run(fs, "L").end, FORKSERVER_TIMEOUT);
    forkserver_fresh(fs);
    assert_int_equal(run(fs, "x").end, FORKSERVER_OK);
    assert_int_equal(forkserver_starts(fs), 1);
    forkserver_close(fs);
    fs = open_target("stdin", NULL, 2000);
    assert_int_equal(run(fs, "abc").end, FORKSERVER_OK);
    forkserver_fresh(fs);
    assert_int_equal(run(fs, "A").end, FORKSERVER_CRASH);
    assert_int_equal(forkserver_starts(fs), 1);
    forkserver_close(fs);
}

/* The process that closes dies without a word: server and child go with it. */
static void a_client_that_is_killed_leaves_nothing(void **state)
{
    cleanup_free char *path = path_join(targets, "persistent");
    cleanup_free char *preload = path_join(targets, "../../fuzz-preload.so");
    cleanup_free char *mark = path_join(dir, "pids");
    cleanup_free char *text = NULL;
    long server = 0, child = 0;
    int64_t until_ms;
    size_t n;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct forkserver_opts o = {
            .path = path, .persistent = true, .deferred = true, .preload = preload};
        struct forkserver *fs = NULL;
        struct forkserver_run r;
        char line[64];

        if (forkserver_open(&o, &fs, NULL) < 0 || forkserver_run(fs, "a", 1, &r, NULL) < 0)
            _exit(9);
        snprintf(line, sizeof(line), "/proc/%d/task/%d/children", getpid(), getpid());
        text = NULL;
        if (file_read_proc(line, 100, &text) < 0)
            _exit(8);
        server = strtol(text, NULL, 10);
        snprintf(line, sizeof(line), "/proc/%ld/task/%ld/children", server, server);
        if (file_read_proc(line, 100, &text) < 0)
            _exit(8);
        n = (size_t)snprintf(line, sizeof(line), "%ld %s", server, text);
        file_write_atomic(-100, mark, line, n, 0600);
        pause();
        _exit(0);
    }
    for (until_ms = clock_now_ms() + 5000; clock_now_ms() < until_ms && access(mark, F_OK) < 0;)
        usleep(10000);
    assert_int_equal(file_read(-100, mark, 100, &text, &n), 0);
    assert_int_equal(sscanf(text, "%ld %ld", &server, &child), 2);
    assert_true(server > 1 && child > 1);
    assert_int_equal(kill((pid_t)child, 0), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (until_ms = clock_now_ms() + 5000; clock_now_ms() < until_ms;) {
        if (kill((pid_t)server, 0) < 0 && kill((pid_t)child, 0) < 0)
            break;
        usleep(10000);
    }
    assert_int_equal(kill((pid_t)server, 0), -1);
    assert_int_equal(kill((pid_t)child, 0), -1);
}

/* ---- what is no fork server, and what plays one ---- */
static void refused(const char *path, struct strv *args, int64_t start_ms, int code,
                    const char *words)
{
    struct forkserver_opts o = {.path = path, .args = args, .start_ms = start_ms, .run_ms = 200};
    struct forkserver *fs = NULL;
    struct err err = {0};
    int64_t began_ms = clock_now_ms();
    int rc = forkserver_open(&o, &fs, &err);

    assert_null(fs);
    if (rc != code || strstr(err.msg, words) == NULL)
        fail_msg("%d, want %d: %s (no \"%s\")", rc, code, err.msg, words);
    assert_true(clock_now_ms() - began_ms < start_ms + 5000);
}

static void what_is_no_fork_server_is_said(void **state)
{
    struct strv args = {0};

    (void)state;
    refused("/nonexistent/harness", NULL, 1000, -ENOENT, "/nonexistent/harness");
    refused("/etc/passwd", NULL, 1000, -EACCES, "execute program");
    refused("/bin/true", NULL, 1000, -EPIPE, "exit code 0");
    strv_add(&args, "-c");
    strv_add(&args, "echo some words >&2; exit 4");
    refused("/bin/sh", &args, 1000, -EPIPE, "exit code 4: some words");
    str_set(&args.v[1], "kill -9 $$");
    refused("/bin/sh", &args, 1000, -EPIPE, "signal 9");
    strv_clear(&args);
    strv_add(&args, "100");
    refused("/bin/sleep", &args, 300, -ETIMEDOUT, "no fork server answered within 300 ms");
    strv_clear(&args);
    strv_add(&args, "@@");
    refused("/bin/cat", &args, 300, -EINVAL, "needs a folder");
    strv_clear(&args);
}

static void words_add(struct strv *args, const char *script)
{
    cleanup_free char *copy = xstrdup(script);
    char *p = copy, *word;

    strv_add(args, "tests/engine/server.py");
    while ((word = strsep(&p, " ")) != NULL)
        strv_add(args, word);
}

static void each_step_of_a_greeting_may_be_wrong(void **state)
{
    static const struct {
        const char *script;
        int code;
        const char *words;
    } cases[] = {
        {"sleep", -ETIMEDOUT, "no fork server answered"},
        {"w:0102 sleep", -ETIMEDOUT, "no fork server answered"},
        {"w:0102", -EPIPE, "ended before"},
        {"w:78563412", -EPROTO, "0x12345678"},
        {"w:024c4641 sleep", -EPROTO, "version 2"},
        {"w:ff4c4641 sleep", -EPROTO, "version 255"},
        {"w:8f0100f8 sleep", -EPROTO, "larger than the one it was given"},
        {"w:8f6300f8 sleep", -EPROTO, "error 99"},
        {"w:014c4641", -EPIPE, "ended before"},
        {"w:014c4641 r:4 sleep", -ETIMEDOUT, "no fork server answered"},
        {"w:014c4641 r:4 w:0800feef sleep", -EPROTO, "cannot attach"},
        {"w:014c4641 r:4 w:01000000 w:00000000 sleep", -EPROTO, "0 bytes"},
        {"w:014c4641 r:4 w:01000000 w:ffffffff sleep", -EPROTO, "4294967295 bytes"},
        {"w:014c4641 r:4 w:01000000 w:00010000 sleep", -ETIMEDOUT, "no fork server answered"},
        {"w:014c4641 r:4 w:01000000 w:00010000 w:00000000 sleep", -EPROTO, "0x00000000"},
        {"w:014c4641 r:4 w:01080000 w:00010000 w:01000000 sleep", -EPROTO, "dictionary"},
        {"w:014c4641 r:4 w:01080000 w:00010000 w:ffffff7f sleep", -EPROTO, "dictionary"},
        {"w:014c4641 r:4 w:01080000 w:00010000 w:00010000 d:100 sleep", -ETIMEDOUT, "no fork"},
        {"w:014c4641 r:4 w:01080000 w:00010000 w:00010000 d:100", -EPIPE, "ended before"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strv args = {0};

        words_add(&args, cases[i].script);
        refused("/usr/bin/python3", &args, 1500, cases[i].code, cases[i].words);
        strv_clear(&args);
    }
}

static struct forkserver *play(const char *script)
{
    struct strv args = {0};
    struct forkserver_opts o = {
        .path = "/usr/bin/python3", .args = &args, .start_ms = 5000, .run_ms = 200};
    struct forkserver *fs = NULL;
    struct err err = {0};

    words_add(&args, script);
    if (forkserver_open(&o, &fs, &err) < 0)
        fail_msg("%s: %s", script, err.msg);
    strv_clear(&args);
    return fs;
}

static void greetings_of_every_protocol_are_taken(void **state)
{
    static const struct {
        const char *script;
        enum handshake_protocol protocol;
        uint32_t map_bytes;
        bool shm;
    } cases[] = {
        {"w:00000000 sleep", HANDSHAKE_PLAIN, 65536, false},
        {"w:010000c0 sleep", HANDSHAKE_OLD, 1, false},
        {"w:4f0000c3 r:4 sleep", HANDSHAKE_OLD, 40, true},
        {"w:4f0000d3 r:4 sleep", HANDSHAKE_OLD, 40, true},
        {"w:014c4641 r:4 w:01000000 w:28000000 w:014c4641 sleep", HANDSHAKE_NEW, 40, false},
        {"w:014c4641 r:4 w:03000000 w:28000000 w:014c4641 sleep", HANDSHAKE_NEW, 40, true},
        {"w:014c4641 r:4 w:03080000 w:28000000 w:05000000 d:5 w:014c4641 sleep", HANDSHAKE_NEW, 40,
         true},
        {"w:014c4641 r:4 w:03080000 w:28000000 w:00000400 d:262144 w:014c4641 sleep", HANDSHAKE_NEW,
         40, true},
        {"w:014c4641 r:4 w:03f0ff04 w:28000000 w:014c4651 sleep", HANDSHAKE_NEW, 40, true},
        {"w:014c4641 r:4 w:02000000 w:014c4641 sleep", HANDSHAKE_NEW, 65536, true},
        {"w:014c4641 r:4 w:01000000 w:00000001 w:014c4641 sleep", HANDSHAKE_NEW, 16777216, false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct forkserver *fs = play(cases[i].script);
        const struct handshake *h = forkserver_greeting(fs);

        if (h->protocol != cases[i].protocol || h->map_bytes != cases[i].map_bytes ||
            h->shm_testcase != cases[i].shm)
            fail_msg("%s: %s, %u bytes, %d", cases[i].script, handshake_protocol_text(h->protocol),
                     h->map_bytes, h->shm_testcase);
        forkserver_close(fs);
    }
}

/* Such a server takes an answer that does not ask for its dictionary as the first run. */
static void a_server_that_offers_only_a_dictionary_is_not_answered(void **state)
{
    struct handshake h;
    struct err err = {0};
    uint32_t reply = 0;
    bool has_reply;

    (void)state;
    handshake_init(&h);
    assert_int_equal(handshake_word(&h, 0xd2000041, &has_reply, &reply, &err), HANDSHAKE_DONE);
    assert_false(has_reply);
    assert_int_equal(h.map_bytes, 33);
    handshake_init(&h);
    assert_int_equal(handshake_word(&h, 0xd3000041, &has_reply, &reply, &err), HANDSHAKE_DONE);
    assert_true(has_reply);
    assert_int_equal(reply, 0x81000001);
}

static void each_step_of_a_run_may_be_wrong(void **state)
{
    static const char *const cases[] = {
        "w:00000000 r:4",
        "w:00000000 r:4 sleep",
        "w:00000000 r:4 w:00000000 sleep",
        "w:00000000 r:4 w:ffffffff sleep",
        "w:00000000 r:4 w:0102 sleep",
        "w:00000000 r:4 me",
        "w:00000000 r:4 me w:00000001 sleep", /* no wait status */
        "w:00000000 r:4 me w:7f150000 sleep", /* stopped by another signal */
        "w:014c4641 r:4 w:01000000 w:00010000 w:014c4641 r:4 w:0800feef sleep"};
    static const enum forkserver_loss losses[] = {
        FORKSERVER_DIED,    FORKSERVER_SILENT,  FORKSERVER_BABBLED,
        FORKSERVER_BABBLED, FORKSERVER_SILENT,  FORKSERVER_DIED,
        FORKSERVER_BABBLED, FORKSERVER_BABBLED, FORKSERVER_BABBLED};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct forkserver *fs;
        struct forkserver_run r;

        fs = play(cases[i]);
        r = run(fs, "x");
        if (r.end != FORKSERVER_LOST || r.loss != losses[i])
            fail_msg("%s: end %d, loss %d", cases[i], (int)r.end, (int)r.loss);
        /* And again, with the next server. */
        r = run(fs, "x");
        assert_int_equal(r.end, FORKSERVER_LOST);
        assert_int_equal(forkserver_starts(fs), 2);
        forkserver_close(fs);
    }
}

static void a_pid_that_is_not_the_servers_child_is_not_killed(void **state)
{
    cleanup_free char *script = NULL;
    struct forkserver *fs;
    pid_t victim = fork();

    (void)state;
    if (victim == 0) {
        pause();
        _exit(0);
    }
    script = xasprintf("w:00000000 r:4 p:%d sleep", (int)victim);
    fs = play(script);
    assert_int_equal(run(fs, "x").end, FORKSERVER_LOST);
    forkserver_close(fs);
    usleep(50000);
    assert_int_equal(waitpid(victim, NULL, WNOHANG), 0);
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
}

static void a_map_that_changes_its_size_is_refused(void **state)
{
    cleanup_free char *mark = path_join(dir, "once");
    cleanup_free char *script = xasprintf("once:%s w:410000c0 r:4 else w:810000c0 r:4 sleep", mark);
    struct forkserver_run r;
    struct forkserver *fs = play(script);
    struct err err = {0};

    (void)state;
    assert_int_equal(run(fs, "x").end, FORKSERVER_LOST);
    assert_int_equal(forkserver_run(fs, "x", 1, &r, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "65 bytes, 33 before"));
    forkserver_close(fs);
}

static enum forkserver_end native_end(struct native *n, const char *input)
{
    struct forkserver_run r;
    struct err err = {0};

    if (native_run(n, input, strlen(input), &r, &err) < 0)
        fail_msg("%s: %s", input, err.msg);
    if (r.end == FORKSERVER_LOST)
        assert_int_equal(r.loss, input[0] == 'H' ? FORKSERVER_SILENT : FORKSERVER_DIED);
    return r.end;
}

static void a_program_without_a_server_kills_or_stops_its_parent_and_not_us(void **state)
{
    static const struct {
        const char *input;
        enum forkserver_end end;
    } runs[] = {{"abc", FORKSERVER_OK},    {"K", FORKSERVER_LOST},  {"F", FORKSERVER_OK},
                {"S", FORKSERVER_CRASH},   {"H", FORKSERVER_LOST},  {"E", FORKSERVER_OK},
                {"L", FORKSERVER_TIMEOUT}, {"K", FORKSERVER_LOST},  {"9", FORKSERVER_CRASH},
                {"abcd", FORKSERVER_OK},   {"M", FORKSERVER_CRASH}, {"F", FORKSERVER_OK}};
    cleanup_free char *path = path_join(targets, "stdin");
    struct forkserver_opts o = {.path = path, .scratch = dir, .run_ms = 200};
    struct native *n = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(native_open(&o, &n, &err), 0);
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
        if (native_end(n, runs[i].input) != runs[i].end)
            fail_msg("%zu, %s", i, runs[i].input);
    native_close(n);
    o.path = "/dev/null";
    assert_int_equal(native_open(&o, &n, &err), 0);
    assert_int_equal(native_run(n, "a", 1, &(struct forkserver_run){0}, &err), -EACCES);
    assert_string_equal(err.msg, "/dev/null: execute program: Permission denied");
    native_close(n);
}

static void maps_are_counted_and_sorted_into_buckets(void **state)
{
    uint8_t map[32] = {1, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 127, 128, 255}, seen[32] = {0};
    const uint8_t want[14] = {1, 1, 2, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128};
    size_t buckets = 0;
    uint64_t hash;

    (void)state;
    assert_int_equal(map_edges(map, sizeof(map)), 13);
    map_classify(map, sizeof(map));
    assert_memory_equal(map, want, sizeof(want));
    hash = map_hash(map, sizeof(map));
    assert_int_equal(map_merge(seen, map, sizeof(map), &buckets), 13);
    assert_int_equal(buckets, 13);
    map[3] = 1;
    map[31] = 1;
    assert_true(map_hash(map, sizeof(map)) != hash);
    assert_int_equal(map_merge(seen, map, sizeof(map), &buckets), 1);
    assert_int_equal(buckets, 2);
    assert_int_equal(map_merge(seen, map, sizeof(map), &buckets), 0);
    assert_int_equal(buckets, 0);
    assert_int_equal(map_edges(map, 0), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, census_begin, census_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_persistent_program_ends_in_every_way),
        T(a_program_that_reads_standard_input_ends_in_every_way),
        T(a_program_that_reads_a_file_ends_in_every_way),
        T(a_sanitizer_build_tells_why),
        T(inputs_are_as_large_as_aflpp_takes),
        T(a_fresh_child_knows_nothing_of_the_last),
        T(a_client_that_is_killed_leaves_nothing),
        T(what_is_no_fork_server_is_said),
        T(each_step_of_a_greeting_may_be_wrong),
        T(greetings_of_every_protocol_are_taken),
        T(a_server_that_offers_only_a_dictionary_is_not_answered),
        T(each_step_of_a_run_may_be_wrong),
        T(a_pid_that_is_not_the_servers_child_is_not_killed),
        T(a_map_that_changes_its_size_is_refused),
        T(a_program_without_a_server_kills_or_stops_its_parent_and_not_us),
        T(maps_are_counted_and_sorted_into_buckets),
    };
    cleanup_free char *self = path_self_dir();
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    targets = path_join(self, "../engine");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_remove_tree(dir);
    free(targets);
    return failed;
}
