/* Timers of the kernel that end in a signal.  They run in real time. */
#ifndef BOHRBUG_TIMERS_H
#define BOHRBUG_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether one of this process will soon send one of these signals, as bits. */
bool timer_ends_soon(uint64_t signals);
/* A child does not have those of its parent. */
void timers_forget(void);

#endif
