/* Fibers: one kernel thread, the carrier, wears every task of the process.
 *
 * Each task has a real thread of the C library, so a real stack, thread-local variables, errno and
 * pthread_self().  That thread parks before it does anything; the carrier runs the task on its stack
 * and with its thread pointer, and passes control on in user space.  When the task has ended, the
 * parked thread goes on from there and returns into the C library, which cleans up as ever.
 *
 * What depends on which kernel thread makes a call must not happen on fibers: whoever could do that
 * says so by needs_kernel_threads. */
#ifndef BOHRBUG_FIBER_H
#define BOHRBUG_FIBER_H

#include <stdbool.h>

#include "fiber_switch.h"
#include "order.h"
#include "task.h"

/* Whether tasks of this process are fibers. */
extern bool on_fibers OWN;

/* Makes this thread the carrier, if the starter wants fibers. */
void fibers_begin(void);
/* `what`, a function say, is only right if the task is a kernel thread of its own.  On fibers the
 * execution ends; else the starter gets to know it, and goes on without fibers. */
void needs_kernel_threads(const char *what);
/* ... where nothing is likely to be wrong with it on fibers: a run with live rounds, which can't begin anew, goes on. */
void prefers_kernel_threads(const char *what);
/* The program changes masks of signals, or has handlers. */
void fibers_keep_masks(void);

/* In the real thread of a new task: parks it; returns in the carrier, when the task is chosen. */
void fiber_park(struct task *task);
/* In a thread that is kept for later: parks it; returns in the carrier, when the task is chosen that it was
 * given. */
void fiber_wait(struct fiber *own);
/* A new task gets such a thread, whose kernel thread will never go on. */
void fiber_give(struct task *task, const struct fiber *waiting);
/* The first thing that such a task does. */
void fiber_begins(const struct task *task);
/* The task has ended, and its real thread returns from here; the carrier goes on with another one. */
void fiber_end(struct task *from, struct task *to);

/* -- where every hand-over comes by ------------------------------------------------------------- */

/* Whether tasks may block different signals. */
extern bool keeps_masks OWN;
/* By the index of the task. */
extern struct fiber fibers[MOST_TASKS] OWN;

/* Returns when a real thread is parked. */
void fiber_await(struct fiber *fiber);
/* The task loses the turn, or gets it, where more depends on that than the registers. */
void fiber_leave(struct fiber *own);
void fiber_come_back(const struct fiber *own);

/* The fiber of a task that does not run. */
static inline const struct fiber *fiber_parked(const struct task *task) {
    struct fiber *fiber = &fibers[index_of(task)];
    bool is_there = __atomic_load_n(&fiber->parked, __ATOMIC_ACQUIRE) == IS_PARKED;
    if (!is_there) fiber_await(fiber);
    return fiber;
}

/* The carrier goes on with another task; returns when it comes back to this one. */
static inline void fiber_switch(struct task *from, struct task *to) {
    struct fiber *own = &fibers[index_of(from)];
    const struct fiber *next = fiber_parked(to);
    if (keeps_masks) fiber_leave(own);
    switch_registers(own, next);
    if (keeps_masks || order_is_kept()) fiber_come_back(own);
}

#endif
