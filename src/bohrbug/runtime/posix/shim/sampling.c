/* What runtime/policies/partial_order.py and weighted.py are for Python tests. */
#include "sampling.h"

#include "draw.h"
#include "operation.h"
#include "points.h"
#include "reads_from.h"

static uint32_t count_of(const struct options *options) {
    return options->enabled_count + options->timed_count;
}

static bool is_decision(const struct task *task) {
    return decides(task) || (segment->policy == READS_FROM && is_constrained(task->resource));
}

/* Most operations never conflict (Morpheus: Yuan and Yang, ASPLOS 2020). */
uint32_t runs_at_once(const struct options *options, uint32_t running, bool yielded) {
    if (segment->decides_everywhere) return NONE;
    uint32_t first = NONE;
    for (uint32_t i = 0; i < options->enabled_count; i++) {
        uint32_t index = options->enabled[i];
        const struct task *task = &TASKS[index];
        if (is_yield((enum kind)task->kind) || is_decision(task)) continue;
        if (index == running && !yielded) return index;
        if (index != running && first == NONE) first = index;
    }
    return first;
}

/* -- POS: Yuan, Yang and Gu, CAV 2018, section 4 --------------------------------------------- */

static void draw_priority(struct task *task) {
    task->has_priority = 1;
    task->priority = (int64_t)(draw_bits(&segment->random) >> 2);
}

uint32_t highest_priority(const struct options *options) {
    uint32_t best = NONE;
    int64_t priority = 0;
    for (uint32_t i = 0, count = count_of(options); i < count; i++) {
        struct task *task = &TASKS[option(options, i)];
        if (!task->has_priority) draw_priority(task);
        if (best != NONE && task->priority <= priority) continue;
        best = option(options, i);
        priority = task->priority;
    }
    return best;
}

/* Without a second draw those that lost against it would be likely to lose against the next, too. */
void priorities_after(uint32_t index) {
    struct task *chosen = &TASKS[index];
    chosen->has_priority = 0;
    if (segment->alive_count == 1) return;
    struct touched done = touched_by_task(chosen);
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task == chosen || !task->has_priority) continue;
        struct touched pending = touched_by_task(task);
        if (conflict(&done, &pending)) draw_priority(task);
    }
}

bool nobody_has_priority(uint32_t task) {
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (segment->alive[i] != task && TASKS[segment->alive[i]].has_priority) return false;
    return true;
}

uint32_t by_partial_order(const struct options *options, uint32_t running, bool yielded) {
    uint32_t chosen = runs_at_once(options, running, yielded);
    if (chosen == NONE) chosen = highest_priority(options);
    priorities_after(chosen);
    return chosen;
}

/* -- SURW: Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025 ---------------------------------- */

/* Events of tasks that do not exist yet count for their nearest ancestor that does. */
static void promise(void) {
    const struct name_in_plan *names = TABLE(struct name_in_plan, names);
    for (uint32_t i = 0; i < segment->tasks; i++) TASKS[i].promised = 0;
    for (uint32_t i = 0; i < segment->names; i++) {
        if (!names[i].events || (names[i].task && TASKS[names[i].task - 1].counted)) continue;
        uint32_t name = names[i].parent;
        while (name != NONE && !(names[name].task && TASKS[names[name].task - 1].counted))
            name = names[name].parent;
        if (name != NONE) TASKS[names[name].task - 1].promised += names[i].events;
    }
}

static int64_t weight_of(uint32_t index) {
    const struct task *task = &TASKS[index];
    int64_t weight = task->events + task->promised;
    /* An execution may have more events than the one that was counted. */
    int64_t least = is_selected(task) ? 1 : 0;
    return weight > least ? weight : least;
}

static bool is_option(const struct options *options, uint32_t task) {
    for (uint32_t i = 0; i < count_of(options); i++)
        if (option(options, i) == task) return true;
    return false;
}

/* Tasks that were not there before bring their events; whoever was drawn for what it would create
 * hands that on. */
static void count_new(const struct options *options) {
    static uint16_t new[MOST_TASKS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < count_of(options); i++) {
        struct task *task = &TASKS[option(options, i)];
        if (task->counted) continue;
        task->counted = 1;
        if (task->name_in_plan != NONE)
            task->events = TABLE(struct name_in_plan, names)[task->name_in_plan].events;
        new[count++] = (uint16_t)option(options, i);
    }
    if (!count) return;
    promise();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t intended = segment->intended;
        if (intended == NONE || TASKS[new[i]].parent != intended || !is_option(options, intended))
            continue;
        int64_t mine = weight_of(intended), its = weight_of(new[i]);
        if (mine + its > 0 && draw_below((uint32_t)(mine + its)) >= (uint32_t)mine)
            segment->intended = new[i];
    }
}

static uint32_t in_proportion(const struct options *options) {
    int64_t total = 0;
    for (uint32_t i = 0; i < count_of(options); i++) total += weight_of(option(options, i));
    if (!total) return NONE;
    int64_t left = draw_below((uint32_t)total);
    for (uint32_t i = 0; i < count_of(options); i++) {
        left -= weight_of(option(options, i));
        if (left < 0) return option(options, i);
    }
    return NONE;
}

/* One of those that are not about to do a selected event, or the one that was drawn to. */
static uint32_t drawn_among(const struct options *options) {
    static uint16_t able[MOST_TASKS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < count_of(options); i++) {
        uint32_t index = option(options, i);
        if (index == segment->intended || !is_selected(&TASKS[index]))
            able[count++] = (uint16_t)index;
    }
    return able[draw_below(count)];
}

static uint32_t drawn(const struct options *options) {
    /* None is drawn yet, or it is blocked: the others must go on. */
    if (segment->intended == NONE || !is_option(options, segment->intended))
        segment->intended = in_proportion(options);
    return drawn_among(options);
}

static void count_event(struct task *chosen) {
    if (!is_selected(chosen)) return;
    chosen->events--;
    segment->intended = NONE;
}

uint32_t by_weight(const struct options *options, uint32_t running, bool yielded) {
    count_new(options);
    uint32_t chosen = runs_at_once(options, running, yielded);
    if (chosen == NONE) chosen = drawn(options);
    /* Whoever was drawn may be waiting in a loop for one that waits for its turn. */
    if (yielded || !option_is_enabled(options, chosen)) segment->intended = NONE;
    count_event(&TASKS[chosen]);
    return chosen;
}
