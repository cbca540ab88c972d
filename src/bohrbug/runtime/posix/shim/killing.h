#ifndef BOHRBUG_KILLING_H
#define BOHRBUG_KILLING_H

#include <stdint.h>

/* After a signal was sent to another process: if it dies of it, it does so before the step is over. */
void let_die(uint32_t process, int number);
/* In a parked task: lets the signals through that end its process, and that it does not block itself. */
void face_fatal_signals(uint64_t own_mask);

#endif
