/* Mutexes and spin locks.  Those that are free are taken at once, so that there is no wait to put on record. */
#include <errno.h>

#include "waits.h"

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    CUE(pthread_mutex_lock);
    int result = REAL(pthread_mutex_trylock)(mutex);
    return result == EBUSY ? WAIT(MUTEX, mutex, pthread_mutex_lock, mutex) : result;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    CUE(pthread_mutex_trylock);
    return REAL(pthread_mutex_trylock)(mutex);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time) {
    CUE(pthread_mutex_timedlock);
    return WAIT(TIMED, mutex, pthread_mutex_timedlock, mutex, time);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time) {
    CUE(pthread_mutex_clocklock);
    return WAIT(TIMED, mutex, pthread_mutex_clocklock, mutex, clock, time);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    CUE(pthread_mutex_unlock);
    return REAL(pthread_mutex_unlock)(mutex);
}

EXPORT int mtx_lock(mtx_t *mutex) {
    CUE(mtx_lock);
    int result = REAL(mtx_trylock)(mutex);
    return result == thrd_busy ? WAIT(MUTEX, mutex, mtx_lock, mutex) : result;
}

EXPORT int mtx_trylock(mtx_t *mutex) {
    CUE(mtx_trylock);
    return REAL(mtx_trylock)(mutex);
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict time) {
    CUE(mtx_timedlock);
    return WAIT(TIMED, mutex, mtx_timedlock, mutex, time);
}

EXPORT int mtx_unlock(mtx_t *mutex) {
    CUE(mtx_unlock);
    return REAL(mtx_unlock)(mutex);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock) {
    CUE(pthread_spin_lock);
    int result = REAL(pthread_spin_trylock)(lock);
    return result == EBUSY ? WAIT(SPIN_LOCK, (const void *)(uintptr_t)lock, pthread_spin_lock, lock) : result;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock) {
    CUE(pthread_spin_trylock);
    return REAL(pthread_spin_trylock)(lock);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock) {
    CUE(pthread_spin_unlock);
    return REAL(pthread_spin_unlock)(lock);
}
