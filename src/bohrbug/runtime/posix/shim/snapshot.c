#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"
#include "kept_output.h"
#include "own_call.h"
#include "real.h"
#include "safe_calls.h"
#include "saved_memory.h"
#include "server.h"
#include "spare.h"
#include "task.h"
#include "thread.h"

#if defined(__x86_64__)

#include <asm/prctl.h>

#define SCRATCH ((size_t)64 << 10)
#define MASK_SIZE 8
#define SIGNALS 65
#define MOST_GAPS 16
/* The C library gives back what is more than 40 MB, and that could be one of those that were saved. */
#define MOST_STACKS_KEPT 4
/* Seconds for which threads may take to leave. */
#define PATIENCE 2

/* What a call of a function keeps, and where it goes on. */
struct registers {
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    uint32_t vector_control;
    uint16_t float_control;
};

/* The kernel's own form of a signal's action. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* One word says that an execution has ended and how: who sees the one knows the other. */
enum { IS_OVER = 0x100 };

/* All of it lies in memory of its own, which is not restored. */
static struct snapshot {
    struct registers registers;
    pid_t process;
    struct header *room;                 /* the segment of the execution */
    struct order order;
    uint64_t next;                       /* of the order, what is to follow it at once */
    uint32_t ends;                       /* once an execution is over: IS_OVER and its status */
    long input_at;                       /* where the input begins for main */
    int threads;                         /* a descriptor whose links count the threads */
    struct gap {
        int from, to;
    } gaps[MOST_GAPS];                   /* between descriptors that were open */
    int gap_count;
    uint64_t mask, changed_actions;
    uint32_t changed;                    /* enum changed, as bits */
    unsigned long thread_pointer;
    stack_t signal_stack;
    char name[16];
    struct action actions[SIGNALS];
    char scratch[SCRATCH] __attribute__((aligned(64)));
    struct saved_memory memory;
} *snapshot;

long own_call(long number, long first, long second, long third, long fourth, long fifth,
              long sixth);
__asm__(".text\n"
        ".globl own_call\n.hidden own_call\n.type own_call, @function\n"
        "own_call:\n"
        "  mov %rdi, %rax\n"
        "  mov %rsi, %rdi\n"
        "  mov %rdx, %rsi\n"
        "  mov %rcx, %rdx\n"
        "  mov %r8, %r10\n"
        "  mov %r9, %r8\n"
        "  mov 8(%rsp), %r9\n"
        "  syscall\n"
        ".globl own_call_returns\n.hidden own_call_returns\n"
        "own_call_returns:\n"
        "  ret\n"
        ".size own_call, . - own_call\n"
        /* Returns 0, and 1 when it is gone back to. */
        ".type keep_registers, @function\n"
        "keep_registers:\n"
        "  mov %rbx, 0(%rdi)\n"
        "  mov %rbp, 8(%rdi)\n"
        "  mov %r12, 16(%rdi)\n"
        "  mov %r13, 24(%rdi)\n"
        "  mov %r14, 32(%rdi)\n"
        "  mov %r15, 40(%rdi)\n"
        "  lea 8(%rsp), %rax\n"
        "  mov %rax, 48(%rdi)\n"
        "  mov (%rsp), %rax\n"
        "  mov %rax, 56(%rdi)\n"
        "  stmxcsr 64(%rdi)\n"
        "  fnstcw 68(%rdi)\n"
        "  xor %eax, %eax\n"
        "  ret\n"
        ".size keep_registers, . - keep_registers\n"
        ".type go_back, @function\n"
        "go_back:\n"
        "  mov 0(%rdi), %rbx\n"
        "  mov 8(%rdi), %rbp\n"
        "  mov 16(%rdi), %r12\n"
        "  mov 24(%rdi), %r13\n"
        "  mov 32(%rdi), %r14\n"
        "  mov 40(%rdi), %r15\n"
        "  mov 48(%rdi), %rsp\n"
        "  fninit\n"
        "  fldcw 68(%rdi)\n"
        "  ldmxcsr 64(%rdi)\n"
        "  cld\n"
        "  mov $1, %eax\n"
        "  jmp *56(%rdi)\n"
        ".size go_back, . - go_back\n"
        ".type call_on, @function\n"
        "call_on:\n"
        "  mov %rdi, %rsp\n"
        "  xor %ebp, %ebp\n"
        "  call *%rsi\n"
        "  ud2\n"
        ".size call_on, . - call_on\n");

