/* Cue points: where a thread may be delayed while a window is open. */
#ifndef BOHRBUG_DELAYS_CUE_H
#define BOHRBUG_DELAYS_CUE_H

#include "real.h"
#include "threads.h"

/* What a thread is about to do, and where. */
struct point {
    uint32_t act, size;
    uint64_t address, place;
};

void cue_in_window(const struct point *point);

static inline bool is_open(void) {
    return __builtin_expect(__atomic_load_n(&record->open, __ATOMIC_RELAXED) != 0, 0);
}

#define CUE(name) \
    if (is_open()) cue_in_window(&(struct point){FIRST_CALL + FUNCTION_##name, 0, 0, SITE})

static inline void cue_at_access(uint32_t act, const volatile void *address, uint32_t size, uint64_t place) {
    if (is_open()) cue_in_window(&(struct point){act, size, (uint64_t)(uintptr_t)address, place});
}

static inline bool is_access(const struct point *point) { return point->act < FIRST_CALL; }

#endif
