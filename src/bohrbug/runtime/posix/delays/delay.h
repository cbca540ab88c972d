/* Delays, and the record of them. */
#ifndef BOHRBUG_DELAYS_DELAY_H
#define BOHRBUG_DELAYS_DELAY_H

#include "cue.h"

/* The time, in nanoseconds. */
uint64_t monotonic(void);
/* Lets the calling thread wait; no cancellation point. */
void wait_for(uint64_t nanoseconds);
/* Whether what is at an address can be read, as the kernel says. */
bool is_readable(uint64_t address);

struct delay *delay_begin(struct slot *slot, const struct point *point, bool gives_way, uint64_t now);
void delay_end(struct slot *slot, struct delay *delay, uint64_t began);
/* Nobody is delayed any more, until the next window. */
void close_window(uint32_t window);

/* The stack of the calling thread, the innermost frame first; how many frames were found. */
uint32_t stack_of_caller(uint64_t *stack, uint64_t place);
/* Loads what that needs, while it is harmless. */
void stack_prepare(void);

#endif
