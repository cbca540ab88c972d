/* SURW: Zhao, Wolff, Mathur and Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025. */
#include "policy.h"

/* The task that stands for a name, if its events count for itself; or NO_TASK. */
static uint32_t counted(const struct weights *weights, uint32_t name) {
    uint32_t task = weights->names[name].task;
    return task && weights->tasks[task - 1].is_counted ? task - 1 : NO_TASK;
}

/* Events of tasks that do not exist yet count for their nearest ancestor that does. */
static void promise(const struct weights *weights) {
    for (uint32_t i = 0; i < weights->tasks_count; i++) weights->tasks[i].promised = 0;
    for (uint32_t i = 0; i < weights->names_count; i++) {
        if (!weights->names[i].events || counted(weights, i) != NO_TASK) continue;
        uint32_t name = weights->names[i].parent;
        while (name != NO_TASK && counted(weights, name) == NO_TASK)
            name = weights->names[name].parent;
        if (name != NO_TASK)
            weights->tasks[counted(weights, name)].promised += weights->names[i].events;
    }
}

static int64_t weight_of(const struct policy_task *task) {
    int64_t weight = task->events + task->promised;
    /* An execution may have more events than the one that was counted. */
    int64_t least = task->is_selected ? 1 : 0;
    return weight > least ? weight : least;
}

/* Tasks that were not there before bring their events: how many there are. */
static uint32_t count_new(const struct weights *weights, const struct options *options) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < options_count(options); i++) {
        struct policy_task *task = &weights->tasks[option_at(options, i)];
        if (task->is_counted) continue;
        task->is_counted = 2;
        if (task->name != NO_TASK) task->events = weights->names[task->name].events;
        count++;
    }
    return count;
}

/* Whoever was drawn for what it would make hands that on. */
static void hand_on(struct policy_state *state, const struct weights *weights,
                    const struct options *options) {
    for (uint32_t i = 0; i < options_count(options); i++) {
        uint32_t number = option_at(options, i), intended = state->intended;
        struct policy_task *task = &weights->tasks[number];
        if (task->is_counted != 2) continue;
        task->is_counted = 1;
        if (intended == NO_TASK || task->parent != intended || !is_option(options, intended))
            continue;
        int64_t before = weight_of(&weights->tasks[intended]), its = weight_of(task);
        if (before + its > 0 &&
            draw_below(&state->random, (uint32_t)(before + its)) >= (uint32_t)before)
            state->intended = number;
    }
}

static uint32_t in_proportion(struct policy_state *state, const struct policy_task *tasks,
                              const struct options *options) {
    int64_t total = 0;
    for (uint32_t i = 0; i < options_count(options); i++)
        total += weight_of(&tasks[option_at(options, i)]);
    if (!total) return NO_TASK;
    int64_t left = draw_below(&state->random, (uint32_t)total);
    uint32_t i = 0;
    while ((left -= weight_of(&tasks[option_at(options, i)])) >= 0) i++;
    return option_at(options, i);
}

static bool may_run(const struct policy_state *state, const struct policy_task *tasks,
                    uint32_t number) {
    return number == state->intended || !tasks[number].is_selected;
}

/* One of those that are not about to do a selected event, or the one that was drawn to. */
static uint32_t drawn(struct policy_state *state, const struct policy_task *tasks,
                      const struct options *options) {
    /* None is drawn yet, or it is blocked: the others must go on. */
    if (state->intended == NO_TASK || !is_option(options, state->intended))
        state->intended = in_proportion(state, tasks, options);
    uint32_t able = 0;
    for (uint32_t i = 0; i < options_count(options); i++)
        able += may_run(state, tasks, option_at(options, i));
    uint32_t left = draw_below(&state->random, able), i = 0;
    while (!may_run(state, tasks, option_at(options, i)) || left--) i++;
    return option_at(options, i);
}

uint32_t by_weight(struct policy_state *state, const struct weights *weights,
                   const struct options *options, uint32_t running, bool yielded) {
    struct policy_task *tasks = weights->tasks;
    if (count_new(weights, options)) {
        promise(weights);
        hand_on(state, weights, options);
    }
    uint32_t chosen = runs_at_once(tasks, options, running, yielded);
    if (chosen == NO_TASK) chosen = drawn(state, tasks, options);
    /* Whoever was drawn may be waiting in a loop for one that waits for its turn. */
    if (yielded || !option_is_enabled(options, chosen)) state->intended = NO_TASK;
    if (tasks[chosen].is_selected) {
        tasks[chosen].events--;
        state->intended = NO_TASK;
    }
    return chosen;
}
