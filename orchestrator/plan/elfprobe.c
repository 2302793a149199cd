/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a harness without running it. Two passes: the bytes, in one stream, for the SHA-256 and the strings that a
 * stripped file keeps; then the ELF by libelf for sections and symbols. The file is hostile: every size that counts comes
 * from fstat or is checked by libelf against it, and what cannot be read is left unknown.
 */
#include "plan/elfprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "plan/elfcalls.h"

#define SCAN_CHUNK   (1 << 20)
#define SCAN_OVERLAP 63 /* longest mark below, less one */

enum mark {
    MARK_SHM_ID,
    MARK_PERSISTENT,
    MARK_DEFER,
    MARK_PROTO_NEW,
    MARK_PROTO_OLD,
    MARK_ASAN,
    MARK_MSAN,
    MARK_TSAN,
    MARK_LSAN,
    MARK_LIBFUZZER,
    MARK_DRIVER,
    MARK_KIT,
    MARK_BATCH,
    MARK_COUNT
};
/* Source: AFL++ 4.04c, 4.10c, 4.20c, 4.21c: include/config.h, instrumentation/afl-compiler-rt.o.c; LLVM fuzzer FuzzerDriver.cpp. */
static const char *const marks[MARK_COUNT] = {
    [MARK_SHM_ID] = "__AFL_SHM_ID",
    [MARK_PERSISTENT] = "##SIG_AFL_PERSISTENT##",
    [MARK_DEFER] = "##SIG_AFL_DEFER_FORKSRV##",
    [MARK_PROTO_NEW] = "forkserver message from AFL++ tool",
    [MARK_PROTO_OLD] = "reading from afl-fuzz",
    [MARK_ASAN] = "__asan_init",
    [MARK_MSAN] = "__msan_init",
    [MARK_TSAN] = "__tsan_init",
    [MARK_LSAN] = "__lsan_init",
    [MARK_LIBFUZZER] = "libFuzzer will not generate inputs larger than",
    [MARK_DRIVER] = "To run the target function on individual input(s) execute",
    [MARK_KIT] = "FZ-FAIL target=",
    [MARK_BATCH] = "##SIG_FUZZCTL_BATCH_2##", /* FZ_RING_MARK of the kit */
};

/* Hash and marks in one pass. 0 or -errno. */
static int elf_scan(int fd, bool found[MARK_COUNT], char sha256[65], long long *ret_size)
{
    cleanup_free char *buf = xmalloc(SCAN_OVERLAP + SCAN_CHUNK);
    SHA2_CTX ctx;
    size_t kept = 0;
    long long total = 0;

    SHA256Init(&ctx);
    for (;;) {
        ssize_t n = pread(fd, buf + kept, SCAN_CHUNK, total);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        total += n;
        if (total > ELFPROBE_MAX_BYTES)
            return -EFBIG;
        SHA256Update(&ctx, (const uint8_t *)buf + kept, (size_t)n);
        kept += (size_t)n;
        for (int i = 0; i < MARK_COUNT; i++)
            if (!found[i] && memmem(buf, kept, marks[i], strlen(marks[i])) != NULL)
                found[i] = true;
        if (kept > SCAN_OVERLAP) {
            memmove(buf, buf + kept - SCAN_OVERLAP, SCAN_OVERLAP);
            kept = SCAN_OVERLAP;
        }
    }
    (void)SHA256End(&ctx, sha256);
    *ret_size = total;
    return 0;
}

/* The first bytes of an object as the file holds them, 0 when it lies in no file-backed section. */
static uint32_t symbol_value(Elf *elf, const GElf_Sym *sym)
{
    Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
    GElf_Shdr sh;
    uint32_t v;
    Elf_Data *data;

    if (scn == NULL || gelf_getshdr(scn, &sh) == NULL || sh.sh_type == SHT_NOBITS ||
        sym->st_value < sh.sh_addr)
        return 0;
    data = elf_rawdata(scn, NULL);
    if (data == NULL || data->d_buf == NULL || data->d_size < sizeof(v) ||
        sym->st_value - sh.sh_addr > data->d_size - sizeof(v))
        return 0;
    memcpy(&v, (const char *)data->d_buf + (sym->st_value - sh.sh_addr), sizeof(v));
    return v;
}

static void read_symbol(Elf *elf, const char *name, const GElf_Sym *sym, struct elfprobe *e,
                        struct elfcalls *calls)
{
    bool here = sym->st_shndx != SHN_UNDEF;

