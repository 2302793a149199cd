/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays inputs: each in a child of its own, so that one failure neither hides
 * nor colours another. A run passes only when the child came to the end of
 * fz_run(); a target that exits on its own has not passed. No input at all is
 * an error of its own, never "0 passed".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sdk/fz_evidence.h"
#include "sdk/fz_inputs.h"
#include "sdk/fz_kit.h"
#include "sdk/fz_replay.h"

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MAX_MS     3600000
#define GRACE_MS           1000        /* for a child that ignores its alarm */
#define EVIDENCE_MAX       (64 * 1024) /* bytes of a child's stderr that are looked at */
#define ADDRESS_SPACE_MAX  ((rlim_t)4 << 30)

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum mode { MODE_REPLAY, MODE_ONE, MODE_REACH, MODE_REQUIRED, MODE_HELP, MODE_USAGE };

struct options {
    enum mode mode;
    int timeout_ms;
};

/* What a child shows its parent without going through the pipe. */
struct board {
    bool done; /* fz_run() returned */
    uint64_t reach[];
};

static uint8_t input[FZ_INPUT_MAX];

static void usage(FILE *f)
{
    fprintf(f,
            "usage: replay [--timeout MS] FILE|DIR...   replay each input in a child process\n"
            "       replay --one FILE                   run one input in this process\n"
            "       replay --reach FILE|DIR...          print how often each place was reached\n"
            "       replay --required                   print the places inputs must reach\n"
            "FILE may be - for stdin. Target %s, inputs are cut to %u bytes.\n"
            "Exit status: 0 all passed, 1 some failed, 2 usage or input error, 3 no inputs.\n",
            fz_target.name, FZ_INPUT_MAX);
}

static int64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Length of the valid UTF-8 sequence at s, 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

    if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* A file name need not be text: a byte that is not UTF-8 is shown as U+00xx. */
static void print_json_string(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    putchar('"');
    while (*s != '\0') {
        size_t n = utf8_length(s);

        if (n == 0 || *s < 0x20 || *s == 0x7f) {
            printf("\\u%04x", *s++);
            continue;
        }
        if (*s == '"' || *s == '\\')
            putchar('\\');
        fwrite(s, 1, n, stdout);
        s += n;
    }
    putchar('"');
}

static void print_verdict(const char *path, const struct fz_verdict *v)
{
    fputs("{\"file\":", stdout);
    print_json_string(path);
    printf(",\"class\":\"%s\",\"inv\":", v->class);
    if (v->inv[0] != '\0')
        print_json_string(v->inv);
    else
        fputs("null", stdout);
    printf(",\"signal\":%d,\"ms\":%.3f", v->signo, v->ms);
    if (v->detail[0] != '\0') {
        fputs(",\"detail\":", stdout);
        print_json_string(v->detail);
    }
    puts("}");
}

static void limit_set(int what, rlim_t value)
{
    struct rlimit rl = {value, value};

    setrlimit(what, &rl);
}

/* In the cov build only: a child adds what it covered to the profile. */
__attribute__((weak)) int __llvm_profile_write_file(void);

_Noreturn static void child_main(const struct options *opt, size_t n, int out, struct board *board)
{
    struct itimerval alarm_at = {
        .it_value = {opt->timeout_ms / 1000, (opt->timeout_ms % 1000) * 1000L}};
    sigset_t none;

    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGALRM, SIG_DFL);
    limit_set(RLIMIT_CORE, 0);
    limit_set(RLIMIT_CPU, (rlim_t)(opt->timeout_ms / 1000 + 2));
    if (!SANITIZED)
        limit_set(RLIMIT_AS, ADDRESS_SPACE_MAX);
    setitimer(ITIMER_REAL, &alarm_at, NULL);
    fz_run(input, n);
    board->done = true;
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    if (__llvm_profile_write_file != NULL)
        __llvm_profile_write_file();
    _exit(0);
}

/*
 * Passes the child's output on to our stderr and keeps its first EVIDENCE_MAX
 * bytes. Returns at its end, or at the deadline: then *ret_late is set.
 */
