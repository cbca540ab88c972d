/* The common case of a scheduling point: the task goes on, as it did the step before. */
#ifndef BOHRBUG_GOING_ON_H
#define BOHRBUG_GOING_ON_H

#include <stdbool.h>

#include "operation.h"
#include "policy.h"
#include "readiness.h"
#include "task.h"

/* Fruitless looks in a row, with no change in between, after which it is found out where a task stands.  Each second
 * time it yields: only then it can be told whether it has come back to where it was. */
#define FRUITLESS 25
/* Steps that a task does in a row before it is made to yield, as any real scheduler would. */
#define TIME_SLICE 2000

#define MOST_WAITING 4

/* While one task does step after step, most of what a scheduling point looks at stays as it is.
 * Whatever could change it does not come this way, or calls look_again. */
extern struct streak {
    const struct task *task;
    uint32_t step;             /* the next one */
    uint32_t until;            /* it ends before this one */
    uint32_t waiting_count;    /* tasks that may not wait any more */
    bool draws;                /* see policy_draws */
    struct task *waiting[MOST_WAITING];
    struct step step_like;     /* what all its steps have in common */
} streak OWN;

/* The running task has kept the turn: what will be the same in its next steps is found out. */
void begin_streak(struct task *task);
void end_streak(void);

/* -- what operations are like ------------------------------------------------------------- */

#define TYPE_BIT(type) (1u << (type))

/* Types of resources, and kinds of operations, of which flags_of tells all flags. */
#define PLAIN_TYPES \
    (TYPE_BIT(MUTEX) | TYPE_BIT(RWLOCK) | TYPE_BIT(SEMAPHORE) | TYPE_BIT(SPINLOCK) | \
     TYPE_BIT(ONCE) | TYPE_BIT(FUTEX) | TYPE_BIT(VARIABLE) | TYPE_BIT(ATOMIC))
#define PLAIN_KINDS \
    (KIND_BIT(ACQUIRE) | KIND_BIT(TRY_ACQUIRE) | KIND_BIT(RELEASE) | KIND_BIT(INSPECT) | \
     KIND_BIT(CONTINUE) | KIND_BIT(READ) | KIND_BIT(WRITE) | KIND_BIT(LOAD) | KIND_BIT(STORE) | \
     KIND_BIT(UPDATE))

static inline bool is_plain(enum kind kind, const struct resource *resource) {
    return PLAIN_KINDS & KIND_BIT(kind) && PLAIN_TYPES & TYPE_BIT(resource->type);
}

/* As step_flags gives them. */
static inline uint8_t flags_of(const struct resource *resource, enum kind kind,
                               enum condition condition) {
    uint8_t flags = gate_of(resource, kind);
    if (ends_waits(kind, (enum type)resource->type)) flags |= READS_KERNEL;
    if (condition != ALWAYS) flags |= WAITS;
    return flags;
}

static inline bool may_begin(const struct resource *resource, enum condition condition) {
    switch (condition) {
    case ALWAYS:
        return true;
    case UNHELD:
        return resource->owner.task == NONE;
    case WRITABLE:
        return resource->owner.task == NONE && resource->readers == 0;
    case POSITIVE:
        return resource->value > 0;
    default:
        return false;
    }
}

/* -- one step ------------------------------------------------------------------------------- */

static inline bool is_in_streak(const struct task *task, uint32_t step) {
    return streak.step == step && streak.task == task && step < streak.until;
}

/* Whether one of those that waited need not wait any more. */
bool anybody_woke(void) OWN;

static inline bool looks_in_vain(const struct task *task, uint64_t changes) {
    return task->seen_changes == changes && task->looks >= FRUITLESS;
}

static inline __attribute__((always_inline)) void
add_to_streak(struct task *task, uint64_t changes, enum kind kind,
              const struct resource *resource, uint64_t site, enum condition condition) {
    uint32_t number = (uint32_t)(resource - RESOURCES);
    if (__builtin_expect(streak.draws, 0)) policy_skips(number);
    segment->changes = changes;
    if (task->seen_changes != changes) {
        task->seen_changes = changes;
        task->looks = 0;
    }
    struct step *record = &STEPS[streak.step];
    *record = streak.step_like;
    record->site = site;
    record->resource = number;
    record->kind = (uint8_t)kind;
    record->flags = flags_of(resource, kind, condition);
    segment->steps = task->last_run = ++streak.step;
}

/* The current task is about to do an operation without a deadline, which no signal ends.
 *
 * True if it is its turn again, and everything is done that a scheduling point does.  Else nothing
 * is done yet: something is not as in the step before, or would take a longer look.
 * Where the compiler knows the kind of the operation and the type of its resource, little is left of it. */
static inline __attribute__((always_inline)) bool
goes_on_here(enum kind kind, const struct resource *resource, uint64_t site,
             enum condition condition) {
    struct task *task = current;
    if (!is_in_streak(task, segment->steps)) return false;
    if (!is_plain(kind, resource) || !may_begin(resource, condition) || task->also != NONE)
        return false;
    uint64_t changes = segment->changes + is_change(kind);
    if (looks_in_vain(task, changes) || (streak.waiting_count && anybody_woke())) return false;
    add_to_streak(task, changes, kind, resource, site, condition);
    return true;
}

/* The same for any operation. */
bool goes_on(enum kind kind, uint32_t number, uint64_t site, enum condition condition);

#endif
