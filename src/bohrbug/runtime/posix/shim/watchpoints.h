/* Memory that the processor watches: accesses of programs that were compiled without hooks. */
#ifndef BOHRBUG_WATCHPOINTS_H
#define BOHRBUG_WATCHPOINTS_H

#include <stdbool.h>

#include "own.h"

/* Whether SIGTRAP is ours, and no handler or mask of the program may keep it from us. */
bool watchpoints_are_set(void);
/* An execution begins in this process, or goes on in it after a fork. */
void watchpoints_begin(void);
void watchpoints_forked(void);

#endif
