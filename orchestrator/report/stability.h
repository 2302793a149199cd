/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_STABILITY_H
#define REPORT_STABILITY_H

#include <jansson.h>
#include <stdio.h>

/*
 * The document of stability_json (corpus/stability.h) for people. It may come from a file: what is missing or odd in it is passed over.
 */

/* "12 inputs: 1 stateful, 2 unstable; 3 of 410 edges vary" in one line, without its end. Caller frees. */
char *stability_line(const json_t *j);
/* Its findings and edges, a line each, at most max of either (0: all), behind indent. */
void stability_print(const json_t *j, const char *indent, size_t max, FILE *out);

#endif
