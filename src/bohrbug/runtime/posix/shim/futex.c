/* System calls by number: how the runtimes of C++ and Rust wait and wake. */
#include "futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "accesses.h"
#include "addresses.h"
#include "clock.h"
#include "fairness.h"
#include "fiber.h"
#include "random_bytes.h"
#include "real.h"
#include "schedule.h"

static struct resource *resource_of(const uint32_t *word, int operation, uint64_t site) {
    return resource_at(word, FUTEX, !(operation & FUTEX_PRIVATE_FLAG), site, NULL);
}

static long fail(int error) {
    errno = error;
    return -1;
}

static long wait_for(uint32_t *word, int operation, uint32_t value, uint64_t deadline,
                     uint64_t site) {
    uint32_t number = resource_index(resource_of(word, operation, site));
    /* It looks at the value, which atomic operations change. */
    if (hooks) current->also = resource_index(resource_at(word, ATOMIC, false, site, NULL));
    perform(WAIT, number, site);
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return fail(EAGAIN);
    current->woken = 0;
    struct waiting waiting = {WOKEN, 0, deadline, false, false};
    enum woken woken = perform_when(WAKE, number, site, waiting);
    return woken == TIMED_OUT ? fail(ETIMEDOUT) : 0;
}

/* The task that has waited longest, as in the kernel; NULL if none is left. */
static struct task *longest_waiting(uint32_t number) {
    struct task *best = NULL;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (!awaits(task, number) || task->woken) continue;
        if (!best || task->blocked_since < best->blocked_since) best = task;
    }
    return best;
}

/* `also`: another resource that the operation changes, or NONE. */
static long wake(uint32_t *word, int operation, uint32_t most, uint32_t also, uint64_t site) {
    uint32_t number = resource_index(resource_of(word, operation, site));
    current->also = also;
    perform(NOTIFY, number, site);
    long count = 0;
    struct task *task;
    while ((uint64_t)count < most && (task = longest_waiting(number))) {
        task->woken = 1;
        count++;
    }
    after_release(number, site);
    return count;
}

static long requeue(uint32_t *word, int operation, uint32_t most, uint32_t most_moved,
                    uint32_t *other, uint64_t site) {
    uint32_t from = resource_index(resource_of(word, operation, site));
    uint32_t to = resource_index(resource_of(other, operation, site));
    long count = wake(word, operation, most, to, site), moved = 0;
    struct task *task;
    while ((uint64_t)moved < most_moved && (task = longest_waiting(from))) {
        if (task->condition == WOKEN) task->resource = to;
        task->awaits = to + 1;
        moved++;
    }
    return count + moved;
}

/* For others the fourth argument is a number. */
static bool waits(int operation) {
    int command = operation & FUTEX_CMD_MASK;
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

long futex_perform(const long *a, uint64_t site) {
    uint32_t *word = (uint32_t *)a[0], *other = (uint32_t *)a[4];
    int operation = (int)a[1];
    uint32_t value = (uint32_t)a[2];
    const struct timespec *time = (const struct timespec *)a[3];
    if (leads_nowhere(word) || (waits(operation) && misleads(time)))
        return REAL(syscall)(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return wait_for(word, operation, value, time ? deadline_after(time) : NO_DEADLINE, site);
    case FUTEX_WAIT_BITSET: {
        clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        return wait_for(word, operation, value, time ? deadline_at(clock, time) : NO_DEADLINE,
                        site);
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        return wake(word, operation, value, NONE, site);
    case FUTEX_CMP_REQUEUE:
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != (uint32_t)a[5]) return fail(EAGAIN);
        return requeue(word, operation, value, (uint32_t)a[3], other, site);
    case FUTEX_REQUEUE:
        return requeue(word, operation, value, (uint32_t)a[3], other, site);
    default:
        return REAL(syscall)(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

/* Whether the kernel does the same whichever thread of the process makes a system call. */
static bool is_of_any_thread(long number) {
    switch (number) {
    case SYS_getpid: case SYS_getppid: case SYS_membarrier: case SYS_mmap: case SYS_munmap:
    case SYS_mprotect: case SYS_madvise: case SYS_openat: case SYS_close: case SYS_read:
    case SYS_write: case SYS_lseek: case SYS_statx: case SYS_copy_file_range: case SYS_memfd_create:
        return true;
    default:
        return false;
    }
}

EXPORT long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (controlled() && !busy) {
        GUARD;
        switch (number) {
        case SYS_futex:
            return futex_perform(a, SITE);
        case SYS_sched_yield:
            fairness_comes(SITE);
            perform(YIELD, current_resource(), SITE);
            return 0;
        case SYS_getrandom:
            if (a[1] && leads_nowhere((void *)a[0])) return bad_address();
            random_bytes((void *)a[0], (size_t)a[1]);
            return a[1];
        case SYS_clock_gettime: {
            if (!clock_is_known((clockid_t)a[0]) || leads_nowhere((void *)a[1])) break;
            uint64_t now = clock_read((clockid_t)a[0]);
            *(struct timespec *)a[1] =
                (struct timespec){(time_t)(now / SECOND), (long)(now % SECOND)};
            return 0;
        }
        case SYS_gettid:
            return current->thread;
        default:
            if (!is_of_any_thread(number)) prefers_kernel_threads("syscall");
            break;
        }
    }
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
