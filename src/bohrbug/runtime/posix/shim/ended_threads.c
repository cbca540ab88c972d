/* Threads whose life is over: they have ended, and were joined or detached.  Their handles name nothing any more, or a
 * new thread. */
#include "ended_threads.h"

#include <stddef.h>

#include "ending.h"
#include "task.h"

static bool life_is_over(const struct task *task) {
    return task->joined || (task->detached && task->state == OVER);
}

static const struct task *ended_of_handle(uint64_t handle) {
    const struct task *found = NULL;
    for (uint32_t i = 0; i < segment->tasks; i++) {
        const struct task *task = &TASKS[i];
        if (task->handle != handle || task->process != this_process) continue;
        /* The C library gives the handle of a thread that is gone to a new one. */
        if (!life_is_over(task)) return NULL;
        found = task;
    }
    return found;
}

bool names_ended_thread(pthread_t thread, uint64_t site, const char *what) {
    const struct task *task = ended_of_handle((uint64_t)thread);
    if (!task) return false;
    misuse(USE_ENDED_THREAD, TASK_BIT | index_of(task), site, "%s a thread that has ended, and was %s", what,
           task->joined ? "joined" : "detached");
    return true;
}
