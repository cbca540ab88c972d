/* The stack of the program where it has called us. */
#ifndef BOHRBUG_PROGRAM_STACK_H
#define BOHRBUG_PROGRAM_STACK_H

#include <stdint.h>

/* The unwinder is looked up, outside of any execution. */
void program_stack_begin(void);
/* The stack pointer of the current task at a call that returns to that place, which is one of those under way: what
 * lies above is in frames of the program.  0 where it was not found. */
uint64_t program_stack_at(uint64_t site);
/* Equal numbers for two calls in one frame if the registers that a call keeps, and all that lies
 * on the stack above, are the same.  0 where that can't be told. */
uint64_t program_stack_state(uint64_t site);

#endif
