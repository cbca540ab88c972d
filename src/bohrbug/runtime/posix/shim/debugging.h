#ifndef BOHRBUG_DEBUGGING_H
#define BOHRBUG_DEBUGGING_H

#include <stdint.h>

/* Places for breakpoints: they do nothing. */

/* The calling task gives control to another one, for a step of this number; it will go on from the
 * address. */
void bohrbug_hands_over(uint32_t step, uint64_t site);

/* Nobody of the execution goes on: a deadlock, say. */
void bohrbug_ends(void);

#endif
