/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "store/db.h"

/* The report of one run as one JSON document, from state.db and the run's folder; the text forms are made from it and from nothing else. */

/* campaign NULL or run NULL: newest. -ENOENT. New reference in *ret. */
int report_model(struct db *db, const char *state_dir, const char *campaign, const char *run,
                 json_t **ret, struct err *err);
/* For a terminal. color: with SGR codes. */
void report_text(const json_t *model, bool color, FILE *out);
/* Markdown, as report.md in the run's folder. */
void report_md(const json_t *model, FILE *out);

#endif
