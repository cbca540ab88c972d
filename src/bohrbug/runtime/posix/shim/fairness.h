/* Fair scheduling, so that loops which wait for another task come to an end. */
#ifndef BOHRBUG_FAIRNESS_H
#define BOHRBUG_FAIRNESS_H

#include "segment.h"

/* `task` yields: those that it kept waiting since its last yield go first now. */
void fairness_yielded(uint32_t task, const uint16_t *enabled, uint32_t count);
/* Takes the tasks that must wait for another enabled one out of `enabled`; how many are left. */
uint32_t fairness_filter(uint16_t *enabled, uint32_t count);
/* `task` runs: nobody waits for it any more. */
void fairness_scheduled(uint32_t task);

#endif
