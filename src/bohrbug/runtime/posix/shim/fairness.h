/* Fair scheduling, so that loops which wait for another task come to an end.
 *
 * As threads/fairness.py has it: a program may yield although it can make progress.  So a task is not held back as
 * soon as it yields: where it does not stand where it stood at its last yield, it may go on a few times.  If it is
 * held back after that, this is an assumption, and the verdict names it. */
#ifndef BOHRBUG_FAIRNESS_H
#define BOHRBUG_FAIRNESS_H

#include <stdbool.h>

#include "segment.h"

/* The current task is about to yield, by a call of the program that returns to that place. */
void fairness_comes(uint64_t site);
/* The current task has looked in vain a number of times; whether it is to yield.  Each second time it is: the first
 * one only finds out where it stands. */
bool fairness_looked(uint64_t site);
/* `task` is made to yield, whatever it does. */
void fairness_has_run_long(uint32_t task);
/* `task` yields: those that it kept waiting since its last yield may go first now. */
void fairness_yielded(uint32_t task, const uint16_t *enabled, uint32_t count);
/* Takes the tasks that must wait for another enabled one out of `enabled`; how many are left. */
uint32_t fairness_filter(uint16_t *enabled, uint32_t count);
/* `task` runs: nobody waits for it any more. */
void fairness_scheduled(uint32_t task);

#endif
