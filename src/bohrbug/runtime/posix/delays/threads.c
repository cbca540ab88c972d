#include "threads.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

__thread struct own own;
struct record no_record;
struct record *record = &no_record;

static pthread_key_t key;
static bool has_key;

static struct slot *claimed(enum slot_state state) {
    if (record == &no_record) return NULL;
    for (uint32_t i = 0; i < MOST_THREADS; i++) {
        struct slot *slot = &record->slots[i];
        uint32_t expected = FREE_SLOT;
        if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != FREE_SLOT ||
            !__atomic_compare_exchange_n(&slot->state, &expected, STARTING, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        slot->number = __atomic_fetch_add(&record->numbers, 1, __ATOMIC_RELAXED);
        slot->tid = slot->is_delayed = slot->is_blocked = slot->drawn_in = slot->wait = 0;
        slot->seen = slot->self = slot->routine = 0;
        __atomic_fetch_add(&record->alive, 1, __ATOMIC_RELAXED);
        uint32_t used = __atomic_load_n(&record->slots_used, __ATOMIC_RELAXED);
        while (used < i + 1 && !__atomic_compare_exchange_n(&record->slots_used, &used, i + 1, false,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
        __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
        return slot;
    }
    return NULL;
}

void slot_enter(struct slot *slot) {
    slot->tid = (uint32_t)REAL(syscall)(SYS_gettid);
    slot->self = (uint64_t)pthread_self();
    own.slot = slot;
    if (has_key) pthread_setspecific(key, slot);
    __atomic_store_n(&slot->state, IN_USE, __ATOMIC_RELEASE);
}

struct slot *own_slot(void) {
    if (!own.slot) {
        struct slot *slot = claimed(STARTING);
        if (slot) slot_enter(slot);
    }
    return own.slot;
}

struct slot *slot_for_new(uint64_t routine, uint64_t argument) {
    struct slot *slot = claimed(STARTING);
    if (slot) {
        slot->routine = routine;
        slot->argument = argument;
    }
    return slot;
}

void slot_free(struct slot *slot) {
    __atomic_fetch_sub(&record->alive, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->state, FREE_SLOT, __ATOMIC_RELEASE);
}

/* If what else is done at the end of the thread synchronises, it gets another one, and comes here again. */
static void thread_ends(void *slot) {
    own.slot = NULL;
    slot_free(slot);
}

void threads_begin(void) { has_key = pthread_key_create(&key, thread_ends) == 0; }

void threads_forget(void) {
    record = &no_record;
    own = (struct own){NULL, false, 0};
    /* Its slot belongs to the thread that has forked. */
    if (has_key) pthread_setspecific(key, NULL);
}
