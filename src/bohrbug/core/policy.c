#include "policy.h"

void policy_begins(struct policy_state *state, uint64_t seed) {
    *state = (struct policy_state){.random = seed, .intended = NO_TASK};
}

uint32_t runs_at_once(const struct policy_task *tasks, const struct options *options,
                      uint32_t running, bool yielded) {
    uint32_t first = NO_TASK;
    for (uint32_t i = 0; i < options->enabled_count; i++) {
        uint32_t task = options->enabled[i];
        if (!tasks[task].is_quiet) continue;
        /* One that yields is not kept running, or a loop that waits would never end. */
        if (task == running && !yielded) return task;
        if (task != running && first == NO_TASK) first = task;
    }
    return first;
}

/* -- priorities ----------------------------------------------------------------------------------- */

static void draw_priority(struct policy_state *state, struct policy_task *task) {
    task->has_priority = 1;
    task->priority = (int64_t)(draw_bits(&state->random) >> 2);
}

static uint32_t highest(struct policy_state *state, struct policy_task *tasks,
                        const struct options *options) {
    uint32_t best = option_at(options, 0), count = options_count(options);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = option_at(options, i);
        if (!tasks[number].has_priority) draw_priority(state, &tasks[number]);
        if (tasks[number].priority > tasks[best].priority) best = number;
    }
    return best;
}

/* -- PCT ------------------------------------------------------------------------------------------ */

void priorities_begin(struct policy_state *state, uint32_t depth, uint64_t length) {
    uint32_t steps = length == 0 ? 1 : length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
    while (state->changes_count + 1 < depth && state->changes_count < MOST_CHANGES)
        state->changes[state->changes_count++] = draw_below(&state->random, steps);
    state->lowest_priority = -(int64_t)depth;
}

/* A task that yields drops below all others, or a spinning one would starve the one that it waits for
 * (section 4.1); but only every second time, as what follows a yield may be what has to come first. */
static void drop(struct policy_state *state, struct policy_task *task) {
    if (draw_below(&state->random, 2) == 0) return;
    task->has_priority = 1;
    task->priority = --state->lowest_priority;
}

static uint32_t best_of(struct policy_state *state, struct policy_task *tasks,
                        const struct options *options) {
    return options_count(options) == 1 ? option_at(options, 0) : highest(state, tasks, options);
}

uint32_t by_priority(struct policy_state *state, struct policy_task *tasks,
                     const struct options *options, uint32_t running, bool yielded, uint32_t step) {
    /* Data choices are steps, too, and a change that falls on one is made at the next decision; those of
     * the plan's prefix are past. */
    uint32_t first = state->decided_until ? state->decided_until : step;
    state->decided_until = step + 1;
    if (yielded) drop(state, &tasks[running]);
    uint32_t best = best_of(state, tasks, options);
    for (uint32_t i = 0; i < state->changes_count; i++) {
        if (state->changes[i] < first || state->changes[i] > step) continue;
        tasks[best].has_priority = 1;
        tasks[best].priority = -(int64_t)i - 1;
        best = best_of(state, tasks, options);
    }
    /* A fired timeout is a yield: a loop that sleeps must not starve the rest. */
    if (!option_is_enabled(options, best)) drop(state, &tasks[best]);
    return best;
}

uint32_t highest_until(const struct policy_state *state, const struct policy_task *tasks,
                       const struct options *options, uint32_t running, uint32_t step) {
    for (uint32_t i = 0; i < options->enabled_count; i++) {
        const struct policy_task *task = &tasks[options->enabled[i]];
        /* Among equals the oldest. */
        if (!task->has_priority || task->priority > tasks[running].priority ||
            (task->priority == tasks[running].priority && options->enabled[i] != running))
            return step;
    }
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < state->changes_count; i++)
        if (state->changes[i] >= step && state->changes[i] < next) next = state->changes[i];
    return next;
}

/* -- POS ------------------------------------------------------------------------------------------ */

uint32_t highest_priority(struct policy_state *state, struct policy_task *tasks,
                          const struct options *options) {
    for (uint32_t i = 0, count = options_count(options); i < count; i++) {
        uint32_t number = option_at(options, i);
        if (tasks[number].has_priority) continue;
        draw_priority(state, &tasks[number]);
        tasks[state->with_priority++].nth_to_draw = number;
    }
    return highest(state, tasks, options);
}

static void forget(struct policy_state *state, struct policy_task *tasks, uint32_t chosen) {
    if (!tasks[chosen].has_priority) return;
    tasks[chosen].has_priority = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state->with_priority; i++)
        if (tasks[i].nth_to_draw != chosen) tasks[kept++].nth_to_draw = tasks[i].nth_to_draw;
    state->with_priority = kept;
}

void priorities_after(struct policy_state *state, struct policy_task *tasks, uint32_t chosen,
                      struct conflicts conflicts) {
    forget(state, tasks, chosen);
    for (uint32_t i = 0; i < state->with_priority; i++) {
        uint32_t other = tasks[i].nth_to_draw;
        if (conflicts.between(conflicts.context, chosen, other))
            draw_priority(state, &tasks[other]);
    }
}

uint32_t by_partial_order(struct policy_state *state, struct policy_task *tasks,
                          const struct options *options, uint32_t running, bool yielded,
                          struct conflicts conflicts) {
    uint32_t chosen = runs_at_once(tasks, options, running, yielded);
    if (chosen == NO_TASK) chosen = highest_priority(state, tasks, options);
    priorities_after(state, tasks, chosen, conflicts);
    return chosen;
}
