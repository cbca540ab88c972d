#include "policy.h"

#include <stddef.h>

#include "operation.h"
#include "orderings.h"
#include "points.h"
#include "reads_from.h"
#include "sleepers.h"
#include "store_buffer.h"
#include "task.h"

uint32_t earliest(const struct options *options) {
    uint32_t best = options->timed[0];
    for (uint32_t i = 1; i < options->timed_count; i++)
        if (TASKS[options->timed[i]].deadline < TASKS[best].deadline) best = options->timed[i];
    return best;
}

/* Apart, as the task goes on at most points. */
static __attribute__((noinline)) uint32_t next_of(const struct options *options, uint32_t running,
                                                  bool yielded, uint32_t step) {
    if (has_store_buffers) {
        uint32_t related = task_beside_buffer(running);
        if (related != NONE && option_is_enabled(options, related)) return related;
    }
    return next_in_turn(options, running, yielded, step);
}

uint32_t non_preemptive(const struct options *options, uint32_t running, bool yielded,
                        uint32_t step) {
    if (!options->enabled_count) return earliest(options);
    if (!yielded && option_is_enabled(options, running)) return running;
    return next_of(options, running, yielded, step);
}

/* Given stretches of given tasks, as far as that is possible. */
static uint32_t by_segments(const struct options *options, uint32_t running, bool yielded,
                            uint32_t step) {
    const struct segment_of_plan *segments = TABLE(struct segment_of_plan, segments);
    uint32_t count = options_count(options);
    while (segment->segment < segment->segments_length) {
        if (segment->segment_left > 0)
            for (uint32_t i = 0; i < count; i++) {
                uint32_t candidate = option_at(options, i);
                if (TASKS[candidate].name_in_plan != segments[segment->segment].name) continue;
                segment->segment_left--;
                return candidate;
            }
        segment->segment++;
        if (segment->segment < segment->segments_length)
            segment->segment_left = segments[segment->segment].steps;
    }
    return non_preemptive(options, running, yielded, step);
}

/* -- what tasks are about to do ----------------------------------------------------------- */

static bool is_decision(const struct task *task) {
    return segment->decides_everywhere || is_yield((enum kind)task->kind) || decides(task) ||
           (segment->policy == READS_FROM && is_constrained(task->resource));
}

void note_pending(const struct options *options) {
    for (uint32_t i = 0; i < options_count(options); i++) {
        uint32_t index = option_at(options, i);
        POLICY_TASKS[index].is_quiet = !is_decision(&TASKS[index]);
        if (segment->policy == WEIGHTED)
            POLICY_TASKS[index].is_selected = is_selected(&TASKS[index]);
    }
}

static bool tasks_conflict(const void *nothing, uint32_t one, uint32_t other) {
    (void)nothing;
    struct touched first = touched_by_task(&TASKS[one]), second = touched_by_task(&TASKS[other]);
    return conflict(&first, &second);
}

const struct conflicts conflicts_of_tasks = {tasks_conflict, NULL};

static uint32_t by_pending(const struct options *options, uint32_t running, bool yielded) {
    struct policy_state *state = &segment->policy_state;
    note_pending(options);
    if (segment->policy == PARTIAL_ORDER)
        return by_partial_order(state, POLICY_TASKS, options, running, yielded, conflicts_of_tasks);
    struct weights weights = {POLICY_TASKS, segment->tasks, TABLE(struct name_in_plan, names),
                              segment->names};
    return by_weight(state, &weights, options, running, yielded);
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

/* What the plan says of a choice of the current task; NULL if it says nothing. */
static const struct value_of_plan *value_of_plan(uint32_t number) {
    const struct value_of_plan *values = TABLE(struct value_of_plan, values);
    for (uint32_t i = 0; i < segment->values_length; i++)
        if (values[i].name == current->name_in_plan && values[i].number == number) return &values[i];
    return NULL;
}

/* As the plan says for that task; NONE if it says nothing. */
static uint32_t planned_value(uint32_t arity) {
    const struct value_of_plan *planned = value_of_plan(++current->choices);
    return planned && planned->value < arity ? planned->value : NONE;
}

bool policy_has_value(void) {
    bool has_values = segment->policy == SEGMENTS || segment->policy == ORDERED;
    return has_values && value_of_plan(current->choices + 1);
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
    if (segment->started) return;
    struct policy_state *state = &segment->policy_state;
    policy_begins(state, segment->seed);
    if (segment->policy == PRIORITIES) priorities_begin(state, segment->depth, segment->length);
    segment->random_values = ~segment->seed;
    segment->patience = PATIENCE;
    if (segment->segments_length)
        segment->segment_left = TABLE(struct segment_of_plan, segments)[0].steps;
}

uint32_t policy_choose(const struct options *options, uint32_t running, bool yielded,
                       uint32_t step) {
    struct policy_state *state = &segment->policy_state;
    uint32_t count = options_count(options);
    switch ((enum policy)segment->policy) {
    case UNIFORM_RANDOM:
        return option_at(options, count == 1 ? 0 : draw_below(&state->random, count));
    case PRIORITIES:
        return by_priority(state, POLICY_TASKS, options, running, yielded, step);
    case SEGMENTS:
        return by_segments(options, running, yielded, step);
    case SLEEPING:
        return by_sleepers(options, running, yielded, step);
    case PARTIAL_ORDER:
    case WEIGHTED:
        return by_pending(options, running, yielded);
    case ORDERED:
        return by_orderings(options, running, yielded, step);
    case READS_FROM:
        return by_reads_from(options, running, yielded);
    case NON_PREEMPTIVE:
    case ASK:
        break;
    }
    return non_preemptive(options, running, yielded, step);
}

void policy_skips(uint32_t resource) {
    if (decides_about(resource)) skip_draw(&segment->policy_state.random);
}

/* Whether no other task has drawn a priority that it keeps. */
static bool nobody_has_priority(uint32_t task) {
    return segment->policy_state.with_priority == POLICY_TASKS[task].has_priority;
}

uint32_t policy_settled(const struct options *options, uint32_t running, uint32_t step) {
    switch ((enum policy)segment->policy) {
    case NON_PREEMPTIVE:
        return NONE;
    case UNIFORM_RANDOM:
        return options->enabled_count == 1 ? NONE : step;
    case PRIORITIES:
        return highest_until(&segment->policy_state, POLICY_TASKS, options, running, step);
    case SLEEPING:
        return nobody_sleeps() ? NONE : step;
    case PARTIAL_ORDER:
        return options->enabled_count == 1 && nobody_has_priority(running) ? NONE : step;
    case SEGMENTS: case WEIGHTED: case ASK: case ORDERED: case READS_FROM:
        break;
    }
    return step;
}
