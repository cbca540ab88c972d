/* What there is to choose from at a scheduling point. */
#ifndef BOHRBUG_CORE_OPTIONS_H
#define BOHRBUG_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* "Nobody" where a task is named. */
#define NO_TASK UINT32_MAX

/* Numbers of tasks, in the order in which they were made: those whose next operation would not block, and
 * blocked ones whose timeout could fire. */
struct options {
    const uint16_t *enabled, *timed;
    uint32_t enabled_count, timed_count;
};

static inline uint32_t options_count(const struct options *options) {
    return options->enabled_count + options->timed_count;
}

/* The option with a number; the enabled ones come first. */
static inline uint32_t option_at(const struct options *options, uint32_t i) {
    return i < options->enabled_count ? options->enabled[i]
                                      : options->timed[i - options->enabled_count];
}

static inline bool option_is_enabled(const struct options *options, uint32_t task) {
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (options->enabled[i] == task) return true;
    return false;
}

static inline bool is_option(const struct options *options, uint32_t task) {
    for (uint32_t i = 0; i < options->timed_count; i++)
        if (options->timed[i] == task) return true;
    return option_is_enabled(options, task);
}

/* Steps after which a task that yields passes control to any other, and no longer in turn. */
#define VARIED_AFTER 20000

/* Round robin, where at least one task is enabled: the first one made after the running one, else the
 * oldest.  A loop that comes further only if one task has run and another has not since may never do so if
 * they always run in the same order, so in a long execution the order varies. */
static inline uint32_t next_in_turn(const struct options *options, uint32_t running, bool yielded,
                                    uint32_t step) {
    /* 2**32 divided by the golden ratio: multiples of it are spread evenly. */
    const uint64_t golden = 2654435761u;
    if (yielded && step >= VARIED_AFTER)
        return options->enabled[(step * golden >> 16) % options->enabled_count];
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (options->enabled[i] > running) return options->enabled[i];
    return options->enabled[0];
}

#endif
