/* Threads: their beginning, and who waits for their end. */
#include "waits.h"

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

static void *begin(void *given) {
    struct slot *slot = given;
    void *(*routine)(void *) = (void *(*)(void *))(uintptr_t)slot->routine;
    void *argument = (void *)(uintptr_t)slot->argument;
    slot_enter(slot);
    return routine(argument);
}

static int begin_of_c11(void *given) {
    struct slot *slot = given;
    int (*routine)(void *) = (int (*)(void *))(uintptr_t)slot->routine;
    void *argument = (void *)(uintptr_t)slot->argument;
    slot_enter(slot);
    return routine(argument);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                          void *argument) {
    CUE(pthread_create);
    struct slot *slot = slot_for_new(ADDRESS(routine), ADDRESS(argument));
    if (!slot) return REAL(pthread_create)(thread, attributes, routine, argument);
    int result = REAL(pthread_create)(thread, attributes, begin, slot);
    if (result) slot_free(slot);
    return result;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument) {
    CUE(thrd_create);
    struct slot *slot = slot_for_new(ADDRESS(routine), ADDRESS(argument));
    if (!slot) return REAL(thrd_create)(thread, routine, argument);
    int result = REAL(thrd_create)(thread, begin_of_c11, slot);
    if (result != thrd_success) slot_free(slot);
    return result;
}

EXPORT int pthread_join(pthread_t thread, void **value) {
    CUE(pthread_join);
    return WAIT(JOIN, (const void *)(uintptr_t)thread, pthread_join, thread, value);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **value) {
    CUE(pthread_tryjoin_np);
    return REAL(pthread_tryjoin_np)(thread, value);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *time) {
    CUE(pthread_timedjoin_np);
    return WAIT(TIMED, NULL, pthread_timedjoin_np, thread, value, time);
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock, const struct timespec *time) {
    CUE(pthread_clockjoin_np);
    return WAIT(TIMED, NULL, pthread_clockjoin_np, thread, value, clock, time);
}

EXPORT int thrd_join(thrd_t thread, int *value) {
    CUE(thrd_join);
    return WAIT(JOIN, (const void *)(uintptr_t)thread, thrd_join, thread, value);
}
