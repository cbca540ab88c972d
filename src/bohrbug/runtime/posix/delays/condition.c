/* Condition variables. */
#include "waits.h"

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    CUE(pthread_cond_wait);
    return WAIT(CONDITION, condition, pthread_cond_wait, condition, mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
    CUE(pthread_cond_timedwait);
    return WAIT(TIMED, condition, pthread_cond_timedwait, condition, mutex, time);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *time) {
    CUE(pthread_cond_clockwait);
    return WAIT(TIMED, condition, pthread_cond_clockwait, condition, mutex, clock, time);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    CUE(pthread_cond_signal);
    return REAL(pthread_cond_signal)(condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    CUE(pthread_cond_broadcast);
    return REAL(pthread_cond_broadcast)(condition);
}

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    CUE(cnd_wait);
    return WAIT(CONDITION, condition, cnd_wait, condition, mutex);
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict time) {
    CUE(cnd_timedwait);
    return WAIT(TIMED, condition, cnd_timedwait, condition, mutex, time);
}

EXPORT int cnd_signal(cnd_t *condition) {
    CUE(cnd_signal);
    return REAL(cnd_signal)(condition);
}

EXPORT int cnd_broadcast(cnd_t *condition) {
    CUE(cnd_broadcast);
    return REAL(cnd_broadcast)(condition);
}
