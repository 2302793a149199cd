/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIAGE_REPORT_SANITIZER_H
#define TRIAGE_REPORT_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A sanitizer's report as values: what, how, and the first stack of it. Pure.
 * Source: LLVM compiler-rt, lib/sanitizer_common (Report, StackTracePrinter), lib/asan/asan_errors.cpp, lib/ubsan/ubsan_handlers.cpp,
 * lib/msan/msan_report.cpp, lib/tsan/rtl/tsan_report.cpp, lib/lsan/lsan_common.cpp; GCC's libsanitizer prints the same.
 */
#define REPORT_FRAMES_MAX 128

struct report_frame {
    char func[160];   /* "" when not symbolised */
    char file[256];   /* as printed, no line; "" unknown */
    char module[256]; /* as printed; "" unknown */
    uint64_t offset;  /* in the module; 0 unknown */
};

struct report {
    char tool[8];    /* "asan", "ubsan", "msan", "tsan", "lsan", "hwasan" */
    char kind[64];   /* "heap-buffer-overflow", "signed-integer-overflow" */
    char marker[64]; /* the words of the report that the kind was made of */
    char access[8];  /* "READ", "WRITE" or "" */
    char place[96];  /* UBSan: base name of the file that the fault is in, ""; */
    bool oom;        /* the report is about too much memory, not about a wrong access */
    bool near_null;  /* SEGV of an address below 4096 */
    size_t n_frames;
    struct report_frame frames[REPORT_FRAMES_MAX];
};

/*
 * Finds the report that ended the process: the first line of the form "==PID==ERROR: ...Sanitizer: ...", and only when there is
 * none the first "runtime error:" of UBSan. False when the text holds no report.
 */
bool report_sanitizer_parse(const char *text, struct report *ret);

#endif
