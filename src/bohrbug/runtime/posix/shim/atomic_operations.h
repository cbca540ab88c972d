/* Atomic operations on the real memory of a program, for the libraries that stand in for the thread sanitizer. */
#ifndef BOHRBUG_ATOMIC_OPERATIONS_H
#define BOHRBUG_ATOMIC_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;
typedef unsigned __int128 a128;

/* The largest has no instruction of its own but this, or none. */
#if defined(__x86_64__)
__attribute__((target("cx16"))) static inline bool exchange_if_128(volatile a128 *address, a128 *expected,
                                                                   a128 wanted) {
    a128 seen = __sync_val_compare_and_swap(address, *expected, wanted);
    if (seen == *expected) return true;
    *expected = seen;
    return false;
}
#else
/* All of a program's operations on such memory come here. */
static inline bool exchange_if_128(volatile a128 *address, a128 *expected, a128 wanted) {
    static char locks[64];
    char *lock = &locks[((uintptr_t)address >> 4) % sizeof locks];
    while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) continue;
    a128 seen = *address;
    bool done = seen == *expected;
    if (done) *address = wanted;
    else *expected = seen;
    __atomic_clear(lock, __ATOMIC_RELEASE);
    return done;
}
#endif

static inline a128 load_128(const volatile a128 *address) {
    a128 value = 0;
    exchange_if_128((volatile a128 *)(uintptr_t)address, &value, 0);
    return value;
}

static inline void store_128(volatile a128 *address, a128 value, bool is_total) {
    (void)is_total;
    a128 seen = load_128(address);
    while (!exchange_if_128(address, &seen, value)) continue;
}

/* Stores are part of the one order of all that are sequentially consistent, or come just after what was done before. */
#define BOHRBUG_ATOMIC_OPERATIONS(bits) \
    static inline bool exchange_if_##bits(volatile a##bits *address, a##bits *expected, a##bits wanted) { \
        return __atomic_compare_exchange_n(address, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    } \
    static inline a##bits load_##bits(const volatile a##bits *address) { \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST); \
    } \
    static inline void store_##bits(volatile a##bits *address, a##bits value, bool is_total) { \
        if (is_total) __atomic_store_n(address, value, __ATOMIC_SEQ_CST); \
        else __atomic_store_n(address, value, __ATOMIC_RELEASE); \
    }
BOHRBUG_ATOMIC_OPERATIONS(8)
BOHRBUG_ATOMIC_OPERATIONS(16)
BOHRBUG_ATOMIC_OPERATIONS(32)
BOHRBUG_ATOMIC_OPERATIONS(64)

#endif
