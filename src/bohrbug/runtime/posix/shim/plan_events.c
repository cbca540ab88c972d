#include "plan_events.h"

#include <stddef.h>

#include "points.h"

/* A task, a kind of operation and whether a timeout ends it, as one number; made in the same way in
 * plan_events.py. */
static uint32_t what_of(const struct task *task, bool fires) {
    return task->name_in_plan << 6 | task->kind << 1 | (fires ? 1 : 0);
}

struct event_of_plan *event_of(const struct task *task, bool fires) {
    if (task->name_in_plan == NONE) return NULL;
    const struct point *point = point_of(task->resource);
    if (!point) return NULL;
    struct event_of_plan *events = EVENTS;
    uint32_t what = what_of(task, fires), low = point->events, high = point->events_end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (events[middle].what < what) low = middle + 1;
        else high = middle;
    }
    return low < point->events_end && events[low].what == what ? &events[low] : NULL;
}
