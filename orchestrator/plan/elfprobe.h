/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ELFPROBE_H
#define PLAN_ELFPROBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* What a harness file is, read from the ELF without running it. Source: AFL++ afl-compiler-rt.o.c, config.h signatures. */
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
    bool cmplog, laf, autodict;
    long map_size; /* guards in the ELF (size of __sancov_guards / 4), 0 unknown */
    enum elfprobe_protocol protocol;
    int machine;       /* e_machine */
    char build_id[65]; /* hex, "" none */
    char sha256[65];
    long long size_bytes;
};

/* 0, or -ENOENT, -EACCES (not executable), -errno. A file that is no ELF is 0 with elf false. */
int elfprobe_read(const char *path, struct elfprobe *ret, struct err *err);
json_t *elfprobe_to_json(const struct elfprobe *e);

#endif
