/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a report's frames to the text that makes a bucket. The lists name whole
 * functions or prefixes that end in a separator, so that a project's free_list_x
 * or maintain() is not taken for free or main; and when every frame is ignored
 * the unfiltered ones are used, so that no stack ends up empty.
 */
#include "triage/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/sort.h"

static const char *const ignored_names[] = {
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "abort",
    "raise",
    "gsignal",
    "tgkill",
    "pthread_kill",
    "__assert_fail",
    "__assert_fail_base",
    "__assert",
    "exit",
    "_exit",
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "malloc_usable_size",
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "memrchr",
    "memmem",
    "mempcpy",
    "bcmp",
    "bcopy",
    "bzero",
    "strcpy",
    "strncpy",
    "strlcpy",
    "strcat",
    "strncat",
    "strlcat",
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strchr",
    "strrchr",
    "strchrnul",
    "strstr",
    "strcasestr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strdup",
    "strndup",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtok",
    "strtok_r",
    "printf",
    "fprintf",
    "sprintf",
    "snprintf",
    "vprintf",
    "vfprintf",
    "vsprintf",
    "vsnprintf",
    "puts",
    "fputs",
    "fwrite",
    "fread",
    "read",
    "write",
    "recv",
    "send",
    "qsort",
    "bsearch",
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
    /* entry points of harnesses and drivers */
    "LLVMFuzzerTestOneInput",
    "LLVMFuzzerInitialize",
    "LLVMFuzzerRunDriver",
    "ExecuteFilesOnyByOne",
    "afl_fuzz_one",
    "fz_one",
    "fz_run",
    "fz_fail",
    "fz_replay_main",
    "fz_mem",
    /* panics */
    "rust_begin_unwind",
    "rust_panic",
    "__rust_start_panic",
    "panic",
};

static const char *const ignored_prefixes[] = {
    "__asan_",    "__interceptor_", "___interceptor_", "__sanitizer",
    "__ubsan_",   "__msan_",        "__tsan_",         "__lsan_",
    "__hwasan_",  "__sancov",       "__libc_",         "__GI_",
    "_IO_",       "__gnu_cxx::",    "__cxxabiv1::",    "fuzzer::",
    "std::",      "core::",         "alloc::",         "<alloc::",
    "<core::",    "<std::",         "libfuzzer_sys::", "rust_fuzzer_",
    "runtime.",   "__afl_",         "__cxa_",          "__memcpy_",
    "__memmove_", "__memset_",      "__strlen_",       "__strcmp_",
    "__memcmp_",  "__str",          "__mem",
};

static const char *const ignored_files[] = {
    "/sanitizer_common/", "/compiler-rt/", "/libsanitizer/", "/lib/asan/", "/lib/fuzzer/",
    "/sysdeps/",          "/glibc-",       "/csu/../",       "/c++/",      "/rustc/",
    "/harnesses/sdk/",
};

