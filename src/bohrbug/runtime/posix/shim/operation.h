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

#define KIND_BIT(kind) (1u << (kind))

/* The target of a task that is at a point behind a signal or a cancellation; see after_reaching. */
#define HAS_REACHED 1

#define IS_DONE_TO_OTHERS (KIND_BIT(EXECUTE) | KIND_BIT(SIGNAL) | KIND_BIT(CANCEL))

/* Whether the operation says that its task can make no progress. */
static inline bool is_yield(enum kind kind) { return kind == YIELD || kind == SLEEP; }

/* Whether it may let other tasks go on. */
static inline bool is_change(enum kind kind) {
    return KIND_BIT(kind) & (KIND_BIT(RELEASE) | KIND_BIT(NOTIFY) | KIND_BIT(END) | KIND_BIT(SPAWN) |
                             KIND_BIT(SET) | KIND_BIT(PUT) | KIND_BIT(GET) |
                             IS_DONE_TO_OTHERS);
}

/* Whether it changes its resource; as in model/operation.py. */
static inline bool is_write(enum kind kind) {
    return !(KIND_BIT(kind) & (KIND_BIT(JOIN) | KIND_BIT(SLEEP) | KIND_BIT(YIELD) |
                               KIND_BIT(INSPECT) | KIND_BIT(CONTINUE) | KIND_BIT(READ) |
                               KIND_BIT(LOAD) | KIND_BIT(CHOOSE)));
}

/* What a step has touched. */
struct touched touched_by_step(uint32_t step);
/* Whether the order of two steps of different tasks matters. */
bool conflict(const struct touched *one, const struct touched *other);
/* Whether nobody but the running task can ever tell that it is done: it is private to a process that
 * has had no other task. */
bool is_unseen(enum kind kind, uint32_t resource);
/* Whether it may end a wait that signals and cancellation end, too. */
static inline bool ends_waits(enum kind kind, enum type type) {
    return kind == NOTIFY || kind == WAIT || kind == SET || (kind == RELEASE && type == SEMAPHORE);
}

/* What is known of acquiring a resource just before an operation, as flags of the step. */
static inline uint8_t gate_of(const struct resource *resource, enum kind kind) {
    switch ((enum type)resource->type) {
    case MUTEX:
    case SPINLOCK:
    case ONCE:
    case STREAM:
        return resource->owner.task == NONE ? GATED | OPEN : GATED;
    case SEMAPHORE:
        return resource->value > 0 ? GATED | OPEN : GATED;
    case CONDITION:
        /* Whoever begins to wait holds the mutex. */
        return kind == WAIT ? GATED : 0;
    default:
        return 0;
    }
}

/* Readiness of descriptors, processes and signals are one resource, as nobody can tell apart what a
 * poll, a wait for any child or an interrupted call depend on.
 *
 * What a task is about to do with it, where that is a longer story: how tasks and processes come and go,
 * and descriptors. */
uint32_t kernel_of_life(const struct task *task);
uint32_t kernel_of_resource(const struct resource *resource, enum kind kind);

/* ... in general. */
static inline uint32_t kernel_of(const struct task *task) {
    if (task->resource & TASK_BIT) return kernel_of_life(task);
    const struct resource *resource = &RESOURCES[task->resource];
    enum type type = (enum type)resource->type;
    if (type == CHILDREN || type == DESCRIPTOR || type == STATE) return kernel_of_resource(resource, (enum kind)task->kind);
    return ends_waits((enum kind)task->kind, type) || task->cancellable ? READS_KERNEL : 0;
}

/* What a task is about to touch. */
static inline struct touched touched_by_task(const struct task *task) {
    return (struct touched){task->resource, task->also, kernel_of(task),
                            is_write((enum kind)task->kind)};
}

/* The flags of the step in which a task does what it is about to do. */
static inline uint8_t step_flags(const struct task *task, bool yielded) {
    uint32_t flags = kernel_of(task);
    if (!(task->resource & TASK_BIT))
        flags |= gate_of(&RESOURCES[task->resource], (enum kind)task->kind);
    if (yielded) flags |= YIELDED;
    if (task->condition != ALWAYS && task->condition != DONE) flags |= WAITS;
    if (task->deadline != NO_DEADLINE && !segment->late_timeouts) flags |= COULD_FIRE;
    return (uint8_t)flags;
}

#endif
