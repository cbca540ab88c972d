/* Forks that leave nothing behind, so that several plans can be executed at one order.
 *
 * Their system calls are those of a process that is restored, see safe_calls.h.  The next one is forked and gets
 * ready while the one before it executes its plan, and waits until that has ended. */
#ifndef BOHRBUG_SAFE_FORKS_H
#define BOHRBUG_SAFE_FORKS_H

#include <sys/types.h>

/* How a fork is made, and what it does before its plan has come. */
struct forking {
    pid_t (*copy)(void);
    void (*get_ready)(void);
};

/* Serves; returns once for each execution, in its fork, when its plan has come. */
void safe_forks_run(struct forking forking);

#endif
