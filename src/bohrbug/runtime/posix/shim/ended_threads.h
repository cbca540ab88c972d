#ifndef BOHRBUG_SHIM_ENDED_THREADS_H
#define BOHRBUG_SHIM_ENDED_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether a call of the current task is about a thread whose life is over, which is misuse; where that is let pass, the
 * call is not made, as nobody knows what is there by now.  `what` goes before "a thread": "join of".  Asked behind the
 * point of the operation, as the thread may end before it. */
bool names_ended_thread(pthread_t thread, uint64_t site, const char *what);

#endif
