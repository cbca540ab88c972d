/* Threads, mutexes and condition variables as C11 calls them: the C library's own go to pthreads by
 * ways that can't be interposed on. */
#include <errno.h>
#include <threads.h>

#include "clock.h"
#include "condition.h"
#include "mutex.h"
#include "real.h"
#include "schedule.h"
#include "spare.h"
#include "thread.h"

static int as_c11(int error) {
    switch (error) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

/* thrd_start_t returns an int where pthreads want a pointer; both come back in one register. */
EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument) {
    CONTROLLED(thrd_create, thread, routine, argument);
    void *(*as_pthread)(void *) = (void *(*)(void *))(void (*)(void))routine;
    return as_c11(thread_create(thread, NULL, as_pthread, argument, SITE));
}

EXPORT int thrd_join(thrd_t thread, int *result) {
    CONTROLLED(thrd_join, thread, result);
    void *value = NULL;
    int error = thread_join(thread, &value, SITE, NO_DEADLINE);
    if (error == 0 && result) *result = (int)(intptr_t)value;
    return as_c11(error);
}

EXPORT int thrd_detach(thrd_t thread) {
    CONTROLLED(thrd_detach, thread);
    return as_c11(thread_detach(thread, SITE));
}

EXPORT void thrd_exit(int result) {
    spare_exits((void *)(intptr_t)result);
    REAL(thrd_exit)(result);
    __builtin_unreachable();
}

EXPORT int mtx_init(mtx_t *mutex, int type) {
    CONTROLLED(mtx_init, mutex, type);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int error = mutex_init((pthread_mutex_t *)mutex, &attributes, SITE);
    pthread_mutexattr_destroy(&attributes);
    return as_c11(error);
}

EXPORT void mtx_destroy(mtx_t *mutex) {
    if (!controlled()) {
        REAL(mtx_destroy)(mutex);
        return;
    }
    GUARD;
    mutex_destroy((pthread_mutex_t *)mutex, SITE);
}

EXPORT int mtx_lock(mtx_t *mutex) {
    CONTROLLED(mtx_lock, mutex);
    return as_c11(mutex_lock((pthread_mutex_t *)mutex, SITE, NO_DEADLINE));
}

EXPORT int mtx_trylock(mtx_t *mutex) {
    CONTROLLED(mtx_trylock, mutex);
    return as_c11(mutex_trylock((pthread_mutex_t *)mutex, SITE));
}

EXPORT int mtx_timedlock(mtx_t *mutex, const struct timespec *time) {
    CONTROLLED(mtx_timedlock, mutex, time);
    if (!valid_time(time)) return thrd_error;
    return as_c11(mutex_lock((pthread_mutex_t *)mutex, SITE, deadline_at(CLOCK_REALTIME, time)));
}

EXPORT int mtx_unlock(mtx_t *mutex) {
    CONTROLLED(mtx_unlock, mutex);
    return as_c11(mutex_unlock((pthread_mutex_t *)mutex, SITE));
}

EXPORT int cnd_init(cnd_t *condition) {
    CONTROLLED(cnd_init, condition);
    return as_c11(condition_init((pthread_cond_t *)condition, NULL, SITE));
}

EXPORT void cnd_destroy(cnd_t *condition) {
    if (!controlled()) {
        REAL(cnd_destroy)(condition);
        return;
    }
    GUARD;
    condition_destroy((pthread_cond_t *)condition, SITE);
}

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    CONTROLLED(cnd_wait, condition, mutex);
    return as_c11(condition_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, SITE,
                                 NO_DEADLINE));
}

EXPORT int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *time) {
    CONTROLLED(cnd_timedwait, condition, mutex, time);
    if (!valid_time(time)) return thrd_error;
    return as_c11(condition_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, SITE,
                                 deadline_at(CLOCK_REALTIME, time)));
}

EXPORT int cnd_signal(cnd_t *condition) {
    CONTROLLED(cnd_signal, condition);
    return as_c11(condition_notify((pthread_cond_t *)condition, false, SITE));
}

EXPORT int cnd_broadcast(cnd_t *condition) {
    CONTROLLED(cnd_broadcast, condition);
    return as_c11(condition_notify((pthread_cond_t *)condition, true, SITE));
}
