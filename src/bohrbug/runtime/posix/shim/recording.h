/* Where steps are written down.
 *
 * Memory that is new to a process costs a fault for each page, which is more than all else that a
 * scheduling point does; so it is asked for in larger and larger pieces.
 */
#ifndef BOHRBUG_RECORDING_H
#define BOHRBUG_RECORDING_H

#include "segment.h"

/* Steps before this one have their memory. */
extern uint32_t steps_at_hand OWN;

/* Gets the memory of the next step and of some that may follow. */
void steps_prepare(void);

/* The record of the step that is about to be done; there is room for `max_steps` of them. */
static inline struct step *next_step(void) {
    if (segment->steps >= steps_at_hand) steps_prepare();
    return &STEPS[segment->steps];
}

#endif
