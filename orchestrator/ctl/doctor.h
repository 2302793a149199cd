/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

#include <jansson.h>

/* What "fuzzctl doctor" finds, one entry a fact. */
enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD };
struct doctor {
    const char *state_dir; /* borrowed */
    json_t *checks;        /* [{"name","level","text","means","mend"}] */
    int bad;
};

/* means and mend are "" where the text says all; NULL counts as "". */
void doctor_add(struct doctor *d, enum doctor_level level, const char *name, const char *means,
                const char *mend, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Cgroups and namespaces: what they promise, and a trial of it in a group that is gone afterwards. */
void doctor_isolation(struct doctor *d);
/*
 * A scope of systemd, PREFIX.scope, where there may be one; this process is in it then, until it ends. For doctor_isolation,
 * first of all.
 */
void doctor_scope(struct doctor *d, const char *prefix);
/* Kernel, cores, programs, AFL++, state directory. */
void doctor_host(struct doctor *d);

#endif
