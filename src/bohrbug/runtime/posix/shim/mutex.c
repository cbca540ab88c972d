#include "mutex.h"

#include <errno.h>
#include <stdbool.h>

#include "clock.h"
#include "ending.h"
#include "freed.h"
#include "real.h"
#include "schedule.h"

/* As glibc keeps it in `__kind`; its bits/struct_mutex.h and nptl's internal header. */
#define KIND_MASK 3
#define ROBUST 16
#define SHARED 128
#define DESTROYED (-1)

static int kind_of(const pthread_mutex_t *mutex) { return mutex->__data.__kind & KIND_MASK; }

/* On record, because another process may have to know, which can't read the mutex. */
static void note_kind(struct resource *resource, const pthread_mutex_t *mutex) {
    resource->flags = mutex->__data.__kind != DESTROYED ? mutex->__data.__kind & ROBUST : 0;
}

static bool is_locked(const pthread_mutex_t *mutex) {
    return mutex->__data.__lock != 0 && mutex->__data.__owner != 0;
}

/* The task that has locked a mutex where nobody saw it, such as before main. */
static uint32_t holder_of(const pthread_mutex_t *mutex) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task->thread == mutex->__data.__owner)
            return index_of(task);
    }
    return OUTSIDE;
}

/* The memory may have been used for something else, or the mutex locked where nobody saw it. */
static struct resource *resource_looked_up(pthread_mutex_t *mutex, uint64_t site,
                                           const char *what) {
    bool is_new;
    freed_check(mutex, "use of a mutex", site);
    bool shared = mutex->__data.__kind != DESTROYED && mutex->__data.__kind & SHARED;
    struct resource *resource = resource_at(mutex, MUTEX, shared, site, &is_new);
    if (mutex->__data.__kind == DESTROYED)
        misuse(USE_DESTROYED, resource_index(resource), site, "%s of a mutex that was destroyed",
               what);
    if (is_new && is_locked(mutex)) {
        resource->owner.task = holder_of(mutex);
        resource->count = (uint32_t)mutex->__data.__count;
    } else if (resource->owner.task != NONE && !is_locked(mutex)) {
        /* A new mutex now. */
        resource = resource_make(mutex, MUTEX, shared, site);
        is_new = true;
    }
    if (is_new) note_kind(resource, mutex);
    return resource;
}

static inline struct resource *resource_of(pthread_mutex_t *mutex, uint64_t site,
                                           const char *what) {
    struct resource *resource = resource_seen(mutex, MUTEX);
    bool is_as_it_was = resource && mutex->__data.__kind != DESTROYED &&
                        (resource->owner.task == NONE || is_locked(mutex));
    if (!is_as_it_was) resource = resource_looked_up(mutex, site, what);
    /* For the compiler. */
    if (resource->type != MUTEX) __builtin_unreachable();
    return resource;
}

/* The mutex says nothing of processes that share it, and yet it lies in memory which they share. */
static bool is_held_elsewhere(const pthread_mutex_t *mutex) {
    if (segment->processes == 1 || !is_locked(mutex)) return false;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process != this_process && task->thread == mutex->__data.__owner) return true;
    }
    return false;
}

/* Then the kernel wakes nobody in another process. */
static int wait_in_vain(const struct resource *resource, uint64_t site, uint64_t deadline) {
    struct waiting waiting = {NEVER, 0, deadline, false, false};
    perform_when(ACQUIRE, resource_index(resource), site, waiting);
    return ETIMEDOUT;
}

/* A thread that is not controlled holds it, or one that is about to vanish. */
static __attribute__((noinline)) int take_from_outside(pthread_mutex_t *mutex, uint64_t site) {
    int result = EBUSY;
    while (result == EBUSY) {
        struct timespec pause = {0, 10000};
        REAL(nanosleep)(&pause, NULL);
        result = REAL(pthread_mutex_trylock)(mutex);
        if (result == EBUSY) perform(YIELD, current_resource(), site);
    }
    return result;
}

/* One that only this task can have locked; the others are as ever, so that mistakes are found.  What is on
 * record of it, because it was initialised or waited with, has to say the same as the mutex itself. */
