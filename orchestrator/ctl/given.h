/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_GIVEN_H
#define CTL_GIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "corpus/inputs.h"
#include "ctl/cmd.h"
#include "plan/elfprobe.h"
#include "spec/spec.h"

/*
 * What a person named and what is wrong with it, in the same words by every verb that takes inputs. sub: of a subcommand its name, else
 * NULL. Each prints one line and returns an exit code, EXIT_DONE where nothing is wrong.
 */

/* The program behind "--harness" or whatever label says; server: it has to have a fork server. */
int given_program(const struct cmd_entry *e, const char *sub, const char *label, const char *path,
                  bool server, struct elfprobe *ret);
/* No target of a campaign file has that name. Returns EXIT_USAGE. */
int given_no_target(const struct cmd_entry *e, const char *sub, const struct spec *spec,
                    const char *name);
/* The same of several campaign files, by the names there are; path may be NULL. */
int given_no_target_of(const struct cmd_entry *e, const char *sub, const char *path,
                       const char *const *known, size_t n, const char *name);
/* The words of both: "no target named NAME; there are: a b". Caller frees. */
char *given_known(const char *const *known, size_t n, const char *name);
char *given_known_targets(const struct spec *spec, const char *name);
/* Appends what path names. */
int given_inputs_add(const struct cmd_entry *e, const char *sub, struct inputs *list,
                     const char *path);
/* EXIT_VACUOUS where there are none. */
int given_inputs_check(const struct cmd_entry *e, const char *sub, const struct inputs *list);
/* Why there are none. Caller frees. */
char *given_no_inputs(const struct inputs *list);
/*
 * EXIT_USAGE where what is made at out would be an input of one of the paths from then on, or is one that would be replaced.
 * label: as "-o ", or "".
 */
int given_output_check(const struct cmd_entry *e, const char *sub, const char *label,
                       const char *out, char *const *paths, size_t n);
/* EXIT_USAGE where out is one of those files, by whatever name; they are read, not written. NULL among them is passed over. */
int given_output_keeps(const struct cmd_entry *e, const char *sub, const char *label,
                       const char *out, const char *const *files, size_t n);
/*
 * Both for a campaign file: the inputs are the seeds and regressions of all targets, and what is kept is the file itself and
 * all files that its targets name.
 */
int given_output_check_spec(const struct cmd_entry *e, const char *sub, const char *label,
                            const char *out, const struct spec *spec);

#endif
