/* When nobody can go on. */
#ifndef BOHRBUG_STANDSTILL_H
#define BOHRBUG_STANDSTILL_H

#include <stdbool.h>

#include "segment.h"

/* No task is enabled.  Ends the execution if that is a deadlock; without `timed`, a timeout that could
 * fire, returns only when something from outside has let a task go on. */
void nothing_enabled(bool timed);

/* Whether a task waits for one that waits for ... it, for locks or for each other's end.  That others go on, or
 * come back from timeouts, changes nothing for these. */
bool waits_in_a_circle(const struct task *task);
/* The execution ends there, though others might have gone on. */
_Noreturn void finish_in_a_circle(void);

#endif
