/* The common case of a scheduling point: the task goes on, as it did the step before. */
#ifndef BOHRBUG_GOING_ON_H
#define BOHRBUG_GOING_ON_H

#include <stdbool.h>

#include "segment.h"

/* Fruitless looks in a row, with no change in between, after which a task is taken to yield. */
#define FRUITLESS 50
/* Steps that a task does in a row before it is taken to yield, as any real scheduler would. */
#define TIME_SLICE 2000

/* The current task is about to do an operation without a deadline, which no signal ends.
 *
 * True if it is its turn again, and everything is done that a scheduling point does.  Else nothing
 * is done yet: something is not as in the step before, or would take a longer look. */
bool goes_on(enum kind kind, uint32_t resource, uint64_t site, enum condition condition);

/* What was found out for the steps that follow may not hold any more: tasks have come or gone, say. */
void look_again(void);

#endif
