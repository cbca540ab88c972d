#include "affinity.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "real.h"
#include "task.h"

/* What the program believes, so that it starts as many threads as ever. */
static cpu_set_t believed;
static bool pinned;

_Static_assert(sizeof(cpu_set_t) == CPU_WORDS * sizeof(uint64_t), "a set of processors");

void affinity_begin(void) {
    if (!segment->one_cpu) return;
    memcpy(&believed, segment->cpus, sizeof segment->cpus);
    int here = REAL(sched_getcpu)();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)(here < 0 ? 0 : here), &one);
    pinned = REAL(sched_setaffinity)(0, sizeof one, &one) == 0;
}

static void tell(size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    memcpy(set, &believed, size < sizeof believed ? size : sizeof believed);
}

EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    if (!controlled() || !pinned) return REAL(sched_getaffinity)(pid, size, set);
    tell(size, set);
    return 0;
}

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    if (!controlled() || !pinned) return REAL(sched_setaffinity)(pid, size, set);
    return 0;
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    if (!controlled() || !pinned) return REAL(pthread_getaffinity_np)(thread, size, set);
    tell(size, set);
    return 0;
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    if (!controlled() || !pinned) return REAL(pthread_setaffinity_np)(thread, size, set);
    return 0;
}

EXPORT int sched_getcpu(void) {
    if (!controlled() || !pinned) return REAL(sched_getcpu)();
    return 0;
}
