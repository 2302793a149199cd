/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TARIN_H
#define BASE_TARIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Members of a tar that anybody may have made, plain or in one zstd frame, one pass from its beginning to its end mark. libarchive takes it apart;
 * what is sparse or has no end mark is refused, and nothing may follow that but zeros. Nothing is ever written or made.
 * Source: libarchive archive_read(3), libarchive-formats(5) "Tar Formats".
 */
#define TARIN_NAME_MAX 4095

struct tarin;

enum tarin_kind { TARIN_FILE, TARIN_FOLDER, TARIN_HARDLINK, TARIN_SYMLINK, TARIN_OTHER };
struct tarin_member {
    enum tarin_kind kind;
    const char *
        name; /* not empty, at most TARIN_NAME_MAX; as the archive has it, but for slashes in a row. Until the next call */
    const char *link; /* of a hard link: the name of an earlier member; else "" */
    uint64_t size;    /* of a file, that is said, not seen yet; else 0 */
};

/* zst: it is a zstd frame, of max_bytes at most when unpacked. 0 or -errno. */
int tarin_open(const char *path, bool zst, uint64_t max_bytes, struct tarin **ret, struct err *err);
/* 1 with the next member, what is left of the one before passed over; 0 at the end; -EBADMSG with the reason, -errno. */
int tarin_next(struct tarin *t, struct tarin_member *ret, struct err *err);
/* The file's next n bytes. 0, -EBADMSG when they are not there, or when more are there behind its last one, -errno. */
int tarin_data(struct tarin *t, void *buf, uint64_t n, struct err *err);
void tarin_close(struct tarin *t);

#endif
