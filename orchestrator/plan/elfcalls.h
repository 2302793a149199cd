/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ELFCALLS_H
#define PLAN_ELFCALLS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Tells a program that calls a runtime's hooks from one that merely carries them: direct calls in executable sections whose target is a hook and
 * which do not stand in a hook themselves. x86-64 (E8 rel32) and AArch64 (BL); a byte pattern by chance is 1 in 2^32 a byte and hook.
 */
enum elfcalls_kind { ELFCALLS_CMPLOG, ELFCALLS_UBSAN, ELFCALLS_KINDS };

struct elfcalls;
struct elfcalls *elfcalls_new(void);
void elfcalls_free(struct elfcalls *c);
/* A hook at address of size bytes; twice is fine, more than some thousands are left out. */
void elfcalls_add(struct elfcalls *c, enum elfcalls_kind kind, uint64_t address, uint64_t size);
/* Looks through the code once. */
void elfcalls_scan(struct elfcalls *c, Elf *elf, int machine);
bool elfcalls_found(const struct elfcalls *c, enum elfcalls_kind kind);
/* True when an answer of "none" can be trusted: the machine is one of the two and hooks were there to look for. */
bool elfcalls_known(const struct elfcalls *c, enum elfcalls_kind kind);

#endif
