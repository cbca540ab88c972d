/* A fragment, in the copy of the process that executes it: where it ends, and what it tells then. */
#ifndef BOHRBUG_FRAGMENT_H
#define BOHRBUG_FRAGMENT_H

#include <pthread.h>

#include "live.h"

/* Whether this process is the copy of a program. */
extern bool is_fragment OWN;

/* What follows are the steps of a fragment; false if it can't be kept from being seen outside. */
bool fragment_begin(struct fragment_report *report, uint32_t window);
/* It ends here, in this way. */
_Noreturn void fragment_over(enum fragment_end end);
/* The execution would end here; returns where the program itself is left to end it. */
void fragment_ends(enum ending ending, uint32_t task);
/* The program is about to exit. */
void fragment_exits(void);
/* A task returns that: the kernel's thread, which would keep it, is not in the copy.  What pthread_join
 * says of a task that is over. */
void fragment_result(uint32_t task, void *result);
int fragment_joins(const struct task *task, pthread_t thread, void **result);
/* The window may be over. */
void fragment_visit(void);

#endif
