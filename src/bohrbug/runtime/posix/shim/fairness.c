/* Musuvathi and Qadeer, "Fair stateless model checking", PLDI 2008: a task that yields gets lower
 * priority than those that could have run since its last yield and did not, until they have run. */
#include "fairness.h"

#include <stdbool.h>
#include <stddef.h>

#include "short_way.h"

#define WORDS (MOST_TASKS / 64)

/* For each task a set of tasks that go before it, as bits. */
static uint64_t *below(uint32_t task) { return TABLE(uint64_t, below) + (size_t)task * WORDS; }

static bool contains(const uint64_t *set, uint32_t task) { return set[task / 64] >> task % 64 & 1; }

void fairness_yielded(uint32_t task, const uint16_t *enabled, uint32_t count) {
    struct task *yielder = &TASKS[task];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = enabled[i];
        /* last_run counts from 1, so that 0 is never. */
        if (other == task || TASKS[other].last_run > yielder->last_yield) continue;
        below(task)[other / 64] |= 1ULL << other % 64;
        segment->fairness_active = 1;
        look_again();
    }
    yielder->last_yield = segment->steps;
}

uint32_t fairness_filter(uint16_t *enabled, uint32_t count) {
    uint16_t allowed[MOST_TASKS];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *before = below(enabled[i]);
        bool waits = false;
        for (uint32_t j = 0; j < count && !waits; j++) waits = contains(before, enabled[j]);
        if (!waits) allowed[kept++] = enabled[i];
    }
    if (!kept) return count;
    for (uint32_t i = 0; i < kept; i++) enabled[i] = allowed[i];
    return kept;
}

void fairness_scheduled(uint32_t task) {
    bool left = false;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint64_t *set = below(segment->alive[i]);
        set[task / 64] &= ~(1ULL << task % 64);
        for (uint32_t word = 0; word < WORDS && !left; word++) left = set[word] != 0;
    }
    segment->fairness_active = left;
}
