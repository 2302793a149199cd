/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcomes of an end that nobody asked for.
 *
 * The texts are those of AFL++ 4.04c to 4.2x; one that is not known here is shown as it is, so that a new AFL++ costs clarity
 * and nothing else. Source: AFL++ src/afl-fuzz-init.c, src/afl-forkserver.c, include/debug.h.
 */
#include "farm/ending.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_WORDS "afl-fuzz refuses a state file of its own"

static const struct saying {
    const char *begins, *holds; /* holds NULL: the beginning says it */
    enum ending ending;
    const char *words;
} sayings[] = {
    {"Unable to request new process from fork server", NULL, ENDING_SERVER_GONE, NULL},
    {"Unable to communicate with fork server", NULL, ENDING_SERVER_GONE, NULL},
    {"Fork server is misbehaving", NULL, ENDING_SERVER_GONE, NULL},
    {"Fork server crashed with signal", NULL, ENDING_SERVER_NEVER, "the target does not come up"},
    {"Fork server handshake failed", NULL, ENDING_SERVER_NEVER, "the target does not come up"},
    {"Timeout while initializing fork server", NULL, ENDING_SERVER_NEVER,
     "the target does not come up in time"},
    {"No more free CPU cores", NULL, ENDING_NO_CORE, "every core is taken"},
    {"Directory '", "' is in use", ENDING_IN_USE, "another afl-fuzz works in its folder"},
    {"Program '", "' not found or not executable", ENDING_NO_HARNESS,
     "the harness is missing or cannot be run"},
    {"Malformed data in '", NULL, ENDING_FOLDER, FOLDER_WORDS},
    {"Output directory cleanup failed", NULL, ENDING_FOLDER, FOLDER_WORDS},
    {"_resume directory cleanup failed", NULL, ENDING_FOLDER, FOLDER_WORDS},
    {"invalid trailing data in fastresume.bin", NULL, ENDING_FOLDER, FOLDER_WORDS},
    {"Unable to create '", "': Is a directory", ENDING_FOLDER, FOLDER_WORDS},
    {"Unable to create '", "': File exists", ENDING_FOLDER, FOLDER_WORDS},
    {"Unable to create '", "': Not a directory", ENDING_FOLDER, FOLDER_WORDS},
};

static enum ending of_exit(const struct keeper_exit *ex, const char *last, char *out,
                           size_t out_size)
{
    const char *words;

    /* Before the texts: it may come with any of them. */
    if (strstr(last, strerror(ENOSPC)) != NULL || strstr(last, strerror(EDQUOT)) != NULL) {
        (void)snprintf(out, out_size, "no space is left on the disk; afl-fuzz: %s", last);
        return ENDING_DISK_FULL;
    }
    for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++) {
        const struct saying *s = &sayings[i];

        if (strncmp(last, s->begins, strlen(s->begins)) != 0 ||
            (s->holds != NULL && strstr(last, s->holds) == NULL))
            continue;
        words = s->words;
        if (words == NULL)
            words = ex->oom_kills > 0 ? "the target's fork server was killed for memory"
                                      : "the target's fork server died";
        (void)snprintf(out, out_size, "%s; afl-fuzz: %s", words, last);
        return s->ending;
    }
    if (*last != '\0') {
        (void)snprintf(out, out_size, "%s", last);
        return ENDING_OTHER;
    }
    if (ex->code == 0) {
        (void)snprintf(out, out_size, "afl-fuzz ended by itself");
        return ENDING_ITSELF;
    }
    (void)snprintf(out, out_size, "afl-fuzz exited with code %d%s", ex->code,
                   ex->code == 128 + SIGKILL ? ": something below it was killed" : "");
    return ex->code == 128 + SIGKILL ? ENDING_KILLED : ENDING_OTHER;
}

enum ending ending_judge(const char *program, int loaded, const struct keeper_exit *ex,
                         const char *last, char *out, size_t out_size)
{
    const char *name;

    if (loaded < 0) {
        (void)snprintf(out, out_size, "fuzz-keeper ended without an exit record");
        return ENDING_NO_RECORD;
    }
    switch (ex->end) {
    case KEEPER_EXEC_FAILED:
        (void)snprintf(out, out_size, "cannot run %s: %s", program, strerror(ex->code));
        return ENDING_NO_START;
    case KEEPER_SETUP_FAILED:
        (void)snprintf(out, out_size, "fuzz-keeper: %.200s", ex->what);
        return ex->code == ENOSPC || ex->code == EDQUOT ? ENDING_DISK_FULL : ENDING_NO_START;
    case KEEPER_SIGNALLED:
        if (ex->code == SIGKILL && ex->oom_kills > 0) {
            (void)snprintf(out, out_size, "afl-fuzz was killed by the kernel for memory");
            return ENDING_OOM;
        }
        name = sigabbrev_np(ex->code);
        (void)snprintf(out, out_size, "afl-fuzz was killed by signal %d (SIG%s)", ex->code,
                       name != NULL ? name : "?");
        return ENDING_KILLED;
    case KEEPER_EXITED:
        break;
    }
    return of_exit(ex, last, out, out_size);
}

bool ending_outside(enum ending e)
{
    return e == ENDING_DISK_FULL || e == ENDING_NO_CORE || e == ENDING_IN_USE;
}
