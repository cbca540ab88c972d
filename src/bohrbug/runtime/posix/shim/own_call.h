/* System calls of the snapshot itself: they touch no memory of the program, not even errno, and the
 * filter of its calls knows them by their address. */
#ifndef BOHRBUG_OWN_CALL_H
#define BOHRBUG_OWN_CALL_H

#include <errno.h>
#include <unistd.h>

#include "own.h"

/* The result as the kernel gives it: errors are negative numbers. */
#if defined(__x86_64__)
long own_call(long number, long first, long second, long third, long fourth, long fifth,
              long sixth) OWN;
/* Where the kernel comes back to in it. */
extern const char own_call_returns[] OWN;
#else
/* Nothing is filtered there. */
static inline long own_call(long number, long first, long second, long third, long fourth,
                            long fifth, long sixth) {
    int error = errno;
    long result = syscall(number, first, second, third, fourth, fifth, sixth);
    if (result < 0) result = -errno;
    errno = error;
    return result;
}
#endif

#define OWN_CALL(number, first, second, third) \
    own_call(number, (long)(first), (long)(second), (long)(third), 0, 0, 0)

#endif
