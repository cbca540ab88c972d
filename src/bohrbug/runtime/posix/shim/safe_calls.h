/* Which system calls a program may make that is restored after each execution, or of which a fork leaves
 * nothing behind. */
#ifndef BOHRBUG_SAFE_CALLS_H
#define BOHRBUG_SAFE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on all others are looked at, or end the execution; calls about memory pass in the range of
 * addresses in which nothing was mapped before. */
bool safe_calls_only(uintptr_t free_from, uintptr_t free_to);

/* The same for the forks that this process is going to make; false if that is not possible.  It may call
 * what it likes itself, until it says in a fork that the execution begins. */
bool safe_calls_in_forks(void);
void safe_calls_begin(void);

#endif