static const char *const ignored_modules[] = {
    "/libc.so",  "/libc-2",    "/libpthread", "/ld-linux", "/libstdc++",   "/libc++",
    "/libasan.", "/libubsan.", "/libtsan.",   "/libgcc_s", "libclang_rt.",
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Cuts buf at the first of the given ends that is there. */
static void cut_at(char *buf, const char *end)
{
    char *p = strstr(buf, end);

    if (p != NULL && p != buf)
        *p = '\0';
}

static void drop_all(char *buf, const char *what)
{
    size_t n = strlen(what);
    char *p;

    while ((p = strstr(buf, what)) != NULL)
        memmove(p, p + n, strlen(p + n) + 1);
}

/* "::h0123456789abcdef" of Rust's old mangling. */
static void cut_rust_hash(char *buf)
{
    size_t n = strlen(buf);

    if (n <= 19 || strncmp(buf + n - 19, "::h", 3) != 0)
        return;
    for (size_t i = n - 16; i < n; i++) {
        if (!isxdigit((unsigned char)buf[i]))
            return;
    }
    buf[n - 19] = '\0';
}

char *signature_function(char *buf, size_t size, const char *func)
{
    static const char *const clones[] = {".part.",    ".constprop.", ".isra.",  ".cold",   ".llvm.",
                                         ".lto_priv", "@@",          " [clone", ".__uniq."};
    char *p;

    strlcpy(buf, func, size);
    drop_all(buf, "(anonymous namespace)::");
    drop_all(buf, "non-virtual thunk to ");
    p = strstr(buf, "operator()");
    p = strchr(p != NULL ? p + strlen("operator()") : buf, '(');
    if (p != NULL && p != buf)
        *p = '\0';
    for (size_t i = 0; i < LENGTH(clones); i++)
        cut_at(buf, clones[i]);
    cut_rust_hash(buf);
    for (size_t n = strlen(buf); n > 0 && buf[n - 1] == ' '; n--)
        buf[n - 1] = '\0';
    return buf;
}

bool signature_frame_ignored(const struct report_frame *f)
{
    char func[sizeof(f->func)];

    for (size_t i = 0; i < LENGTH(ignored_files); i++) {
        if (f->file[0] != '\0' && strstr(f->file, ignored_files[i]) != NULL)
            return true;
    }
    for (size_t i = 0; i < LENGTH(ignored_modules); i++) {
        if (f->module[0] != '\0' && strstr(f->module, ignored_modules[i]) != NULL)
            return true;
    }
    if (f->func[0] == '\0')
        return false;
    signature_function(func, sizeof(func), f->func);
    for (size_t i = 0; i < LENGTH(ignored_names); i++) {
        if (strcmp(func, ignored_names[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < LENGTH(ignored_prefixes); i++) {
        if (strncmp(func, ignored_prefixes[i], strlen(ignored_prefixes[i])) == 0)
            return true;
    }
    return false;
}

static void append(char *buf, size_t size, const char *sep, const char *s)
{
    if (buf[0] != '\0')
        strlcat(buf, sep, size);
    strlcat(buf, s, size);
}

/*
 * Names up to max functions in stack order, each once. filter: without the ignored ones; else down to main, as what calls main is
 * the C library's, and named differently by each of its versions. Returns how many were named.
 */
static size_t name_frames(char *buf, size_t size, const struct report *r, size_t max, bool filter)
{
    char func[sizeof(r->frames[0].func)], last[sizeof(func)] = "";
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < r->n_frames && n < max; i++) {
        const struct report_frame *f = &r->frames[i];

        if (f->func[0] == '\0' || (filter && signature_frame_ignored(f)))
            continue;
        signature_function(func, sizeof(func), f->func);
        if (strcmp(func, last) == 0)
            continue; /* plain recursion */
        strlcpy(last, func, sizeof(last));
        append(buf, size, " < ", func);
        n++;
        if (!filter && strcmp(func, "main") == 0)
            break;
    }
    return n;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * A stack overflow dies at a chance place of its cycle: the cycle's functions, sorted, are what stays. Those that occur at least
 * twice among the frames are of the cycle.
 */
static size_t name_cycle(char *buf, size_t size, const struct report *r)
{
    struct strv names = {0};
    size_t named = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < r->n_frames; i++) {
        char func[sizeof(r->frames[0].func)];

        if (r->frames[i].func[0] == '\0' || signature_frame_ignored(&r->frames[i]))
            continue;
        strv_add(&names, signature_function(func, sizeof(func), r->frames[i].func));
    }
    if (names.n > 1)
        array_sort(names.v, names.n, sizeof(*names.v), compare_names);
    for (size_t i = 0; i + 1 < names.n && named < SIGNATURE_CYCLE; i++) {
        bool first = i == 0 || strcmp(names.v[i - 1], names.v[i]) != 0;

        if (first && strcmp(names.v[i], names.v[i + 1]) == 0) {
            append(buf, size, " + ", names.v[i]);
            named++;
        }
    }
    strv_clear(&names);
    return named;
}

/* The first frame with a module, as "name+0x12"; false when there is none. */
static bool name_offset(char *buf, size_t size, const struct report *r)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->n_frames; i++) {
            const struct report_frame *f = &r->frames[i];
            const char *slash = strrchr(f->module, '/');

            if (f->module[0] == '\0' || (pass == 0 && signature_frame_ignored(f)))
                continue;
            snprintf(buf, size, "%.64s+0x%llx", slash != NULL ? slash + 1 : f->module,
                     (unsigned long long)f->offset);
            return true;
        }
    }
    return false;
}

char *signature_report(char *buf, size_t size, const struct report *r, const char *build_id,
                       char *ret_why, size_t why_size)
{
    char frames[512], head[96];
    const char *rule;

    snprintf(head, sizeof(head), "%s%s%s", r->kind, r->access[0] != '\0' ? " " : "", r->access);
    if (strcmp(r->kind, "stack-overflow") == 0 && name_cycle(frames, sizeof(frames), r) > 0) {
        /* Whether the last push was a read or a write is chance too. */
        snprintf(buf, size, "stack-overflow in cycle %s", frames);
        rule = "functions of the recursion";
    } else if (name_frames(frames, sizeof(frames), r, SIGNATURE_FRAMES, true) > 0) {
        snprintf(buf, size, "%s in %s", head, frames);
        rule = "top project function";
    } else if (name_frames(frames, sizeof(frames), r, SIGNATURE_FRAMES + 2, false) > 0) {
        snprintf(buf, size, "%s in %s", head, frames);
        rule = "top functions unfiltered, as none is the project's own";
    } else if (r->place[0] != '\0') {
        snprintf(buf, size, "%s at %s", head, r->place);
        rule = "source file, as the report has no stack";
    } else if (name_offset(frames, sizeof(frames), r)) {
        snprintf(buf, size, "%s at %s build-id %.16s unsymbolised", head, frames,
                 build_id[0] != '\0' ? build_id : "none");
        rule = "top module offset, as no frame has a name";
    } else {
        snprintf(buf, size, "%s", head);
        rule = "kind alone, as the report has no stack";
    }
    snprintf(ret_why, why_size, "%s report: kind, direction and %s", r->tool, rule);
    return buf;
}

void signature_bucket(const char *target, const char *signature, char ret_id[13])
{
    char hex[65], *text;
    size_t nt = strlen(target), ns = strlen(signature);

    text = xmalloc(nt + 1 + ns);
    memcpy(text, target, nt + 1);
    memcpy(text + nt + 1, signature, ns);
    hash_sha256_hex(text, nt + 1 + ns, hex);
    free(text);
    strlcpy(ret_id, hex, 13);
}
