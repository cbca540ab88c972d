/* Where operations are decisions, for the policies that sample. */
#ifndef BOHRBUG_POINTS_H
#define BOHRBUG_POINTS_H

#include <stdbool.h>

#include "segment.h"

/* Whether the order of what a task is about to do matters. */
bool decides(const struct task *task);
/* Whether it is one of the selected events. */
bool is_selected(const struct task *task);

#endif
