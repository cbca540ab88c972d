/* Semaphores, barriers, and what else threads synchronise by. */
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "waits.h"

EXPORT int sem_wait(sem_t *semaphore) {
    CUE(sem_wait);
    return WAIT(SEMAPHORE, semaphore, sem_wait, semaphore);
}

EXPORT int sem_trywait(sem_t *semaphore) {
    CUE(sem_trywait);
    return REAL(sem_trywait)(semaphore);
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict time) {
    CUE(sem_timedwait);
    return WAIT(TIMED, semaphore, sem_timedwait, semaphore, time);
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict time) {
    CUE(sem_clockwait);
    return WAIT(TIMED, semaphore, sem_clockwait, semaphore, clock, time);
}

EXPORT int sem_post(sem_t *semaphore) {
    CUE(sem_post);
    return REAL(sem_post)(semaphore);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier) {
    CUE(pthread_barrier_wait);
    return WAIT(BARRIER, barrier, pthread_barrier_wait, barrier);
}

EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void)) {
    CUE(pthread_once);
    return REAL(pthread_once)(control, routine);
}

EXPORT void call_once(once_flag *control, void (*routine)(void)) {
    CUE(call_once);
    REAL(call_once)(control, routine);
}

EXPORT int sched_yield(void) {
    CUE(sched_yield);
    return REAL(sched_yield)();
}

/* Rust's standard library waits and wakes in this way. */
EXPORT long syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long);
    long d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_futex) CUE(syscall);
    return REAL(syscall)(number, a, b, c, d, e, f);
}
