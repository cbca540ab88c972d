/* After Burckhardt, Kothari, Musuvathi and Nagarakatte, A Randomized Scheduler with Probabilistic Guarantees of
 * Finding Bugs, ASPLOS 2010; bohrbug.live.native_threads.priorities is the same for Python. */
#include "priorities.h"

#include "core/draw.h"
#include "delay.h"

/* Above those of change points, which are negative. */
static int64_t priority_of(struct slot *slot, uint32_t window) {
    if (__atomic_load_n(&slot->drawn_in, __ATOMIC_ACQUIRE) != window) {
        /* The same whoever asks first. */
        uint64_t state = record->seed + slot->number * DRAWN;
        __atomic_store_n(&slot->priority, (int64_t)(draw_bits(&state) >> 1), __ATOMIC_RELAXED);
        __atomic_store_n(&slot->drawn_in, window, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&slot->priority, __ATOMIC_RELAXED);
}

static bool seems_to_run(const struct slot *slot, uint64_t now) {
    return __atomic_load_n(&slot->state, __ATOMIC_RELAXED) == IN_USE &&
           !__atomic_load_n(&slot->is_delayed, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&slot->is_blocked, __ATOMIC_RELAXED) &&
           __atomic_load_n(&slot->wait, __ATOMIC_RELAXED) == NO_WAIT &&
           __atomic_load_n(&slot->seen, __ATOMIC_RELAXED) + record->gone > now;
}

/* Whether the thread is below one that runs. */
static bool is_below(struct slot *slot, uint32_t window, uint64_t now) {
    int64_t own_priority = priority_of(slot, window);
    uint32_t used = __atomic_load_n(&record->slots_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used; i++) {
        struct slot *other = &record->slots[i];
        if (other != slot && seems_to_run(other, now) && priority_of(other, window) > own_priority) return true;
    }
    return false;
}

/* Threads that were not seen although they could have run. */
static void find_blocked(const struct slot *slot, uint64_t since, uint64_t now) {
    if (now - since < record->grace) return;
    uint32_t used = __atomic_load_n(&record->slots_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used; i++) {
        struct slot *other = &record->slots[i];
        if (other != slot && !__atomic_load_n(&other->is_delayed, __ATOMIC_RELAXED) &&
            __atomic_load_n(&other->seen, __ATOMIC_RELAXED) < since)
            __atomic_store_n(&other->is_blocked, 1, __ATOMIC_RELAXED);
    }
}

static void reach(uint32_t window, struct slot *slot) {
    uint64_t cue = __atomic_add_fetch(&record->cues, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < record->changes_count && i < MOST_CHANGES; i++)
        if (record->changes[i] == cue) {
            priority_of(slot, window);
            __atomic_store_n(&slot->priority, -1 - (int64_t)i, __ATOMIC_RELAXED);
        }
}

void give_way(uint32_t window, struct slot *slot, const struct point *point, uint64_t now) {
    reach(window, slot);
    if (!is_below(slot, window, now)) return;
    __atomic_fetch_add(&record->gave_way, 1, __ATOMIC_RELAXED);
    uint64_t began = now, until = now + record->longest;
    if (until > record->ends) until = record->ends;
    struct delay *delay = delay_begin(slot, point, true, began);
    while (now < until && __atomic_load_n(&record->open, __ATOMIC_RELAXED) == window &&
           is_below(slot, window, now)) {
        wait_for(record->slice);
        now = monotonic();
        uint64_t since = now - record->grace;
        find_blocked(slot, since > began ? since : began, now);
    }
    delay_end(slot, delay, began);
}