__attribute__((returns_twice)) int keep_registers(struct registers *registers) OWN;
_Noreturn void go_back(const struct registers *registers) OWN;
_Noreturn void call_on(char *stack, void (*function)(void)) OWN;

static _Noreturn void leave_thread(void) {
    for (;;) OWN_CALL(SYS_exit, 0, 0, 0);
}

static _Noreturn void leave_process(int status) {
    for (;;) OWN_CALL(SYS_exit_group, status, 0, 0);
}

void snapshot_give_up(uint32_t why) {
    if (!snapshot) return;
    (snapshot->room ? snapshot->room : segment)->given_up = why;
    leave_process(0);
}

bool snapshot_holds(uintptr_t start, uintptr_t length) {
    return memory_is_known(&snapshot->memory, start, length);
}

bool snapshot_frees(long descriptor) {
    for (int i = 0; i < snapshot->gap_count; i++)
        if (descriptor >= snapshot->gaps[i].from && descriptor < snapshot->gaps[i].to) return true;
    return false;
}

void snapshot_note(enum changed changed) { snapshot->changed |= changed; }

void snapshot_keep_action(int number) {
    uint64_t bit = 1ULL << number % 64;
    if (number <= 0 || number >= SIGNALS || snapshot->changed_actions & bit) return;
    own_call(SYS_rt_sigaction, number, 0, (long)&snapshot->actions[number], MASK_SIZE, 0, 0);
    snapshot->changed_actions |= bit;
}

/* -- the end of an execution ---------------------------------------------------------------- */

/* Threads of the process that the kernel has not done with. */
static unsigned long thread_count(void) {
    struct stat status;
    if (OWN_CALL(SYS_fstat, snapshot->threads, &status, 0) < 0) return 0;
    return status.st_nlink - 2;
}

static void ask_to_leave(void) {
    for (uint32_t i = 0; i < segment->tasks && i < MOST_TASKS; i++) {
        int32_t thread = TASKS[i].thread;
        if (thread && thread != snapshot->process && !is_spare(&TASKS[i]))
            OWN_CALL(SYS_tgkill, snapshot->process, thread, NUDGE);
    }
}

static long seconds(void) {
    struct timespec now;
    OWN_CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &now, 0);
    return now.tv_sec;
}

static bool be_alone(void) {
    long began = 0;
    for (uint32_t round = 0; thread_count() != 1 + spare_count(); round++) {
        /* Those that have only just been made come to the point where they can be asked. */
        if (round % 64 == 0) ask_to_leave();
        OWN_CALL(SYS_sched_yield, 0, 0, 0);
        if (round % 1024 != 1023) continue;
        if (!began) began = seconds();
        else if (seconds() - began > PATIENCE) return false;
    }
    return true;
}

static void restore_kernel_state(void) {
    OWN_CALL(SYS_lseek, 0, snapshot->input_at, SEEK_SET);
    if ((unsigned long)(uintptr_t)__builtin_thread_pointer() != snapshot->thread_pointer)
        OWN_CALL(SYS_arch_prctl, ARCH_SET_FS, snapshot->thread_pointer, 0);
    uint32_t changed = snapshot->changed;
    snapshot->changed = 0;
    if (changed & NAME_CHANGED) OWN_CALL(SYS_prctl, PR_SET_NAME, snapshot->name, 0);
    if (changed & SIGNAL_STACK_CHANGED) OWN_CALL(SYS_sigaltstack, &snapshot->signal_stack, 0, 0);
    for (int i = 0; changed & FILES_OPENED && i < snapshot->gap_count; i++)
        OWN_CALL(SYS_close_range, snapshot->gaps[i].from, snapshot->gaps[i].to - 1, 0);
    for (int number = 1; snapshot->changed_actions && number < SIGNALS; number++) {
        uint64_t bit = 1ULL << number % 64;
        if (!(snapshot->changed_actions & bit)) continue;
        own_call(SYS_rt_sigaction, number, (long)&snapshot->actions[number], 0, MASK_SIZE, 0, 0);
        snapshot->changed_actions &= ~bit;
    }
}

