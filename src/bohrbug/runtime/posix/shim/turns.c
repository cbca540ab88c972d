#include "turns.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"
#include "killing.h"
#include "order.h"
#include "process.h"
#include "schedule.h"
#include "short_way.h"
#include "task.h"

static void all_signals(int how, uint64_t *before) {
    /* By number: the C library keeps some signals, such as that of pthread_cancel, to itself. */
    static const uint64_t all = UINT64_MAX;
    syscall(SYS_rt_sigprocmask, how, how == SIG_BLOCK ? &all : before,
            how == SIG_BLOCK ? before : NULL, sizeof all);
}

static void sleep_until_turn(struct task *task) {
    /* A handler of the program must not run while another task does. */
    uint64_t before = 0;
    bool masked = segment->signals_matter;
    if (masked) all_signals(SIG_BLOCK, &before);
    for (;;) {
        uint32_t turn = __atomic_load_n(&task->turn, __ATOMIC_ACQUIRE);
        if (turn == TO_RUN) break;
        if (turn == TO_ANSWER) {
            descriptors_answer(task);
        } else if (turn == TO_DECIDE) {
            __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
            wait_for_the_dying();
            schedule_after(segment->running);
        } else if (turn == TO_FACE_SIGNALS) {
            if (masked) face_fatal_signals(before);
            __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELEASE);
        } else {
            processes_wait(task);
        }
    }
    __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
    wait_for_the_dying();
    if (order_is_kept()) order_turn();
    if (masked) all_signals(SIG_SETMASK, &before);
}

void tell(struct task *task, enum turn turn) {
    __atomic_store_n(&task->turn, turn, __ATOMIC_RELEASE);
    syscall(SYS_futex, &task->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void wait_for_turn(struct task *task) {
    if (on_fibers) fiber_park(task);
    else sleep_until_turn(task);
}

void hand_over_to_thread(struct task *task, struct task *next) {
    /* What other processes do, this one does not see. */
    if (next->process != this_process) look_again();
    tell(next, TO_RUN);
    sleep_until_turn(task);
}
