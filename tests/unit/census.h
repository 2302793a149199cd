/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CENSUS_H
#define TESTS_CENSUS_H

/* Counts the open files of this process, the shared memory that it made, and its children; the test fails when there are others at its end. */
int census_begin(void **state);
int census_end(void **state);

#endif
