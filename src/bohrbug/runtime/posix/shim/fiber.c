#include "fiber.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ending.h"
#include "live.h"
#include "order.h"
#include "signals.h"
#include "task.h"

bool on_fibers;
bool keeps_masks;
struct fiber fibers[MOST_TASKS];

/* -- whether they may be used --------------------------------------------------------------- */

void needs_kernel_threads(const char *what) {
    if (!*segment->needs_kernel_threads)
        strncpy(segment->needs_kernel_threads, what, sizeof segment->needs_kernel_threads - 1);
    if (on_fibers) finish(NOT_ON_FIBERS, segment->running, "%s", what);
}

void prefers_kernel_threads(const char *what) {
    if (!live) needs_kernel_threads(what);
}

/* Sanitizers that have a mind of their own about stacks and threads. */
extern void __asan_init(void) __attribute__((weak, visibility("default")));
extern void __msan_init(void) __attribute__((weak, visibility("default")));
extern void __hwasan_init(void) __attribute__((weak, visibility("default")));

void fibers_begin(void) {
    bool can = can_switch();
    on_fibers = can && segment->fibers;
    if (!can) needs_kernel_threads("the processor");
    if (__asan_init || __msan_init || __hwasan_init) needs_kernel_threads("a sanitizer");
    fibers[index_of(current)].thread_pointer = thread_pointer();
    fibers[index_of(current)].parked = IS_PARKED;
    if (segment->signals_matter) fibers_keep_masks();
}

/* -- signals -------------------------------------------------------------------------------- */

#define BIT(number) (UINT64_C(1) << ((number) - 1))

/* By number: a signal that the C library keeps to itself must not reach a parked thread either.  The
 * starter nudges the carrier only, and a trap is for whoever has made the system call. */
static void block_signals(uint64_t *before) {
    static const uint64_t all = ~(BIT(NUDGE) | BIT(SIGSYS));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof all);
}

static void unblock_signals(const uint64_t *mask) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof *mask);
}

void fibers_keep_masks(void) {
    if (!on_fibers || keeps_masks) return;
    GUARD;
    /* So far all have the same. */
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, sizeof mask);
    for (uint32_t i = 0; i < segment->tasks; i++) fibers[i].mask = mask;
    keeps_masks = true;
}

void fiber_leave(struct fiber *own) { block_signals(&own->mask); }

void fiber_come_back(const struct fiber *own) {
    if (order_is_kept()) order_turn();
    if (keeps_masks) unblock_signals(&own->mask);
}

/* -- passing control ------------------------------------------------------------------------ */

/* The real thread of a new task may not have come that far. */
void fiber_await(struct fiber *fiber) {
    uint32_t parking = COMING;
    __atomic_compare_exchange_n(&fiber->parked, &parking, AWAITED, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    while (__atomic_load_n(&fiber->parked, __ATOMIC_ACQUIRE) != IS_PARKED)
        syscall(SYS_futex, &fiber->parked, FUTEX_WAIT_PRIVATE, AWAITED, NULL, NULL, 0);
}

void fiber_park(struct task *task) {
    struct fiber *own = &fibers[index_of(task)];
    own->thread_pointer = thread_pointer();
    /* The carrier alone gets signals. */
    block_signals(&own->mask);
    park_registers(own);
    fiber_come_back(own);
}

void fiber_wait(struct fiber *own) {
    own->thread_pointer = thread_pointer();
    park_registers(own);
}

void fiber_give(struct task *task, const struct fiber *waiting) {
    struct fiber *own = &fibers[index_of(task)];
    *own = *waiting;
    own->is_kept = true;
    /* As a thread of the kernel takes it over from its creator. */
    take_over_modes(own);
    if (keeps_masks) syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &own->mask, sizeof own->mask);
}

void fiber_begins(const struct task *task) { fiber_come_back(&fibers[index_of(task)]); }

void fiber_end(struct task *from, struct task *to) {
    struct fiber *own = &fibers[index_of(from)];
    const struct fiber *next = fiber_parked(to);
    if (keeps_masks) fiber_leave(own);
    if (own->is_kept) switch_registers(own, next);
    else switch_and_release(own, next);
}
