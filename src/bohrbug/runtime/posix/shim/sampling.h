/* The executors of the policies that sample by what operations conflict about. */
#ifndef BOHRBUG_SAMPLING_H
#define BOHRBUG_SAMPLING_H

#include "policy.h"

/* POS: the pending event with the highest priority runs; what conflicts with it draws anew. */
uint32_t by_partial_order(const struct options *options, uint32_t running, bool yielded);
/* SURW: who does the next selected event is drawn in proportion to the events that are left. */
uint32_t by_weight(const struct options *options, uint32_t running, bool yielded);
/* A task whose pending operation is no decision, the running one if possible; or NONE. */
uint32_t runs_at_once(const struct options *options, uint32_t running, bool yielded);
/* Of POS: the option with the highest priority; what has none yet draws one. */
uint32_t highest_priority(const struct options *options);
/* ... what a task is about to do is no longer pending, and what conflicts with it draws anew. */
void priorities_after(uint32_t chosen);
/* Whether no other task has drawn a priority that it keeps (PARTIAL_ORDER). */
bool nobody_has_priority(uint32_t task);

#endif
