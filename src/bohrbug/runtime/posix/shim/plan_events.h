/* Events that the plan names: what runtime/policies/ordered.py and reads_from.py count for Python tests. */
#ifndef BOHRBUG_PLAN_EVENTS_H
#define BOHRBUG_PLAN_EVENTS_H

#include <stdbool.h>

#include "segment.h"

#define EVENTS TABLE(struct event_of_plan, events)
#define PAIRS TABLE(struct pair_of_plan, pairs)

/* The event that a task is about to do, or NULL if the plan names no such event.
 *
 * Events are told apart by task, kind and resource, and by `fires`: whether a timeout ends the operation. */
struct event_of_plan *event_of(const struct task *task, bool fires);

#endif
