/* Which system calls a program may make that is restored after each execution. */
#ifndef BOHRBUG_SAFE_CALLS_H
#define BOHRBUG_SAFE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on all others are looked at, or end the execution; calls about memory pass in the range of
 * addresses in which nothing was mapped before. */
bool safe_calls_only(uintptr_t free_from, uintptr_t free_to);

#endif
