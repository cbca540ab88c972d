/* Descriptors as numbers, which the kernel gives out again. */
#ifndef BOHRBUG_DESCRIPTOR_NUMBERS_H
#define BOHRBUG_DESCRIPTOR_NUMBERS_H

#include <stdint.h>
#include <sys/types.h>

#include "segment.h"

/* The current task is about to use a descriptor (INSPECT), or to make or close one (SET). */
void number_operation(enum kind kind, uint64_t site);
/* Another number for a descriptor that is about to be closed while a task is blocked on it; -1 if there is none. */
int number_kept(int fd);
/* What a call on a descriptor gave, which is returned: whether the number was nobody's any more. */
ssize_t number_used(int fd, ssize_t result);
/* A descriptor was closed, and this was the result, which is returned. */
int number_closed(int fd, int result);

#endif
