/* Whether tasks could go on now. */
#ifndef BOHRBUG_READINESS_H
#define BOHRBUG_READINESS_H

#include <stdbool.h>
#include <stddef.h>

#include "segment.h"
#include "signals.h"

/* Where it depends on more than the segment says: descriptors, processes, signals. */
bool is_satisfied_outside(struct task *task);

/* Whether what the task waits for has come. */
static inline bool is_satisfied(struct task *task) {
    if (task->condition == ALWAYS) return true;
    const struct resource *resource =
        task->resource & TASK_BIT ? NULL : &RESOURCES[task->resource];
    if (task->condition == UNHELD) return resource->owner.task == NONE;
    switch ((enum condition)task->condition) {
    case ALWAYS: case DONE:
        return true;
    case NEVER:
        return false;
    case UNHELD:
        return resource->owner.task == NONE;
    case READABLE:
        return resource->owner.task == NONE && !(resource->flags && resource->tokens);
    case WRITABLE:
        return resource->owner.task == NONE && resource->readers == 0;
    case POSITIVE:
        return resource->value > 0;
    case SIGNALLED:
        return task->eligible && resource->tokens > 0;
    case WOKEN:
        return task->woken;
    case ENDED:
        return TASKS[task->target].state == OVER;
    case TRIED:
        return segment->releases != (uint32_t)task->target;
    case FD_READY: case CHILD_ENDED: case SIGNAL_SENT:
        break;
    }
    return is_satisfied_outside(task);
}

/* Whether it could go on, because of that or because something else ends its wait. */
static inline bool is_ready(struct task *task) {
    if (task->cancellable && task->cancelled && !task->cancel_disabled) return true;
    if (task->interruptible && signal_interrupts(task)) return true;
    return is_satisfied(task);
}

#endif
