/* Musuvathi and Qadeer, "Fair stateless model checking", PLDI 2008: a task that yields gets lower
 * priority than those that could have run since its last yield and did not, until they have run.  Its section 4
 * processes every k-th yield. */
#include "fairness.h"

#include <stddef.h>

#include "program_stack.h"
#include "short_way.h"
#include "task.h"

#define WORDS (MOST_TASKS / 64)
/* Yields in a row, at none of which a task stands where it stood before, that hold nobody back: more than
 * libraries make before they wait (std::atomic::wait of libstdc++ and crossbeam 4, parking_lot 7), as who is held
 * back just before the wait never waits while another one could run. */
#define UNHEEDED_YIELDS 7

/* Where a task stands that waits for the clock or the like; the states of stacks are odd. */
#define WAITS_BY_ITSELF 0
/* ... and one of which nobody can tell, or that was only made to yield: never the same place twice. */
#define ANYWHERE 2
#define HAS_RUN_LONG 4

/* For each task a set of tasks that go before it, as bits. */
static uint64_t *below(uint32_t task) { return TABLE(uint64_t, below) + (size_t)task * WORDS; }

static bool contains(const uint64_t *set, uint32_t task) { return set[task / 64] >> task % 64 & 1; }

static bool is_empty(const uint64_t *set) {
    for (uint32_t word = 0; word < WORDS; word++)
        if (set[word]) return false;
    return true;
}

/* Whoever only looks may do so at any place of its loop: which one it is makes no difference. */
static uint64_t standing(uint64_t site, bool at_any_place) {
    uint64_t state = program_stack_state(site);
    if (!state) return ANYWHERE;
    return at_any_place ? state : state ^ site << 1;
}

void fairness_comes(uint64_t site) {
    /* Alone it keeps nobody waiting. */
    if (segment->alive_count > 1) current->stands = standing(site, false);
}

bool fairness_looked(uint64_t site) {
    struct task *task = current;
    task->has_looked = !task->has_looked;
    *(task->has_looked ? &task->stood : &task->stands) = standing(site, true);
    return !task->has_looked;
}

void fairness_has_run_long(uint32_t task) {
    TASKS[task].stands = HAS_RUN_LONG;
    TASKS[task].unheeded = UNHEEDED_YIELDS;
}

/* Counts a yield; whether the task, for all that is known, may be about to make progress. */
static bool may_go_on(struct task *task) {
    uint64_t stands = task->stands;
    task->stands = WAITS_BY_ITSELF;
    bool can_be_told = stands != ANYWHERE && stands != HAS_RUN_LONG;
    if (stands == WAITS_BY_ITSELF || (can_be_told && stands == task->stood)) {
        task->unheeded = 0;
        return false;
    }
    task->stood = stands;
    task->unheeded = (task->unheeded + 1) % (UNHEEDED_YIELDS + 1);
    return true;
}

void fairness_yielded(uint32_t task, const uint16_t *enabled, uint32_t count) {
    struct task *yielder = &TASKS[task];
    uint32_t last_yield = yielder->last_yield;
    yielder->last_yield = segment->steps;
    bool is_long = yielder->stands == HAS_RUN_LONG, may_be_working = may_go_on(yielder);
    if (yielder->unheeded) return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = enabled[i];
        /* last_run counts from 1, so that 0 is never. */
        if (other == task || TASKS[other].last_run > last_yield) continue;
        below(task)[other / 64] |= 1ULL << other % 64;
        if (may_be_working) yielder->doubted = is_long ? LONG_RUN : REPEATED_YIELD;
        segment->fairness_active = 1;
        look_again();
    }
}

uint32_t fairness_filter(uint16_t *enabled, uint32_t count) {
    uint16_t allowed[MOST_TASKS];
    uint32_t kept = 0;
    uint32_t leaves_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *before = below(enabled[i]);
        bool waits = false;
        for (uint32_t j = 0; j < count && !waits; j++) waits = contains(before, enabled[j]);
        if (!waits) allowed[kept++] = enabled[i];
        else leaves_out |= TASKS[enabled[i]].doubted;
    }
    if (!kept) return count;
    segment->yields_assumed |= leaves_out; /* enum doubt */
    for (uint32_t i = 0; i < kept; i++) enabled[i] = allowed[i];
    return kept;
}

void fairness_scheduled(uint32_t task) {
    bool left = false;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint32_t each = segment->alive[i];
        uint64_t *set = below(each);
        set[task / 64] &= ~(1ULL << task % 64);
        if (is_empty(set)) TASKS[each].doubted = 0;
        else left = true;
    }
    segment->fairness_active = left;
}
