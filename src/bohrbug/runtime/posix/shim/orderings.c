/* What runtime/policies/ordered.py is for Python tests. */
#include "orderings.h"

#include "plan_events.h"

/* How likely the running task goes on, by seed, in parts of 2^32: samples with many preemptions and with
 * few (0, 0.5, 0.8 and 0.95). */
static const uint32_t staying[] = {0, 0x80000000u, 0xCCCCCCCDu, 0xF3333334u};

static bool must_wait(uint32_t index, bool fires) {
    struct event_of_plan *event = event_of(&TASKS[index], fires);
    if (!event) return false;
    const struct pair_of_plan *pairs = PAIRS;
    while (event->pairs < event->pairs_end &&
           pairs[event->pairs].second_occurrence <= event->count)
        event->pairs++;
    for (uint32_t i = event->pairs; i < event->pairs_end; i++) {
        if (pairs[i].second_occurrence != event->count + 1) return false;
        if (EVENTS[pairs[i].first].count < pairs[i].first_occurrence) return true;
    }
    return false;
}

/* Seed 0 goes on without preemptions. */
static bool is_calm(void) { return segment->seed == 0; }

static uint32_t one_of(const struct options *options, uint32_t running, bool yielded,
                       uint32_t step) {
    uint64_t *random = &segment->policy_state.random;
    uint32_t count = options_count(options);
    if (count == 1) return option_at(options, 0);
    if (is_calm()) return non_preemptive(options, running, yielded, step);
    if (!yielded && option_is_enabled(options, running) &&
        draw_bits(random) >> 32 < staying[segment->seed % 4])
        return running;
    return option_at(options, draw_below(random, count));
}

uint32_t by_orderings(const struct options *options, uint32_t running, bool yielded,
                      uint32_t step) {
    static uint16_t enabled[MOST_TASKS], timed[MOST_TASKS];
    struct options free = {enabled, timed, 0, 0};
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (!must_wait(options->enabled[i], false))
            enabled[free.enabled_count++] = options->enabled[i];
    for (uint32_t i = 0; i < options->timed_count; i++)
        if (!must_wait(options->timed[i], true)) timed[free.timed_count++] = options->timed[i];
    bool all_wait = !free.enabled_count && !free.timed_count;
    uint32_t chosen = one_of(all_wait ? options : &free, running, yielded, step);
    struct event_of_plan *event = event_of(&TASKS[chosen], !option_is_enabled(options, chosen));
    if (event) event->count++;
    return chosen;
}

uint32_t value_beyond_orderings(uint32_t arity) {
    return is_calm() ? 0 : draw_below(&segment->policy_state.random, arity);
}
