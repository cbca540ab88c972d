/* When nobody can go on. */
#ifndef BOHRBUG_STANDSTILL_H
#define BOHRBUG_STANDSTILL_H

#include <stdbool.h>

#include "segment.h"

/* No task is enabled.  Ends the execution if that is a deadlock; without `timed`, a timeout that could
 * fire, returns only when something from outside has let a task go on. */
void nothing_enabled(bool timed);

#endif
