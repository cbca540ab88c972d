/* Atomic operations of programs that were compiled for the thread sanitizer.
 *
 * Each is done as it is, and is a scheduling point before.  One thread runs at a time, so loads get the newest value;
 * where the shim remembers older ones it may give them that instead.  Where it does not, and weaker memory orders
 * could matter, that is noted, and is a condition of the verdict.
 */
#include "../shim/atomic_operations.h"
#include "shadow.h"
#include "watching.h"

#define EXPORT __attribute__((visibility("default")))
#define PLACE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* Compilers set further bits in it. */
static int plain(int order) { return order & 7; }

static bool acquires(int order) {
    order = plain(order);
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}

static bool releases(int order) {
    order = plain(order);
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* What the shim is to know of the operation; NONE where it is not controlled. */
static uint32_t before(enum kind kind, const volatile void *address, size_t size, int order,
                       uint64_t place) {
    if (!control || control->task() == NONE) return NONE;
    order = plain(order);
    uint32_t resource =
        control->atomic(kind, (const void *)(uintptr_t)address, size, place, order);
    if (now.epoch) {
        uint64_t at = (uint64_t)(uintptr_t)address;
        note_atomic(at, size, kind, order, meets_other(at, kind != LOAD), place);
        record(at, size, kind, place);
    }
    return resource;
}

/* `value` is what it got, or NULL if that can't be exchanged for an older one. */
static void after_load(uint32_t resource, void *value, size_t size, int order, uint64_t place) {
    if (resource == NONE) return;
    /* Whoever sees an older value has something to wait for. */
    if (control->loaded(resource, value, size, plain(order), place)) control->changed();
    else control->looked_in_vain(place);
}

static void after_store(uint32_t resource, const volatile void *address, size_t size, int order) {
    if (resource == NONE) return;
    control->changed();
    control->atomic_store(resource, releases(order), false);
    control->stored(resource, (const void *)(uintptr_t)address, size, plain(order));
}

static void after_update(uint32_t resource, const volatile void *address, size_t size, int order,
                         bool changed, uint64_t place) {
    if (resource == NONE) return;
    if (changed) control->changed();
    else control->looked_in_vain(place);
    control->loaded(resource, NULL, size, plain(order), place);
    control->atomic_store(resource, releases(order), true);
    control->stored(resource, (const void *)(uintptr_t)address, size, plain(order));
}

#define UPDATES(bits, name, expression) \
    EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *address, a##bits value, \
                                                int order) { \
        uint32_t resource = before(UPDATE, address, sizeof value, order, PLACE); \
        a##bits seen = *address, wanted; \
        do wanted = (a##bits)(expression); \
        while (!exchange_if_##bits(address, &seen, wanted)); \
        after_update(resource, address, sizeof value, order, seen != wanted, PLACE); \
        return seen; \
    }

#define EXCHANGES_IF(bits, name) \
    EXPORT int __tsan_atomic##bits##_compare_exchange_##name( \
        volatile a##bits *address, a##bits *expected, a##bits value, int order, int otherwise) { \
        uint32_t resource = before(UPDATE, address, sizeof value, order, PLACE); \
        a##bits before_it = *expected; \
        bool done = exchange_if_##bits(address, expected, value); \
        if (done) \
            after_update(resource, address, sizeof value, order, before_it != value, PLACE); \
        else after_load(resource, NULL, sizeof value, otherwise, PLACE); \
        return done; \
    }

#define ATOMIC(bits) \
    EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *address, int order) { \
        uint32_t resource = before(LOAD, address, sizeof *address, order, PLACE); \
        a##bits value = load_##bits(address); \
        after_load(resource, &value, sizeof value, order, PLACE); \
        return value; \
    } \
    EXPORT void __tsan_atomic##bits##_store(volatile a##bits *address, a##bits value, int order) { \
        uint32_t resource = before(STORE, address, sizeof value, order, PLACE); \
        store_##bits(address, value, true); \
        after_store(resource, address, sizeof value, order); \
    } \
    UPDATES(bits, exchange, value) \
    UPDATES(bits, fetch_add, seen + value) \
    UPDATES(bits, fetch_sub, seen - value) \
    UPDATES(bits, fetch_and, seen & value) \
    UPDATES(bits, fetch_or, seen | value) \
    UPDATES(bits, fetch_xor, seen ^ value) \
    UPDATES(bits, fetch_nand, ~(seen & value)) \
    EXCHANGES_IF(bits, strong) \
    EXCHANGES_IF(bits, weak) \
    EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val( \
        volatile a##bits *address, a##bits expected, a##bits value, int order, int otherwise) { \
        uint32_t resource = before(UPDATE, address, sizeof value, order, PLACE); \
        a##bits seen = expected; \
        if (exchange_if_##bits(address, &seen, value)) \
            after_update(resource, address, sizeof value, order, expected != value, PLACE); \
        else after_load(resource, NULL, sizeof value, otherwise, PLACE); \
        return seen; \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
ATOMIC(128)

EXPORT void __tsan_atomic_thread_fence(int order) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!control || control->task() == NONE) return;
    control->fence(acquires(order), releases(order), plain(order) == __ATOMIC_SEQ_CST, PLACE);
}

/* Between a thread and its own signal handlers, which run in the order of the program. */
EXPORT void __tsan_atomic_signal_fence(int order) { (void)order; }
