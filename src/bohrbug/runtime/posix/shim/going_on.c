#include "going_on.h"

#include "operation.h"
#include "order.h"
#include "policy.h"
#include "recording.h"
#include "schedule.h"
#include "task.h"

#define MOST_WAITING 4

/* While one task does step after step, most of what a scheduling point looks at stays as it is.
 * Whatever could change it does not come this way, or calls look_again. */
static struct streak {
    const struct task *task;
    uint32_t step;             /* the next one */
    uint32_t until;            /* it ends before this one */
    bool needs_policy;         /* there is something to choose */
    bool needs_look;           /* ... or there are tasks that may not wait any more */
    uint32_t waiting_count;
    struct task *waiting[MOST_WAITING];
    struct step step_like;     /* what all its steps have in common */
} streak;

void look_again(void) { streak.task = NULL; }

/* -- what operations are like ------------------------------------------------------------- */

#define TYPE_BIT(type) (1u << (type))

/* Types of resources, and kinds of operations, of which flags_of tells all flags. */
#define PLAIN_TYPES \
    (TYPE_BIT(MUTEX) | TYPE_BIT(RWLOCK) | TYPE_BIT(SEMAPHORE) | TYPE_BIT(SPINLOCK) | \
     TYPE_BIT(ONCE) | TYPE_BIT(FUTEX) | TYPE_BIT(VARIABLE) | TYPE_BIT(ATOMIC))
#define PLAIN_KINDS \
    (KIND_BIT(ACQUIRE) | KIND_BIT(TRY_ACQUIRE) | KIND_BIT(RELEASE) | KIND_BIT(INSPECT) | \
     KIND_BIT(CONTINUE) | KIND_BIT(READ) | KIND_BIT(WRITE) | KIND_BIT(LOAD) | KIND_BIT(STORE) | \
     KIND_BIT(UPDATE))

static bool is_plain(enum kind kind, const struct resource *resource) {
    return PLAIN_KINDS & KIND_BIT(kind) && PLAIN_TYPES & TYPE_BIT(resource->type);
}

/* As step_flags gives them. */
static uint8_t flags_of(const struct resource *resource, enum kind kind, enum condition condition) {
    uint8_t flags = gate_of(resource, kind);
    if (ends_waits(kind, (enum type)resource->type)) flags |= READS_KERNEL;
    if (condition != ALWAYS) flags |= WAITS;
    return flags;
}

static bool may_begin(const struct resource *resource, enum condition condition) {
    switch (condition) {
    case ALWAYS:
        return true;
    case UNHELD:
        return resource->owner.task == NONE;
    case WRITABLE:
        return resource->owner.task == NONE && resource->readers == 0;
    case POSITIVE:
        return resource->value > 0;
    default:
        return false;
    }
}

/* -- streaks -------------------------------------------------------------------------------- */

static uint32_t smaller(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* Whether the options of the next step are those of the last one, unless one of those that wait now
 * can go on by then. */
static bool has_same_options(const struct step *last) {
    const uint16_t *known = POOL + last->options;
    uint32_t count = 0;
    streak.waiting_count = 0;
    if (last->kind == CHOOSE || last->timed) return false;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint16_t index = segment->alive[i];
        struct task *task = &TASKS[index];
        if (task == current || task->condition == ALWAYS) {
            if (count == last->enabled || known[count++] != index) return false;
        } else {
            /* The others are not to be asked twice. */
            if (task->condition >= FD_READY || task->deadline != NO_DEADLINE ||
                streak.waiting_count == MOST_WAITING)
                return false;
            streak.waiting[streak.waiting_count++] = task;
        }
    }
    return count == last->enabled;
}

