/* Which timeouts may fire at a step.
 *
 * A timeout of a task (a sleep, a wait) fires at any time, as a task may be late by any amount.  Timers that the
 * kernel keeps are not late: they fire in the order of time, and no clock, and no task that a timeout has woken, ever
 * sees a moment at which one has not fired that was set to an earlier one.
 * A timer of processor time fires only while somebody computes. */
#ifndef BOHRBUG_TIMEOUTS_H
#define BOHRBUG_TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* Forgets the tasks with timeouts of the step before. */
void timeouts_begin(void);
/* A task waits, and has a deadline. */
void timeouts_add(uint16_t task);
/* Fills `timed` with those that may fire beside the enabled tasks, of which none is left where a timer of the kernel
 * goes before everybody; how many they are. */
uint32_t timeouts_find(const uint16_t *enabled, uint32_t *enabled_count, uint16_t *timed);
/* The running task has yielded: the task whose timeout fires as all enabled ones only wait, or NONE. */
uint32_t timeout_of_idlers(const uint16_t *enabled, uint32_t enabled_count);
/* A task was made to yield as it spins, or is blocked, where nobody sees it: time has passed. */
void time_has_passed(void);
/* Whether a timer of the kernel should have fired by now. */
bool timer_is_due(void);

#endif
