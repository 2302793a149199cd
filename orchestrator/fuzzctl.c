/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzzctl: the one command people type. It finds the state directory and the verb; everything else is the verb's. The options that all verbs share
 * may stand before or after the verb.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/cmd.h"

static const struct cmd_entry *verb_find(const char *name)
{
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        if (strcmp(cmd_table[i]->name, name) == 0)
            return cmd_table[i];
    }
    return NULL;
}

static int verb_unknown(const char *name)
{
    const struct cmd_entry *near = NULL;
    int best = 3;

    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        int d = parse_distance(name, cmd_table[i]->name);
        if (d < best) {
            best = d;
            near = cmd_table[i];
        }
    }
    char safe[256];
    text_printable(safe, sizeof safe, name);
    if (name[0] == '-') {
        fprintf(stderr, "fuzzctl: unknown option \"%s\" (fuzzctl help lists verbs and options)\n",
                safe);
        return EXIT_USAGE;
    }
    fprintf(stderr, "fuzzctl: no verb \"%s\"", safe);
    if (near != NULL)
        fprintf(stderr, "; did you mean \"%s\"?", near->name);
    fputs(" (fuzzctl help lists them)\n", stderr);
    return EXIT_USAGE;
}

/* Takes the shared options out of argv. Returns the new argc, or -1 after a message. */
static int shared_options(int argc, char **argv, struct cmd_env *env, const char **ret_state)
{
    int kept = 1;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (i < argc)
                argv[kept++] = argv[i++];
            break;
        }
        if (strcmp(argv[i], "--json") == 0) {
            env->json = true;
        } else if (strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "-q") == 0) {
            env->quiet = true;
        } else if (strcmp(argv[i], "--no-color") == 0) {
            env->color = false;
        } else if (strncmp(argv[i], "--state=", 8) == 0) {
            *ret_state = argv[i] + 8;
        } else if (strcmp(argv[i], "--state") == 0) {
            if (i + 1 == argc) {
                fputs("fuzzctl: --state needs a folder\n", stderr);
                return -1;
            }
            *ret_state = argv[++i];
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    return kept;
}

/*
 * A standard descriptor that is closed is opened, so that no file of ours gets its number and is written to as if it were the terminal. It is
 * opened so that writing to 1 or 2 fails as it would have.
 */
static void open_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int got = fd;

        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            got = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* inherited */
        if (got != fd)
            return; /* there is no /dev/null here */
    }
}

/* What was printed is out, or it is said why not; whoever closes a pipe early knows. */
static int output_end(int code)
{
    const bool failed = ferror(stdout) != 0;
    const int r = fflush(stdout) != 0 ? errno : 0;

    if (r == 0 && !failed)
        return code;
    if (r != EPIPE)
        (void)fprintf(stderr, "fuzzctl: standard output: %s\n",
                      r != 0 ? strerror(r) : "not all of it could be written");
    return code == EXIT_DONE ? EXIT_ERROR : code;
}

/* With a subcommand that is none, or without one, all that comes of it is the list of them. */
static bool is_stateless(const struct cmd_entry *verb, const char *sub_name)
{
    const struct cmd_sub *sub = sub_name != NULL ? cmd_sub_find(verb, sub_name) : NULL;

    return sub != NULL ? sub->stateless : verb->stateless || verb->subs != NULL;
}

int main(int argc, char **argv)
{
    struct cmd_env env = {.color = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL};
    const char *state = NULL;
    struct err err = {0};

    open_standard();
    log_init("fuzzctl", LOG_LEVEL_WARN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* an error to tell of and to clean up after */
    argc = shared_options(argc, argv, &env, &state);
    if (argc < 0)
        return EXIT_USAGE;
    if (argc < 2) {
        char *help[] = {(char[]){"help"}, NULL};
        (void)cmd_help.exec(&env, 1, help);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    const struct cmd_entry *verb = verb_find(name);
    if (verb == NULL)
        return verb_unknown(name);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            bool of_sub = i > 2 && cmd_sub_find(verb, argv[2]) != NULL;
            char *help[] = {(char[]){"help"}, argv[1], of_sub ? argv[2] : NULL, NULL};

            return output_end(cmd_help.exec(&env, of_sub ? 3 : 2, help));
        }
    }
    env.state_dir = path_state_dir(state, &err);
    if (env.state_dir == NULL && state != NULL) {
        (void)fprintf(stderr, "fuzzctl: %s\n", err.msg);
        return EXIT_USAGE;
    }
    env.state_why = err.msg;
    int code = is_stateless(verb, argv[2]) ? EXIT_DONE : cmd_state_check(&env);
    char title[64]; /* how getopt names the verb in what it says */
    (void)snprintf(title, sizeof title, "fuzzctl %s", verb->name);
    argv[1] = title;
    if (code == EXIT_DONE)
        code = verb->exec(&env, argc - 1, argv + 1);
    free(env.state_dir);
    return output_end(code);
}
