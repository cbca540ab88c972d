/* Memory that several processes share.  Each process is watched by itself, so that no race is seen there: all
 * places that access it become scheduling points. */
#ifndef BOHRBUG_SHARED_MEMORY_H
#define BOHRBUG_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
extern bool shares_memory;
#pragma GCC visibility pop

void memory_is_shared(const void *address, size_t size);
bool is_in_shared_memory(uint64_t address);
/* An access at this place is about to be made: it may be to such memory. */
void note_if_shared(uint64_t address, uint64_t place);

#endif
