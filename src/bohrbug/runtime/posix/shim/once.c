/* pthread_once: while one task initialises, no other enters the C library's own. */
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>

#include "order.h"
#include "real.h"
#include "schedule.h"

/* glibc's __PTHREAD_ONCE_DONE. */
#define DONE 2

struct running {
    struct resource *resource;
    int busy_before;
    uint64_t site;
    bool is_over; /* and not left by an exception, or as the thread was cancelled */
};

/* Also where the initialiser leaves by an exception or is cancelled. */
static void end_of_once(struct running *running) {
    busy = running->busy_before;
    resource_release(running->resource);
    if (running->is_over) after_call(resource_index(running->resource), running->site);
}

static void be_busy_again(const int *before) { busy = *before; }

/* Nobody else can come. */
static int once_early(pthread_once_t *control, void (*function)(void)) {
    __attribute__((cleanup(be_busy_again), unused)) int before = busy;
    busy = 0;
    return REAL(pthread_once)(control, function);
}

static int once(pthread_once_t *control, void (*function)(void), uint64_t site) {
    if (early) return once_early(control, function);
    if (__atomic_load_n((int *)control, __ATOMIC_ACQUIRE) == DONE) {
        if (accesses_watched())
            order_learn(resource_index(resource_at(control, ONCE, false, site, NULL)));
        return REAL(pthread_once)(control, function);
    }
    struct resource *resource = resource_at(control, ONCE, false, site, NULL);
    perform_when(ACQUIRE, resource_index(resource), site,
                 (struct waiting){UNHELD, 0, NO_DEADLINE, false, false});
    if (__atomic_load_n((int *)control, __ATOMIC_ACQUIRE) == DONE) return 0;
    resource_take(resource, site);
    __attribute__((cleanup(end_of_once), unused)) struct running running = {resource, busy, site, false};
    /* The initialiser is code of the program. */
    busy = 0;
    int result = REAL(pthread_once)(control, function);
    running.is_over = true;
    return result;
}

EXPORT int pthread_once(pthread_once_t *control, void (*function)(void)) {
    CONTROLLED(pthread_once, control, function);
    return once(control, function, SITE);
}

EXPORT void call_once(once_flag *flag, void (*function)(void)) {
    if (!controlled()) {
        REAL(call_once)(flag, function);
        return;
    }
    GUARD;
    once((pthread_once_t *)flag, function, SITE);
}
