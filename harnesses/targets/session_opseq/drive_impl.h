/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of the driver. */
#ifndef DRIVE_IMPL_H
#define DRIVE_IMPL_H

#include "drive.h"

/* Rounds in which a correct session moves that many bytes of one direction. */
uint64_t drive_bound(const struct drive *v, size_t bytes);

/* The operations of the client. */
void drive_write(struct drive *v, size_t n, uint8_t pat);
void drive_barrier(struct drive *v, uint8_t pat);
void drive_control(struct drive *v, unsigned kind, uint16_t a, uint16_t b);
void drive_read(struct drive *v, unsigned chunks);

#endif
