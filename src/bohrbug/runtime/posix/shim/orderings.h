/* The executor of the policy that keeps orderings. */
#ifndef BOHRBUG_ORDERINGS_H
#define BOHRBUG_ORDERINGS_H

#include "policy.h"

/* A task that is about to break an ordering waits as long as another can run. */
uint32_t by_orderings(const struct options *options, uint32_t running, bool yielded, uint32_t step);
/* The value of a data choice for which the plan has none. */
uint32_t value_beyond_orderings(uint32_t arity);

#endif
