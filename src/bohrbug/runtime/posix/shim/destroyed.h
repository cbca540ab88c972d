/* Semaphores and barriers that were destroyed.  The C library leaves no trace of that in them, and nothing but another
 * initialisation makes one out of that memory again. */
#ifndef BOHRBUG_DESTROYED_H
#define BOHRBUG_DESTROYED_H

#include <stdbool.h>

void note_destroyed(const void *address);
void note_initialised(const void *address);
/* Of the last few. */
bool was_destroyed(const void *address);

#endif
