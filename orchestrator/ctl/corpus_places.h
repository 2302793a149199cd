/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CORPUS_PLACES_H
#define CTL_CORPUS_PLACES_H

#include "base/alloc.h"
#include "ctl/cmd.h"
#include "spec/spec.h"

/* Where a target's inputs lie: its committed seeds, what was kept of earlier runs, the queues of its newest run. */
struct corpus_place {
    const char *name; /* "seeds", "kept", "queue"; or "given" */
    char *path;
};
#define CORPUS_PLACES_MAX 3

/* Those that exist, at most CORPUS_PLACES_MAX. Returns their number. */
size_t corpus_places_find(const struct cmd_env *env, const struct spec *spec,
                          const struct spec_target *t, struct corpus_place *ret);
void corpus_places_clear(struct corpus_place *places, size_t n);

#endif
