/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_SHIM_H
#define FAULT_SHIM_H

#include <stdbool.h>

#define FAULT_KILL (-1) /* for an errno: the call is not made and the process dies by SIGKILL */

/* What the shim does and did; see shim.c. */
struct fault_control {
    int error;     /* errno of the calls that fail; 0: off */
    long at;       /* the Nth, 1 the first; 0: only count */
    bool sticky;   /* and all after it */
    long count;    /* calls seen */
    long injected; /* calls failed */
};
struct fault_control *fault_control(void);
void fault_dir(const char *path);

#endif
