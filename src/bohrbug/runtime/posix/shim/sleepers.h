/* The executor of the policy for partial-order reduction. */
#ifndef BOHRBUG_SLEEPERS_H
#define BOHRBUG_SLEEPERS_H

#include "policy.h"

/* Passes sleeping tasks over until something conflicts with what they are about to do. */
/* Whether there is nothing to do but to choose as if nobody had slept. */
bool nobody_sleeps(void);
uint32_t by_sleepers(const struct options *options, uint32_t running, bool yielded, uint32_t step);

#endif
