#include "policy.h"

#include "draw.h"
#include "orderings.h"
#include "points.h"
#include "reads_from.h"
#include "sampling.h"
#include "sleepers.h"
#include "task.h"

#define MOST_CHANGES 64

/* The steps with a change of priority (PCT); found again in every process from the seed. */
static uint64_t changes[MOST_CHANGES];

bool option_is_enabled(const struct options *options, uint32_t task) {
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (options->enabled[i] == task) return true;
    return false;
}

uint32_t earliest(const struct options *options) {
    uint32_t best = options->timed[0];
    for (uint32_t i = 1; i < options->timed_count; i++)
        if (TASKS[options->timed[i]].deadline < TASKS[best].deadline) best = options->timed[i];
    return best;
}

uint32_t non_preemptive(const struct options *options, uint32_t running, bool yielded) {
    if (!options->enabled_count) return earliest(options);
    if (!yielded && option_is_enabled(options, running)) return running;
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (options->enabled[i] > running) return options->enabled[i];
    return options->enabled[0];
}

/* PCT (Burckhardt et al., ASPLOS 2010, section 3). */

static int64_t priority_of(uint32_t index) {
    struct task *task = &TASKS[index];
    if (!task->has_priority) {
        task->has_priority = 1;
        task->priority = (int64_t)(draw_bits(&segment->random) >> 2);
    }
    return task->priority;
}

static void drop(uint32_t index) {
    TASKS[index].has_priority = 1;
    TASKS[index].priority = --segment->lowest_priority;
}

static uint32_t highest(const struct options *options) {
    uint32_t count = options->enabled_count + options->timed_count, best = option(options, 0);
    for (uint32_t i = 1; i < count; i++)
        if (priority_of(option(options, i)) > priority_of(best)) best = option(options, i);
    return best;
}

/* The first of the data choices that come just before a step, or the step itself. */
static uint32_t after_choices(uint32_t step) {
    while (step && STEPS[step - 1].kind == CHOOSE) step--;
    return step;
}

static uint32_t by_priority(const struct options *options, uint32_t running, bool yielded,
                            uint32_t step) {
    if (yielded) drop(running);
    uint32_t best = highest(options), first = after_choices(step);
    for (uint32_t i = 0; i + 1 < segment->depth && i < MOST_CHANGES; i++) {
        if (changes[i] < first || changes[i] > step) continue;
        TASKS[best].has_priority = 1;
        TASKS[best].priority = -(int64_t)i - 1;
        best = highest(options);
        break;
    }
    /* A fired timeout is a yield: a loop that sleeps must not starve the rest. */
    if (!option_is_enabled(options, best)) drop(best);
    return best;
}

/* As long as a task that has the highest priority of all goes on, the next change. */
static uint32_t highest_until(const struct options *options, uint32_t running, uint32_t step) {
    for (uint32_t i = 0; i < options->enabled_count; i++) {
        const struct task *task = &TASKS[options->enabled[i]];
        /* Among equals the oldest. */
        if (!task->has_priority || task->priority > TASKS[running].priority ||
            (task->priority == TASKS[running].priority && options->enabled[i] != running))
            return step;
    }
    uint64_t next = NONE;
    for (uint32_t i = 0; i + 1 < segment->depth && i < MOST_CHANGES; i++)
        if (changes[i] >= step && changes[i] < next) next = changes[i];
    return (uint32_t)next;
}

/* Given stretches of given tasks, as far as that is possible. */
static uint32_t by_segments(const struct options *options, uint32_t running, bool yielded) {
    const struct segment_of_plan *segments = TABLE(struct segment_of_plan, segments);
    uint32_t count = options->enabled_count + options->timed_count;
    while (segment->segment < segment->segments_length) {
        if (segment->segment_left > 0)
            for (uint32_t i = 0; i < count; i++) {
                uint32_t candidate = option(options, i);
                if (TASKS[candidate].name_in_plan != segments[segment->segment].name) continue;
                segment->segment_left--;
                return candidate;
            }
        segment->segment++;
        if (segment->segment < segment->segments_length)
            segment->segment_left = segments[segment->segment].steps;
    }
    return non_preemptive(options, running, yielded);
}