static bool begin_streak(struct task *task, uint32_t step) {
    if (!step || hooks || segment->with_stacks || segment->fairness_active || order_is_kept())
        return false;
    /* What such a process does may be no step at all. */
    if (alone && segment->processes > 1) return false;
    const struct step *last = &STEPS[step - 1];
    if (!has_same_options(last)) return false;
    if (step >= steps_at_hand) steps_prepare();
    bool only_one = last->enabled == 1, in_prefix = step < segment->prefix_length;
    streak.until = smaller(steps_at_hand, segment->max_steps);
    if (in_prefix) streak.until = smaller(streak.until, segment->prefix_length);
    if (!only_one) streak.until = smaller(streak.until, segment->slice_began + TIME_SLICE);
    if (step >= streak.until) return false;
    streak.needs_policy = in_prefix || !policy_is_forced(only_one);
    streak.step_like = (struct step){
        .stack = NONE,
        .effect = NONE,
        .options = last->options,
        .enabled = last->enabled,
        .task = (uint16_t)index_of(task),
        .process = (uint16_t)task->process,
    };
    streak.needs_look = streak.needs_policy || streak.waiting_count;
    segment->running = index_of(task);
    streak.task = task;
    streak.step = step;
    return true;
}

/* -- one step ------------------------------------------------------------------------------- */

static inline bool is_in_streak(const struct task *task, uint32_t step) {
    return streak.step == step && streak.task == task && step < streak.until;
}

static inline bool looks_in_vain(const struct task *task, uint64_t changes) {
    return task->seen_changes == changes && task->looks >= FRUITLESS;
}

static inline void write_down(struct task *task, uint64_t changes, enum kind kind, uint32_t number,
                              uint64_t site, enum condition condition) {
    segment->changes = changes;
    if (task->seen_changes != changes) {
        task->seen_changes = changes;
        task->looks = 0;
    }
    struct step *record = &STEPS[streak.step];
    *record = streak.step_like;
    record->site = site;
    record->resource = number;
    record->kind = (uint8_t)kind;
    record->flags = flags_of(&RESOURCES[number], kind, condition);
    segment->steps = task->last_run = ++streak.step;
}

static bool anybody_woke(void) {
    for (uint32_t i = 0; i < streak.waiting_count; i++)
        if (is_ready(streak.waiting[i])) return true;
    return false;
}

/* Unless the plan says otherwise, which is soon seen. */
static bool may_be_chosen(const struct task *task, uint32_t step) {
    if (step >= segment->prefix_length) return true;
    uint32_t wanted = TABLE(uint32_t, prefix)[step];
    return wanted != NONE && task->name_in_plan == wanted;
}

static bool is_chosen(const struct task *task, uint32_t step) {
    if (step < segment->prefix_length) return may_be_chosen(task, step);
    const struct step *like = &streak.step_like;
    struct options options = {POOL + like->options, NULL, like->enabled, 0};
    return policy_keeps(&options, like->task, step);
}

/* Where something has to be found out about others, or to be chosen. */
static __attribute__((noinline)) bool goes_on_after_a_look(enum kind kind, uint32_t number,
                                                           uint64_t site,
                                                           enum condition condition) {
    struct task *task = current;
    uint32_t step = segment->steps;
    uint64_t changes = segment->changes + is_change(kind);
    if (!may_be_chosen(task, step)) return false;
    if (!is_in_streak(task, step) && !begin_streak(task, step)) return false;
    if (looks_in_vain(task, changes) || anybody_woke()) return false;
    if (streak.needs_policy && !is_chosen(task, step)) return false;
    write_down(task, changes, kind, number, site, condition);
    return true;
}

bool goes_on(enum kind kind, uint32_t number, uint64_t site, enum condition condition) {
    struct task *task = current;
    if (number & TASK_BIT) return false;
    const struct resource *resource = &RESOURCES[number];
    if (!is_plain(kind, resource) || !may_begin(resource, condition) || task->also != NONE)
        return false;
    uint64_t changes = segment->changes + is_change(kind);
    if (!is_in_streak(task, segment->steps) || streak.needs_look || looks_in_vain(task, changes))
        return goes_on_after_a_look(kind, number, site, condition);
    write_down(task, changes, kind, number, site, condition);
    return true;
}
