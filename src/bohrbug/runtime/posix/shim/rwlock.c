/* Reader-writer locks. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "clock.h"
#include "ending.h"
#include "real.h"
#include "schedule.h"

/* Tasks that wait to write; only where the lock prefers writers does it matter to readers. */
static uint32_t waiting_writers(uint32_t number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        count += task->condition == WRITABLE && task->resource == number;
    }
    return count;
}

/* In place of what the lock prefers, as the C library does it to mutexes: it leaves a lock that was destroyed as it was. */
#define DESTROYED 0xDE57

static struct resource *resource_of(pthread_rwlock_t *lock, uint64_t site) {
    bool is_new;
    struct resource *resource =
        resource_at(lock, RWLOCK, lock->__data.__shared != 0, site, &is_new);
    if (lock->__data.__flags == DESTROYED)
        misuse(USE_DESTROYED, resource_index(resource), site,
               "use of a reader-writer lock that was destroyed");
    if (is_new) {
        resource->flags = lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
        if (lock->__data.__cur_writer) resource->owner.task = OUTSIDE;
    }
    resource->tokens = waiting_writers(resource_index(resource));
    return resource;
}

static void add_reader(struct resource *resource, uint64_t site) {
    resource->readers++;
    for (uint32_t i = 0; i < MOST_READERS; i++) {
        struct holder *holder = &resource->reader[i];
        if (holder->site) continue;
        *holder = (struct holder){index_of(current), current->stack, site};
        return;
    }
}

/* Whether the current task is among the readers that there was room to remember. */
static void remove_reader(struct resource *resource) {
    resource->readers--;
    for (uint32_t i = 0; i < MOST_READERS; i++) {
        struct holder *holder = &resource->reader[i];
        if (!holder->site || holder->task != index_of(current)) continue;
        holder->site = 0;
        break;
    }
    segment->changes++;
}

static int read_lock(pthread_rwlock_t *lock, uint64_t site, uint64_t deadline) {
    struct resource *resource = resource_of(lock, site);
    uint32_t number = resource_index(resource);
    if (resource->owner.task == index_of(current)) {
        perform(TRY_ACQUIRE, number, site);
        return EDEADLK;
    }
    struct waiting waiting = {READABLE, 0, deadline, false, false};
    if (perform_when(ACQUIRE, number, site, waiting)) return ETIMEDOUT;
    int result = REAL(pthread_rwlock_tryrdlock)(lock);
    if (result == 0) add_reader(resource, site);
    return result;
}

static int write_lock(pthread_rwlock_t *lock, uint64_t site, uint64_t deadline) {
    struct resource *resource = resource_of(lock, site);
    uint32_t number = resource_index(resource);
    if (resource->owner.task == index_of(current)) {
        perform(TRY_ACQUIRE, number, site);
        return EDEADLK;
    }
    struct waiting waiting = {WRITABLE, 0, deadline, false, false};
    resource->tokens++;
    enum woken woken = perform_when(ACQUIRE, number, site, waiting);
    resource->tokens = waiting_writers(number);
    if (woken == TIMED_OUT) return ETIMEDOUT;
    int result = REAL(pthread_rwlock_trywrlock)(lock);
    if (result == 0) resource_take(resource, site);
    return result;
}

static int try_lock(pthread_rwlock_t *lock, bool write, uint64_t site) {
    struct resource *resource = resource_of(lock, site);
    perform(TRY_ACQUIRE, resource_index(resource), site);
    int result =
        write ? REAL(pthread_rwlock_trywrlock)(lock) : REAL(pthread_rwlock_tryrdlock)(lock);
    if (result) fruitless(site);
    else if (write) resource_take(resource, site);
    else add_reader(resource, site);
    return result;
}

EXPORT int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    CONTROLLED(pthread_rwlock_init, lock, attributes);
    int result = REAL(pthread_rwlock_init)(lock, attributes);
    if (result) return result;
    struct resource *resource = resource_make(lock, RWLOCK, lock->__data.__shared != 0, SITE);
    resource->flags = lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    return 0;
}

EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_destroy, lock);
    struct resource *resource = resource_of(lock, SITE);
    perform(SET, resource_index(resource), SITE);
    bool is_locked = resource->readers || resource->owner.task < OUTSIDE;
    if (is_locked)
        misuse(DESTROY_LOCKED, resource_index(resource), SITE,
               "destroy of a reader-writer lock that is locked");
    /* The C library leaves it as it is. */
    else resource_forget(lock);
    int result = REAL(pthread_rwlock_destroy)(lock);
    if (!is_locked) lock->__data.__flags = DESTROYED;
    return result;
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_rdlock, lock);
    return read_lock(lock, SITE, NO_DEADLINE);
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *time) {
    CONTROLLED(pthread_rwlock_timedrdlock, lock, time);
    if (!valid_time(time)) return EINVAL;
    return read_lock(lock, SITE, deadline_at(CLOCK_REALTIME, time));
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                      const struct timespec *time) {
    CONTROLLED(pthread_rwlock_clockrdlock, lock, clock, time);
    if (!can_wait_by(clock) || !valid_time(time)) return EINVAL;
    return read_lock(lock, SITE, deadline_at(clock, time));
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_tryrdlock, lock);
    return try_lock(lock, false, SITE);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_wrlock, lock);
    return write_lock(lock, SITE, NO_DEADLINE);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *time) {
    CONTROLLED(pthread_rwlock_timedwrlock, lock, time);
    if (!valid_time(time)) return EINVAL;
    return write_lock(lock, SITE, deadline_at(CLOCK_REALTIME, time));
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                      const struct timespec *time) {
    CONTROLLED(pthread_rwlock_clockwrlock, lock, clock, time);
    if (!can_wait_by(clock) || !valid_time(time)) return EINVAL;
    return write_lock(lock, SITE, deadline_at(clock, time));
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_trywrlock, lock);
    return try_lock(lock, true, SITE);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    CONTROLLED(pthread_rwlock_unlock, lock);
    struct resource *resource = resource_of(lock, SITE);
    uint32_t number = resource_index(resource);
    perform(RELEASE, number, SITE);
    if (resource->owner.task == NONE && resource->readers == 0)
        misuse(UNLOCK_RWLOCK, number, SITE, "unlock of a reader-writer lock that nobody has locked");
    if (resource->owner.task != NONE && resource->owner.task != index_of(current) &&
        resource->owner.task != OUTSIDE)
        misuse(UNLOCK_RWLOCK, number, SITE,
               "unlock of a reader-writer lock that another task has locked");
    int result = REAL(pthread_rwlock_unlock)(lock);
    if (resource->owner.task != NONE) resource_release(resource);
    else remove_reader(resource);
    after_release(number, SITE);
    return result;
}
