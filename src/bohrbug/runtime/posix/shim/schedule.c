#include "schedule.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ask.h"
#include "clock.h"
#include "debugging.h"
#include "descriptors.h"
#include "ending.h"
#include "fairness.h"
#include "fiber.h"
#include "killing.h"
#include "operation.h"
#include "order.h"
#include "policy.h"
#include "process.h"
#include "recording.h"
#include "signals.h"
#include "stack.h"
#include "standstill.h"

/* Operations in a row that nobody can tell of, after which there is a scheduling point all the same:
 * whoever makes no step is taken to be stuck. */
#define UNSEEN 1000

uint32_t current_resource(void) { return TASK_BIT | index_of(current); }

/* -- readiness ------------------------------------------------------------------- */

static bool is_satisfied(struct task *task);

bool is_ready(struct task *task) {
    if (task->cancellable && task->cancelled && !task->cancel_disabled) return true;
    if (task->interruptible && signal_interrupts(task)) return true;
    return is_satisfied(task);
}

static bool is_satisfied(struct task *task) {
    const struct resource *resource =
        task->resource & TASK_BIT ? NULL : &RESOURCES[task->resource];
    switch ((enum condition)task->condition) {
    case ALWAYS:
        return true;
    case NEVER:
        return false;
    case UNHELD:
        return resource->owner.task == NONE;
    case READABLE:
        return resource->owner.task == NONE && !(resource->flags && resource->tokens);
    case WRITABLE:
        return resource->owner.task == NONE && resource->readers == 0;
    case POSITIVE:
        return resource->value > 0;
    case SIGNALLED:
        return task->eligible && resource->tokens > 0;
    case WOKEN:
        return task->woken;
    case ENDED:
        return TASKS[task->target].state == OVER;
    case FD_READY:
        return descriptors_ready(task);
    case CHILD_ENDED:
        return child_ended(task->process, (int32_t)task->target);
    case SIGNAL_SENT:
        return signal_is_pending(task);
    }
    return false;
}

/* -- the choice of who runs ------------------------------------------------------- */

static uint16_t enabled[MOST_TASKS], timed[MOST_TASKS];
static uint32_t enabled_count, timed_count;

static void find_options(void) {
    enabled_count = timed_count = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint16_t index = segment->alive[i];
        struct task *task = &TASKS[index];
        if (task->condition == ALWAYS || is_ready(task)) enabled[enabled_count++] = index;
        else if (task->deadline != NO_DEADLINE) timed[timed_count++] = index;
    }
    if (segment->late_timeouts && timed_count) {
        if (enabled_count) {
            timed_count = 0;
        } else {
            struct options all = {enabled, timed, 0, timed_count};
            timed[0] = (uint16_t)earliest(&all);
            timed_count = 1;
        }
    }
}

/* Gives up the replay (CHESS, section 4.2). */
static void diverge(uint32_t step, uint32_t wanted) {
    segment->diverged = 1;
    segment->diverged_step = step;
    segment->diverged_name = wanted;
    segment->prefix_length = 0;
}

static uint32_t follow_prefix(const struct options *options, uint32_t running, bool yielded,
                              uint32_t step) {
    uint32_t wanted = TABLE(uint32_t, prefix)[step];
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (TASKS[options->enabled[i]].name_in_plan == wanted) return options->enabled[i];
    for (uint32_t i = 0; i < options->timed_count; i++)
        if (TASKS[options->timed[i]].name_in_plan == wanted) return options->timed[i];
    diverge(step, wanted);
    return policy_choose(options, running, yielded, step);
}

static bool same(const uint16_t *some, const uint16_t *others, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (some[i] != others[i]) return false;
    return true;
}

/* Where the options of this step are in the pool; often they are those of the step before. */
static uint32_t pooled_options(void) {
    uint16_t *pool = POOL;
    uint32_t count = enabled_count + timed_count;
    if (segment->steps) {
        const struct step *last = &STEPS[segment->steps - 1];
        const uint16_t *known = pool + last->options;
        if (last->kind != CHOOSE && last->enabled == enabled_count && last->timed == timed_count &&
            same(known, enabled, enabled_count) && same(known + enabled_count, timed, timed_count))
            return last->options;
    }
    if (segment->pool_used + count > segment->most_pool)
        finish(TOO_BIG, NONE, "no room for more options: lower --max-steps");
    uint32_t at = segment->pool_used;
    memcpy(pool + at, enabled, enabled_count * sizeof *enabled);
    memcpy(pool + at + enabled_count, timed, timed_count * sizeof *timed);
    segment->pool_used += count;
    return at;
}

