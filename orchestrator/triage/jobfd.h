/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_JOBFD_H
#define TRIAGE_JOBFD_H

#include <jansson.h>

/* A memory file of that text, to be read from its beginning. Descriptor or -errno. */
int jobfd_make(const char *text);
/* One for an answer, of JOB_MAX_BYTES: it cannot grow, what is written past its end is refused. Descriptor or -errno. */
int jobfd_make_answer(void);
/* What is in it: text up to the first NUL, as the file has its full size from the start. New reference; NULL when that is no answer. */
json_t *jobfd_read_answer(int fd);

#endif
