/* Who has to wait for whom: the priorities of PCT, for a short real time only. */
#ifndef BOHRBUG_DELAYS_PRIORITIES_H
#define BOHRBUG_DELAYS_PRIORITIES_H

#include "cue.h"

void give_way(uint32_t window, struct slot *slot, const struct point *point, uint64_t now);

#endif