static size_t output_collect(int fd, char *text, int64_t deadline_us, bool *ret_late)
{
    size_t kept = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = (deadline_us - now_us()) / 1000;
        char buf[4096];
        ssize_t k;

        if (left_ms <= 0) {
            *ret_late = true;
            return kept;
        }
        if (poll(&p, 1, (int)left_ms) <= 0)
            continue;
        k = read(fd, buf, sizeof(buf));
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return kept;
        fwrite(buf, 1, (size_t)k, stderr);
        if ((size_t)k > EVIDENCE_MAX - kept)
            k = (ssize_t)(EVIDENCE_MAX - kept);
        memcpy(text + kept, buf, (size_t)k);
        kept += (size_t)k;
    }
}

/* Runs input[0..n) in a child. Returns 0 or negative errno. */
static int child_run(const struct options *opt, size_t n, struct board *board, struct fz_verdict *v)
{
    static char text[EVIDENCE_MAX];
    int64_t start_us;
    size_t len;
    bool late = false;
    int fds[2];
    int status;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    fflush(NULL);
    board->done = false;
    start_us = now_us();
    pid = fork();
    if (pid < 0) {
        int rc = -errno;

        close(fds[0]);
        close(fds[1]);
        return rc;
    }
    if (pid == 0)
        child_main(opt, n, fds[1], board);
    close(fds[1]);
    len = output_collect(fds[0], text, start_us + (opt->timeout_ms + GRACE_MS) * INT64_C(1000),
                         &late);
    if (late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(fds[0]);
    v->ms = (double)(now_us() - start_us) / 1000.0;
    v->inv[0] = '\0';
    v->detail[0] = '\0';
    v->signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (board->done && v->signo == 0)
        v->class = "pass";
    else if (late)
        v->class = "timeout";
    else
        fz_evidence_judge(text, len, v->signo, v);
    return 0;
}

static int input_load(const char *path, size_t *ret_n)
{
    int rc = fz_input_read(path, input, sizeof(input), ret_n);

    if (rc < 0)
        fprintf(stderr, "%s: %s\n", path, strerror(-rc));
    return rc;
}

/* Runs in this process: whoever asked wants to see it die by its own signal. */
static int run_one(const char *path)
{
    struct fz_verdict v = {.class = "pass"};
    int64_t start_us;
    size_t n;

    if (input_load(path, &n) < 0)
        return FZ_REPLAY_ERROR;
    fz_start();
    start_us = now_us();
    fz_run(input, n);
    v.ms = (double)(now_us() - start_us) / 1000.0;
    print_verdict(path, &v);
    return FZ_REPLAY_CLEAN;
}

static int run_all(const struct options *opt, const struct fz_inputs *in, struct board *board)
{
    size_t passed = 0;
    size_t failed = 0;

    for (size_t i = 0; i < in->count; i++) {
        struct fz_verdict v;
        size_t n;
        int rc;

        if (input_load(in->paths[i], &n) < 0)
            return FZ_REPLAY_ERROR;
        rc = child_run(opt, n, board, &v);
        if (rc < 0) {
            fprintf(stderr, "%s: cannot run a child: %s\n", in->paths[i], strerror(-rc));
            return FZ_REPLAY_ERROR;
        }
        if (strcmp(v.class, "pass") == 0)
            passed++;
        else
            failed++;
        if (opt->mode == MODE_REPLAY)
            print_verdict(in->paths[i], &v);
    }
    if (opt->mode == MODE_REACH)
        fprintf(stderr, "%zu passed, %zu failed\n", passed, failed);
    else
        printf("%zu passed, %zu failed\n", passed, failed);
    return failed > 0 ? FZ_REPLAY_FAILED : FZ_REPLAY_CLEAN;
}

static uint64_t reach_count(const struct board *board, const char *id)
{
    for (size_t i = 0; i < fz_reach_site_count(); i++) {
        if (strcmp(fz_reach_site_id(i), id) == 0)
            return board->reach[fz_reach_site_first(i)];
    }
    return 0;
}

static bool reach_required(const char *id)
{
    for (size_t i = 0; fz_target.reach != NULL && fz_target.reach[i] != NULL; i++) {
        if (strcmp(fz_target.reach[i], id) == 0)
            return true;
    }
    return false;
}

/* Required ids first and in their order, whatever their count; then the others. */
static void print_reach(const struct board *board)
{
    const char *comma = "";

    putchar('{');
    for (size_t i = 0; fz_target.reach != NULL && fz_target.reach[i] != NULL; i++) {
        printf("%s\"%s\":%llu", comma, fz_target.reach[i],
               (unsigned long long)reach_count(board, fz_target.reach[i]));
        comma = ",";
    }
    for (size_t i = 0; i < fz_reach_site_count(); i++) {
        const char *id = fz_reach_site_id(i);

        if (fz_reach_site_first(i) != i || reach_required(id))
            continue;
        printf("%s\"%s\":%llu", comma, id, (unsigned long long)reach_count(board, id));
        comma = ",";
    }
    puts("}");
}

static int options_parse(int argc, char **argv, struct options *opt)
{
    int i = 1;

    *opt = (struct options){.mode = MODE_REPLAY, .timeout_ms = TIMEOUT_DEFAULT_MS};
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            opt->mode = MODE_HELP;
        } else if (strcmp(argv[i], "--one") == 0 && opt->mode == MODE_REPLAY) {
            opt->mode = MODE_ONE;
        } else if (strcmp(argv[i], "--reach") == 0 && opt->mode == MODE_REPLAY) {
            opt->mode = MODE_REACH;
        } else if (strcmp(argv[i], "--required") == 0 && opt->mode == MODE_REPLAY) {
            opt->mode = MODE_REQUIRED;
        } else if (strcmp(argv[i], "--timeout") == 0 && i + 1 < argc) {
            char *end;
            long ms = strtol(argv[++i], &end, 10);

            if (*end != '\0' || ms < 1 || ms > TIMEOUT_MAX_MS)
                opt->mode = MODE_USAGE;
            opt->timeout_ms = (int)ms;
        } else if (argv[i][2] == '\0') {
            i++;
            break;
        } else {
            opt->mode = MODE_USAGE;
        }
    }
    if (opt->mode == MODE_REQUIRED && i == argc)
        return i;
    if (i == argc || opt->mode == MODE_REQUIRED || (opt->mode == MODE_ONE && argc - i != 1))
        opt->mode = opt->mode == MODE_HELP ? MODE_HELP : MODE_USAGE;
    return i;
}

