#include "vector_clock.h"

#include <string.h>

#define SMALLEST_CLOCK 8u

void clocks_give_up(void) {
    ACCESSES->gave_up = 1;
    if (hooks) hooks->now->epoch = 0;
}

bool clock_widen(uint32_t *clock, uint32_t wanted) {
    uint32_t length = clock_length(*clock);
    if (length >= wanted) return true;
    uint32_t larger = SMALLEST_CLOCK;
    while (larger < wanted) larger *= 2;
    struct accesses *all = ACCESSES;
    if (!all->clock_words) all->clock_words = 1;
    if (all->clock_words + larger + 1 > CLOCK_WORDS) {
        clocks_give_up();
        return false;
    }
    uint32_t fresh = all->clock_words;
    all->clock_words += larger + 1;
    all->words[fresh] = larger;
    if (length) memcpy(clock_words(fresh), clock_words(*clock), length * sizeof(uint32_t));
    /* Another execution may have been here before. */
    memset(clock_words(fresh) + length, 0, (larger - length) * sizeof(uint32_t));
    *clock = fresh;
    return true;
}

void clock_join(uint32_t *into, uint32_t from) {
    uint32_t length = clock_length(from);
    if (!length || !clock_widen(into, length)) return;
    uint32_t *target = clock_words(*into);
    const uint32_t *source = clock_words(from);
    for (uint32_t i = 0; i < length; i++)
        if (source[i] > target[i]) target[i] = source[i];
}

void clock_replace(uint32_t *into, uint32_t from) {
    uint32_t length = clock_length(from);
    if (!clock_widen(into, length)) return;
    if (*into) memset(clock_words(*into), 0, clock_length(*into) * sizeof(uint32_t));
    if (length) memcpy(clock_words(*into), clock_words(from), length * sizeof(uint32_t));
}

void clock_raise(uint32_t *clock, uint32_t index, uint32_t to) {
    if (!clock_widen(clock, index + 1)) return;
    if (clock_words(*clock)[index] < to) clock_words(*clock)[index] = to;
}