static inline bool lock_early(pthread_mutex_t *mutex, uint64_t site, int *result) {
    if (!early || mutex->__data.__kind < 0 || mutex->__data.__kind & (ROBUST | SHARED)) return false;
    *result = REAL(pthread_mutex_trylock)(mutex);
    if (*result == EBUSY) return false;
    struct resource *resource = resource_known(mutex, MUTEX);
    if (*result == 0 && resource) {
        resource->count = resource->owner.task == index_of(current) ? resource->count + 1 : 1;
        resource_take(resource, site);
    }
    return true;
}

static inline bool unlock_early(pthread_mutex_t *mutex, int *result) {
    if (!early || !is_locked(mutex) || resource_known(mutex, MUTEX)) return false;
    *result = REAL(pthread_mutex_unlock)(mutex);
    return true;
}

/* After the scheduler has found it free. */
static inline int take(pthread_mutex_t *mutex, struct resource *resource, uint64_t site, uint64_t deadline) {
    int result = REAL(pthread_mutex_trylock)(mutex);
    if (result == EBUSY && is_held_elsewhere(mutex)) return wait_in_vain(resource, site, deadline);
    if (result == EBUSY) result = take_from_outside(mutex, site);
    if (result == 0 || result == EOWNERDEAD) {
        resource_take(resource, site);
        resource->count = 1;
    }
    return result;
}

static inline __attribute__((always_inline)) int lock(pthread_mutex_t *mutex, uint64_t site,
                                                       uint64_t deadline) {
    int result;
    if (lock_early(mutex, site, &result)) return result;
    struct resource *resource = resource_of(mutex, site, "lock");
    uint32_t number = resource_index(resource);
    if (resource->owner.task == index_of(current)) {
        if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
            perform(ACQUIRE, number, site);
            resource->count++;
            return REAL(pthread_mutex_trylock)(mutex);
        }
        if (kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK) {
            perform(TRY_ACQUIRE, number, site);
            return EDEADLK;
        }
    }
    struct waiting waiting = {UNHELD, 0, deadline, false, false};
    if (deadline == NO_DEADLINE) perform_here(ACQUIRE, resource, site, UNHELD);
    else if (perform_when(ACQUIRE, number, site, waiting)) return ETIMEDOUT;
    return take(mutex, resource, site, deadline);
}

int mutex_lock(pthread_mutex_t *mutex, uint64_t site, uint64_t deadline) {
    return lock(mutex, site, deadline);
}

int mutex_trylock(pthread_mutex_t *mutex, uint64_t site) {
    int result;
    if (lock_early(mutex, site, &result)) return result;
    struct resource *resource = resource_of(mutex, site, "trylock");
    perform(TRY_ACQUIRE, resource_index(resource), site);
    if (resource->owner.task == NONE && !is_held_elsewhere(mutex))
        return take(mutex, resource, site, NO_DEADLINE);
    if (resource->owner.task == index_of(current) && kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
        resource->count++;
        return REAL(pthread_mutex_trylock)(mutex);
    }
    fruitless(site);
    return EBUSY;
}

/* Whether unlocking is an error with a defined result, rather than a mistake. */
static bool is_checked(const pthread_mutex_t *mutex) {
    int kind = kind_of(mutex);
    return kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK ||
           mutex->__data.__kind & ROBUST;
}

static void check_other_owner(enum misuse_kind kind, pthread_mutex_t *mutex,
                              const struct resource *resource, uint64_t site, const char *what) {
    uint32_t owner = resource->owner.task;
    char path[64];
    if (owner == OUTSIDE || is_checked(mutex)) return;
    if (owner == NONE)
        misuse(kind, resource_index(resource), site, "%s a mutex that nobody has locked", what);
    else
        misuse(kind, resource_index(resource), site, "%s a mutex that task %s has locked", what,
               path_of(owner, path, sizeof path));
}

static inline void check_owner(enum misuse_kind kind, pthread_mutex_t *mutex,
                               const struct resource *resource, uint64_t site, const char *what) {
    if (resource->owner.task != index_of(current))
        check_other_owner(kind, mutex, resource, site, what);
}

/* What was locked several times stays locked. */
static inline int let_go(pthread_mutex_t *mutex, struct resource *resource) {
    int result = REAL(pthread_mutex_unlock)(mutex);
    if (result) return result;
    if (resource->owner.task == index_of(current) && resource->count > 1) resource->count--;
    else resource_release(resource);
    return 0;
}

