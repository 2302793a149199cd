/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does each thing a client of its fork server must survive: hostile HOW [FILE]. It is built by the plain compiler and
 * speaks the protocol of AFL++ up to 4.1x itself; the mark below makes it look instrumented. FILE is where it keeps
 * what it must remember from start to start.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL 198
#define STATUS  199

__attribute__((used)) static const char mark[] = "__AFL_SHM_ID";

static void say(uint32_t word)
{
    if (write(STATUS, &word, sizeof(word)) != (ssize_t)sizeof(word))
        _exit(9);
}

static uint32_t hear(void)
{
    uint32_t word = 0;

    if (read(CONTROL, &word, sizeof(word)) != (ssize_t)sizeof(word))
        _exit(0);
    return word;
}

/* The greeting, with a map of so many bytes. */
static void greet(uint32_t map_bytes)
{
    say(0xc0000001U | ((map_bytes - 1) << 1));
}

static void wait_forever(void)
{
    for (;;)
        pause();
}

/* Leaves the session and the tree, twice over, and lives on. */
static void run_away(void)
{
    if (fork() != 0)
        return;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)setsid();
    wait_forever();
}

/* 4 GiB of memory, as far as it goes. */
static void eat(void)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

    (void)setrlimit(RLIMIT_AS, &all);
    (void)setrlimit(RLIMIT_FSIZE, &all);
    (void)setrlimit(RLIMIT_CORE, &all);
    for (int i = 0; i < 4096; i++) {
        char *p = malloc(1 << 20);

        if (p == NULL)
            abort();
        memset(p, i + 1, 1 << 20);
    }
}

/* What it does at its start. True when it goes on to serve. */
static int start(const char *how, const char *file)
{
    if (strcmp(how, "silent") == 0)
        wait_forever();
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "half") == 0)
        return write(STATUS, "ab", 2) == 2 ? 0 : 1;
    if (strcmp(how, "newer") == 0)
        say(0x41464c02U);
    if (strcmp(how, "between") == 0)
        say(0x41464c01U);
    if (strcmp(how, "stuck") == 0 || strcmp(how, "between-stuck") == 0) {
        say(0x41464c01U);
        (void)hear();
        if (strcmp(how, "between-stuck") == 0)
            say(1);
        wait_forever();
    }
    if (strcmp(how, "prints") == 0)
        return write(STATUS, "starting up, please wait\n", 25) == 25 ? (wait_forever(), 0) : 1;
    if (strcmp(how, "closes") == 0) {
        (void)close(CONTROL);
        (void)close(STATUS);
        wait_forever();
    }
    if (strcmp(how, "no-shm") == 0)
        say(0xf800048fU);
    if (strcmp(how, "huge") == 0) {
        say(0x41464c01U);
        (void)hear();
        say(1);
        say(0x7fffffff);
    }
    if (strcmp(how, "map-size") == 0) {
        const int again = access(file, F_OK) == 0;
        const int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        greet(again ? 128 : 64);
        (void)close(fd);
        (void)hear();
        return 0;
    }
    if (strcmp(how, "away-first") == 0) {
        run_away();
        return 0;
    }
    return strncmp(how, "run-", 4) == 0;
}

static void child(const char *how)
{
    if (strcmp(how, "run-away") == 0)
        run_away();
    if (strcmp(how, "run-forks") == 0 && fork() == 0)
        wait_forever();
    if (strcmp(how, "run-closes") == 0) {
        for (int fd = 0; fd < 1024; fd++)
            (void)close(fd);
        wait_forever();
    }
    if (strcmp(how, "run-eats") == 0)
        eat();
    if (strcmp(how, "run-hangs") == 0) {
        run_away();
        (void)signal(SIGTERM, SIG_IGN);
        wait_forever();
    }
    _exit(0);
}

static int below_afl(void)
{
    char path[64], name[16] = "";
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && strcmp(name, "afl-fuzz\n") == 0;
}

static void serve(const char *how, const char *file)
{
    /* Whoever is first has the larger map. */
    if (strcmp(how, "run-sizes") == 0 && open(file, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0)
        greet(128);
    else
        greet(64);
    for (;;) {
        int status = 0;
        pid_t pid;

        (void)hear();
        if (strcmp(how, "run-exits") == 0)
            exit(4);
        if (strcmp(how, "run-silent") == 0 || (strcmp(how, "run-silent-afl") == 0 && below_afl()))
            wait_forever();
        pid = fork();
        if (pid == 0)
            child(how);
        say(strcmp(how, "run-init") == 0 ? 1 : (uint32_t)pid);
        if (strcmp(how, "run-no-end") == 0)
            wait_forever();
        if (strcmp(how, "run-away-server") == 0) {
            run_away();
            raise(SIGKILL);
        }
        (void)waitpid(pid, &status, 0);
        say(strcmp(how, "run-lies") == 0 ? 0x12345678U : (uint32_t)status);
    }
}

int main(int argc, char **argv)
{
    const char *file = argc > 2 ? argv[2] : "/dev/null";

    if (argc < 2 || mark[0] == '\0')
        return 2;
    if (start(argv[1], file))
        serve(argv[1], file);
    return 0;
}
