/* Semaphores.  The count lives in the real one; the resource holds a copy for the scheduler. */
#include <errno.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <fcntl.h>

#include "cancellation.h"
#include "clock.h"
#include "destroyed.h"
#include "ending.h"
#include "object_names.h"
#include "real.h"
#include "schedule.h"

/* The second word of a semaphore says whether processes share it; glibc's struct new_sem. */
static bool is_shared(const sem_t *semaphore) {
    const unsigned *words = (const unsigned *)semaphore;
    return words[2] != 0;
}

static void copy_value(sem_t *semaphore, struct resource *resource) {
    int value = 0;
    REAL(sem_getvalue)(semaphore, &value);
    resource->value = value;
}

static struct resource *resource_of(sem_t *semaphore, uint64_t site) {
    bool is_new;
    struct resource *resource =
        resource_at(semaphore, SEMAPHORE, is_shared(semaphore), site, &is_new);
    if (is_new && was_destroyed(semaphore))
        misuse(USE_DESTROYED, resource_index(resource), site, "use of a semaphore that was destroyed");
    copy_value(semaphore, resource);
    return resource;
}

static int wait_for(sem_t *semaphore, uint64_t site, uint64_t deadline) {
    struct resource *resource = resource_of(semaphore, site);
    /* The kernel restarts a wait for a futex only if that has no end. */
    bool has_end = deadline != NO_DEADLINE;
    struct waiting waiting = {POSITIVE, 0, deadline, true, has_end ? ANY_SIGNAL : SIGNALS};
    enum woken woken;
    do {
        woken = perform_when(ACQUIRE, resource_index(resource), site, waiting);
        cancellation_point();
    } while (woken == INTERRUPTED && current->restarts && !has_end);
    if (woken != GOES_ON) {
        errno = woken == TIMED_OUT ? ETIMEDOUT : EINTR;
        return -1;
    }
    int result = REAL(sem_trywait)(semaphore);
    copy_value(semaphore, resource);
    return result;
}

EXPORT int sem_init(sem_t *semaphore, int shared, unsigned value) {
    CONTROLLED(sem_init, semaphore, shared, value);
    int result = REAL(sem_init)(semaphore, shared, value);
    note_initialised(semaphore);
    if (result == 0)
        copy_value(semaphore, resource_make(semaphore, SEMAPHORE, shared != 0, SITE));
    return result;
}

EXPORT int sem_destroy(sem_t *semaphore) {
    CONTROLLED(sem_destroy, semaphore);
    perform(SET, resource_index(resource_of(semaphore, SITE)), SITE);
    resource_forget(semaphore);
    note_destroyed(semaphore);
    return REAL(sem_destroy)(semaphore);
}

EXPORT sem_t *sem_open(const char *name, int flags, ...) {
    mode_t mode = 0;
    unsigned value = 0;
    if (flags & O_CREAT) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        value = va_arg(arguments, unsigned);
        va_end(arguments);
    }
    if (!controlled()) return REAL(sem_open)(name, flags, mode, value);
    GUARD;
    object_opening(NAMES_OF_SEMAPHORES, name, flags, SITE);
    inside++;
    sem_t *semaphore = REAL(sem_open)(name, flags, mode, value);
    inside--;
    if (semaphore != SEM_FAILED) resource_of(semaphore, SITE);
    return semaphore;
}

EXPORT int sem_close(sem_t *semaphore) {
    CONTROLLED(sem_close, semaphore);
    inside++;
    int result = REAL(sem_close)(semaphore);
    inside--;
    return result;
}

EXPORT int sem_wait(sem_t *semaphore) {
    CONTROLLED(sem_wait, semaphore);
    return wait_for(semaphore, SITE, NO_DEADLINE);
}

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *time) {
    CONTROLLED(sem_timedwait, semaphore, time);
    if (!valid_time(time)) {
        errno = EINVAL;
        return -1;
    }
    return wait_for(semaphore, SITE, deadline_at(CLOCK_REALTIME, time));
}

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *time) {
    CONTROLLED(sem_clockwait, semaphore, clock, time);
    if (!can_wait_by(clock) || !valid_time(time)) {
        errno = EINVAL;
        return -1;
    }
    return wait_for(semaphore, SITE, deadline_at(clock, time));
}

EXPORT int sem_trywait(sem_t *semaphore) {
    CONTROLLED(sem_trywait, semaphore);
    struct resource *resource = resource_of(semaphore, SITE);
    perform(TRY_ACQUIRE, resource_index(resource), SITE);
    int result = REAL(sem_trywait)(semaphore), error = errno;
    if (result) fruitless(SITE);
    copy_value(semaphore, resource);
    errno = error;
    return result;
}

EXPORT int sem_post(sem_t *semaphore) {
    CONTROLLED(sem_post, semaphore);
    struct resource *resource = resource_of(semaphore, SITE);
    perform(RELEASE, resource_index(resource), SITE);
    int result = REAL(sem_post)(semaphore);
    copy_value(semaphore, resource);
    after_release(resource_index(resource), SITE);
    return result;
}

EXPORT int sem_getvalue(sem_t *semaphore, int *value) {
    CONTROLLED(sem_getvalue, semaphore, value);
    struct resource *resource = resource_of(semaphore, SITE);
    perform(INSPECT, resource_index(resource), SITE);
    fruitless(SITE);
    return REAL(sem_getvalue)(semaphore, value);
}
