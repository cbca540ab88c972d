#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "accesses.h"
#include "affinity.h"
#include "cancellation.h"
#include "clock.h"
#include "ended_threads.h"
#include "faults.h"
#include "fiber.h"
#include "fragment.h"
#include "mutex.h"
#include "real.h"
#include "schedule.h"
#include "signals.h"
#include "snapshot.h"
#include "spare.h"
#include "stack.h"
#include "timers.h"

/* Its destructor is the last code of a thread that we see: the program's own destructors, which may
 * take locks, have run before. */
static pthread_key_t end_key;

static void at_end(void *round) {
    uintptr_t number = (uintptr_t)round;
    if (!current) return;
    if (number < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(end_key, (void *)(number + 1));
        return;
    }
    GUARD;
    current->unwinds = 1;
    /* The process would go on without the thread that restores it. */
    if (current->main) snapshot_give_up(MAIN_ENDED);
    /* The carrier would be gone. */
    if (current->main) needs_kernel_threads("pthread_exit in main");
    current->also = mutex_left_behind();
    /* The kernel tells the next owner when its thread ends. */
    if (current->also != NONE && is_spare(current))
        needs_kernel_threads("a mutex left locked");
    perform(END, current_resource(), 0);
    mutexes_of_ended();
    /* As the C library has it where the last thread ends; others wait for the end of a child. */
    if (only_timers_stay() || (this_process && !other_threads_stay())) REAL(exit)(0);
    schedule_end();
}

void threads_begin(void) { pthread_key_create(&end_key, at_end); }

void thread_watch_end(void) { pthread_setspecific(end_key, (void *)1); }

/* It is its turn for the first time. */
static void *run(void) {
    accesses_thread();
    current->begun = 1;
    busy = 0;
    void *(*routine)(void *) = (void *(*)(void *))(uintptr_t)current->routine;
    void *result = routine((void *)(uintptr_t)current->argument);
    if (is_fragment) fragment_result(index_of(current), result);
    return result;
}

static void *begin_thread(void *task) {
    current = task;
    busy = 1;
    current->thread = (int32_t)syscall(SYS_gettid);
    thread_watch_end();
    wait_for_first_turn(current);
    return run();
}

void *thread_begin_kept(struct task *task) {
    current = task;
    busy = 1;
    fiber_begins(task);
    return run();
}

/* A handler must not run before the thread is a task. (A fiber's thread is only for its stack.) */
static int make_held(struct task *task, pthread_t *thread, const pthread_attr_t *attributes) {
    sigset_t own;
    bool has_own = attributes && pthread_attr_getsigmask_np(attributes, &own) == 0;
    task->held = segment->signals_matter && !has_own && !on_fibers;
    if (task->held) signals_hold(&task->mask);
    int result = REAL(pthread_create)(thread, attributes, begin_thread, task);
    if (task->held) signals_let_in(&task->mask);
    return result;
}

int thread_make(struct task *task, pthread_t *thread, const pthread_attr_t *attributes) {
    inside++;
    task->stack_size = stack_size_of(attributes);
    int result = 0;
    if (!spare_give(task, thread)) result = make_held(task, thread, attributes);
    inside--;
    if (result == 0) task->handle = (uint64_t)*thread;
    return result;
}

int thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                  void *argument, uint64_t site) {
    struct task *task = task_prepare(current, this_process);
    modules_record_new();
    alone = false;
    uint32_t number = TASK_BIT | index_of(task);
    task->routine = (uint64_t)(uintptr_t)routine;
    task->argument = (uint64_t)(uintptr_t)argument;
    task->spawned_at = task->site = site;
    perform(SPAWN, number, site);
    if (fails(THREAD_FAULT, site)) {
        task_discard(task);
        return errno;
    }
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes) pthread_attr_getdetachstate(attributes, &detached);
    affinity_of_new(task, attributes);
    task->detached = detached == PTHREAD_CREATE_DETACHED;
    int result = thread_make(task, thread, attributes);
    if (result) {
        task_discard(task);
        return result;
    }
    task_enliven(task);
    after_release(number, site);
    return 0;
}

/* Whether no other task of this process could tell what this one does. */
static bool is_last_of_process(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task != current) return false;
    }
    return true;
}

