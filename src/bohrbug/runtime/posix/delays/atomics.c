/* Atomic operations of programs that were compiled for the thread sanitizer: each is a cue point, and then done on
 * the real memory, in an order that is as strong as the program's or stronger. */
#include "cue.h"

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;
typedef unsigned __int128 a128;

#define LOADS (READS | IS_ATOMIC)
#define STORES (WRITES | IS_ATOMIC)
#define UPDATES (READS | WRITES | IS_ATOMIC)

/* Compilers set further bits in it. */
static bool is_total(int order) { return (order & 7) == __ATOMIC_SEQ_CST; }

/* The largest has no instruction of its own but this, or none. */
#if defined(__x86_64__)
__attribute__((target("cx16"))) static bool exchange_if_128(volatile a128 *address, a128 *expected, a128 wanted) {
    a128 seen = __sync_val_compare_and_swap(address, *expected, wanted);
    if (seen == *expected) return true;
    *expected = seen;
    return false;
}
#else
/* All of a program's operations on such memory come here. */
static bool exchange_if_128(volatile a128 *address, a128 *expected, a128 wanted) {
    static char locks[64];
    char *lock = &locks[((uintptr_t)address >> 4) % sizeof locks];
    while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) REAL(sched_yield)();
    a128 seen = *address;
    bool done = seen == *expected;
    if (done) *address = wanted;
    else *expected = seen;
    __atomic_clear(lock, __ATOMIC_RELEASE);
    return done;
}
#endif

static a128 load_128(const volatile a128 *address) {
    a128 value = 0;
    exchange_if_128((volatile a128 *)(uintptr_t)address, &value, 0);
    return value;
}
static void store_128(volatile a128 *address, a128 value, bool total) {
    (void)total;
    a128 seen = load_128(address);
    while (!exchange_if_128(address, &seen, value)) {}
}

#define NARROW(bits) \
    static inline bool exchange_if_##bits(volatile a##bits *address, a##bits *expected, a##bits wanted) { \
        return __atomic_compare_exchange_n(address, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    } \
    static inline a##bits load_##bits(const volatile a##bits *address) { \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST); \
    } \
    static inline void store_##bits(volatile a##bits *address, a##bits value, bool total) { \
        if (total) __atomic_store_n(address, value, __ATOMIC_SEQ_CST); \
        else __atomic_store_n(address, value, __ATOMIC_RELEASE); \
    }
NARROW(8)
NARROW(16)
NARROW(32)
NARROW(64)

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
