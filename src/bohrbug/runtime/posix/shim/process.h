/* Processes that take part in an execution. */
#ifndef BOHRBUG_PROCESS_H
#define BOHRBUG_PROCESS_H

#include <stdbool.h>

#include "segment.h"

/* This process takes part: as the first one, or as one that another has started. */
void process_begin(void);
/* Whether a child of a process has ended: the one with a pid, or any if that is -1. */
bool child_ended(uint32_t process, int32_t pid);
/* Whether there is a process that does not take part and could still change something. */
bool processes_outside(void);
/* Sleeps until the task may have the turn. */
void processes_wait(struct task *task);
/* A process that passed control on while it was ending is really gone when this returns. */
void wait_for_the_dying(void);

#endif