static void record(const struct task *chosen, bool yielded) {
    *next_step() = (struct step){
        .site = chosen->site,
        .resource = chosen->resource,
        .stack = chosen->stack,
        .effect = chosen->also,
        .options = pooled_options(),
        .enabled = (uint16_t)enabled_count,
        .timed = (uint16_t)timed_count,
        .task = (uint16_t)index_of(chosen),
        .process = (uint16_t)chosen->process,
        .kind = (uint8_t)chosen->kind,
        .flags = step_flags(chosen, yielded),
    };
    segment->steps++;
}

/* Who runs next; NULL if nobody is left. */
static struct task *choose_next(uint32_t running, bool yielded) {
    if (!segment->alive_count) return NULL;
    find_options();
    if (!enabled_count) {
        nothing_enabled(timed_count > 0);
        if (!timed_count) find_options();
    }
    uint32_t step = segment->steps;
    if (step >= segment->max_steps)
        finish(STEP_LIMIT, running, "not finished after %u steps", step);
    if (enabled_count > 1 && step - segment->slice_began >= TIME_SLICE) {
        segment->slice_began = step;
        yielded = true;
    }
    if (yielded || segment->fairness_active) {
        if (yielded) fairness_yielded(running, enabled, enabled_count);
        if (segment->fairness_active) enabled_count = fairness_filter(enabled, enabled_count);
    }
    struct options options = {enabled, timed, enabled_count, timed_count};
    uint32_t index = step < segment->prefix_length
                         ? follow_prefix(&options, running, yielded, step)
                         : policy_choose(&options, running, yielded, step);
    struct task *chosen = &TASKS[index];
    record(chosen, yielded);
    ask(step, enabled_count + timed_count);
    if (index != running) segment->slice_began = step;
    if (timed_count && !option_is_enabled(&options, index)) {
        chosen->timed_out = 1;
        clock_advance(chosen->deadline);
    }
    if (segment->fairness_active) fairness_scheduled(index);
    chosen->last_run = segment->steps;
    segment->running = index;
    return chosen;
}

static uint32_t value_of_prefix(uint32_t arity, uint32_t step) {
    uint32_t wanted = TABLE(uint32_t, prefix)[step];
    if (wanted != NONE && wanted & VALUE_BIT && (wanted & ~VALUE_BIT) < arity)
        return wanted & ~VALUE_BIT;
    diverge(step, wanted);
    return policy_value(arity);
}

uint32_t choose_value(uint32_t arity, uint32_t resource, uint64_t site) {
    uint32_t step = segment->steps;
    if (step >= segment->max_steps)
        finish(STEP_LIMIT, index_of(current), "not finished after %u steps", step);
    uint32_t value = step < segment->prefix_length ? value_of_prefix(arity, step)
                                                   : policy_value(arity);
    segment->choices++;
    *next_step() = (struct step){
        .site = site,
        .resource = resource,
        .stack = segment->with_stacks && stack_is_wanted() ? stack_record() : NONE,
        .effect = NONE,
        .enabled = (uint16_t)arity,
        .timed = (uint16_t)value,
        .task = (uint16_t)index_of(current),
        .process = (uint16_t)current->process,
        .kind = CHOOSE,
    };
    segment->steps++;
    ask(step, arity);
    return value;
}

/* -- passing control --------------------------------------------------------------- */

static void all_signals(int how, uint64_t *before) {
    /* By number: the C library keeps some signals, such as that of pthread_cancel, to itself. */
    static const uint64_t all = UINT64_MAX;
    syscall(SYS_rt_sigprocmask, how, how == SIG_BLOCK ? &all : before,
            how == SIG_BLOCK ? before : NULL, sizeof all);
}

static void sleep_until_turn(struct task *task) {
    /* A handler of the program must not run while another task does. */
    uint64_t before = 0;
    bool masked = segment->signals_matter;
    if (masked) all_signals(SIG_BLOCK, &before);
    for (;;) {
        uint32_t turn = __atomic_load_n(&task->turn, __ATOMIC_ACQUIRE);
        if (turn == TO_RUN) break;
        if (turn == TO_ANSWER) {
            descriptors_answer(task);
        } else if (turn == TO_DECIDE) {
            __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
            wait_for_the_dying();
            schedule_after(segment->running);
        } else if (turn == TO_FACE_SIGNALS) {
            if (masked) face_fatal_signals(before);
            __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELEASE);
        } else {
            processes_wait(task);
        }
    }
    __atomic_store_n(&task->turn, PARKED, __ATOMIC_RELAXED);
    wait_for_the_dying();
    if (order_is_kept()) order_turn();
    if (masked) all_signals(SIG_SETMASK, &before);
}

