/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_REPLAY_ENV_H
#define TRIAGE_REPLAY_ENV_H

#include "triage/replay.h"

/* True for a program that cannot live under a limit of address space. */
static inline bool replay_hogs_address_space(const struct replay_program *prog)
{
    return prog->asan || prog->msan || prog->tsan;
}

/* The environment of a run: the target's own with sanitizer options and FZ_TWICE put in. Appends to *ret. */
void replay_env_make(const struct replay_program *prog, struct strv *ret);
/* Adds what depends on the scratch folder: PATH, HOME, TMPDIR, and the symboliser. */
void replay_env_scratch(const char *dir, struct strv *env);

/*
 * The cgroup that our keeper has for the program: opens its cgroup.procs files, *n of them so far. 0 or -errno; the caller closes what is there in
 * either case.
 */
#define REPLAY_GROUPS_MAX 4 /* hierarchies */
int replay_group_open(int *fds, int *n);

/* A fresh folder with a copy of the input in it; both paths are the caller's to free, the folder to remove. 0 or -errno. */
int replay_scratch_make(const char *input, char **ret_dir, char **ret_input, struct err *err);

#endif
