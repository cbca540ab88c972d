/* The executors of the plan's policies: who runs next, once the prefix is used up. */
#ifndef BOHRBUG_POLICY_H
#define BOHRBUG_POLICY_H

#include <stdbool.h>

#include "segment.h"

/* The task whose timeout fires first; among equals the oldest. */
uint32_t earliest(const struct options *options);
/* The task that goes on, or the next one round robin. */
uint32_t non_preemptive(const struct options *options, uint32_t running, bool yielded,
                        uint32_t step);
/* The task that runs next; `running` ran until now and may not be among the options. */
uint32_t policy_choose(const struct options *options, uint32_t running, bool yielded,
                       uint32_t step);
/* The value of a data choice of the running task: a number below `arity`. */
uint32_t policy_value(uint32_t arity);
/* Whether the plan has one for the next data choice of the running task. */
bool policy_has_value(void);
/* The step before which `running`, as long as it does not yield and the enabled ones stay the same, is
 * chosen each time without any other effect than what policy_skips does; `step`, which is behind the
 * prefix, if it is not known. */
uint32_t policy_settled(const struct options *options, uint32_t running, uint32_t step);
/* Whether something would be drawn in these steps, of which nobody would know. */
static inline bool policy_draws(void) { return segment->policy == PARTIAL_ORDER; }
/* ... in one with an operation on a resource. */
void policy_skips(uint32_t resource);
/* Whether there can be such steps, with so many enabled tasks. */
static inline bool policy_may_settle(uint32_t enabled_count) {
    return segment->policy == NON_PREEMPTIVE || segment->policy == PRIORITIES ||
           segment->policy == SLEEPING ||
           (enabled_count == 1 &&
            (segment->policy == UNIFORM_RANDOM || segment->policy == PARTIAL_ORDER));
}
/* Sets the policy up at the beginning of an execution. */
void policy_begin(void);

/* -- for policies that go by what tasks are about to do ------------------------------------------ */

/* Has the core know what the options are about to do. */
void note_pending(const struct options *options);
/* What operations of tasks conflict. */
extern const struct conflicts conflicts_of_tasks;

#endif