/* Those that came too late would count for the next execution. */
static void forget_nudges(void) {
    static const uint64_t nudge = UINT64_C(1) << (NUDGE - 1);
    static const struct timespec now;
    while (own_call(SYS_rt_sigtimedwait, (long)&nudge, 0, (long)&now, MASK_SIZE, 0, 0) == NUDGE) {}
}

static void take_next(void) {
    uint64_t start = snapshot->order.starts[snapshot->next++];
    snapshot->room = (struct header *)((char *)segment + start);
}

static void tell(void) {
    uint64_t answer = (uint64_t)(uint32_t)snapshot->process << 32;
    if (OWN_CALL(SYS_write, ANSWER_FD, &answer, sizeof answer) != sizeof answer) leave_process(0);
}

static void tell_and_restore(void) {
    if (segment->signals_matter) snapshot_give_up(SIGNALS_MATTER);
    if (!be_alone()) snapshot_give_up(THREADS_STAY);
    segment->status = __atomic_load_n(&snapshot->ends, __ATOMIC_ACQUIRE) & 0xff;
    bool is_kept = output_keep(segment), goes_on = is_kept && snapshot->next < snapshot->order.count;
    __atomic_store_n(&segment->over, is_kept ? PRINTED_KEPT : IN_FILES, __ATOMIC_RELEASE);
    snapshot->room = NULL;
    if (!goes_on) tell();
    restore_kernel_state();
    bool is_restored = memory_restore(&snapshot->memory);
    /* From here on the segment is the first one of the file again. */
    if (goes_on) take_next();
    if (!is_restored) snapshot_give_up(NOT_RESTORED);
    forget_nudges();
    __atomic_store_n(&snapshot->ends, 0, __ATOMIC_RELEASE);
    own_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&snapshot->mask, 0, MASK_SIZE, 0, 0);
    go_back(&snapshot->registers);
}

/* The main thread puts everything back; for all others this is the end. */
static _Noreturn void go_home(void) {
    static const uint64_t all = UINT64_MAX;
    own_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, MASK_SIZE, 0, 0);
    if (OWN_CALL(SYS_gettid, 0, 0, 0) == snapshot->process)
        call_on(snapshot->scratch + SCRATCH, tell_and_restore);
    leave_thread();
}

void snapshot_look(void) {
    if (snapshot && __atomic_load_n(&snapshot->ends, __ATOMIC_ACQUIRE)) go_home();
}

void snapshot_end(int status) {
    if (!snapshot) return;
    uint32_t goes_on = 0, ends = IS_OVER | ((uint32_t)status & 0xff);
    if (__atomic_compare_exchange_n(&snapshot->ends, &goes_on, ends, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) &&
        OWN_CALL(SYS_gettid, 0, 0, 0) != snapshot->process)
        OWN_CALL(SYS_tgkill, snapshot->process, snapshot->process, NUDGE);
    go_home();
}

/* -- the beginning -------------------------------------------------------------------------- */

/* Where the program gets new descriptors, but above the server's own. */
static void find_gaps(struct snapshot *made) {
    int from = -1;
    for (int fd = 3; fd <= SERVER_FD && made->gap_count < MOST_GAPS; fd++) {
        struct stat status;
        bool is_open = fd == SERVER_FD || fstat(fd, &status) == 0;
        if (is_open && from >= 0) made->gaps[made->gap_count++] = (struct gap){from, fd};
        if (is_open) from = -1;
        else if (from < 0) from = fd;
    }
}

static int open_above(const char *path, int flags) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
    int above = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ANSWER_FD + 1);
    if (fd >= 0) REAL(close)(fd);
    return above;
}

