/* Atomic operations of programs that were compiled for the thread sanitizer: each is a cue point, and then done on
 * the real memory, in an order that is as strong as the program's or stronger. */
#include "../shim/atomic_operations.h"
#include "cue.h"

#define LOADS (READS | IS_ATOMIC)
#define STORES (WRITES | IS_ATOMIC)
#define UPDATES (READS | WRITES | IS_ATOMIC)

/* Compilers set further bits in it. */
static bool is_total(int order) { return (order & 7) == __ATOMIC_SEQ_CST; }

#define UPDATE(bits, name, expression) \
    EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *address, a##bits value, int order) { \
        (void)order; \
        cue_at_access(UPDATES, address, sizeof value, SITE); \
        a##bits seen = load_##bits(address), wanted; \
        do wanted = (a##bits)(expression); \
        while (!exchange_if_##bits(address, &seen, wanted)); \
        return seen; \
    }

#define EXCHANGE_IF(bits, name) \
    EXPORT int __tsan_atomic##bits##_compare_exchange_##name(volatile a##bits *address, a##bits *expected, \
                                                             a##bits value, int order, int otherwise) { \
        (void)order, (void)otherwise; \
        cue_at_access(UPDATES, address, sizeof value, SITE); \
        return exchange_if_##bits(address, expected, value); \
    }

#define ATOMIC(bits) \
    EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *address, int order) { \
        (void)order; \
        cue_at_access(LOADS, address, sizeof *address, SITE); \
        return load_##bits(address); \
    } \
    EXPORT void __tsan_atomic##bits##_store(volatile a##bits *address, a##bits value, int order) { \
        cue_at_access(STORES, address, sizeof value, SITE); \
        store_##bits(address, value, is_total(order)); \
    } \
    UPDATE(bits, exchange, value) \
    UPDATE(bits, fetch_add, seen + value) \
    UPDATE(bits, fetch_sub, seen - value) \
    UPDATE(bits, fetch_and, seen & value) \
    UPDATE(bits, fetch_or, seen | value) \
    UPDATE(bits, fetch_xor, seen ^ value) \
    UPDATE(bits, fetch_nand, ~(seen & value)) \
    EXCHANGE_IF(bits, strong) \
    EXCHANGE_IF(bits, weak) \
    EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *address, a##bits expected, \
                                                              a##bits value, int order, int otherwise) { \
        (void)order, (void)otherwise; \
        cue_at_access(UPDATES, address, sizeof value, SITE); \
        exchange_if_##bits(address, &expected, value); \
        return expected; \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
ATOMIC(128)

EXPORT void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Between a thread and its own signal handlers, which run in the order of the program. */
EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