static inline __attribute__((always_inline)) int unlock(pthread_mutex_t *mutex, uint64_t site) {
    int result;
    if (unlock_early(mutex, &result)) return result;
    struct resource *resource = resource_of(mutex, site, "unlock");
    perform_here(RELEASE, resource, site, ALWAYS);
    check_owner(UNLOCK_UNOWNED, mutex, resource, site, "unlock of");
    result = let_go(mutex, resource);
    if (result || resource->owner.task == index_of(current)) return result;
    if (has_point_behind()) perform_here(CONTINUE, resource, site, ALWAYS);
    return 0;
}

int mutex_unlock(pthread_mutex_t *mutex, uint64_t site) { return unlock(mutex, site); }

uint32_t mutex_resource(pthread_mutex_t *mutex, uint64_t site) {
    return resource_index(resource_of(mutex, site, "wait with"));
}

int mutex_give_up(pthread_mutex_t *mutex, uint64_t site) {
    struct resource *resource = resource_of(mutex, site, "wait with");
    check_owner(WAIT_UNOWNED, mutex, resource, site, "wait for a condition variable with");
    return let_go(mutex, resource);
}

int mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes, uint64_t site) {
    int result = REAL(pthread_mutex_init)(mutex, attributes);
    if (result == 0)
        note_kind(resource_make(mutex, MUTEX, mutex->__data.__kind & SHARED, site), mutex);
    return result;
}

int mutex_destroy(pthread_mutex_t *mutex, uint64_t site) {
    struct resource *resource = resource_of(mutex, site, "destroy");
    char path[64];
    perform(SET, resource_index(resource), site);
    if (resource->owner.task < OUTSIDE)
        misuse(DESTROY_LOCKED, resource_index(resource), site,
               "destroy of a mutex that task %s has locked",
               path_of(resource->owner.task, path, sizeof path));
    int result = REAL(pthread_mutex_destroy)(mutex);
    if (result == 0) resource_forget(mutex);
    return result;
}

static bool is_held(const struct resource *resource) {
    return resource->type == MUTEX && !resource->destroyed &&
           resource->owner.task == index_of(current);
}

/* Whether the kernel tells the next one that its owner died. */
static bool outlives(const struct resource *resource) { return resource->flags & ROBUST; }

uint32_t mutex_left_behind(void) {
    for (uint32_t i = 0; i < segment->resources; i++)
        if (is_held(&RESOURCES[i]) && outlives(&RESOURCES[i])) return i;
    return NONE;
}

void mutexes_of_ended(void) {
    for (uint32_t i = 0; i < segment->resources; i++) {
        struct resource *resource = &RESOURCES[i];
        if (!is_held(resource)) continue;
        /* Let pass, it stays locked. */
        if (outlives(resource)) resource_release(resource);
        else
            misuse(LEFT_LOCKED, i, resource->owner.site,
                   "a thread ended with a mutex that it had locked");
    }
}

void mutexes_of_process(uint32_t process) {
    for (uint32_t i = 0; i < segment->resources; i++) {
        struct resource *resource = &RESOURCES[i];
        if (resource->type != MUTEX || resource->destroyed || !outlives(resource)) continue;
        uint32_t owner = resource->owner.task;
        if (owner < OUTSIDE && TASKS[owner].process == process) resource->owner.task = NONE;
    }
}

/* -- what programs call ----------------------------------------------------------- */

EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    CONTROLLED(pthread_mutex_init, mutex, attributes);
    return mutex_init(mutex, attributes, SITE);
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    CONTROLLED(pthread_mutex_destroy, mutex);
    return mutex_destroy(mutex, SITE);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    CONTROLLED(pthread_mutex_lock, mutex);
    return lock(mutex, SITE, NO_DEADLINE);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    CONTROLLED(pthread_mutex_trylock, mutex);
    return mutex_trylock(mutex, SITE);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time) {
    CONTROLLED(pthread_mutex_timedlock, mutex, time);
    if (!valid_time(time)) return EINVAL;
    return mutex_lock(mutex, SITE, deadline_at(CLOCK_REALTIME, time));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *time) {
    CONTROLLED(pthread_mutex_clocklock, mutex, clock, time);
    if (!can_wait_by(clock) || !valid_time(time)) return EINVAL;
    return mutex_lock(mutex, SITE, deadline_at(clock, time));
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    CONTROLLED(pthread_mutex_unlock, mutex);
    return unlock(mutex, SITE);
}
