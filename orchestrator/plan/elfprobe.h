/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ELFPROBE_H
#define PLAN_ELFPROBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/*
 * What a harness file is, read from the ELF without running it. A hostile or cut file gives fewer facts, never a fault. Source:
 * AFL++ include/config.h (signatures), afl-compiler-rt.o.c (strings and symbols of the runtime).
 */
#define ELFPROBE_MAX_BYTES (2LL << 30) /* a larger file is -EFBIG */

/*
 * The runtime's own words tell the fork-server protocol: "wrong forkserver message from AFL++ tool" came with 4.20c (new),
 * "reading from afl-fuzz" went with it (old). Neither: UNKNOWN.
 */
enum elfprobe_protocol {
    ELFPROBE_PROTO_NONE,
    ELFPROBE_PROTO_OLD,
    ELFPROBE_PROTO_NEW,
    ELFPROBE_PROTO_UNKNOWN
};

struct elfprobe {
    bool elf, is_static, is_script;
    bool instrumented; /* carries an AFL++ runtime */
    bool persistent, deferred, shm_testcase;
    bool asan, asan_dynamic, ubsan, msan, tsan, lsan, libfuzzer;
    bool driver; /* main() of libAFLDriver around LLVMFuzzerTestOneInput */
    /*
     * Every runtime carries the cmplog hooks; a cmplog build also calls them. The calls are looked for in x86-64 and
     * AArch64 code; on others, and where code may lie in a library of the target's own, cmplog_certain is false. (A laf-intel
     * build leaves no mark, so none is read.)
     */
    bool cmplog, cmplog_certain;
    bool autodict;
    bool
        coverage; /* source coverage by clang: sections of a coverage mapping, as llvm-cov reads them */
    bool kit;     /* built with our harness kit */
    bool batch; /* and can run inputs in batches, see sdk/fz_ring.h */
    long
        map_size; /* guards in the ELF (size of __sancov_guards / 4, or __afl_final_loc of an LTO build), 0 unknown */
    enum elfprobe_protocol protocol;
    int machine;       /* e_machine */
    char build_id[65]; /* hex, "" none */
    char sha256[65];
    long long size_bytes;
};

/*
 * 0, or -ENOENT, -EACCES (not executable), -EINVAL (no regular file), -EFBIG, -errno. A file that is no ELF is 0 with elf
 * false. Reads the whole file once; not for the daemon's loop.
 */
int elfprobe_read(const char *path, struct elfprobe *ret, struct err *err);
/* "none", "old", "new" or "unknown". */
const char *elfprobe_protocol_name(enum elfprobe_protocol protocol);
json_t *elfprobe_to_json(const struct elfprobe *e);

#endif
