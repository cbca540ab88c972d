/* Happens-before, as vector clocks in the segment: what each task knows of what the others did.
 *
 * A moment of a task is a number, its epoch (Flanagan and Freund, FastTrack, PLDI 2009).  Kept only
 * while somebody watches accesses to memory.
 */
#ifndef BOHRBUG_ORDER_H
#define BOHRBUG_ORDER_H

#include <stdbool.h>

#include "accesses.h"

/* Whether anybody wants to know. */
static inline bool order_is_kept(void) { return ACCESSES->takes_part; }

/* The running task has done its wait and is about to do an operation. */
void order_performed(enum kind kind, uint32_t resource, bool timed_out);
/* What the running task accesses from here on is later than all that it did before, though it has neither
 * let go of anything nor learnt of anybody. */
void order_begin_epoch(void);
/* The task of this thread has got its turn. */
void order_turn(void);
/* The running task lets go of something, or gets to know what the last who did so knew. */
void order_publish(uint32_t resource);
void order_learn(uint32_t resource);

/* -- of atomics: by their memory order ------------------------------------------------------ */

/* A store begins a new chain of what others can learn; a read-modify-write goes on with it. */
void order_atomic_store(uint32_t resource, bool releases, bool goes_on);
/* An atomic store that was put in a buffer reaches memory, and with it what it released. */
void order_store_arrives(uint32_t entry, uint32_t resource);
/* What the store that is the newest one of an atomic has released, as a clock. */
uint32_t order_clock(uint32_t resource);
/* A load has seen a store that released so much. */
void order_atomic_load(uint32_t clock, bool acquires);
/* `strongest`: it is one of those that are in one order for all. */
void order_fence(bool acquires, bool releases, bool strongest);

#endif
