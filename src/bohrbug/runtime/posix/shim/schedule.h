/* Scheduling points: the only places where control passes from one task to another. */
#ifndef BOHRBUG_SCHEDULE_H
#define BOHRBUG_SCHEDULE_H

#include <stdbool.h>

#include "going_on.h"
#include "resource.h"
#include "task.h"
#include "turns.h"

/* What a task may have to wait for. */
struct waiting {
    enum condition condition;
    uint64_t target;      /* for ENDED the index of a task */
    uint64_t deadline;    /* virtual nanoseconds, or NO_DEADLINE */
    bool cancellable;     /* a cancellation point */
    uint8_t interruptible; /* whether a signal with a handler ends it; else the handler runs and the wait goes on */
};

/* What ends it: any handler, or one without SA_RESTART. */
enum { NO_SIGNAL = false, SIGNALS = true, ANY_SIGNAL };

/* What a wait came to. */
enum woken { GOES_ON, TIMED_OUT, INTERRUPTED };

/* Number of the resource of the current task, for operations without another one. */
uint32_t current_resource(void);

/* The current task is about to do an operation that may have to wait; returns when the task may do it,
 * or what else ended the wait. */
enum woken perform_waiting(enum kind kind, uint32_t resource, uint64_t site,
                           const struct waiting *waiting);

/* ... one that nothing else can end. */
void perform_simply(enum kind kind, uint32_t resource, uint64_t site, enum condition condition);

static inline enum woken perform_when(enum kind kind, uint32_t resource, uint64_t site,
                                      struct waiting waiting) {
    bool waits_simply = waiting.deadline == NO_DEADLINE && !waiting.target &&
                        !waiting.cancellable && !waiting.interruptible;
    if (!waits_simply) return perform_waiting(kind, resource, site, &waiting);
    if (!goes_on(kind, resource, site, waiting.condition))
        perform_simply(kind, resource, site, waiting.condition);
    return GOES_ON;
}

/* ... one that does not block. */
static inline void perform(enum kind kind, uint32_t resource, uint64_t site) {
    perform_when(kind, resource, site, (struct waiting){ALWAYS, 0, NO_DEADLINE, false, false});
}

/* ... where the compiler knows of what type the resource is, for operations that programs do most. */
static inline __attribute__((always_inline)) void
perform_here(enum kind kind, const struct resource *resource, uint64_t site,
             enum condition condition) {
    if (!goes_on_here(kind, resource, site, condition))
        perform_simply(kind, resource_index(resource), site, condition);
}

/* Whether it is to come to a point behind an operation that lets others go on, too: a plain store may
 * follow that nobody sees. */
static inline bool has_point_behind(void) {
    return segment->alive_count > 1 && segment->after_release;
}

static inline void after_release(uint32_t resource, uint64_t site) {
    if (has_point_behind()) perform(CONTINUE, resource, site);
}

/* The same behind a call of the kernel that may let others go on.  Such calls are many: there is a point where a thread
 * of the same process could see the plain store, and where nothing else shows it. */
bool has_point_behind_call(void);
void after_call(uint32_t resource, uint64_t site);
/* Behind one that reaches a task, or a process, in whatever it does: a signal, or a cancellation. */
void after_reaching(uint32_t resource, uint64_t site);

/* Where there may be more to a scheduling point than to most; see short_way.h. */
extern enum woken (*perform_the_long_way)(enum kind kind, uint32_t resource, uint64_t site,
                                          const struct waiting *waiting) OWN;
/* From now on with store buffers, or without: without them a scheduling point does not ask for them. */
void schedule_with_buffers(bool with);

/* A data choice of the current task: a number below `arity`. */
uint32_t choose_value(uint32_t arity, uint32_t resource, uint64_t site);
/* Whether the plan has a value for the next data choice of the current task, if it is made now. */
bool has_planned_value(void);
/* A look that changed nothing; after many in a row the task is taken to wait, and yields. */
void fruitless(uint64_t site);

/* The current task takes part no more; returns when somebody has enlivened it, and its timeout has fired. */
void schedule_rest(void);
/* The current task has ended: control goes to another, and this thread is on its own. */
void schedule_end(void);
/* The task with that index is no more, and whoever acts for it passes control on. */
void schedule_after(uint32_t gone);
/* The same, but a task of another process chooses, once this one is gone with its descriptors. */
void schedule_elsewhere(void);

#endif
