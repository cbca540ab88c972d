/* Signals: those of the program, and the one by which a task that spins is made to yield. */
#ifndef BOHRBUG_SIGNALS_H
#define BOHRBUG_SIGNALS_H

/* Sent by the starter to a task that has run for long without a scheduling point. */
#define NUDGE 62

#include <stdbool.h>

#include "segment.h"

void signals_begin(void);
/* Forgets what has been handled, and notes what the task blocks. */
void signals_look(struct task *task);
/* Whether a handler would run in the task now, and end its wait. */
bool signal_interrupts(const struct task *task);
/* A process gets a signal. */
void signal_send(uint32_t process, int number);
/* Whether one of the signals that a task waits for was sent to it or its process. */
bool signal_is_pending(const struct task *task);

#endif