/* What is left to do when its end has been waited for. */
static int collect(struct task *task, pthread_t thread, void **result) {
    /* It has ended for us, and vanishes by itself now. */
    task->joined = 1;
    if (!alone) alone = is_last_of_process();
    if (is_fragment) return fragment_joins(task, thread, result);
    if (!is_spare(task)) return REAL(pthread_join)(thread, result);
    if (task->detached) return EINVAL;
    if (result) *result = spare_result(task);
    return 0;
}

int thread_join(pthread_t thread, void **result, uint64_t site, uint64_t deadline) {
    struct task *task = task_of_handle((uint64_t)thread);
    if (!task && names_ended_thread(thread, site, "join of")) return ESRCH;
    if (!task || task == current) return REAL(pthread_join)(thread, result);
    if (task->detached) {
        perform(INSPECT, TASK_BIT | index_of(task), site);
        if (task->state != OVER) return EINVAL;
    }
    struct waiting waiting = {ENDED, index_of(task), deadline, true, false};
    enum woken woken = perform_when(JOIN, TASK_BIT | index_of(task), site, waiting);
    if (task->state != OVER) {
        if (woken == TIMED_OUT) return ETIMEDOUT;
        cancellation_point();
    }
    /* Two may have waited. */
    if (names_ended_thread(thread, site, "join of")) return ESRCH;
    return collect(task, thread, result);
}

int thread_detach(pthread_t thread, uint64_t site) {
    if (names_ended_thread(thread, site, "detaching of")) return ESRCH;
    struct task *task = task_of_handle((uint64_t)thread);
    if (!task) return REAL(pthread_detach)(thread);
    if (segment->alive_count > 1) perform(SET, TASK_BIT | index_of(task), site);
    /* Another task may have joined it meanwhile. */
    if (names_ended_thread(thread, site, "detaching of")) return ESRCH;
    int result = REAL(pthread_detach)(thread);
    if (result == 0) task->detached = 1;
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*routine)(void *), void *argument) {
    CONTROLLED(pthread_create, thread, attributes, routine, argument);
    return thread_create(thread, attributes, routine, argument, SITE);
}

EXPORT int pthread_join(pthread_t thread, void **result) {
    CONTROLLED(pthread_join, thread, result);
    return thread_join(thread, result, SITE, NO_DEADLINE);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *time) {
    CONTROLLED(pthread_timedjoin_np, thread, result, time);
    if (!time) return thread_join(thread, result, SITE, NO_DEADLINE);
    if (!valid_time(time)) return EINVAL;
    return thread_join(thread, result, SITE, deadline_at(CLOCK_REALTIME, time));
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                const struct timespec *time) {
    CONTROLLED(pthread_clockjoin_np, thread, result, clock, time);
    if (!time) return thread_join(thread, result, SITE, NO_DEADLINE);
    if (!can_wait_by(clock) || !valid_time(time)) return EINVAL;
    return thread_join(thread, result, SITE, deadline_at(clock, time));
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **result) {
    CONTROLLED(pthread_tryjoin_np, thread, result);
    struct task *task = task_of_handle((uint64_t)thread);
    if (!task && names_ended_thread(thread, SITE, "join of")) return ESRCH;
    if (!task) return REAL(pthread_tryjoin_np)(thread, result);
    perform(INSPECT, TASK_BIT | index_of(task), SITE);
    if (names_ended_thread(thread, SITE, "join of")) return ESRCH;
    if (task->state != OVER) {
        fruitless(SITE);
        return EBUSY;
    }
    return collect(task, thread, result);
}

EXPORT int pthread_detach(pthread_t thread) {
    CONTROLLED(pthread_detach, thread);
    return thread_detach(thread, SITE);
}

EXPORT void pthread_exit(void *result) {
    spare_exits(result);
    if (controlled()) current->unwinds = 1;
    if (is_fragment && current) fragment_result(index_of(current), result);
    REAL(pthread_exit)(result);
    __builtin_unreachable();
}

/* The kernel's thread is not the one of this execution, or not there. */
static int name_spare(const char *name) { return strlen(name) < NAME_LENGTH ? 0 : ERANGE; }

EXPORT int pthread_setname_np(pthread_t thread, const char *name) {
    struct task *task = controlled() ? task_of_handle((uint64_t)thread) : NULL;
    bool is_other = task && task != current && is_spare(task);
    int result = is_other ? name_spare(name) : REAL(pthread_setname_np)(thread, name);
    if (result == 0 && task) strncpy(task->name, name, NAME_LENGTH - 1);
    return result;
}
