/* The names of semaphores, shared memory and message queues: they stand for files in folders of the kernel's. */
#ifndef BOHRBUG_OBJECT_NAMES_H
#define BOHRBUG_OBJECT_NAMES_H

#include <stdint.h>

#include "segment.h"

#define NAMES_OF_SEMAPHORES "/dev/shm/sem."
#define NAMES_OF_MEMORY "/dev/shm/"
#define NAMES_OF_QUEUES "/dev/mqueue/"

/* Before an object is opened by its name with such flags. */
void object_opening(const char *names, const char *name, int flags, uint64_t site);
/* Before the name is taken away. */
void object_unlinking(const char *names, const char *name, uint64_t site);

#endif
