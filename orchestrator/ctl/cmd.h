/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CMD_H
#define CTL_CMD_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "ctl/client.h"
#include "spec/spec.h"
#include "store/db.h"
#include "store/runs.h"

/* One verb a file (cmd_VERB.c) with one entry; cmd.c holds the table. Adding a verb is a file and a row. */
struct cmd_env {
    char *state_dir; /* NULL, of a stateless verb alone: there is none, and state_why says why */
    const char *state_why;
    bool json, quiet, color;
};
/* A subcommand of a verb; argv[0] is its name. */
struct cmd_sub {
    const char *name, *usage, *help;
    int (*exec)(struct cmd_env *env, int argc, char **argv);
    bool stateless; /* as of a verb */
};
struct cmd_entry {
    const char *name;
    const char *usage; /* "[NAME] [--json]" */
    const char *help;  /* one line */
    int (*exec)(struct cmd_env *env, int argc,
                char **argv);          /* argv[0] is the verb; returns an exit code */
    const struct cmd_sub *const *subs; /* NULL-terminated; NULL: it has none */
    bool stateless; /* it does without a state directory, or asks cmd_state_check itself */
};
extern const struct cmd_entry cmd_check, cmd_plan, cmd_start, cmd_run, cmd_status, cmd_stop,
    cmd_pause, cmd_resume, cmd_wait, cmd_list, cmd_logs, cmd_artifacts, cmd_report, cmd_verify,
    cmd_bundle, cmd_selftest, cmd_doctor, cmd_init, cmd_corpus, cmd_replay, cmd_distill,
    cmd_stability, cmd_coverage, cmd_version, cmd_help;
extern const struct cmd_entry *const cmd_table[]; /* NULL-terminated */

/* Prints "fuzzctl VERB: text" to stderr and returns code. */
int cmd_fail(const struct cmd_entry *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The usage line and EXIT_USAGE. */
int cmd_usage(const struct cmd_entry *e);
/* What is missing or too much on the command line, then the usage line, of sub where that is not NULL; EXIT_USAGE. */
int cmd_misuse(const struct cmd_entry *e, const struct cmd_sub *sub, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Whether the words (NULL-terminated, behind the options) are those the verb takes: names says what each is (NULL-terminated; CMD_MORE
 * as the last: any number more), the first `needed` have to be there. EXIT_DONE, or cmd_misuse with what is missing or too much.
 */
#define CMD_MORE "..."
int cmd_words(const struct cmd_entry *e, const struct cmd_sub *sub, char *const *words,
              const char *const *names, size_t needed);
/* The same of a verb without options of its own; the words begin at argv[optind] then. */
int cmd_plain(const struct cmd_entry *e, const struct cmd_sub *sub, int argc, char **argv,
              const char *const *names, size_t needed);
/* That of a subcommand. */
int cmd_sub_usage(const struct cmd_entry *e, const struct cmd_sub *sub);
/* The subcommand of that name, or NULL. */
const struct cmd_sub *cmd_sub_find(const struct cmd_entry *e, const char *name);
/* The subcommands of a verb, each with its usage and what it is for. */
void cmd_sub_list(const struct cmd_entry *e, FILE *out);
/* Runs the one that argv[1] names, or says that there is none such. Exit code. */
int cmd_sub_run(const struct cmd_entry *e, struct cmd_env *env, int argc, char **argv);
/* That the state directory can be used. Exit code, the reason printed. */
int cmd_state_check(const struct cmd_env *env);
/* Opens state.db read-only, or prints why not. NULL on failure with *ret_code. A missing one is *ret_code = EXIT_NO_CAMPAIGN. */
struct db *cmd_open_db(const struct cmd_entry *e, const struct cmd_env *env, int *ret_code);
/*
 * The newest run of a campaign (name NULL: of any). ret_db: the open index, the caller closes it; NULL when it is not wanted.
 * EXIT_DONE with *ret to be cleared by run_row_clear, else an exit code, the reason printed.
 */
int cmd_run_find(const struct cmd_entry *e, const struct cmd_env *env, const char *name,
                 struct db **ret_db, struct run_row *ret);
/*
 * A connection when there is something to talk about: to the running daemon, or to one started now because the index holds unfinished
 * runs (which it adopts). 0 with *ret NULL when neither; else an exit code, the reason printed.
 */
int cmd_live(const struct cmd_entry *e, const struct cmd_env *env, struct client **ret);
/*
 * The same for a verb that only reads: unfinished runs get a daemon, or the reason why not is printed and the verb goes on
 * without. Not EXIT_DONE when the index cannot be read, the reason printed.
 */
int cmd_adopt(const struct cmd_entry *e, const struct cmd_env *env);
/*
 * client_call that outlives the daemon: when the connection is lost, whoever goes on with the runs is asked again (started, if need be).
 * For requests that may be made twice. *c is replaced; 0 with *ret NULL (and *c NULL) when nothing is left to ask about. patient: goes on
 * when a signal comes, else -EINTR.
 */
int cmd_request(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
                const char *verb, const json_t *args, int64_t timeout_ms, bool patient,
                json_t **ret, struct err *err);
/*
 * cmd_request, patient, for timeout_ms (-1: for ever); takes the reference to args. EXIT_DONE with *ret (its "ok" may be false, and NULL
 * when nothing is left to ask about); EXIT_TIMEOUT, nothing printed; else an exit code, the reason printed.
 */
int cmd_call(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
             const char *verb, json_t *args, int64_t timeout_ms, json_t **ret);
/* What a refusal ("ok" false) says: prints it and returns its exit code; EXIT_DONE for an answer that is ok. */
int cmd_answer(const struct cmd_entry *e, const json_t *answer);
/*
 * Of an answer that is ok, of what is done and could not be stored: says so and returns EXIT_ERROR, else EXIT_DONE.
 */
int cmd_unstored(const struct cmd_entry *e, const json_t *answer);
/* The document of "status --json", live campaigns from the daemon (*c may be NULL, see cmd_request), the newest run of the others from the index. name NULL: all. New reference. */
json_t *cmd_status_doc(const struct cmd_entry *e, const struct cmd_env *env, struct client **c,
                       const char *name, int *ret_code);
/* One campaign of that document for a terminal. */
void cmd_status_print(const json_t *campaign, bool instances, FILE *out);
/*
 * Plans FILE and starts it, see cmd_start.c. Exit code; *ret_c stays connected, *ret_name and *ret_run are the caller's. interrupted, NULL or set
 * by a signal: not 0 before it is asked for, it is not started, and later it is stopped.
 */
int cmd_start_file(const struct cmd_entry *e, const struct cmd_env *env,
                   const volatile sig_atomic_t *interrupted, int argc, char **argv,
                   struct client **ret_c, char **ret_name, char **ret_run);
/* The options of start and plan, and the one campaign file. Exit code; all is borrowed from argv. */
int cmd_spec_options(const struct cmd_entry *e, int argc, char **argv, struct spec_overrides *ov,
                     const char **ret_file);
/* Prints JSON as one document with a newline. */
void cmd_print_json(const json_t *j);
void cmd_print_json_take(json_t *j); /* takes the reference */

#endif
