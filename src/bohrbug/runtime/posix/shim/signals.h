/* Signals: those of the program, and the one by which a task that spins is made to yield. */
#ifndef BOHRBUG_SIGNALS_H
#define BOHRBUG_SIGNALS_H

/* Sent by the starter to a task that has run for long without a scheduling point. */
#define NUDGE 62

#include <signal.h>
#include <stdbool.h>

#include "segment.h"

void signals_begin(void);
/* Notes in the record of this process which signals it handles. */
void signals_record(void);
/* No handler runs in this thread; `before` is for letting them in again. */
void signals_hold(uint64_t *before);
void signals_let_in(const uint64_t *before);
/* A mask that a task has only while it waits, as in ppoll.  Signals are held from before until the real
 * call lets them in: one that came in between would be handled without ending the wait. */
struct other_mask {
    const sigset_t *given;       /* NULL: the task keeps its own */
    sigset_t usable;             /* what `given` points to */
    uint64_t bits, before;
    bool is_held;
};
/* From here to the end of the function the current task has another mask, called `other`. */
#define WITH_MASK(mask) \
    __attribute__((cleanup(signals_put_back))) struct other_mask other; \
    signals_exchange(&other, mask)
void signals_exchange(struct other_mask *other, const sigset_t *mask);
void signals_put_back(const struct other_mask *other);
/* Whether a handler would run at once with it. */
bool signals_come_with(const struct other_mask *other);
/* From now on the waits of the current task count as made with it; NULL: with what is really blocked. */
void signals_wait_with(const struct other_mask *other);
/* The signals that the kernel has pending for a thread of this process: its own, or those of the whole process. */
uint64_t signals_pending(int thread, bool own);
/* Notes what the kernel has for this process, by a timer say. */
void signals_gather(const struct task *task);
/* Forgets what has been handled, and notes what the task blocks. */
void signals_look(struct task *task);
/* Whether one of the signals that were sent to the task, or its process, has a handler that runs with that mask. */
bool signals_deliverable(const struct task *task, uint64_t mask);
/* Whether a handler would run in the task now, and end its wait. */
bool signal_interrupts(const struct task *task);
/* ... and whether the call is to go on waiting then, as the handlers have SA_RESTART. */
bool signal_restarts(const struct task *task);
/* Whether a handler of the current task that runs just before a call, and not in it, does not end it: a
 * program that has looked at what the handler sets waits then although there is nothing to wait for.
 * Where `restarts`, a handler with SA_RESTART would not end the call anyway. */
bool signals_may_come_before(bool restarts);
/* A process gets a signal. */
void signal_send(uint32_t process, int number);
/* Whether one of the signals that a task waits for was sent to it or its process. */
bool signal_is_pending(const struct task *task);

#endif
