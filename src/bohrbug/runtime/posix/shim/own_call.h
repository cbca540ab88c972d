/* System calls of the snapshot itself: they touch no memory of the program, not even errno, and the
 * filter of its calls knows them by their address. */
#ifndef BOHRBUG_OWN_CALL_H
#define BOHRBUG_OWN_CALL_H

#include "own.h"

/* The result as the kernel gives it: errors are negative numbers. */
long own_call(long number, long first, long second, long third, long fourth, long fifth,
              long sixth) OWN;
/* Where the kernel comes back to in it. */
extern const char own_call_returns[] OWN;

#define OWN_CALL(number, first, second, third) \
    own_call(number, (long)(first), (long)(second), (long)(third), 0, 0, 0)

#endif
