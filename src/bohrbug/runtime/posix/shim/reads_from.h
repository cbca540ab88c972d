/* The executor of the policy that meets constraints on who reads from whom. */
#ifndef BOHRBUG_READS_FROM_H
#define BOHRBUG_READS_FROM_H

#include "policy.h"

/* Yields and early timeouts, while something is held back, after which nothing is any more. */
#define PATIENCE 20

/* Holds back what would break a constraint; else as POS. */
uint32_t by_reads_from(const struct options *options, uint32_t running, bool yielded);
/* Whether there are constraints on a resource, so that every operation on it is a decision. */
bool is_constrained(uint32_t resource);

#endif
