/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds direct calls to a set of hooks in the code of an ELF. The hooks are sorted once; each candidate call is
 * a binary search. Nothing is decoded but the call itself, so data in a code section can only add a false candidate, whose
 * chance is negligible.
 */
#include "plan/elfcalls.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sort.h"

#define HOOKS_MAX 4096

struct hook {
    uint64_t address, size;
    enum elfcalls_kind kind;
};
struct elfcalls {
    struct hook hooks[HOOKS_MAX];
    size_t n;
    bool had[ELFCALLS_KINDS], found[ELFCALLS_KINDS];
    bool machine_known;
};

struct elfcalls *elfcalls_new(void)
{
    return xcalloc(1, sizeof(struct elfcalls));
}

void elfcalls_free(struct elfcalls *c)
{
    free(c);
}

void elfcalls_add(struct elfcalls *c, enum elfcalls_kind kind, uint64_t address, uint64_t size)
{
    if (c->n == HOOKS_MAX || address == 0)
        return;
    c->hooks[c->n++] = (struct hook){.address = address, .size = size, .kind = kind};
    c->had[kind] = true;
}

static int hook_compare(const void *a, const void *b)
{
    const struct hook *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* The last hook that begins at or below address, or NULL. */
static const struct hook *hook_below(const struct elfcalls *c, uint64_t address)
{
    size_t lo = 0, hi = c->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c->hooks[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 ? &c->hooks[lo - 1] : NULL;
}

static void call_seen(struct elfcalls *c, uint64_t from, uint64_t target)
{
    const struct hook *to = hook_below(c, target), *in;

    if (to == NULL || to->address != target || c->found[to->kind])
        return;
    in = hook_below(c, from);
    if (in != NULL && from - in->address < in->size)
        return;
    c->found[to->kind] = true;
}

static void scan_x86_64(struct elfcalls *c, const unsigned char *code, size_t size, uint64_t base)
{
    const unsigned char *p = code, *end = code + size;

    while (end - p >= 5 && (p = memchr(p, 0xe8, (size_t)(end - p) - 4)) != NULL) {
        uint64_t at = base + (uint64_t)(p - code);
        int32_t rel;

        memcpy(&rel, p + 1, sizeof(rel));
        call_seen(c, at, at + 5 + (uint64_t)(int64_t)rel);
        p++;
    }
}

static void scan_aarch64(struct elfcalls *c, const unsigned char *code, size_t size, uint64_t base)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t insn;
        int64_t rel;

        memcpy(&insn, code + i, sizeof(insn));
        if ((insn & 0xfc000000u) != 0x94000000u)
            continue;
        rel = (int64_t)(insn & 0x03ffffffu);
        if (rel & 0x02000000)
            rel -= 0x04000000;
        call_seen(c, base + i, base + i + (uint64_t)(rel * 4));
    }
}

void elfcalls_scan(struct elfcalls *c, Elf *elf, int machine)
{
    Elf_Scn *scn = NULL;

    c->machine_known = machine == EM_X86_64 || machine == EM_AARCH64;
    if (!c->machine_known || c->n == 0)
        return;
    array_sort(c->hooks, c->n, sizeof(c->hooks[0]), hook_compare);
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        GElf_Shdr sh;
        Elf_Data *data;

        if (gelf_getshdr(scn, &sh) == NULL || sh.sh_type != SHT_PROGBITS ||
            !(sh.sh_flags & SHF_EXECINSTR))
            continue;
        data = elf_rawdata(scn, NULL);
        if (data == NULL || data->d_buf == NULL)
            continue;
        if (machine == EM_X86_64)
            scan_x86_64(c, data->d_buf, data->d_size, sh.sh_addr);
        else
            scan_aarch64(c, data->d_buf, data->d_size, sh.sh_addr);
    }
}

bool elfcalls_found(const struct elfcalls *c, enum elfcalls_kind kind)
{
    return c->found[kind];
}

bool elfcalls_known(const struct elfcalls *c, enum elfcalls_kind kind)
{
    return c->machine_known && c->had[kind];
}
