#include "affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "real.h"
#include "task.h"

/* What the program believes, so that it starts as many threads as ever. */
static cpu_set_t believed;
/* What it has asked for, by the number of the task; nobody is moved for it. */
static cpu_set_t asked_for[MOST_TASKS];
static bool has_asked[MOST_TASKS];
static bool has_anybody_asked;

_Static_assert(sizeof(cpu_set_t) == CPU_WORDS * sizeof(uint64_t), "a set of processors");

void affinity_begin(void) {
    memcpy(&believed, segment->cpus, sizeof segment->cpus);
    if (!CPU_COUNT(&believed)) REAL(sched_getaffinity)(0, sizeof believed, &believed);
    if (!segment->one_cpu) return;
    int here = REAL(sched_getcpu)();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)(here < 0 ? 0 : here), &one);
    REAL(sched_setaffinity)(0, sizeof one, &one);
}

static const cpu_set_t *set_of(const struct task *task) {
    return has_asked[index_of(task)] ? &asked_for[index_of(task)] : &believed;
}

/* As the kernel: of those that it may have. */
static int ask_for(const struct task *task, size_t size, const cpu_set_t *set) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    memcpy(&wanted, set, size < sizeof wanted ? size : sizeof wanted);
    CPU_AND(&wanted, &wanted, &believed);
    if (!CPU_COUNT(&wanted)) return EINVAL;
    has_anybody_asked = has_asked[index_of(task)] = true;
    asked_for[index_of(task)] = wanted;
    return 0;
}

static void tell(const struct task *task, size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    memcpy(set, set_of(task), size < sizeof *set ? size : sizeof *set);
}

void affinity_of_new(const struct task *task, const pthread_attr_t *attributes) {
    if (has_anybody_asked && current) {
        has_asked[index_of(task)] = has_asked[index_of(current)];
        asked_for[index_of(task)] = asked_for[index_of(current)];
    }
    cpu_set_t wanted, all;
    memset(&all, -1, sizeof all);
    /* It says all where nothing was set. */
    if (attributes && pthread_attr_getaffinity_np(attributes, sizeof wanted, &wanted) == 0 && !CPU_EQUAL(&wanted, &all))
        ask_for(task, sizeof wanted, &wanted);
}

/* The task of this process that the kernel knows by this number; NULL if there is none. */
static const struct task *task_of_number(pid_t number) {
    if (number == 0 || number == current->thread) return current;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->process == this_process && task->thread == number) return task;
    }
    return NULL;
}

EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    const struct task *task = controlled() ? task_of_number(pid) : NULL;
    /* Which finds mistakes in the arguments. */
    int result = REAL(sched_getaffinity)(pid, size, set);
    if (result == 0 && task) tell(task, size, set);
    return result;
}

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    const struct task *task = controlled() ? task_of_number(pid) : NULL;
    if (!task || !set) return REAL(sched_setaffinity)(pid, size, set);
    int error = ask_for(task, size, set);
    if (error) errno = error;
    return error ? -1 : 0;
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    const struct task *task = controlled() ? task_of_handle((uint64_t)thread) : NULL;
    if (!task) return REAL(pthread_getaffinity_np)(thread, size, set);
    int result = REAL(pthread_getaffinity_np)(pthread_self(), size, set);
    if (result == 0) tell(task, size, set);
    return result;
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    const struct task *task = controlled() ? task_of_handle((uint64_t)thread) : NULL;
    if (!task) return REAL(pthread_setaffinity_np)(thread, size, set);
    return ask_for(task, size, set);
}

/* The first of those that it may run on. */
EXPORT int sched_getcpu(void) {
    if (!controlled()) return REAL(sched_getcpu)();
    const cpu_set_t *set = set_of(current);
    int number = 0;
    while (number < CPU_SETSIZE && !CPU_ISSET(number, set)) ++number;
    return number;
}
