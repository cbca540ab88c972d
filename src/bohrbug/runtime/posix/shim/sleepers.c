/* Sleep sets: Godefroid, "Partial-order methods", 1996, chapter 5. */
#include "sleepers.h"

#include "operation.h"

static bool is_asleep(uint32_t task) { return TASKS[task].asleep != AWAKE; }

/* At the end of the prefix the plan's sleepers stand before the operation that they sleep for. */
static void fall_asleep(void) {
    const struct name_in_plan *names = TABLE(struct name_in_plan, names);
    for (uint32_t i = 0; i < segment->names; i++)
        if (names[i].asleep && names[i].task)
            TASKS[names[i].task - 1].asleep = names[i].asleep;
}

bool nobody_sleeps(void) {
    if (!segment->behind_prefix) return false;
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (is_asleep(segment->alive[i])) return false;
    return true;
}

static void all_wake(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) TASKS[segment->alive[i]].asleep = AWAKE;
}

/* What a step has touched wakes those that are about to touch it, one of the two writing. */
static void wake_after(uint32_t step) {
    /* A data choice is part of the step before it. */
    while (step && STEPS[step].kind == CHOOSE) step--;
    struct touched done = touched_by_step(step);
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->asleep == AWAKE) continue;
        struct touched pending = touched_by_task(task);
        if (task->asleep == DOZING || conflict(&done, &pending)) task->asleep = AWAKE;
    }
}

static uint32_t find(const struct options *options, uint32_t name) {
    for (uint32_t i = 0; i < options->enabled_count + options->timed_count; i++)
        if (TASKS[option_at(options, i)].name_in_plan == name) return option_at(options, i);
    return NONE;
}

static uint32_t first_awake(const struct options *options, uint32_t running, bool yielded,
                            uint32_t step) {
    static uint16_t enabled[MOST_TASKS], timed[MOST_TASKS];
    struct options awake = {enabled, timed, 0, 0};
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (!is_asleep(options->enabled[i])) enabled[awake.enabled_count++] = options->enabled[i];
    for (uint32_t i = 0; i < options->timed_count; i++)
        if (!is_asleep(options->timed[i])) timed[awake.timed_count++] = options->timed[i];
    bool all_sleep = !awake.enabled_count && !awake.timed_count;
    return non_preemptive(all_sleep ? options : &awake, running, yielded, step);
}

uint32_t by_sleepers(const struct options *options, uint32_t running, bool yielded, uint32_t step) {
    uint32_t chosen = NONE;
    if (!segment->behind_prefix) {
        segment->behind_prefix = 1;
        fall_asleep();
        if (segment->first != NONE) chosen = find(options, segment->first);
    } else {
        wake_after(step - 1);
    }
    /* Fairness makes the order of everything matter. */
    if (yielded) all_wake();
    if (chosen == NONE) chosen = first_awake(options, running, yielded, step);
    TASKS[chosen].asleep = AWAKE;
    return chosen;
}
