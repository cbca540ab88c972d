/* What all threads of a process share, and no lock of the program guards. */
#ifndef BOHRBUG_PROCESS_STATE_H
#define BOHRBUG_PROCESS_STATE_H

#include <stdint.h>

#include "segment.h"

/* In the order of `STATES` in enumerations.py. */
enum process_state {
    WORKING_DIRECTORY, CREATION_MASK, ENVIRONMENT, LOCALE, RANDOM_NUMBERS, SIGNAL_HANDLERS,
    DESCRIPTOR_NUMBERS, ORDER_OF_FENCES, INHERITED_DESCRIPTORS, SIGNAL_MASKS, MAPPINGS,
};

/* The current task is about to look at it (INSPECT) or to change it (SET). */
void process_state_operation(enum kind kind, enum process_state state, uint64_t site);

#endif
