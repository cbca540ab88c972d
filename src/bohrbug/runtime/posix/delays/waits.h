/* What threads wait for, so that a deadlock can be told, and nobody gives way to a thread that is blocked. */
#ifndef BOHRBUG_DELAYS_WAITS_H
#define BOHRBUG_DELAYS_WAITS_H

#include "cue.h"

static inline void wait_begin(enum wait wait, const void *object, uint64_t place, uint32_t function) {
    struct slot *slot = own_slot();
    if (!slot) return;
    __atomic_store_n(&slot->wait_object, (uint64_t)(uintptr_t)object, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait_place, place, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait_function, function, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->waits, slot->waits + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait, wait, __ATOMIC_RELEASE);
}

static inline void wait_end(void) {
    struct slot *slot = own.slot;
    if (slot) __atomic_store_n(&slot->wait, NO_WAIT, __ATOMIC_RELEASE);
}

/* Calls the real function, with the wait on record meanwhile. */
#define WAIT(kind, object, name, ...) \
    ({ \
        wait_begin(kind, object, SITE, FUNCTION_##name); \
        int waited = REAL(name)(__VA_ARGS__); \
        wait_end(); \
        waited; \
    })

#endif
