/* Who has the turn: all others sleep, each on the futex `turn` of its task, or are fibers. */
#ifndef BOHRBUG_TURNS_H
#define BOHRBUG_TURNS_H

#include "fiber.h"

/* What the futex `turn` of a task says.
 *
 * It is the only field of the segment that orders memory.  Whoever passes the turn stores it last, with
 * release, and whoever takes it loads it first, with acquire: so the new one sees all that was written up
 * to then, by any thread of any process, and every other field is plain, as one task runs at a time.
 * Parking publishes nothing, and is relaxed: the turn was taken before, and is passed on by another store. */
enum turn { PARKED, TO_RUN, TO_ANSWER, TO_DECIDE, TO_FACE_SIGNALS };

/* Wakes a task for something. */
void tell(struct task *task, enum turn turn);
/* A task has done what it was woken for, unless it was told something else since. */
void is_done_with(struct task *task, enum turn what);
/* A new thread waits until it is chosen. */
void wait_for_turn(struct task *task);
/* The same for a thread that has just been made, by somebody who held signals: it has its own mask from then on. */
void wait_for_first_turn(struct task *task);
/* The running task passes the turn on to another thread of the kernel, and returns when it is its turn
 * again. */
void hand_over_to_thread(struct task *task, struct task *next);

/* ... or to another fiber. */
static inline void hand_over(struct task *task, struct task *next) {
    if (on_fibers) fiber_switch(task, next);
    else hand_over_to_thread(task, next);
}

#endif