    if (strncmp(name, "__afl_", 6) == 0) {
        if (here && strcmp(name, "__afl_sharedmem_fuzzing") == 0 && symbol_value(elf, sym) != 0)
            e->shm_testcase = true;
        else if (here && strcmp(name, "__afl_final_loc") == 0 && e->map_size == 0)
            e->map_size = (long)(symbol_value(elf, sym) & 0x7fffffff);
        else if (strcmp(name, "__afl_internal_dictionary") == 0)
            e->autodict = true;
        else if (here && strcmp(name, "__afl_dictionary_len") == 0 && symbol_value(elf, sym) != 0)
            e->autodict = true;
    } else if (strncmp(name, "__cmplog_", 9) == 0) {
        if (here)
            elfcalls_add(calls, ELFCALLS_CMPLOG, sym->st_value, sym->st_size);
        else
            e->cmplog = true;
    } else if (strncmp(name, "__ubsan_handle_", 15) == 0 &&
               strncmp(name + 15, "cfi_", 4) != 0) { /* LLVM's runtime calls those itself */
        if (here)
            elfcalls_add(calls, ELFCALLS_UBSAN, sym->st_value, sym->st_size);
        else
            e->ubsan = true;
    }
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elfprobe *e,
                         struct elfcalls *calls)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t n;

    if (data == NULL || sh->sh_entsize == 0)
        return;
    n = data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
        GElf_Sym sym;
        const char *name;

        if (gelf_getsym(data, (int)i, &sym) == NULL)
            return;
        name = elf_strptr(elf, sh->sh_link, sym.st_name);
        if (name != NULL && name[0] == '_')
            read_symbol(elf, name, &sym, e, calls);
    }
}

/* Which libraries it wants: a dynamic sanitizer runtime, and whether code of its own may lie outside. */
static void read_dynamic(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elfprobe *e,
                         bool *own_libraries)
{
    static const char *const common[] = {"libc.so",   "libm.so",      "libpthread.so", "libdl.so",
                                         "librt.so",  "libgcc_s.so",  "libstdc++.so",  "libc++.so",
                                         "libasan",   "libubsan",     "libclang_rt",   "ld-linux",
                                         "libc++abi", "libresolv.so", "libunwind"};
    Elf_Data *data = elf_getdata(scn, NULL);
    GElf_Dyn dyn;

    for (int i = 0; data != NULL && gelf_getdyn(data, i, &dyn) != NULL && dyn.d_tag != DT_NULL;
         i++) {
        const char *name;
        bool known = false;

        if (dyn.d_tag != DT_NEEDED)
            continue;
        name = elf_strptr(elf, sh->sh_link, dyn.d_un.d_val);
        if (name == NULL)
            continue;
        if (strncmp(name, "libasan", 7) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0)
            e->asan = e->asan_dynamic = true;
        for (size_t k = 0; k < sizeof(common) / sizeof(common[0]) && !known; k++)
            known = strncmp(name, common[k], strlen(common[k])) == 0;
        *own_libraries |= !known;
    }
}

static void read_build_id(Elf_Scn *scn, struct elfprobe *e)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t at = 0, name_at, desc_at, next;
    GElf_Nhdr note;

    while (data != NULL && e->build_id[0] == '\0' &&
           (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > at) {
        const unsigned char *buf = data->d_buf;

        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(buf + name_at, "GNU", 4) == 0 && note.n_descsz > 0 && note.n_descsz <= 32)
            for (size_t i = 0; i < note.n_descsz; i++)
                (void)snprintf(e->build_id + 2 * i, 3, "%02x", buf[desc_at + i]);
        at = next;
    }
}

static void read_elf(Elf *elf, struct elfprobe *e)
{
    struct elfcalls *calls = elfcalls_new();
    bool own_libraries = false;
    Elf_Scn *scn = NULL;
    GElf_Ehdr eh;
    size_t names, phdrs = 0;

    if (gelf_getehdr(elf, &eh) == NULL) {
        elfcalls_free(calls);
        return;
    }
    e->elf = true;
    e->machine = eh.e_machine;
    e->is_static = eh.e_type == ET_EXEC || eh.e_type == ET_DYN;
    if (elf_getphdrnum(elf, &phdrs) == 0)
        for (size_t i = 0; i < phdrs && i <= UINT16_MAX; i++) {
            GElf_Phdr ph;

            if (gelf_getphdr(elf, (int)i, &ph) != NULL && ph.p_type == PT_INTERP)
                e->is_static = false;
        }
    if (elf_getshdrstrndx(elf, &names) != 0)
        names = 0;
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        GElf_Shdr sh;
        const char *name;

        if (gelf_getshdr(scn, &sh) == NULL)
            continue;
        name = names > 0 ? elf_strptr(elf, names, sh.sh_name) : NULL;
        if (name != NULL && strcmp(name, "__sancov_guards") == 0 &&
            sh.sh_size <= (uint64_t)e->size_bytes)
            e->map_size = (long)(sh.sh_size / 4);
        else if (name != NULL && strcmp(name, "__llvm_covmap") == 0)
            e->coverage = true;
        else if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
            read_symbols(elf, scn, &sh, e, calls);
        else if (sh.sh_type == SHT_DYNAMIC)
            read_dynamic(elf, scn, &sh, e, &own_libraries);
        else if (sh.sh_type == SHT_NOTE)
            read_build_id(scn, e);
    }
    elfcalls_scan(calls, elf, eh.e_machine);
    e->cmplog |= elfcalls_found(calls, ELFCALLS_CMPLOG);
    e->ubsan |= elfcalls_found(calls, ELFCALLS_UBSAN);
    e->cmplog_certain = e->cmplog || (elfcalls_known(calls, ELFCALLS_CMPLOG) && !own_libraries);
    elfcalls_free(calls);
}

