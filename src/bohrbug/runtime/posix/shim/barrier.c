/* Barriers. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "destroyed.h"
#include "ending.h"
#include "real.h"
#include "schedule.h"

/* A space beside those of trying.h and descriptors.c. */
#define GOERS 14

static bool is_shared(const pthread_barrierattr_t *attributes) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes) pthread_barrierattr_getpshared(attributes, &shared);
    return shared == PTHREAD_PROCESS_SHARED;
}

/* As glibc keeps it, in the fourth word of its struct pthread_barrier. */
static bool is_for_processes(const pthread_barrier_t *barrier) { return ((const uint32_t *)barrier)[3] != 0; }

EXPORT int pthread_barrier_init(pthread_barrier_t *barrier,
                                const pthread_barrierattr_t *attributes, unsigned count) {
    CONTROLLED(pthread_barrier_init, barrier, attributes, count);
    int result = REAL(pthread_barrier_init)(barrier, attributes, count);
    note_initialised(barrier);
    if (result == 0)
        resource_make(barrier, BARRIER, is_shared(attributes), SITE)->value = (int32_t)count;
    return result;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier) {
    CONTROLLED(pthread_barrier_destroy, barrier);
    struct resource *resource = resource_at(barrier, BARRIER, is_for_processes(barrier), SITE, NULL);
    perform(SET, resource_index(resource), SITE);
    resource_forget(barrier);
    note_destroyed(barrier);
    /* The real one has never had a waiter. */
    return REAL(pthread_barrier_destroy)(barrier);
}

/* What stands for the tasks that go on: the point of who came last depends on theirs, and not on who arrives next. */
static uint32_t goers_of(uint32_t barrier, uint64_t site) {
    return resource_index(resource_named(GOERS, barrier, BARRIER, site));
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier) {
    CONTROLLED(pthread_barrier_wait, barrier);
    bool is_new;
    struct resource *resource = resource_at(barrier, BARRIER, is_for_processes(barrier), SITE, &is_new);
    uint32_t number = resource_index(resource);
    if (is_new && was_destroyed(barrier))
        misuse(USE_DESTROYED, number, SITE, "use of a barrier that was destroyed");
    if (is_new) return EINVAL;
    perform(WAIT, number, SITE);
    if ((int32_t)++resource->count < resource->value) {
        current->woken = 0;
        if (has_point_behind_call()) current->also = goers_of(number, SITE);
        perform_when(WAKE, number, SITE, (struct waiting){WOKEN, 0, UINT64_MAX, false, false});
        return 0;
    }
    resource->count = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (awaits(task, number)) task->woken = 1;
    }
    segment->changes++;
    if (has_point_behind_call()) after_call(goers_of(number, SITE), SITE);
    return PTHREAD_BARRIER_SERIAL_THREAD;
}
