/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_CPULINE_H
#define SYS_CPULINE_H

#include <stdint.h>

/*
 * The line in which the daemons of this host wait for cores, so that who asked first is served first. A place is a file
 * fuzzd-wait-TIME-PID-N beside the locks of the cores, held by flock: it is lost with its holder. It holds a line for people and the
 * CPUs that are waited for; who wants none of these does not stand behind it.
 */
struct cpu_place;

/*
 * Stands in line since since_ms (Unix ms) for some of cpus[0..n); a place that is held already is given up for it when it differs. line
 * says for whom. 0, or -errno with *place NULL: others do not know that we wait.
 */
int cpu_place_take(struct cpu_place **place, int64_t since_ms, const int *cpus, int n,
                   const char *line);
/* Leaves the line. No-op without a place. */
void cpu_place_leave(struct cpu_place **place);
/*
 * Whether somebody else waits since before since_ms for one of cpus[0..n): 1 with his line in who (size bytes), 0, or -errno. mine, which
 * may be NULL, is passed over; places whose holder is gone are removed.
 */
int cpu_line_ahead(const struct cpu_place *mine, int64_t since_ms, const int *cpus, int n,
                   char *who, int size);

#endif
