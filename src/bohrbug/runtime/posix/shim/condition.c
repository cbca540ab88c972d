#include "condition.h"

#include <errno.h>

#include "cancellation.h"
#include "clock.h"
#include "ending.h"
#include "faults.h"
#include "mutex.h"
#include "real.h"
#include "schedule.h"

/* glibc keeps both bits of the attributes in `__wrefs`. */
#define SHARED 1
#define MONOTONIC 2
/* ... and that it was destroyed. */
#define DESTROYED 4

static struct resource *resource_of(pthread_cond_t *condition, uint64_t site) {
    bool is_new;
    bool shared = condition->__data.__wrefs & SHARED;
    struct resource *resource = resource_at(condition, CONDITION, shared, site, &is_new);
    if (is_new && condition->__data.__wrefs & MONOTONIC) resource->clock = CLOCK_MONOTONIC;
    if (condition->__data.__wrefs & DESTROYED)
        misuse(USE_DESTROYED, resource_index(resource), site,
               "use of a condition variable that was destroyed");
    return resource;
}

/* Waiters that a signal given now may wake. */
static uint32_t mark_waiters(uint32_t number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (!awaits(task, number)) continue;
        task->eligible = 1;
        count++;
    }
    return count;
}

static uint32_t count_eligible(uint32_t number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        count += awaits(task, number) && task->eligible;
    }
    return count;
}

int condition_notify(pthread_cond_t *condition, bool all, uint64_t site) {
    struct resource *resource = resource_of(condition, site);
    uint32_t number = resource_index(resource);
    perform(NOTIFY, number, site);
    /* Which of the waiters takes a signal is decided by who runs first. */
    uint32_t waiters = mark_waiters(number);
    if (all || resource->tokens + 1 > waiters) resource->tokens = waiters;
    else resource->tokens++;
    segment->changes++;
    after_release(number, site);
    return 0;
}

int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t site,
                   uint64_t deadline) {
    struct resource *resource = resource_of(condition, site);
    uint32_t number = resource_index(resource);
    struct task *task = current;
    task->also = mutex_resource(mutex, site);
    perform(WAIT, number, site);
    bool for_nothing = wakes_for_nothing(site);
    /* It may not let the task unlock it. */
    int result = mutex_give_up(mutex, site);
    if (result) return result;
    task->eligible = 0;
    struct waiting waiting = {SIGNALLED, 0, deadline, true, false};
    if (for_nothing) waiting = (struct waiting){ALWAYS, 0, NO_DEADLINE, true, false};
    enum woken woken = perform_when(WAKE, number, site, waiting);
    bool signalled = woken == GOES_ON && task->eligible && resource->tokens > 0;
    task->eligible = 0;
    if (signalled) {
        resource->tokens--;
    } else {
        /* A signal that only this task could have taken is lost with it. */
        uint32_t left = count_eligible(number);
        if (resource->tokens > left) resource->tokens = left;
    }
    /* Whoever is cancelled has the mutex first. */
    uint8_t anywhere = current->cancel_anywhere;
    current->cancel_anywhere = 0;
    result = mutex_lock(mutex, site, NO_DEADLINE);
    current->cancel_anywhere = anywhere;
    if (woken == GOES_ON && !signalled) cancellation_point();
    if (result) return result;
    return woken == TIMED_OUT ? ETIMEDOUT : 0;
}

int condition_init(pthread_cond_t *condition, const pthread_condattr_t *attributes, uint64_t site) {
    int result = REAL(pthread_cond_init)(condition, attributes);
    if (result) return result;
    bool shared = condition->__data.__wrefs & SHARED;
    struct resource *resource = resource_make(condition, CONDITION, shared, site);
    clockid_t clock = CLOCK_REALTIME;
    if (attributes) pthread_condattr_getclock(attributes, &clock);
    resource->clock = (uint32_t)clock;
    return 0;
}

int condition_destroy(pthread_cond_t *condition, uint64_t site) {
    struct resource *resource = resource_of(condition, site);
    perform(SET, resource_index(resource), site);
    resource_forget(condition);
    return REAL(pthread_cond_destroy)(condition);
}

/* -- what programs call ----------------------------------------------------------- */

EXPORT int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    CONTROLLED(pthread_cond_init, condition, attributes);
    return condition_init(condition, attributes, SITE);
}

EXPORT int pthread_cond_destroy(pthread_cond_t *condition) {
    CONTROLLED(pthread_cond_destroy, condition);
    return condition_destroy(condition, SITE);
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    CONTROLLED(pthread_cond_wait, condition, mutex);
    return condition_wait(condition, mutex, SITE, NO_DEADLINE);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *time) {
    CONTROLLED(pthread_cond_timedwait, condition, mutex, time);
    if (!valid_time(time)) return EINVAL;
    clockid_t clock = (clockid_t)resource_of(condition, SITE)->clock;
    return condition_wait(condition, mutex, SITE, deadline_at(clock, time));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  clockid_t clock, const struct timespec *time) {
    CONTROLLED(pthread_cond_clockwait, condition, mutex, clock, time);
    if (!can_wait_by(clock) || !valid_time(time)) return EINVAL;
    return condition_wait(condition, mutex, SITE, deadline_at(clock, time));
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    CONTROLLED(pthread_cond_signal, condition);
    return condition_notify(condition, false, SITE);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    CONTROLLED(pthread_cond_broadcast, condition);
    return condition_notify(condition, true, SITE);
}
