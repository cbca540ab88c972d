/* What only a process itself can know of a task that waits: it is asked. */
#ifndef BOHRBUG_ASKING_H
#define BOHRBUG_ASKING_H

#include <stdbool.h>

#include "segment.h"

/* Has the process of a parked task answer; false if it can't, as it is gone or stopped. */
bool ask_owner(struct task *task);
/* Answers for a task of this thread. */
void answer(struct task *task);
/* Asks for all tasks, and for more than at each step: which signals the kernel has for them, and who
 * else could make them go on. */
void look_closely(void);

#endif
