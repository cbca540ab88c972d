/* Whether an execution that has become very long still comes any further. */
#ifndef BOHRBUG_ADVANCING_H
#define BOHRBUG_ADVANCING_H

#include <stdbool.h>
#include <stdint.h>

#include "own.h"
#include "segment.h"

/* Steps at the end of an execution that reaches its limit, at most and at least a part of all. */
#define MOST_OF_LAST_STRETCH 2000
#define PART_OF_LAST_STRETCH 10

/* The step at which the last stretch before the limit begins. */
static inline uint32_t last_stretch(void) {
    uint32_t part = segment->max_steps / PART_OF_LAST_STRETCH;
    return segment->max_steps - (part < MOST_OF_LAST_STRETCH ? part : MOST_OF_LAST_STRETCH);
}

/* The current task, in the last stretch, is about to do what is next: before which step. */
void note_standing(uint32_t step) OWN;
/* Whether some task went on to stand where it had never stood. */
bool comes_further(void) OWN;

#endif
