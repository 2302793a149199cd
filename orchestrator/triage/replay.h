/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_REPLAY_H
#define TRIAGE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "sys/proc.h"

/*
 * Runs one input in a program once, under limits. Kit builds get --one FILE; others the target's args, with @@ replaced by the
 * file, or the file on standard input when there is no @@. The limits are the campaign's own.
 */
struct replay_program {
    const char *path;
    const struct strv *args, *env; /* of the target */
    bool kit, asan;
    bool twice;         /* FZ_TWICE=1 */
    int64_t timeout_ms; /* wall */
    int64_t memory_bytes;
    bool symbolize; /* sanitizer options with symbolize=1 */
};
enum replay_end { REPLAY_EXIT, REPLAY_SIGNAL, REPLAY_TIMEOUT, REPLAY_OOM };
struct replay_run {
    enum replay_end end;
    int code; /* exit code or signal */
    int64_t wall_ms, cpu_ms, max_rss_bytes;
    char *err_text; /* captured stderr, bounded; caller frees with replay_run_clear */
};
int replay_once(const struct replay_program *prog, const char *input, struct replay_run *ret,
                struct err *err);
void replay_run_clear(struct replay_run *r);
/* argv and environment exactly as replay_once uses them (for the bundle and "replay" lines); input named as given. */
void replay_command(const struct replay_program *prog, const char *input, struct strv *ret_argv,
                    struct strv *ret_env);

#endif
