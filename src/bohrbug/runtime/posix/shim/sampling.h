/* The executors of the policies that sample by what operations conflict about. */
#ifndef BOHRBUG_SAMPLING_H
#define BOHRBUG_SAMPLING_H

#include "policy.h"

/* POS: the pending event with the highest priority runs; what conflicts with it draws anew. */
uint32_t by_partial_order(const struct options *options, uint32_t running, bool yielded);
/* SURW: who does the next selected event is drawn in proportion to the events that are left. */
uint32_t by_weight(const struct options *options, uint32_t running, bool yielded);
/* Whether no other task has drawn a priority that it keeps (PARTIAL_ORDER). */
bool nobody_has_priority(uint32_t task);

#endif
