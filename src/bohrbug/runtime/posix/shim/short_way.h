/* A scheduling point as most are: nobody looks on, nobody yields, and no timeout could fire.
 *
 * The steps are the same as those of the long way, see schedule.c, which is taken wherever more than
 * that may have to be done. */
#ifndef BOHRBUG_SHORT_WAY_H
#define BOHRBUG_SHORT_WAY_H

#include "own.h"
#include "segment.h"

/* Steps before this one take the short way, unless their operation keeps them from it. */
extern uint32_t usual_until OWN;

/* What was found out for the steps that follow may not hold any more: tasks have come or gone, say. */
void look_again(void);

#endif
