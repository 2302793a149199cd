/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_UNREAD_H
#define CTL_UNREAD_H

#include <jansson.h>

#include "corpus/contents.h"

/* Inputs that contents_find could not read, each with the reason. */

/* A line each. */
void unread_print(const struct inputs *inputs, const struct contents *c);
/* [{"file","why"}]. New reference. */
json_t *unread_json(const struct inputs *inputs, const struct contents *c);

#endif
