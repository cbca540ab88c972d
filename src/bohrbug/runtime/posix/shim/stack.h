/* Stacks, as lists of return addresses. */
#ifndef BOHRBUG_STACK_H
#define BOHRBUG_STACK_H

#include <stdbool.h>

#include "segment.h"

/* The stack of this thread in the segment's pool, if the settings ask for stacks; else NONE. */
uint32_t stack_record(void);
/* This thread was stopped before an instruction, and its stacks are to show it behind that, as they
 * show calls; 0 for both: it was not. */
extern __thread struct stopped_before {
    uint64_t instruction, end;
} stopped_before OWN_OF_THREAD;
/* Whether a step now is near enough to the beginning or the end for its stack to be worth its cost. */
bool stack_is_wanted(void);
/* Loads what unwinding needs, while that is harmless. */
void stack_prepare(void);
/* Writes down where the modules of this process lie in memory. */
void modules_record(void);
/* The same for those that the program has loaded since. */
void modules_record_new(void);

#endif
