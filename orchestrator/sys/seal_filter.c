/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seccomp filter against user namespaces: in one of its own a process has every capability again and mounts the cgroup trees
 * anew. The invariant: each way of calling the kernel that a machine has is known here (a 64-bit kernel also takes 32-bit
 * calls, under other numbers), and an unknown one is refused. What is allowed is decided by the number alone for all but two
 * calls, so the kernel answers from its cache and a call costs nothing more.
 */
#include "sys/seal_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* x32 calls are those of x86-64 with this bit. Source: asm/unistd.h, __X32_SYSCALL_BIT. */
#define X32_BIT 0x40000000U

struct abi {
    uint32_t arch, ignored_bits;
    uint32_t clone, clone3, unshare, setns;
};

static const struct abi abis[] = {
#if defined(__x86_64__) || defined(__i386__)
    {AUDIT_ARCH_X86_64, X32_BIT, 56, 435, 272, 308},
    {AUDIT_ARCH_I386, 0, 120, 435, 310, 346},
#elif defined(__aarch64__) || defined(__arm__)
    {AUDIT_ARCH_AARCH64, 0, 220, 435, 97, 268},
    {AUDIT_ARCH_ARM, 0, 120, 435, 337, 375},
#endif
    {0},
};

#define ABI_STEPS 14
#define STEPS_MAX (ABI_STEPS * (sizeof(abis) / sizeof(abis[0])) + 1)
#define FIELD(f)  (uint32_t) offsetof(struct seccomp_data, f)
/* The flags are the first argument of both calls on these machines; they are in its lower half. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FLAGS (FIELD(args) + 4)
#else
#define FLAGS FIELD(args)
#endif

/* Answers calls of one kind, and goes on behind itself with others. */
static void abi_steps(const struct abi *a, struct sock_filter out[ABI_STEPS])
{
    const struct sock_filter steps[ABI_STEPS] = {
        [0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(arch)),
        [1] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->arch, 0, ABI_STEPS - 2),
        [2] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
        [3] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~a->ignored_bits),
        [4] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->clone, 9 - 5, 0),
        [5] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->unshare, 9 - 6, 0),
        [6] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->setns, 12 - 7, 0),
        [7] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->clone3, 13 - 8, 0),
        [8] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        [9] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FLAGS),
        [10] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 12 - 11, 0),
        [11] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        [12] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        [13] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    size_t i;

    for (i = 0; i < ABI_STEPS; i++)
        out[i] = steps[i];
}

int seal_filter_install(void)
{
    struct sock_filter steps[STEPS_MAX];
    struct sock_fprog prog = {.filter = steps};
    const struct abi *a;
    size_t n = 0;

    for (a = abis; a->arch != 0; a++, n += ABI_STEPS)
        abi_steps(a, steps + n);
    if (n == 0)
        return -ENOSYS;
    steps[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    prog.len = (unsigned short)n;
    /* Without that flag older kernels switch off speculation for all that is filtered, which costs a target dear. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog) == 0)
        return 0;
    if (errno == EINVAL && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0)
        return 0;
    return -errno;
}