static bool can_seek_input(void) {
    struct stat status;
    if (fstat(0, &status) < 0) return false;
    return S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && lseek(0, 0, SEEK_CUR) == 0);
}

/* False if this process can't be one that is restored. */
static bool prepare(void) {
    size_t size = offsetof(struct snapshot, memory) + SAVED_MEMORY_SIZE;
    /* Shared, so that the kernel does not make one mapping of it and a neighbour. */
    struct snapshot *made = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    made->process = (pid_t)syscall(SYS_getpid);
    made->input_at = lseek(0, 0, SEEK_CUR);
    find_gaps(made);
    made->threads = open_above("/proc/self/task", O_RDONLY | O_DIRECTORY);
    int maps = open_above("/proc/self/maps", O_RDONLY);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &made->mask, MASK_SIZE);
    syscall(SYS_arch_prctl, ARCH_GET_FS, &made->thread_pointer);
    prctl(PR_GET_NAME, made->name);
    sigaltstack(NULL, &made->signal_stack);
    snapshot = made;
    /* Those that have ended may still be on their way out. */
    unsigned long left = 1 + spare_count();
    for (int patience = 0; patience < 1000 && thread_count() != left; patience++) REAL(sched_yield)();
    if (made->threads < 0 || maps < 0 || !can_seek_input() || thread_count() != left ||
        !memory_survey(&made->memory, maps))
        return false;
    struct mapping unknown = memory_unknown(&made->memory);
    return safe_calls_only(unknown.start, unknown.end);
}

/* -- stacks --------------------------------------------------------------------------------- */

static void *wait_for_others(void *all) {
    pthread_barrier_t *barrier = all;
    REAL(pthread_barrier_wait)(barrier);
    return NULL;
}

/* The C library keeps the stacks of threads that have ended: so many will be at hand in each execution.
 * To map one and to unmap it takes as long as to start a thread. */
static void prepare_stacks(const char *sizes) {
    pthread_t made[MOST_STACKS_KEPT];
    pthread_barrier_t barrier;
    unsigned threads = *sizes != 0;
    for (; *sizes; sizes++) threads += *sizes == ',';
    if (threads > MOST_STACKS_KEPT) return;
    REAL(pthread_barrier_init)(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (REAL(pthread_create)(&made[i], NULL, wait_for_others, &barrier)) leave_process(0);
    REAL(pthread_barrier_wait)(&barrier);
    for (unsigned i = 0; i < threads; i++) REAL(pthread_join)(made[i], NULL);
    REAL(pthread_barrier_destroy)(&barrier);
}

static void wait_for_order(void) {
    struct order *order = &snapshot->order;
    if (OWN_CALL(SYS_read, SERVER_FD, order, sizeof *order) != sizeof *order) leave_process(0);
    snapshot->next = 0;
    take_next();
}

void snapshot_run(const char *sizes) {
    int error = errno;
    bool can_be = true;
    if (segment->fibers) can_be = spares_make(sizes, thread_begin_kept);
    else prepare_stacks(sizes);
    can_be = can_be && prepare();
    uint64_t answer = (uint64_t)(uint32_t)(can_be ? snapshot->process : 0) << 32 | 1;
    if (OWN_CALL(SYS_write, ANSWER_FD, &answer, sizeof answer) != sizeof answer || !can_be)
        leave_process(0);
    errno = error;
    if (!keep_registers(&snapshot->registers)) memory_save(&snapshot->memory);
    if (!snapshot->room) wait_for_order();
    segment_enter(snapshot->room);
}

#else

/* Nobody has written how registers are kept on other processors: no server answers. */
void snapshot_run(const char *sizes) { REAL(_exit)(sizes == NULL); }
void snapshot_look(void) {}
void snapshot_end(int status) { (void)status; }
void snapshot_give_up(uint32_t why) { (void)why; }
bool snapshot_holds(uintptr_t start, uintptr_t length) { return start || length; }
bool snapshot_frees(long descriptor) { return descriptor < 0; }
void snapshot_note(enum changed changed) { (void)changed; }
void snapshot_keep_action(int number) { (void)number; }

#endif
