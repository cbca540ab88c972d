/* Who holds the locks of a file, as the kernel tells it. */
#ifndef BOHRBUG_FILE_LOCKS_H
#define BOHRBUG_FILE_LOCKS_H

#include <stdint.h>

/* Locks of open files belong to whoever has the file open, so the kernel names nobody. */
#define SOMEBODY (-1)

/* A process that is not of the execution and holds a lock of the file with that inode, or SOMEBODY; 0 if
 * none does. */
int32_t lock_owner_outside(uint64_t inode);

#endif
