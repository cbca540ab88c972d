/* Blocks of the heap that the program has freed. */
#ifndef BOHRBUG_FREED_H
#define BOHRBUG_FREED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the program frees there is kept from the allocator below, filled with a pattern, until as much is asked
 * for again: so that it is known who frees it twice, writes to it, or uses a lock in it.  The newest is
 * given out first, as allocators do, or what depends on an address coming back would not be found. */

/* Called by the library of allocations.  A block for so many bytes, or NULL; whether a block is kept from now
 * on, or is to be freed by whoever asks; whether it is kept. */
void *bohrbug_reuse(size_t size, uint64_t site);
bool bohrbug_keep(void *block, size_t size, uint64_t site);
void bohrbug_frees_kept(void *block, const char *what, uint64_t site);
/* Where the program has called the allocator last. */
extern uint64_t allocation_site;

/* The program is about to use what lies there. */
void freed_check(const void *address, const char *what, uint64_t site);
/* ... and has accessed it. */
void freed_accessed(const void *address, bool writes, uint64_t site);
/* Whether anything was written to what is kept: at the end of an execution. */
void freed_check_all(void);

#endif
