/* What operations touch, and which of them depend on each other. */
#ifndef BOHRBUG_OPERATION_H
#define BOHRBUG_OPERATION_H

#include <stdbool.h>

#include "segment.h"

/* What a step touches: its operation's resource, another one that it changes, or NONE, and the
 * state that the kernel keeps, as the bits of `enum step_flag`. */
struct touched {
    uint32_t resource, also, kernel;
    bool is_write;
};

/* Whether the operation says that its task can make no progress. */
bool is_yield(enum kind kind);
/* Whether it may let other tasks go on. */
bool is_change(enum kind kind);
/* Whether it changes its resource; as in model/operation.py. */
bool is_write(enum kind kind);

/* What a task is about to touch, and what a step has touched. */
struct touched touched_by_task(const struct task *task);
struct touched touched_by_step(uint32_t step);
/* Whether the order of two steps of different tasks matters. */
bool conflict(const struct touched *one, const struct touched *other);
/* Whether nobody but the running task can ever tell that it is done: it is private to a process that
 * has had no other task. */
bool is_unseen(enum kind kind, uint32_t resource);
/* The flags of the step in which a task does what it is about to do. */
uint8_t step_flags(const struct task *task, bool yielded);

#endif
