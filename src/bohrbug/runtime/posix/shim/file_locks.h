/* Who holds the locks of a file, as the kernel tells it. */
#ifndef BOHRBUG_FILE_LOCKS_H
#define BOHRBUG_FILE_LOCKS_H

#include <stdint.h>

/* A process that is not of the execution and holds a lock of the file with that inode; 0 if none does. */
int32_t lock_owner_outside(uint64_t inode);

#endif
