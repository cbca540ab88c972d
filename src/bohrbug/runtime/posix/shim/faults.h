/* Faults: calls that fail because a data choice says so.  To add one: an entry here, and in the wrapper
 *
 *     if (fails(NAME_FAULT, SITE)) return -1;
 */
#ifndef BOHRBUG_FAULTS_H
#define BOHRBUG_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* What fails, as the user names it, and how. */
#define FAULTS(F) \
    F(connect, CONNECT, ECONNREFUSED) \
    F(accept, ACCEPT, ECONNABORTED) \
    F(send, SEND, ECONNRESET) \
    F(recv, RECV, ECONNRESET) \
    F(fork, FORK, EAGAIN) \
    F(thread, THREAD, EAGAIN) \
    F(malloc, MALLOC, ENOMEM) \
    F(wake, WAKE, 0)

#define NUMBER(name, NAME, error) NAME##_FAULT,
enum fault {
    FAULTS(NUMBER)
    OLDER_VALUE, /* no call: a load sees an older store, see past_stores.h */
};
#undef NUMBER

/* Whether the call that the current task is about to make fails; sets errno if it does. */
bool fails(enum fault fault, uint64_t site);
/* Whether the wait for a condition variable that the current task has begun ends by itself, which is no
 * error.  A plan may say so without that being among what may fail. */
bool wakes_for_nothing(uint64_t site);
/* Whether an allocation that is asked for there fails: called by the library of allocations. */
bool bohrbug_allocation_fails(uint64_t site);
/* The same for what is done with a socket; if it fails, the connection is lost for both ends. */
bool connection_fails(enum fault fault, int fd, uint64_t site);

#endif
