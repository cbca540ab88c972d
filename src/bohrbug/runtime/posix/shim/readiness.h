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

/* Whether a handler runs in it before it can go on. */
static inline bool handles_signal(const struct task *task) {
    return task->interruptible == WAITS_ON && signal_interrupts(task);
}

/* Whether it could go on, because of that or because something else ends its wait. */
bool is_ready_somehow(struct task *task) OWN;

/* The same; most tasks that wait do so for a lock. */
static inline bool is_ready(struct task *task) {
    if (task->condition == UNHELD && !task->cancellable && !task->interruptible)
        return RESOURCES[task->resource].owner.task == NONE;
    return is_ready_somehow(task);
}

#endif
