#include "trap.h"

#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "futex.h"
#include "real.h"
#include "task.h"

/* The library whose futexes are trapped: the one that is known to make them itself. */
#define LIBRARY "libgomp.so"
struct range {
    uint64_t start, end;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!name || strncmp(name + 1, LIBRARY, sizeof LIBRARY - 1) != 0) return 0;
    struct range *range = found;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        range->start = info->dlpi_addr + header->p_vaddr;
        range->end = range->start + header->p_memsz;
    }
    return 1;
}

#ifdef ARCHITECTURE

/* The place of the system call and its arguments, and where its result goes. */
uint64_t trapped_arguments(void *state, long *arguments) {
    const ucontext_t *context = state;
#if defined(__x86_64__)
    static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    for (int i = 0; i < 6; i++) arguments[i] = (long)context->uc_mcontext.gregs[registers[i]];
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
    for (int i = 0; i < 6; i++) arguments[i] = (long)context->uc_mcontext.regs[i];
    return context->uc_mcontext.pc;
#endif
}

void trapped_result(void *state, long result) {
    ucontext_t *context = state;
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RAX] = result;
#else
    context->uc_mcontext.regs[0] = (uint64_t)result;
#endif
}

static void on_trap(int number, siginfo_t *info, void *context) {
    if (info->si_code != TRAPPED || info->si_syscall != SYS_futex) {
        /* Not ours: as if there had been no handler. */
        REAL(signal)(number, SIG_DFL);
        REAL(raise)(number);
        return;
    }
    int before = errno;
    long arguments[6];
    uint64_t site = trapped_arguments(context, arguments);
    long result;
    if (controlled() && !busy) {
        GUARD;
        result = futex_perform(arguments, site);
    } else {
        result = REAL(syscall)(SYS_futex, arguments[0], arguments[1], arguments[2], arguments[3],
                               arguments[4], arguments[5]);
    }
    trapped_result(context, result < 0 ? -errno : result);
    errno = before;
}

/* A system call futex whose instruction lies in a range of addresses becomes SIGSYS. */
static bool filter(struct range range) {
    uint32_t high = (uint32_t)(range.start >> 32);
    if (high != (uint32_t)(range.end >> 32)) return false;
    uint32_t place = offsetof(struct seccomp_data, instruction_pointer);
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 8),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)range.start, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)range.end, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void traps_install(void) {
    struct range range = {0, 0};
    dl_iterate_phdr(find_code, &range);
    if (!range.end) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    REAL(sigaction)(SIGSYS, &action, NULL);
    filter(range);
}

#else

/* Nobody knows how to answer such a call on other processors. */
void traps_install(void) {}

#endif
