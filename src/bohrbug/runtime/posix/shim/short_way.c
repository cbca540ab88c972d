#include "short_way.h"

#include "advancing.h"
#include "cancellation.h"
#include "debugging.h"
#include "futures.h"
#include "live.h"
#include "operation.h"
#include "order.h"
#include "policy.h"
#include "readiness.h"
#include "recording.h"
#include "schedule.h"
#include "task.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* What is done to a mutex between its making and its end. */
#define LOCKING (KIND_BIT(ACQUIRE) | KIND_BIT(TRY_ACQUIRE) | KIND_BIT(RELEASE) | KIND_BIT(CONTINUE))

uint32_t usual_until;

void look_again(void) {
    usual_until = 0;
    end_streak();
}

/* Whether somebody looks on. */
static bool is_watched(void) {
    return hooks || segment->with_stacks || order_is_kept() || segment->policy == ASK;
}

static __attribute__((noinline)) bool is_usual(uint32_t step) {
    usual_until = 0;
    /* What a process that is alone does may be no step at all. */
    bool may_be_unseen = alone && segment->processes > 1;
    if (!step || is_watched() || may_be_unseen || segment->fairness_active) return false;
    if (keeps_inside || cancels_anywhere) return false;
    if (step >= steps_at_hand) steps_prepare();
    usual_until = steps_at_hand < last_stretch() ? steps_at_hand : last_stretch();
    if (live_at < usual_until) usual_until = live_at;
    return step < usual_until;
}

/* -- what there is to choose from -------------------------------------------------------------- */

/* The options of a step: the enabled tasks, behind those of the steps before in the pool. */
struct found {
    uint16_t *enabled;
    uint32_t count;            /* 0 where they are not all that matters */
    bool as_before;            /* the same as those of the step before */
};

static ALWAYS_INLINE struct found find_enabled(const struct step *last) {
    uint16_t *enabled = POOL + segment->pool_used;
    const uint16_t *known = POOL + last->options;
    uint32_t count = 0, alive_count = segment->alive_count, different = 0;
    bool could_fire = false, of_kernel = false, could_handle = false;
    for (uint32_t i = 0; i < alive_count; i++) {
        uint16_t index = segment->alive[i];
        struct task *task = &TASKS[index];
        if (task->condition != ALWAYS && !is_ready(task)) {
            if (task->deadline == NO_DEADLINE || task->fires == LAST_RESORT) continue;
            could_fire = true;
            of_kernel |= task->fires >= ON_TIME;
            continue;
        }
        could_handle |= task->condition != ALWAYS && handles_signal(task);
        different |= (uint32_t)index ^ known[count];
        enabled[count++] = index;
    }
    if (could_handle || (could_fire && (of_kernel || !segment->late_timeouts))) count = 0;
    return (struct found){enabled, count,
                          !different && last->enabled == count && !last->timed &&
                              last->kind != CHOOSE};
}

/* The task that the plan names for the step, or NONE. */
static ALWAYS_INLINE uint32_t planned(const struct found *found, uint32_t step) {
    uint32_t wanted = TABLE(uint32_t, prefix)[step];
    for (uint32_t i = 0; i < found->count; i++)
        if (TASKS[found->enabled[i]].name_in_plan == wanted) return found->enabled[i];
    return NONE;
}

static ALWAYS_INLINE uint32_t choose(const struct found *found, uint32_t running, uint32_t step) {
    if (step < segment->prefix_length) return planned(found, step);
    if (segment->policy == UNIFORM_RANDOM)
        return found->enabled[found->count == 1
                                  ? 0
                                  : draw_below(&segment->policy_state.random, found->count)];
    struct options options = {found->enabled, NULL, found->count, 0};
    return policy_choose(&options, running, false, step);
}

/* -- one step ------------------------------------------------------------------------------------ */

