#include "futures.h"

#include <string.h>

#include "short_way.h"
#include "task.h"

/* Stretches of chosen lengths delay one task until another has come far: most often few steps, now and then many. */
static void draw_stretches(struct future *future, uint64_t *random) {
    uint32_t bits = 1;
    while (2u << bits < future->window) bits++;
    future->stretches = 2 + draw_below(random, MOST_STRETCHES - 1);
    for (uint32_t i = 0; i < future->stretches; i++) {
        uint32_t most = 1u << draw_below(random, bits + 1);
        future->stretch[i].name = segment->alive[draw_below(random, segment->alive_count)];
        future->stretch[i].steps = 1 + draw_below(random, most);
    }
}

void draw_futures(struct future *futures, uint32_t count, uint64_t *random, uint32_t window) {
    static const enum policy kinds[] = {SEGMENTS, PARTIAL_ORDER, UNIFORM_RANDOM, PRIORITIES};
    futures[0] = (struct future){.policy = NON_PREEMPTIVE, .window = window};
    uint32_t first = draw_below(random, 4);
    for (uint32_t i = 1; i < count; i++) {
        enum policy policy = kinds[(first + i) % 4];
        futures[i] = (struct future){policy, draw_bits(random), window, true, 0, {{0, 0}}};
        if (policy == SEGMENTS) draw_stretches(&futures[i], random);
    }
}

bool keeps_inside;

static bool is_about_to_be_seen(const struct task *task) {
    if (task->kind == SPAWN || task->kind == EXECUTE) return true;
    if (task->resource & TASK_BIT) return false;
    switch ((enum type)RESOURCES[task->resource].type) {
    case DESCRIPTOR: case FILE_LOCK: case CHILDREN: case CONTENT: case NAME:
        return true;
    default:
        return false;
    }
}

uint32_t those_inside(uint16_t *enabled, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) kept += !is_about_to_be_seen(&TASKS[enabled[i]]);
    if (!kept || kept == count) return count;
    kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!is_about_to_be_seen(&TASKS[enabled[i]])) enabled[kept++] = enabled[i];
    return kept;
}

/* What the last policy has drawn is no more. */
static void begin(enum policy policy, uint64_t seed) {
    segment->policy = policy;
    segment->seed = seed;
    segment->decides_everywhere = policy != NON_PREEMPTIVE;
    memset(&segment->policy_state, 0, sizeof segment->policy_state);
    policy_begins(&segment->policy_state, seed);
    segment->random_values = ~seed;
    for (uint32_t i = 0; i < segment->tasks; i++) {
        struct policy_task *task = &POLICY_TASKS[i];
        *task = (struct policy_task){.parent = task->parent, .name = task->name};
    }
    segment->segments_length = segment->segment = segment->segment_left = 0;
    look_again();
}

/* Changes of priority in a fragment that goes by priorities. */
#define CHANGES 2

void decide_by(const struct future *future) {
    begin(future->policy, future->seed);
    keeps_inside = future->keeps_inside;
    struct policy_state *state = &segment->policy_state;
    if (future->policy == PRIORITIES) {
        priorities_begin(state, CHANGES + 1, future->window);
        for (uint32_t i = 0; i < state->changes_count; i++) state->changes[i] += segment->steps;
    }
    if (future->policy != SEGMENTS) return;
    /* Plans name tasks; here they are named by their indices. */
    for (uint32_t i = 0; i < segment->alive_count; i++)
        TASKS[segment->alive[i]].name_in_plan = segment->alive[i];
    memcpy(TABLE(struct segment_of_plan, segments), future->stretch,
           future->stretches * sizeof *future->stretch);
    segment->segments_length = future->stretches;
    segment->segment_left = future->stretch[0].steps;
}

void decide_as_usual(void) {
    begin(NON_PREEMPTIVE, 0);
    keeps_inside = false;
}
