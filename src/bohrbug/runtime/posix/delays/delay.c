#include "delay.h"

#include <errno.h>
#include <execinfo.h>
#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define NANOSECONDS 1000000000ULL

uint64_t monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

void wait_for(uint64_t nanoseconds) {
    struct timespec time = {(time_t)(nanoseconds / NANOSECONDS), (long)(nanoseconds % NANOSECONDS)};
    /* The one call of the kernel that is allowed to whoever has threads, however little else is.  A signal ends it
     * early: its handler has done something that others may have waited for. */
    uint32_t word = 0;
    REAL(syscall)(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0L, &time, NULL, 0L);
}

bool is_readable(uint64_t address) {
    struct timespec at_once = {0, 0};
    uint64_t word = address & ~3ULL;
    return REAL(syscall)(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0L, &at_once, NULL, 0L) == 0 || errno != EFAULT;
}

struct delay *delay_begin(struct slot *slot, const struct point *point, bool gives_way, uint64_t now) {
    uint64_t ticket = __atomic_fetch_add(&record->delays_begun, 1, __ATOMIC_RELAXED);
    struct delay *delay = &record->delays[ticket % MOST_DELAYS];
    __atomic_store_n(&delay->ticket, 0, __ATOMIC_RELAXED);
    delay->number = slot->number;
    delay->routine = slot->routine;
    delay->act = point->act;
    delay->size = point->size;
    delay->address = point->address;
    delay->gives_way = gives_way;
    delay->began = now;
    delay->ended = 0;
    /* Giving way is frequent, and where the call is says enough. */
    delay->stack[0] = point->place;
    delay->depth = gives_way ? 1 : stack_of_caller(delay->stack, point->place);
    __atomic_store_n(&delay->ticket, ticket + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->is_delayed, 1, __ATOMIC_RELAXED);
    return delay;
}

void delay_end(struct slot *slot, struct delay *delay, uint64_t began) {
    uint64_t now = monotonic();
    /* Unless the room was needed for later ones. */
    if (delay->began == began && delay->number == slot->number) delay->ended = now;
    __atomic_store_n(&slot->seen, now, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->is_delayed, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->delayed, now - began, __ATOMIC_RELAXED);
}

void close_window(uint32_t window) {
    uint64_t now = monotonic();
    if (__atomic_compare_exchange_n(&record->open, &window, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        record->ended = now;
}

/* -- stacks ------------------------------------------------------------------------------------- */

static bool can_unwind;

void stack_prepare(void) {
    void *frames[2];
    /* Before 2.35 unwinding takes the loader's lock, which a thread that waits for ours may hold. */
    const char *version = gnu_get_libc_version();
    int major = atoi(version), minor = version[0] && version[1] ? atoi(version + 2) : 0;
    can_unwind = (major > 2 || minor >= 35) && backtrace(frames, 2) > 0;
}

uint32_t stack_of_caller(uint64_t *stack, uint64_t place) {
    void *frames[MOST_FRAMES + 8];
    int depth = can_unwind ? backtrace(frames, MOST_FRAMES + 8) : 0, first = 0;
    while (first < depth && (uint64_t)(uintptr_t)frames[first] != place) first++;
    if (first >= depth) {
        stack[0] = place;
        return 1;
    }
    uint32_t count = 0;
    while (first < depth && count < MOST_FRAMES) stack[count++] = (uint64_t)(uintptr_t)frames[first++];
    return count;
}
