/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builds of plants. Commands run one at a time, as they mostly work in one build
 * folder; each has its own log, whose last line is what a failure is told with.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/selftest.h"
#include "sys/proc.h"

#define LOG_READ_MAX (1 << 20)

extern char **environ;

char *selftest_plant_dir(const struct selftest *st, const struct selftest_item *it)
{
    cleanup_free char *dir = it->plant->dir != NULL ? xstrdup(it->plant->dir)
                                                    : xasprintf("build/plants/%s/%s",
                                                                it->plant->name, it->plant->target);

    return path_resolve(st->spec->root, dir);
}

char *selftest_plant_program(const struct selftest *st, const struct selftest_item *it,
                             const char *own)
{
    cleanup_free char *dir = selftest_plant_dir(st, it);
    const char *name = own != NULL ? strrchr(own, '/') : NULL;

    return name != NULL ? path_join(dir, name + 1) : NULL;
}

/* The builds that a campaign on this plant needs, by their names, for make. */
static void add_variants(const struct selftest *st, const struct selftest_item *it, FILE *out)
{
    const struct spec_target *t = &st->spec->targets[it->target];
    const char *want[] = {it->plant->variant == SPEC_VARIANT_ASAN ? t->sanitizer : t->harness,
                          t->replay, it->plant->variant == SPEC_VARIANT_CMPLOG ? t->cmplog : NULL};

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        if (want[i] != NULL)
            (void)fprintf(out, "%s%s", i > 0 ? " " : "", strrchr(want[i], '/') + 1);
}

static char *build_command(const struct selftest *st, const struct selftest_item *it)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out;

    if (it->plant->build != NULL)
        return xstrdup(it->plant->build);
    out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    (void)fprintf(out, "make plant PLANT=%s PLANT_VARIANTS='", it->plant->name);
    add_variants(st, it, out);
    (void)fputc('\'', out);
    (void)fclose(out);
    return text;
}

/* Ours, without what a make around us has left, and with the plant's names. */
static void build_env(const struct selftest_item *it, struct strv *env)
{
    static const char *const variants[] = {"plain", "asan", "cmplog"};
    static const char *const make_words[] = {
        "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=", "MAKEOVERRIDES="};

    for (char **e = environ; *e != NULL; e++) {
        bool of_make = false;

        for (size_t i = 0; i < sizeof(make_words) / sizeof(make_words[0]); i++)
            of_make |= strncmp(*e, make_words[i], strlen(make_words[i])) == 0;
        if (!of_make)
            strv_add(env, *e);
    }
    strv_env_set(env, "FUZZ_PLANT", it->plant->name);
    strv_env_set(env, "FUZZ_TARGET", it->plant->target);
    strv_env_set(env, "FUZZ_VARIANT", variants[it->plant->variant]);
}

static char *log_path(const struct selftest *st, const struct selftest_item *it)
{
    cleanup_free char *name = xasprintf("build-%s.log", it->plant->name);

    return path_join(st->dir, name);
}

void selftest_build(struct selftest *st, struct selftest_item *it)
{
    cleanup_free char *command = NULL;
    cleanup_free char *log = NULL;
    cleanup_close int fd = -1, pidfd = -1;
    struct strv argv = {0}, env = {0};
    int r;

    it->state = SELFTEST_BUILT;
    if (it->plant == NULL)
        return;
    command = build_command(st, it);
    log = log_path(st, it);
    fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        selftest_fail(it, "%s: %s", log, strerror(errno));
        return;
    }
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_add(&argv, command);
    build_env(it, &env);
    struct proc_spawn spawn = {.argv = &argv,
                               .env = &env,
                               .cwd = st->spec->root,
                               .stdin_fd = -1,
                               .stdout_fd = fd,
                               .stderr_fd = fd,
                               .keep_fd = {-1, -1, -1},
                               .pdeathsig = SIGTERM,
                               .new_session = true};
    r = proc_start(&spawn, &it->build_pid, &pidfd);
    strv_clear(&argv);
    strv_clear(&env);
    if (r < 0) {
        it->build_pid = 0;
        selftest_fail(it, "cannot run its build command: %s", strerror(-r));
        return;
    }
    it->state = SELFTEST_BUILDING;
}

/* The last line that says something. buf returned. */
static char *last_words(const struct selftest *st, const struct selftest_item *it, char *buf,
                        size_t size)
{
    cleanup_free char *log = log_path(st, it);
    cleanup_free char *text = NULL;
    size_t n = 0;
    char *line;

    (void)snprintf(buf, size, "it said nothing");
    if (file_read(AT_FDCWD, log, LOG_READ_MAX, &text, &n) < 0)
        return buf;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        text[--n] = '\0';
    if (n == 0)
        return buf;
    line = strrchr(text, '\n');
    return text_printable(buf, size, line != NULL ? line + 1 : text);
}

void selftest_build_poll(struct selftest *st, struct selftest_item *it)
{
    char how[64], words[256];
    int status = 0;

    if (it->build_pid <= 1 || waitpid(it->build_pid, &status, WNOHANG) != it->build_pid)
        return;
    it->build_pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        it->state = SELFTEST_BUILT;
    else
        selftest_fail(it, "its build failed, %s: %s", proc_status_text(how, sizeof(how), status),
                      last_words(st, it, words, sizeof(words)));
}

void selftest_build_stop(struct selftest_item *it)
{
    if (it->build_pid <= 1)
        return;
    (void)kill(it->build_pid, SIGTERM); /* our child, not waited for yet; make ends its own */
    (void)waitpid(it->build_pid, NULL, 0);
    it->build_pid = 0;
}
