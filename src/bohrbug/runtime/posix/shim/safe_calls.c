#include "safe_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "own_call.h"
#include "real.h"
#include "segment.h"
#include "server.h"
#include "snapshot.h"
#include "trap.h"

#if defined(__x86_64__)

#include <asm/prctl.h>

#define MOST_RULES 512
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
/* The kernel's SIGRTMIN; that of the C library is above the signals which it keeps to itself. */
#define FIRST_REAL_TIME 32
/* What a mapping can't be made with unless it is looked at. */
#define FIXED (MAP_FIXED | 0x100000 /* MAP_FIXED_NOREPLACE */)

/* They tell something, or change what belongs to a thread, or are undone. */
static const int always[] = {
    SYS_futex, SYS_sched_yield, SYS_gettid, SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid,
    SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getresuid, SYS_getresgid, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_time, SYS_times,
    SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending,
    SYS_brk, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_exit,
    SYS_fstat, SYS_newfstatat, SYS_stat, SYS_lstat, SYS_statx, SYS_access, SYS_faccessat,
    SYS_faccessat2, SYS_readlink, SYS_readlinkat, SYS_getcwd, SYS_poll, SYS_ppoll, SYS_mincore,
    SYS_sched_getaffinity, SYS_getcpu, SYS_sched_getparam, SYS_sched_getscheduler,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getpriority, SYS_getrlimit,
    SYS_getrusage, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_membarrier,
    SYS_restart_syscall,
};

/* Only while it is written: forks would get copies of it. */
static struct program {
    struct sock_filter rules[MOST_RULES];
    unsigned short length;
} *program;

/* Whose calls are looked at. */
static enum { RESTORED, SERVER, FORK } caller;
/* Descriptors that were open before there were forks, as bits. */
static uint64_t open_before[SERVER_FD / 64 + 1];

/* One too many is counted, so that it is noticed. */
static void rule(struct sock_filter filter) {
    if (program->length < MOST_RULES) program->rules[program->length] = filter;
    program->length++;
}

#define LOAD(offset) rule((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset))
#define JUMP(test, value, yes, no) \
    rule((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (uint32_t)(value), yes, no))
#define RETURN(action) rule((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action))
#define LOW(argument) ((uint32_t)offsetof(struct seccomp_data, args[argument]))
#define HIGH(argument) (LOW(argument) + 4)

/* A call with one of some values of an argument passes; the number of the call is loaded. */
static void allow_if(int call, int argument, const uint32_t *values, size_t count) {
    JUMP(BPF_JEQ, call, 0, (uint8_t)(2 + 2 * count));
    LOAD(LOW(argument));
    for (size_t i = 0; i < count; i++) {
        JUMP(BPF_JEQ, values[i], 0, 1);
        RETURN(SECCOMP_RET_ALLOW);
    }
    RETURN(SECCOMP_RET_TRAP);
}

#define ALLOW_IF(call, argument, ...) \
    do { \
        static const uint32_t values[] = {__VA_ARGS__}; \
        allow_if(call, argument, values, sizeof values / sizeof *values); \
    } while (0)

