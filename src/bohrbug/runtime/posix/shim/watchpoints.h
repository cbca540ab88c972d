/* Memory that the processor watches: accesses of programs that were compiled without hooks. */
#ifndef BOHRBUG_WATCHPOINTS_H
#define BOHRBUG_WATCHPOINTS_H

#include "accesses.h"

/* An execution begins in this process, or goes on in it after a fork. */
void watchpoints_begin(void);
void watchpoints_forked(void);

/* The place of the program that an access belongs to; 0 if it is none where a task may be stopped. */
uint64_t place_to_stop(uint64_t place, uint64_t stack);
/* The running task has done an access: races, a step for it, and a scheduling point behind it where `stop`
 * says so. */
void access_was_done(const struct done_access *done, bool stop);
/* Whether what this thread does concerns the execution; counts the hits. */
bool hit_counts(void);
/* The address of a place in a module; 0 if that is not in this process. */
uint64_t address_in(const char *path, uint64_t offset);

#endif