/* -- values of data choices ------------------------------------------------------------- */

/* Any but 0 is a fault.  Each of those that are expected is as likely as the others, and as none. */
static uint32_t drawn_value(uint32_t arity) {
    uint32_t left = segment->expected_choices > segment->choices
                        ? segment->expected_choices - segment->choices
                        : 1;
    uint64_t bits = draw_bits(&segment->random_values);
    if ((bits >> 32) * (left + 1) >> 32) return 0;
    return 1 + (uint32_t)((bits & UINT32_MAX) * (arity - 1) >> 32);
}

/* As the plan says for that task; NONE if it says nothing. */
static uint32_t planned_value(uint32_t arity) {
    const struct value_of_plan *values = TABLE(struct value_of_plan, values);
    current->choices++;
    for (uint32_t i = 0; i < segment->values_length; i++)
        if (values[i].name == current->name_in_plan && values[i].number == current->choices)
            return values[i].value < arity ? values[i].value : NONE;
    return NONE;
}

uint32_t policy_value(uint32_t arity) {
    uint32_t planned;
    switch ((enum policy)segment->policy) {
    case UNIFORM_RANDOM: case PRIORITIES: case PARTIAL_ORDER: case WEIGHTED: case READS_FROM:
        return drawn_value(arity);
    case SEGMENTS:
        planned = planned_value(arity);
        return planned == NONE ? 0 : planned;
    case ORDERED:
        planned = planned_value(arity);
        return planned == NONE ? value_beyond_orderings(arity) : planned;
    case NON_PREEMPTIVE: case SLEEPING: case ASK:
        break;
    }
    return 0;
}

void policy_begin(void) {
    uint64_t state = segment->seed;
    for (uint32_t i = 0; i + 1 < segment->depth && i < MOST_CHANGES; i++)
        changes[i] = draw_bits(&state) % (segment->length ? segment->length : 1);
    if (segment->started) return;
    segment->random = state;
    segment->random_values = ~segment->seed;
    segment->intended = NONE;
    segment->patience = PATIENCE;
    segment->lowest_priority = -(int64_t)segment->depth;
    if (segment->segments_length)
        segment->segment_left = TABLE(struct segment_of_plan, segments)[0].steps;
}

uint32_t policy_choose(const struct options *options, uint32_t running, bool yielded,
                       uint32_t step) {
    bool only_one = options->enabled_count + options->timed_count == 1;
    switch ((enum policy)segment->policy) {
    case UNIFORM_RANDOM:
        if (only_one) return option(options, 0);
        return option(options, draw_below(options->enabled_count + options->timed_count));
    case PRIORITIES:
        return by_priority(options, running, yielded, step);
    case SEGMENTS:
        return by_segments(options, running, yielded);
    case SLEEPING:
        return by_sleepers(options, running, yielded, step);
    case PARTIAL_ORDER:
        return by_partial_order(options, running, yielded);
    case WEIGHTED:
        return by_weight(options, running, yielded);
    case ORDERED:
        return by_orderings(options, running, yielded);
    case READS_FROM:
        return by_reads_from(options, running, yielded);
    case NON_PREEMPTIVE:
    case ASK:
        break;
    }
    return non_preemptive(options, running, yielded);
}

void policy_skips(uint32_t resource) {
    if (decides_about(resource)) skip_draw(&segment->random);
}

uint32_t policy_settled(const struct options *options, uint32_t running, uint32_t step) {
    switch ((enum policy)segment->policy) {
    case NON_PREEMPTIVE:
        return NONE;
    case UNIFORM_RANDOM:
        return options->enabled_count == 1 ? NONE : step;
    case PRIORITIES:
        return highest_until(options, running, step);
    case SLEEPING:
        return nobody_sleeps() ? NONE : step;
    case PARTIAL_ORDER:
        return options->enabled_count == 1 && nobody_has_priority(running) ? NONE : step;
    case SEGMENTS: case WEIGHTED: case ASK: case ORDERED: case READS_FROM:
        break;
    }
    return step;
}
