/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A harness that plays batch mode wrong, in the way that its first argument names; each after it has
 * done the steps before as they should be.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/fz_ring.h"

#define MAP_BYTES 8u

static const char *mode;
static struct fz_ring *ring;
static struct fz_said *said;
static struct fz_slot *slots;
static uint8_t *maps;
static uint64_t *seen;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void say(uint32_t word, uint32_t value)
{
    const uint32_t words[2] = {word, value};

    if (write(FZ_RING_STATUS, words, sizeof(words)) != (ssize_t)sizeof(words))
        _exit(1);
}

static void hear(void)
{
    uint32_t word;

    if (read(FZ_RING_CONTROL, &word, sizeof(word)) != (ssize_t)sizeof(word))
        _exit(0);
}

/* What every slot says. */
static void fill(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && i < FZ_RING_SLOTS; i++) {
        slots[i].hash = is("hash") || is("other-map") ? 12345
                        : is("zero-hash")             ? 0
                                                      : fz_ring_hash(maps, MAP_BYTES);
        slots[i].map_at = is("hash")         ? 0
                          : is("map-at")     ? UINT32_MAX
                          : is("map-at-one") ? 1048577
                                             : 1;
        slots[i].wall_us = UINT32_MAX;
        slots[i].state = is("undone") ? FZ_SLOT_RUNNING : is("state") ? 99 : FZ_SLOT_DONE;
    }
}

static void greet(void)
{
    struct stat st;
    uint8_t *at;

    if (is("silent"))
        pause();
    if (is("exits"))
        exit(7);
    if (is("dies"))
        abort();
    if (fstat(FZ_RING_FD, &st) != 0)
        exit(9);
    if (is("cut") && ftruncate(FZ_RING_FD, 4096) == 0)
        exit(8); /* it must not be possible */
    at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, FZ_RING_FD, 0);
    if (at == MAP_FAILED)
        exit(9);
    ring = (struct fz_ring *)(void *)at;
    said = (struct fz_said *)(void *)(at + FZ_RING_SAID_AT);
    slots = (struct fz_slot *)(void *)(at + FZ_RING_SLOTS_AT);
    maps = at + FZ_RING_MAPS_AT;
    seen = (uint64_t *)(void *)(at + FZ_RING_SEEN_AT);
    said->map_bytes = is("no-map")     ? 0
                      : is("huge-map") ? UINT32_MAX
                      : is("grows")    ? (uint32_t)getpid() * 8 % 4096 + 8
                                       : MAP_BYTES;
    if (is("half-hello")) {
        if (write(FZ_RING_STATUS, "HE", 2) == 2)
            pause();
    }
    say(is("bad-hello") ? 1 : FZ_RING_HELLO, is("bad-version") ? 99 : FZ_RING_VERSION);
}

static void go(void)
{
    const uint32_t first = ring->first, end = ring->end;

    if (is("garbage")) {
        for (uint32_t i = 0; i < 100000; i++)
            say(i * 2654435761U, i);
        pause();
    }
    if (is("deaf"))
        pause();
    say(FZ_RING_STARTED, is("pid-one")      ? 1
                         : is("pid-zero")   ? 0
                         : is("pid-none")   ? UINT32_MAX
                         : is("pid-engine") ? (uint32_t)getppid()
                                            : (uint32_t)getpid());
    if (is("ring")) /* nonsense in all that the engine may read */
        memset(ring, 0xff, FZ_RING_DATA_AT);
    if (is("ring") || is("said"))
        memset(said, 0xff, FZ_RING_MAPS_AT - FZ_RING_SAID_AT);
    if (is("table"))
        memset(seen, 0x55, FZ_RING_SEEN * 8);
    if (is("never"))
        pause();
    if (is("index-high") || is("index-up-down")) {
        for (uint32_t i = 0;; i++) {
            said->current = is("index-high") ? end + i : i % 2 != 0 ? first : end - 1;
            usleep(1000);
        }
    }
    if (!is("ring") && !is("said"))
        fill(first, end);
    if (is("wrong-word"))
        say(0xdeadbeef, end);
    else if (is("ended"))
        say(FZ_RING_ENDED, 0x137f);
    else if (is("ended-high"))
        say(FZ_RING_ENDED, UINT32_MAX);
    else if (is("ended-early"))
        say(FZ_RING_ENDED, 0);
    else if (is("closes"))
        close(FZ_RING_STATUS);
    else if (is("leaves"))
        _exit(0);
    else if (is("last"))
        say(FZ_RING_LAST, end);
    else
        say(FZ_RING_DONE, is("done-high") ? end + 1 : is("done-none") ? first : end);
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "";
    greet();
    for (;;) {
        hear();
        go();
    }
}
