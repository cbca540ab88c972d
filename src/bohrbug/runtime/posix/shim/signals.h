/* Signals: those of the program, and the one by which a task that spins is made to yield. */
#ifndef BOHRBUG_SIGNALS_H
#define BOHRBUG_SIGNALS_H

/* Sent by the starter to a task that has run for long without a scheduling point. */
#define NUDGE 62

#include <signal.h>
#include <stdbool.h>

#include "segment.h"

void signals_begin(void);
/* No handler runs in this thread; `before` is for letting them in again. */
void signals_hold(uint64_t *before);
void signals_let_in(const uint64_t *before);
/* Whether a handler would run at once with another mask. */
bool signals_come_with(const sigset_t *mask);
/* Notes what the kernel has for this process, by a timer say. */
void signals_gather(const struct task *task);
/* Forgets what has been handled, and notes what the task blocks. */
void signals_look(struct task *task);
/* Whether a handler would run in the task now, and end its wait. */
bool signal_interrupts(const struct task *task);
/* ... and whether the call is to go on waiting then, as the handlers have SA_RESTART. */
bool signal_restarts(const struct task *task);
/* A process gets a signal. */
void signal_send(uint32_t process, int number);
/* Whether one of the signals that a task waits for was sent to it or its process. */
bool signal_is_pending(const struct task *task);

#endif