int elfprobe_read(const char *path, struct elfprobe *ret, struct err *err)
{
    struct elfprobe e = {0};
    bool found[MARK_COUNT] = {false};
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    char head[2] = "";
    Elf *elf;
    int r;

    if (fd < 0)
        return err_sys(err, -errno, "%s", path);
    if (fstat(fd, &st) < 0)
        return err_sys(err, -errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s: not a regular file", path);
    if (st.st_size > ELFPROBE_MAX_BYTES)
        return err_set(err, -EFBIG, "%s: larger than 2G", path);
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return err_sys(err, -errno, "%s is not executable", path);
    r = elf_scan(fd, found, e.sha256, &e.size_bytes);
    if (r < 0)
        return err_sys(err, r, "%s", path);
    e.is_script = pread(fd, head, 2, 0) == 2 && memcmp(head, "#!", 2) == 0;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return err_set(err, -ENOSYS, "libelf: %s", elf_errmsg(-1));
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf != NULL && elf_kind(elf) == ELF_K_ELF)
        read_elf(elf, &e);
    (void)elf_end(elf);

    e.instrumented = e.elf && found[MARK_SHM_ID];
    e.persistent = e.instrumented && found[MARK_PERSISTENT];
    e.deferred = e.instrumented && found[MARK_DEFER];
    e.asan |= e.elf && found[MARK_ASAN];
    e.msan = e.elf && found[MARK_MSAN];
    e.tsan = e.elf && found[MARK_TSAN];
    e.lsan = e.elf && found[MARK_LSAN] && !e.asan;
    e.libfuzzer = e.elf && found[MARK_LIBFUZZER];
    e.driver = e.instrumented && found[MARK_DRIVER];
    e.kit = e.elf && found[MARK_KIT];
    e.batch = e.instrumented && e.kit && found[MARK_BATCH];
    if (e.instrumented)
        e.protocol = found[MARK_PROTO_NEW]   ? ELFPROBE_PROTO_NEW
                     : found[MARK_PROTO_OLD] ? ELFPROBE_PROTO_OLD
                                             : ELFPROBE_PROTO_UNKNOWN;
    *ret = e;
    return 0;
}

const char *elfprobe_protocol_name(enum elfprobe_protocol protocol)
{
    static const char *const names[] = {
        [ELFPROBE_PROTO_NONE] = "none",
        [ELFPROBE_PROTO_OLD] = "old",
        [ELFPROBE_PROTO_NEW] = "new",
        [ELFPROBE_PROTO_UNKNOWN] = "unknown",
    };

    return names[protocol];
}

json_t *elfprobe_to_json(const struct elfprobe *e)
{
    return json_pack(
        "{s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:I,"
        "s:s,s:i,s:s,s:s,s:I}",
        "elf", e->elf, "static", e->is_static, "script", e->is_script, "instrumented",
        e->instrumented, "persistent", e->persistent, "deferred", e->deferred, "shm_testcase",
        e->shm_testcase, "asan", e->asan, "asan_dynamic", e->asan_dynamic, "ubsan", e->ubsan,
        "msan", e->msan, "tsan", e->tsan, "lsan", e->lsan, "libfuzzer", e->libfuzzer, "driver",
        e->driver, "cmplog", e->cmplog, "cmplog_certain", e->cmplog_certain, "autodict",
        e->autodict, "coverage", e->coverage, "kit", e->kit, "batch", e->batch, "map_size",
        (json_int_t)e->map_size, "protocol", elfprobe_protocol_name(e->protocol), "machine",
        e->machine, "build_id", e->build_id, "sha256", e->sha256, "size_bytes",
        (json_int_t)e->size_bytes);
}