/* As step_flags gives them; of what is done to mutexes most often, without asking for all that is rare. */
static ALWAYS_INLINE uint8_t flags_of_chosen(const struct task *chosen) {
    const struct resource *resource = &RESOURCES[chosen->resource & ~TASK_BIT];
    if (!(LOCKING & KIND_BIT(chosen->kind)) || chosen->resource & TASK_BIT ||
        resource->type != MUTEX || chosen->cancellable || chosen->deadline != NO_DEADLINE)
        return step_flags(chosen, false);
    return flags_of(resource, RELEASE, (enum condition)chosen->condition);
}

static ALWAYS_INLINE void write_down(struct step *record, const struct task *chosen,
                              const struct found *found) {
    uint32_t at = (record - 1)->options;
    if (!found->as_before) {
        at = segment->pool_used;
        segment->pool_used += found->count;
    }
    record->site = chosen->site;
    record->resource = chosen->resource;
    record->stack = NONE;
    record->effect = chosen->also;
    record->options = at;
    record->enabled = (uint16_t)found->count;
    record->timed = 0;
    record->task = (uint16_t)index_of(chosen);
    record->process = (uint16_t)chosen->process;
    record->kind = (uint8_t)chosen->kind;
    record->flags = flags_of_chosen(chosen);
}

/* The current task is about to do an operation: true if it is its turn again.  Else nothing is done. */
static ALWAYS_INLINE bool
take_short_way(enum kind kind, uint32_t resource, uint64_t site, enum condition condition,
               uint64_t target, bool cancellable) {
    struct task *task = current;
    uint32_t step = segment->steps, running = index_of(task);
    if (step >= usual_until && !is_usual(step)) return false;
    /* While it waits, handlers may run. */
    if (condition != ALWAYS && segment->signals_matter) return false;
    if (is_yield(kind) || condition >= FD_READY ||
        segment->pool_used + segment->alive_count > segment->most_pool)
        return false;
    uint64_t changes = segment->changes + is_change(kind);
    if (task->seen_changes == changes && task->looks >= FRUITLESS) return false;
    task->kind = kind;
    task->resource = resource;
    task->site = site;
    task->condition = condition;
    task->target = target;
    task->cancellable = cancellable;
    task->blocked_since = step - 1;
    /* Whoever begins to wait may close a circle of tasks that wait for each other. */
    if (condition != ALWAYS && !is_ready(task)) return false;

    struct step *record = &STEPS[step];
    struct found found = find_enabled(record - 1);
    if (!found.count || (found.count > 1 && step - segment->slice_began >= TIME_SLICE))
        return false;
    uint32_t index = choose(&found, running, step);
    if (index == NONE) return false;
    struct task *chosen = &TASKS[index];
    segment->changes = changes;
    if (task->seen_changes != changes) {
        task->seen_changes = changes;
        task->looks = 0;
    }
    write_down(record, chosen, &found);
    segment->steps = chosen->last_run = step + 1;
    segment->running = index;
    if (chosen == task) {
        if (policy_may_settle(found.count)) begin_streak(task);
    } else {
        segment->slice_began = step;
        bohrbug_hands_over(step, site);
        hand_over(task, chosen);
    }
    task->condition = ALWAYS;
    task->cancellable = 0;
    task->also = NONE;
    return true;
}

void perform_simply(enum kind kind, uint32_t resource, uint64_t site, enum condition condition) {
    if (take_short_way(kind, resource, site, condition, 0, false)) return;
    struct waiting waiting = {condition, 0, NO_DEADLINE, false, false};
    perform_the_long_way(kind, resource, site, &waiting);
}

enum woken perform_waiting(enum kind kind, uint32_t resource, uint64_t site,
                           const struct waiting *waiting) {
    bool is_simple = waiting->deadline == NO_DEADLINE &&
                     !(waiting->interruptible && segment->signals_matter);
    if (is_simple && take_short_way(kind, resource, site, waiting->condition, waiting->target,
                                    waiting->cancellable))
        return GOES_ON;
    return perform_the_long_way(kind, resource, site, waiting);
}