static int replay(const struct options *opt, const struct fz_inputs *in)
{
    size_t sites = fz_reach_site_count();
    size_t size = sizeof(struct board) + sites * sizeof(uint64_t);
    struct board *board =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rc;

    if (board == MAP_FAILED) {
        perror("mmap");
        return FZ_REPLAY_ERROR;
    }
    fz_start();
    fz_reach_count_into(board->reach);
    rc = run_all(opt, in, board);
    if (opt->mode == MODE_REACH && rc != FZ_REPLAY_ERROR) {
        print_reach(board);
        rc = FZ_REPLAY_CLEAN;
    }
    return rc;
}

int fz_replay_main(int argc, char **argv)
{
    struct fz_inputs in = {0};
    struct options opt;
    int i = options_parse(argc, argv, &opt);
    int rc = 0;

    if (opt.mode == MODE_HELP || opt.mode == MODE_USAGE) {
        usage(opt.mode == MODE_HELP ? stdout : stderr);
        return opt.mode == MODE_HELP ? FZ_REPLAY_CLEAN : FZ_REPLAY_ERROR;
    }
    if (opt.mode == MODE_REQUIRED) {
        for (size_t k = 0; fz_target.reach != NULL && fz_target.reach[k] != NULL; k++)
            puts(fz_target.reach[k]);
        return FZ_REPLAY_CLEAN;
    }
    fz_twice_default(true);
    if (opt.mode == MODE_ONE)
        return run_one(argv[i]);
    for (; i < argc && rc == 0; i++) {
        rc = fz_inputs_add(&in, argv[i]);
        if (rc < 0)
            fprintf(stderr, "%s: %s\n", argv[i], strerror(-rc));
    }
    if (rc < 0) {
        rc = FZ_REPLAY_ERROR;
    } else if (in.count == 0) {
        fprintf(stderr, "no inputs\n");
        rc = FZ_REPLAY_NO_INPUTS;
    } else {
        rc = replay(&opt, &in);
    }
    fz_inputs_clear(&in);
    return rc;
}
