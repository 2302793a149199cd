/* SPDX-License-Identifier: Apache-2.0 */
/* fuzzctl logs: the last lines of what the instances of the newest run said, control bytes shown and never sent to the terminal. */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/path.h"
#include "ctl/cmd.h"

#define LOG_READ_MAX  (64u << 20)
#define LINES_DEFAULT 20

/* Colour sequences and cursor moves of afl-fuzz are dropped, other control bytes shown as \xNN. */
static void line_print(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char)line[i];

        if (b == 0x1b && i + 1 < len && line[i + 1] == '[') {
            i += 2;
            while (i < len && (unsigned char)line[i] < 0x40)
                i++;
        } else if (b == '\t' || (b >= 0x20 && b != 0x7f)) {
            putchar(b);
        } else if (b != '\r') {
            printf("\\x%02x", b);
        }
    }
    putchar('\n');
}

/* Whether anything of it is seen; afl-fuzz parts its messages by lines of which nothing is. */
static bool line_shows(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (line[i] == 0x1b && i + 1 < len && line[i + 1] == '[') {
            i += 2;
            while (i < len && (unsigned char)line[i] < 0x40)
                i++;
        } else if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') {
            return true;
        }
    }
    return false;
}

/* Where the line that ends at end begins. */
static const char *line_start(const char *text, const char *end)
{
    while (end > text && end[-1] != '\n')
        end--;
    return end;
}

/* The last n_lines of which something is seen. */
static void tail_print(const char *text, size_t size, uint64_t n_lines)
{
    const char *end = text + size, *start = end;
    uint64_t lines = 0;

    for (const char *to = end; to > text && lines < n_lines; to = start) {
        to -= to[-1] == '\n';
        start = line_start(text, to);
        lines += line_shows(start, (size_t)(to - start));
    }
    while (start < end) {
        const char *nl = memchr(start, '\n', (size_t)(end - start));
        const char *stop = nl != NULL ? nl : end;

        if (line_shows(start, (size_t)(stop - start)))
            line_print(start, (size_t)(stop - start));
        start = stop + 1;
    }
}

/* "main" and "chunk_frame/main" and "chunk_frame.main" all name the log chunk_frame.main.log. */
static bool log_wanted(const char *file, const char *instance)
{
    size_t len = strlen(file);

    if (len < 5 || strcmp(file + len - 4, ".log") != 0)
        return false;
    if (instance == NULL)
        return true;
    cleanup_free char *stem = xstrndup(file, len - 4);
    cleanup_free char *want = xstrdup(instance);
    for (char *p = want; *p != '\0'; p++) {
        if (*p == '/')
            *p = '.';
    }
    const char *dot = strrchr(stem, '.');
    return strcmp(stem, want) == 0 || (dot != NULL && strcmp(dot + 1, want) == 0);
}

static int log_filter_any(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static int logs_print(const char *state_dir, const char *run_dir, const char *instance,
                      uint64_t n_lines)
{
    cleanup_free char *dir = path_join(run_dir, "log");
    cleanup_close int fd = path_open_below(state_dir, dir, 0);
    struct dirent **names = NULL;
    int n = fd >= 0 ? scandirat(fd, ".", &names, log_filter_any, alphasort) : 0;
    int shown = 0;

    for (int i = 0; i < n; i++) {
        if (log_wanted(names[i]->d_name, instance)) {
            cleanup_free char *text = NULL;
            size_t size = 0;
            int rc = file_read(fd, names[i]->d_name, LOG_READ_MAX, &text, &size);

            printf("%s==> %s <==\n", shown++ > 0 ? "\n" : "", names[i]->d_name);
            if (rc == 0)
                tail_print(text, size, n_lines);
            else
                printf("(%s)\n", strerror(-rc));
        }
        free(names[i]);
    }
    free(names);
    return shown;
}

/* "are chunk_frame.main, chunk_frame.san": what has a log. Empty when nothing has. Caller frees. */
static char *logs_names(const char *state_dir, const char *run_dir)
{
    cleanup_free char *dir = path_join(run_dir, "log");
    cleanup_close int fd = path_open_below(state_dir, dir, 0);
    struct dirent **names = NULL;
    int n = fd >= 0 ? scandirat(fd, ".", &names, log_filter_any, alphasort) : 0;
    char *list = xstrdup("");

    for (int i = 0; i < n; i++) {
        if (log_wanted(names[i]->d_name, NULL)) {
            char *longer = xasprintf("%s%s%.*s", list, list[0] == '\0' ? "are " : ", ",
                                     (int)strlen(names[i]->d_name) - 4, names[i]->d_name);

            free(list);
            list = longer;
        }
        free(names[i]);
    }
    free(names);
    return list;
}

static int logs_exec(struct cmd_env *env, int argc, char **argv)
{
    static const char *const names[] = {"campaign", "instance", NULL};
    uint64_t n_lines = LINES_DEFAULT;
    int opt;

    optind = 1;
    while ((opt = getopt(argc, argv, "n:")) != -1) {
        if (opt != 'n')
            return cmd_usage(&cmd_logs);
        if (parse_u64(optarg, 1000000, &n_lines) < 0 || n_lines == 0)
            return cmd_fail(&cmd_logs, EXIT_USAGE,
                            "-n: \"%s\" is not a number of lines; allowed: 1 to 1000000", optarg);
    }
    opt = cmd_words(&cmd_logs, NULL, argv + optind, names, 1);
    if (opt != EXIT_DONE)
        return opt;
    const char *name = argv[optind];
    const char *instance = argv[optind + 1];

    struct run_row row = {0};
    int code = cmd_run_find(&cmd_logs, env, name, NULL, &row);
    if (code != EXIT_DONE)
        return code;
    int shown = logs_print(env->state_dir, row.dir, instance, n_lines);
    if (shown == 0 && instance != NULL) {
        cleanup_free char *there = logs_names(env->state_dir, row.dir);

        run_row_clear(&row);
        return cmd_fail(&cmd_logs, EXIT_NO_CAMPAIGN,
                        "no instance named %s in the newest run of %s; there %s", instance, name,
                        there[0] != '\0' ? there : "is none with a log");
    }
    run_row_clear(&row);
    if (shown == 0)
        return cmd_fail(&cmd_logs, EXIT_NO_CAMPAIGN,
                        "no instance of the newest run of %s has a log", name);
    return EXIT_DONE;
}

const struct cmd_entry cmd_logs = {
    .name = "logs",
    .usage = "NAME [INSTANCE] [-n LINES]",
    .help = "the last lines of what the instances said",
    .exec = logs_exec,
};