static void tell(struct task *task, enum turn turn) {
    __atomic_store_n(&task->turn, turn, __ATOMIC_RELEASE);
    syscall(SYS_futex, &task->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void wait_for_turn(struct task *task) {
    if (on_fibers) fiber_park(task);
    else sleep_until_turn(task);
}

static void hand_over(struct task *task, struct task *next) {
    if (on_fibers) {
        fiber_switch(task, next);
        return;
    }
    tell(next, TO_RUN);
    sleep_until_turn(task);
}

void schedule_elsewhere(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (!PROCESSES[task->process].joined) continue;
        tell(task, TO_DECIDE);
        return;
    }
}

static void declare(enum kind kind, uint32_t resource, uint64_t site,
                    const struct waiting *waiting) {
    struct task *task = current;
    task->kind = kind;
    task->resource = resource;
    task->site = site;
    task->condition = waiting->condition;
    task->target = waiting->target;
    task->deadline = waiting->deadline;
    task->cancellable = waiting->cancellable;
    task->interruptible = waiting->interruptible && segment->signals_matter;
    if (task->interruptible) signals_look(task);
    task->stack = NONE;
    if (segment->with_stacks && (stack_is_wanted() || !is_ready(task)))
        task->stack = stack_record();
    task->timed_out = 0;
    task->blocked_since = segment->steps ? segment->steps - 1 : 0;
}

/* Whether the current task does the operation without a scheduling point, as that would only lengthen
 * the schedule: a program such as curl locks hundreds of times before its first message. */
static bool goes_unseen(enum kind kind, uint32_t resource, const struct waiting *waiting) {
    static uint32_t in_a_row;
    if (segment->processes == 1 || order_is_kept() || !is_unseen(kind, resource)) return false;
    struct task *task = current;
    task->resource = resource;
    task->condition = waiting->condition;
    if (task->cancelled || !is_satisfied(task) || ++in_a_row % UNSEEN == 0) return false;
    task->condition = ALWAYS;
    task->stack = task->also = NONE;
    return true;
}

enum woken perform_waiting(enum kind kind, uint32_t resource, uint64_t site,
                           const struct waiting *waiting) {
    if (goes_unseen(kind, resource, waiting)) return GOES_ON;
    struct task *task = current;
    bool yielded = is_yield(kind);
    if (hooks && *hooks->settling) hooks->settle();
    if (is_change(kind)) segment->changes++;
    if (task->seen_changes != segment->changes) {
        task->seen_changes = segment->changes;
        task->looks = 0;
    } else if (task->looks >= FRUITLESS) {
        task->looks = 0;
        yielded = true;
    }
    declare(kind, resource, site, waiting);
    struct task *next = choose_next(index_of(task), yielded);
    if (next != task) {
        bohrbug_hands_over(segment->steps - 1, site);
        hand_over(task, next);
    }
    bool fired = task->timed_out;
    bool interrupted = task->interruptible && !fired && !is_satisfied(task);
    task->interruptible = 0;
    task->condition = ALWAYS;
    task->deadline = NO_DEADLINE;
    task->cancellable = 0;
    task->timed_out = 0;
    task->also = NONE;
    if (order_is_kept()) order_performed(kind, resource, fired);
    return fired ? TIMED_OUT : interrupted ? INTERRUPTED : GOES_ON;
}

void perform_simply(enum kind kind, uint32_t resource, uint64_t site, enum condition condition) {
    struct waiting waiting = {condition, 0, NO_DEADLINE, false, false};
    perform_waiting(kind, resource, site, &waiting);
}

void fruitless(uint64_t site) {
    (void)site;
    current->looks++;
}

void schedule_after(uint32_t gone) {
    struct task *next = choose_next(gone, false);
    if (next) tell(next, TO_RUN);
}

void schedule_end(void) {
    struct task *task = current;
    task_remove(task);
    current = NULL;
    if (on_fibers) fiber_end(task, choose_next(index_of(task), false));
    else schedule_after(index_of(task));
}
