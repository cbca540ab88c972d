/* Tasks: who there is, and which of them this thread is. */
#ifndef BOHRBUG_TASK_H
#define BOHRBUG_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "segment.h"

/* The task of this thread; NULL in threads that are not controlled. */
extern __thread struct task *current OWN_OF_THREAD;
/* Above 0 while this thread runs code of the shim that may call interposed functions. */
extern __thread int inside OWN_OF_THREAD;
/* Above 0 while this thread runs code of the shim; no nudge may interrupt that. */
extern __thread int busy OWN_OF_THREAD;
/* Index of this process. */
extern uint32_t this_process OWN;
/* Whether it has one task only. */
extern bool alone OWN;
/* Before main, where the first task was always the only one: what it does to mutexes, and by pthread_once, concerns nobody
 * else, and is no step.  Many libraries of C++ do so. */
extern bool early OWN;

static inline bool controlled(void) { return current && !inside; }

static inline void leave(const int *unused) {
    (void)unused;
    busy--;
}

/* From here to the end of the function this thread is busy. */
#define GUARD \
    busy++; \
    __attribute__((cleanup(leave), unused)) int guard = 0

/* How a wrapper begins: who is not controlled gets the real thing. */
#define CONTROLLED(name, ...) \
    if (!controlled()) return REAL(name)(__VA_ARGS__); \
    GUARD

/* ... one of a function that this library calls, too. */
#define CALLED_BY_PROGRAM(name, ...) \
    if (!controlled() || busy) return REAL(name)(__VA_ARGS__); \
    GUARD

/* Whether a cancellation is still to end it. */
static inline bool is_cancelled(const struct task *task) {
    return task->cancelled && !task->cancel_disabled && !task->unwinds;
}

static inline uint32_t index_of(const struct task *task) { return (uint32_t)(task - TASKS); }

/* Whether a task waits until another one wakes it by a resource. */
static inline bool awaits(const struct task *task, uint32_t resource) {
    return task->awaits == resource + 1;
}

/* A task that is not alive yet: child of `parent`, or the root if that is NULL. */
struct task *task_prepare(struct task *parent, uint32_t process);
/* ... and the store buffer of a task, which is a task, too: its child with the number 0. */
struct task *task_prepare_buffer(struct task *of);
static inline bool is_store_buffer(const struct task *task) {
    return task->number == 0 && task->parent != NONE;
}
/* From now on it can be chosen. */
void task_enliven(struct task *task);
/* From now on it can't. */
void task_remove(struct task *task);
/* Undoes task_prepare, for a thread that could not be made. */
void task_discard(struct task *task);
/* The task of a thread of this process; NULL if it is not controlled. */
struct task *task_of_handle(uint64_t handle);
/* The id of a task, as reports have it; written into `text`. */
const char *path_of(uint32_t task, char *text, size_t size);

#endif
