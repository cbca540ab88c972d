/* Cancellation of threads. */
#ifndef BOHRBUG_CANCELLATION_H
#define BOHRBUG_CANCELLATION_H

#include "task.h"

/* Whether a task of this process may be cancelled anywhere.  It is then before its operations, as if the C library
 * had been told of a deferred cancellation only: what the shim itself does, nothing must interrupt. */
extern bool cancels_anywhere OWN;

/* The current task ends here if it has been cancelled. */
void cancellation_point(void);
/* ... and may be cancelled anywhere: it has got its turn, and done nothing with it yet. */
void cancellation_comes(void);

#endif
