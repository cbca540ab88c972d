/* Reader-writer locks. */
#include "waits.h"

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    CUE(pthread_rwlock_rdlock);
    return WAIT(READ_LOCK, lock, pthread_rwlock_rdlock, lock);
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    CUE(pthread_rwlock_tryrdlock);
    return REAL(pthread_rwlock_tryrdlock)(lock);
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *time) {
    CUE(pthread_rwlock_timedrdlock);
    return WAIT(TIMED, lock, pthread_rwlock_timedrdlock, lock, time);
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    CUE(pthread_rwlock_clockrdlock);
    return WAIT(TIMED, lock, pthread_rwlock_clockrdlock, lock, clock, time);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    CUE(pthread_rwlock_wrlock);
    return WAIT(WRITE_LOCK, lock, pthread_rwlock_wrlock, lock);
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    CUE(pthread_rwlock_trywrlock);
    return REAL(pthread_rwlock_trywrlock)(lock);
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *time) {
    CUE(pthread_rwlock_timedwrlock);
    return WAIT(TIMED, lock, pthread_rwlock_timedwrlock, lock, time);
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *time) {
    CUE(pthread_rwlock_clockwrlock);
    return WAIT(TIMED, lock, pthread_rwlock_clockwrlock, lock, clock, time);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    CUE(pthread_rwlock_unlock);
    return REAL(pthread_rwlock_unlock)(lock);
}
