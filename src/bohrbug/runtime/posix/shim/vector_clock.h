/* Vector clocks: of each task how much of what it did is known (Mattern, 1989).
 *
 * A clock is the number of a word in the segment that says how many words follow, or NO_CLOCK, which knows nothing.
 */
#ifndef BOHRBUG_VECTOR_CLOCK_H
#define BOHRBUG_VECTOR_CLOCK_H

#include <stdbool.h>

#include "accesses.h"

#define NO_CLOCK 0u

static inline uint32_t clock_length(uint32_t clock) { return clock ? ACCESSES->words[clock] : 0; }
static inline uint32_t *clock_words(uint32_t clock) { return ACCESSES->words + clock + 1; }
static inline uint32_t clock_at(uint32_t clock, uint32_t index) {
    return index < clock_length(clock) ? clock_words(clock)[index] : 0;
}

/* Makes room for at least so many words; false: there is none, and nobody keeps clocks any more. */
bool clock_widen(uint32_t *clock, uint32_t wanted);
void clock_join(uint32_t *into, uint32_t from);
void clock_replace(uint32_t *into, uint32_t from);
/* It knows at least so much of one. */
void clock_raise(uint32_t *clock, uint32_t index, uint32_t to);

void clocks_give_up(void);

#endif
