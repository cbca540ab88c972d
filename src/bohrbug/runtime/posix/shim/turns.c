#include "turns.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asking.h"
#include "killing.h"
#include "order.h"
#include "process.h"
#include "readiness.h"
#include "schedule.h"
#include "short_way.h"
#include "signals.h"
#include "task.h"

/* A handler may come to scheduling points of its own: what the task has waited for, and how that ended,
 * is found out before. */
static void let_handlers_run(struct task *task, const uint64_t *before) {
    if (signals_deliverable(task, *before)) segment->handlers_run = 1;
    if (task->interruptible == ENDS_THE_WAIT) {
        task->condition = is_satisfied(task) ? ALWAYS : NEVER;
        task->restarts = signal_restarts(task);
    }
    const struct task waited = *task;
    task->handling = 0;
    signals_let_in(before);
    task->handling = waited.handling;
    task->condition = waited.condition;
    task->interruptible = waited.interruptible;
    task->restarts = waited.restarts;
    task->timed_out = waited.timed_out;
}

/* A handler of the program must not run while another task does. */
struct held {
    bool masked;
    uint64_t before;
};

static struct held hold(void) {
    struct held held = {segment->signals_matter, 0};
    if (held.masked) signals_hold(&held.before);
    return held;
}

static void sleep_until_turn(struct task *task, struct held held) {
    for (;;) {
        uint32_t turn = __atomic_load_n(&task->turn, __ATOMIC_ACQUIRE);
        if (turn == TO_RUN) break;
        if (turn == TO_ANSWER) {
            answer(task);
        } else if (turn == TO_DECIDE) {
            __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
            wait_for_the_dying();
            schedule_after(segment->running);
        } else if (turn == TO_FACE_SIGNALS) {
            if (held.masked) face_fatal_signals(task->interruptible ? task->mask : held.before);
            is_done_with(task, TO_FACE_SIGNALS);
        } else {
            processes_wait(task);
        }
    }
    __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
    wait_for_the_dying();
    if (order_is_kept()) order_turn();
    if (held.masked) let_handlers_run(task, &held.before);
}

void is_done_with(struct task *task, enum turn what) {
    uint32_t turn = what;
    __atomic_compare_exchange_n(&task->turn, &turn, PARKED, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

void tell(struct task *task, enum turn turn) {
    __atomic_store_n(&task->turn, turn, __ATOMIC_RELEASE);
    syscall(SYS_futex, &task->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void wait_for_first_turn(struct task *task) {
    if (task->held) sleep_until_turn(task, (struct held){true, task->mask});
    else wait_for_turn(task);
}

void wait_for_turn(struct task *task) {
    if (on_fibers) fiber_park(task);
    else sleep_until_turn(task, hold());
}

void hand_over_to_thread(struct task *task, struct task *next) {
    /* What other processes do, this one does not see. */
    if (next->process != this_process) look_again();
    /* Before the next one can run, and end, which is a signal to this one. */
    struct held held = hold();
    tell(next, TO_RUN);
    sleep_until_turn(task, held);
}
