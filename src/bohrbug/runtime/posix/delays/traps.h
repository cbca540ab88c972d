/* Traps: a thread pauses before it does something, to see whether another one comes meanwhile. */
#ifndef BOHRBUG_DELAYS_TRAPS_H
#define BOHRBUG_DELAYS_TRAPS_H

#include "cue.h"

/* Whether the trap of an ambush is to be set at this place. */
bool is_target(uint64_t place);
/* Sets the trap of the window, if it is this thread's to do so. */
void trap_set(uint32_t window, struct slot *slot, const struct point *point);
/* Notes a race, if what the thread is about to do is one with the thread in the trap. */
void trap_catch(uint32_t window, const struct slot *slot, const struct point *point);
/* A thread that was in a trap has made its access by now. */
void trap_settle(void);
/* Races there are meant to be, and are not told. */
void expect_races(uint64_t address, uint64_t size);

#endif
