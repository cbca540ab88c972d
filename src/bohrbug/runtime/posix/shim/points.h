/* Where operations are decisions, for the policies that sample. */
#ifndef BOHRBUG_POINTS_H
#define BOHRBUG_POINTS_H

#include <stdbool.h>

#include "segment.h"

/* What is known of a resource, by its number; it is kept with it. */
uint32_t marks_of(uint32_t number);
enum { KNOWN = 1, DECIDES = 2, SELECTED = 4, LOCATED = 8, STATIC = 16, NAMED = 32 };
/* What the plan says of a resource that events of it are on; NULL for all others. */
struct point *point_of(uint32_t number);

/* Whether the order of operations on a resource matters. */
static inline bool decides_about(uint32_t number) {
    return segment->decides_everywhere || marks_of(number) & DECIDES;
}
/* ... of what a task is about to do. */
static inline bool decides(const struct task *task) { return decides_about(task->resource); }
/* Whether it is one of the selected events. */
bool is_selected(const struct task *task);

#endif