/* ... with an argument that is 0. */
static void allow_null(int call, int argument) {
    JUMP(BPF_JEQ, call, 0, 6);
    LOAD(LOW(argument));
    JUMP(BPF_JEQ, 0, 0, 3);
    LOAD(HIGH(argument));
    JUMP(BPF_JEQ, 0, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
}

/* ... about memory in a range of addresses, whose beginning is rounded up to 4 GB. */
static void allow_between(int call, uint64_t from, uint64_t to) {
    JUMP(BPF_JEQ, call, 0, 8);
    LOAD(HIGH(0));
    JUMP(BPF_JGT, from >> 32, 0, 5);
    JUMP(BPF_JGT, to >> 32, 4, 0);
    JUMP(BPF_JEQ, to >> 32, 0, 2);
    LOAD(LOW(0));
    JUMP(BPF_JGE, to, 1, 0);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
}

static void write_program(uintptr_t free_from, uintptr_t free_to) {
    static const int about_memory[] = {SYS_munmap, SYS_mprotect, SYS_madvise};
    uint64_t place = (uint64_t)(uintptr_t)own_call_returns;
    LOAD(offsetof(struct seccomp_data, arch));
    JUMP(BPF_JEQ, ARCHITECTURE, 1, 0);
    RETURN(SECCOMP_RET_KILL_PROCESS);
    LOAD(offsetof(struct seccomp_data, nr));
    /* First, as the kernel remembers of these that they pass whatever comes with them. */
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        JUMP(BPF_JEQ, always[i], 0, 1);
        RETURN(SECCOMP_RET_ALLOW);
    }
    /* The end of a fork is really one. */
    JUMP(BPF_JEQ, caller == RESTORED ? (uint32_t)-1 : SYS_exit_group, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    LOAD((uint32_t)offsetof(struct seccomp_data, instruction_pointer));
    JUMP(BPF_JEQ, (uint32_t)place, 0, 3);
    LOAD((uint32_t)offsetof(struct seccomp_data, instruction_pointer) + 4);
    JUMP(BPF_JEQ, (uint32_t)(place >> 32), 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    LOAD(offsetof(struct seccomp_data, nr));
    /* The C library then makes threads by clone, whose flags can be seen here. */
    JUMP(BPF_JEQ, SYS_clone3, 0, 1);
    RETURN(SECCOMP_RET_ERRNO | ENOSYS);
    JUMP(BPF_JEQ, SYS_clone, 0, 4);
    LOAD(LOW(0));
    JUMP(BPF_JSET, CLONE_THREAD, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
    JUMP(BPF_JEQ, SYS_mmap, 0, 5);
    LOAD(LOW(3));
    JUMP(BPF_JSET, FIXED, 2, 0);
    JUMP(BPF_JSET, MAP_ANONYMOUS, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
    /* What is lost by that is copied back. */
    JUMP(BPF_JEQ, SYS_madvise, 0, 4);
    LOAD(LOW(2));
    JUMP(BPF_JEQ, MADV_DONTNEED, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    LOAD(offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof about_memory / sizeof *about_memory; i++)
        allow_between(about_memory[i], free_from, free_to);
    /* The C library takes one of its signals with the first thread, always for the same handler. */
    JUMP(BPF_JEQ, SYS_rt_sigaction, 0, 3);
    LOAD(LOW(0));
    JUMP(BPF_JEQ, FIRST_REAL_TIME + 1, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    LOAD(offsetof(struct seccomp_data, nr));
    allow_null(SYS_rt_sigaction, 1);
    allow_null(SYS_prlimit64, 2);
    ALLOW_IF(SYS_write, 0, 1, 2);
    ALLOW_IF(SYS_writev, 0, 1, 2);
    ALLOW_IF(SYS_lseek, 0, 0, 1, 2);
    ALLOW_IF(SYS_read, 0, 0);
    ALLOW_IF(SYS_ioctl, 1, TCGETS, FIONREAD, TIOCGWINSZ);
    ALLOW_IF(SYS_fcntl, 1, F_GETFD, F_GETFL);
    ALLOW_IF(SYS_prctl, 0, PR_GET_NAME, PR_SET_VMA);
    ALLOW_IF(SYS_arch_prctl, 0, ARCH_SET_FS, ARCH_GET_FS);
    /* How a process dies of a fault. */
    ALLOW_IF(SYS_tgkill, 2, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL);
    RETURN(SECCOMP_RET_TRAP);
}

/* -- what is looked at ---------------------------------------------------------------------- */

static struct sigaction before;

static bool is_closed_at_the_end(long descriptor) {
    if (caller == RESTORED) return snapshot_frees(descriptor);
    if (descriptor < 3 || descriptor >= SERVER_FD) return false;
    return !(open_before[descriptor / 64] & UINT64_C(1) << descriptor % 64);
}

static void note(enum changed changed) {
    if (caller == RESTORED) snapshot_note(changed);
}

/* What a fork does to its memory is its own affair. */
static bool changes_what_is_kept(const long *arguments) {
    return caller == RESTORED &&
           snapshot_holds((uintptr_t)arguments[0], (uintptr_t)arguments[1]);
}

static void give_up(uint32_t why) {
    if (caller == RESTORED) snapshot_give_up(why);
    segment->given_up = why;
    OWN_CALL(SYS_exit_group, 0, 0, 0);
}

/* Programs that are started anew have a session of their own: some tell by it who they are.  To make one
 * takes longer than many an execution, so a fork gets it when it could see the difference. */
static void be_alone(void) {
    if (caller == FORK) OWN_CALL(SYS_setsid, 0, 0, 0);
}

/* A file that is only read is closed after the execution, as if it had never been open. */
static long open_to_read(const long *arguments) {
    long flags = arguments[2];
    if (flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_PATH)) return -EPERM;
    /* It may be /proc/self/stat. */
    be_alone();
    long fd = own_call(SYS_openat, arguments[0], arguments[1], flags, arguments[3], 0, 0);
    struct stat status;
    if (fd < 0) return fd;
    bool is_plain = OWN_CALL(SYS_fstat, fd, &status, 0) == 0 &&
                    (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
    if (is_plain && is_closed_at_the_end(fd)) {
        note(FILES_OPENED);
        return fd;
    }
    OWN_CALL(SYS_close, fd, 0, 0);
    return -EPERM;
}

/* An action begins with the handler: only signals that are ignored, and those of the C library itself, are
 * known to wake nobody. */
static bool is_safe_action(int number, const uintptr_t *action) {
    bool is_internal = number >= FIRST_REAL_TIME && number < SIGRTMIN;
    return number != SIGSYS && (is_internal || *action <= (uintptr_t)SIG_IGN);
}

/* The result of a call that may be made after all; -EPERM, which none of them gives, if it may not. */
static long look(int call, const long *arguments) {
    bool changes_known = changes_what_is_kept(arguments);
    bool is_safe = false;
    switch (call) {
    case SYS_openat:
        return open_to_read(arguments);
    case SYS_mmap: {
        bool is_shared = (arguments[3] & MAP_TYPE) != MAP_PRIVATE && arguments[2] & PROT_WRITE;
        is_safe = arguments[3] & MAP_ANONYMOUS || !is_shared;
        is_safe = is_safe && !(arguments[3] & FIXED && changes_known);
        break;
    }
    case SYS_mremap:
        is_safe = !changes_known && !(arguments[3] & MREMAP_FIXED);
        break;
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
        is_safe = !changes_known;
        break;
    case SYS_close:
    case SYS_read:
    case SYS_pread64:
    case SYS_lseek:
    case SYS_getdents64:
    case SYS_fadvise64:
        is_safe = is_closed_at_the_end(arguments[0]);
        break;
    case SYS_getpgrp:
    case SYS_getpgid:
    case SYS_getsid:
        is_safe = true;
        be_alone();
        break;
    case SYS_prctl:
        is_safe = arguments[0] == PR_SET_NAME;
        if (is_safe) note(NAME_CHANGED);
        break;
    case SYS_sigaltstack:
        is_safe = true;
        note(SIGNAL_STACK_CHANGED);
        break;
    case SYS_rt_sigaction:
        is_safe = is_safe_action((int)arguments[0], (const uintptr_t *)arguments[1]);
        if (is_safe && caller == RESTORED) snapshot_keep_action((int)arguments[0]);
        break;
    default:
        break;
    }
    if (!is_safe) return -EPERM;
    return own_call(call, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]);
}

static void on_call(int number, siginfo_t *info, void *context) {
    if (info->si_code != TRAPPED || info->si_syscall == SYS_futex) {
        if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
            give_up(SYS_futex + 1);
        before.sa_sigaction(number, info, context);
        return;
    }
    long arguments[6];
    trapped_arguments(context, arguments);
    if (info->si_syscall == SYS_exit_group) snapshot_end((int)arguments[0]);
    if (caller == SERVER) {
        /* In a fork it comes back, too. */
        trapped_result(context, own_call(info->si_syscall, arguments[0], arguments[1], arguments[2],
                                         arguments[3], arguments[4], arguments[5]));
        return;
    }
    long result = look(info->si_syscall, arguments);
    if (result == -EPERM) give_up((uint32_t)info->si_syscall + 1);
    trapped_result(context, result);
}

bool safe_calls_only(uintptr_t free_from, uintptr_t free_to) {
    struct program written = {.length = 0};
    program = &written;
    write_program(free_from, free_to);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    struct sock_fprog filter = {written.length, written.rules};
    return written.length <= MOST_RULES && REAL(sigaction)(SIGSYS, &action, &before) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool safe_calls_in_forks(void) {
    caller = SERVER;
    for (int fd = 3; fd < SERVER_FD; fd++)
        if (REAL(fcntl)(fd, F_GETFD) >= 0) open_before[fd / 64] |= UINT64_C(1) << fd % 64;
    return safe_calls_only(0, UINTPTR_MAX);
}

void safe_calls_begin(void) { caller = FORK; }

#else

bool safe_calls_only(uintptr_t free_from, uintptr_t free_to) { return free_from > free_to; }
bool safe_calls_in_forks(void) { return false; }
void safe_calls_begin(void) {}

#endif
