/* How a process takes part: the one that was started does, whatever it becomes by exec; its children don't. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "delay.h"

/* Where what it loads lies in memory, for whoever reads the report of a crash. */
static void note_maps(void) {
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    size_t length = 0;
    ssize_t got;
    while (length < MAPS_SIZE && (got = read(file, record->maps + length, MAPS_SIZE - length)) > 0)
        length += (size_t)got;
    close(file);
    record->maps_length = (uint32_t)length;
}

static void note_layout(void) {
    record->owner_at = offsetof(pthread_mutex_t, __data.__owner);
    record->mutex_kind_at = offsetof(pthread_mutex_t, __data.__kind);
    record->writer_at = offsetof(pthread_rwlock_t, __data.__cur_writer);
    record->rwlock_shared_at = offsetof(pthread_rwlock_t, __data.__shared);
    record->condition_shared_at = offsetof(pthread_cond_t, __data.__wrefs);
    for (int i = 0; i < FUNCTIONS && i < MOST_NAMES; i++)
        snprintf(record->names[i], sizeof *record->names, "%s", function_names[i]);
}

static struct record *mapped(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *memory = mmap(NULL, sizeof(struct record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

__attribute__((constructor)) static void take_part(void) {
    load_real_functions();
    pthread_atfork(NULL, NULL, threads_forget);
    const char *path = getenv("BOHRBUG_DELAYS");
    struct record *found = path ? mapped(path) : NULL;
    if (!found) return;
    uint32_t nobody = 0, pid = (uint32_t)getpid();
    if (!__atomic_compare_exchange_n(&found->pid, &nobody, pid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
        nobody != pid) {
        munmap(found, sizeof *found);
        return;
    }
    stack_prepare();
    threads_begin();
    /* Of the program that it was before an exec nothing is left. */
    memset(found->slots, 0, sizeof found->slots);
    memset(found->places, 0, sizeof found->places);
    found->numbers = found->alive = found->slots_used = found->places_count = 0;
    record = found;
    note_layout();
    note_maps();
    own_slot();
}

EXPORT pid_t _Fork(void) {
    pid_t child = REAL(_Fork)();
    /* There no handlers are called. */
    if (child == 0) threads_forget();
    return child;
}

/* What the program will have printed, where its report can say it again. */
EXPORT void __assert_fail(const char *expression, const char *file, unsigned line, const char *function) {
    uint32_t nobody = 0;
    if (__atomic_compare_exchange_n(&record->has_asserted, &nobody, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        /* The unwinder has locks of its own. */
        own.is_within = true;
        struct slot *slot = own_slot();
        record->asserted_by = slot ? slot->number : 0;
        record->asserting_routine = slot ? slot->routine : 0;
        stack_of_caller(record->assertion_stack, SITE);
        snprintf(record->assertion, sizeof record->assertion, "%s (%s:%u in %s)", expression, file, line, function);
        own.is_within = false;
    }
    REAL(__assert_fail)(expression, file, line, function);
    __builtin_unreachable();
}
