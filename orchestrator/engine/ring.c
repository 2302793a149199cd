/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring's memory. Sealed before anybody else has it: a harness that cuts it short would kill us
 * by SIGBUS, one that lets it grow would fill the host.
 */
#include "engine/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPS_BYTES ((size_t)4 << 20) /* and never less than one map */
#define PAGE       4096U

void ring_head(const struct ring *r)
{
    *r->head = (struct fz_ring){
        .magic = FZ_RING_MAGIC, .version = FZ_RING_VERSION, .total_bytes = r->bytes};
}

int ring_make(struct ring *r, size_t map_bytes)
{
    struct ring made = {.fd = memfd_create("fz-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    uint8_t *at;
    int rc;

    if (made.fd < 0)
        return -errno;
    made.maps_bytes = map_bytes > MAPS_BYTES ? (map_bytes + PAGE - 1) / PAGE * PAGE : MAPS_BYTES;
    made.bytes = FZ_RING_MAPS_AT + made.maps_bytes;
    if (ftruncate(made.fd, (off_t)made.bytes) < 0 ||
        fcntl(made.fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
        (at = mmap(NULL, made.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0)) ==
            MAP_FAILED) {
        rc = -errno;
        (void)close(made.fd);
        return rc;
    }
    made.head = (struct fz_ring *)(void *)at;
    made.inputs = (struct fz_input *)(void *)(at + FZ_RING_INPUTS_AT);
    made.said = (struct fz_said *)(void *)(at + FZ_RING_SAID_AT);
    made.slots = (struct fz_slot *)(void *)(at + FZ_RING_SLOTS_AT);
    made.seen = (uint64_t *)(void *)(at + FZ_RING_SEEN_AT);
    made.data = at + FZ_RING_DATA_AT;
    made.maps = at + FZ_RING_MAPS_AT;
    ring_head(&made);
    *r = made;
    return 0;
}

void ring_drop(struct ring *r)
{
    if (r->head != NULL) {
        (void)munmap(r->head, r->bytes);
        (void)close(r->fd);
    }
    *r = (struct ring){.fd = -1};
}
