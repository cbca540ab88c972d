#include "schedule.h"

#include <errno.h>

#include "accesses.h"
#include "advancing.h"
#include "ask.h"
#include "cancellation.h"
#include "clock.h"
#include "debugging.h"
#include "descriptors.h"
#include "ending.h"
#include "fairness.h"
#include "fiber.h"
#include "futures.h"
#include "live.h"
#include "operation.h"
#include "order.h"
#include "policy.h"
#include "process.h"
#include "readiness.h"
#include "recording.h"
#include "signals.h"
#include "stack.h"
#include "standstill.h"
#include "store_buffer.h"
#include "timeouts.h"

/* Operations in a row that nobody can tell of, after which there is a scheduling point all the same:
 * whoever makes no step is taken to be stuck. */
#define UNSEEN 1000

uint32_t current_resource(void) { return TASK_BIT | index_of(current); }

/* -- the choice of who runs ------------------------------------------------------- */

static uint16_t enabled[MOST_TASKS], timed[MOST_TASKS];
static uint32_t enabled_count, timed_count;

static void find_options(void) {
    enabled_count = timed_count = 0;
    timeouts_begin();
    if (current && current->condition == DONE) {
        enabled[enabled_count++] = (uint16_t)index_of(current);
        return;
    }
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        uint16_t index = segment->alive[i];
        struct task *task = &TASKS[index];
        if (task->condition == ALWAYS || is_ready(task)) enabled[enabled_count++] = index;
        else if (task->deadline != NO_DEADLINE) timeouts_add(index);
    }
    timed_count = timeouts_find(enabled, &enabled_count, timed);
}

/* All enabled tasks only wait: as if nobody were enabled. */
static void let_time_pass(void) {
    uint32_t first = timeout_of_idlers(enabled, enabled_count);
    if (first == NONE) return;
    enabled_count = 0;
    timed_count = 1;
    timed[0] = (uint16_t)first;
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

/* They are few; memcpy would take longer. */
static void copy(uint16_t *to, const uint16_t *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) to[i] = from[i];
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
    copy(pool + at, enabled, enabled_count);
    copy(pool + at + enabled_count, timed, timed_count);
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

/* What was recorded is the handler's: an operation of its own, before that for which its task waits. */
static void is_of_handler(struct step *step) {
    step->kind = INSPECT;
    step->resource = TASK_BIT | step->task;
    step->effect = NONE;
    step->flags = (step->flags & YIELDED) | READS_KERNEL;
}

static void reach_limit(uint32_t running, uint32_t step) {
    finish(comes_further() ? COMES_FURTHER : STEP_LIMIT, running, "not finished after %u steps", step);
}

/* Whose step is next; NULL if nobody is left. */
static struct task *choose_step(uint32_t running, bool yielded) {
    if (!segment->alive_count) return NULL;
    if (segment->steps >= live_at) live_visit();
    find_options();
    if (!enabled_count) {
        nothing_enabled(timed_count > 0);
        if (!timed_count) find_options();
    }
    uint32_t step = segment->steps;
    if (step >= last_stretch()) {
        if (step >= segment->max_steps) reach_limit(running, step);
        note_standing(step);
    }
    if (enabled_count > 1 && step - segment->slice_began >= TIME_SLICE) {
        segment->slice_began = step;
        yielded = true;
        fairness_has_run_long(running);
    }
    if (yielded) let_time_pass();
    if (enabled_count && (yielded || segment->fairness_active)) {
        if (yielded) fairness_yielded(running, enabled, enabled_count);
        if (segment->fairness_active) enabled_count = fairness_filter(enabled, enabled_count);
    }
    if (keeps_inside) enabled_count = those_inside(enabled, enabled_count);
    struct options options = {enabled, timed, enabled_count, timed_count};
    uint32_t index = step < segment->prefix_length
                         ? follow_prefix(&options, running, yielded, step)
                         : policy_choose(&options, running, yielded, step);
    struct task *chosen = &TASKS[index];
    record(chosen, yielded);
    chosen->handling = handles_signal(chosen);
    if (chosen->handling) is_of_handler(&STEPS[step]);
    ask(step, enabled_count + timed_count);
    if (index != running) segment->slice_began = step;
    if (timed_count && !option_is_enabled(&options, index)) {
        chosen->timed_out = 1;
        clock_advance(chosen->deadline, chosen->fires == WITH_PROCESSOR);
    }
    if (segment->fairness_active) fairness_scheduled(index);
    chosen->last_run = segment->steps;
    segment->running = index;
    return chosen;
}

/* The same, where steps of store buffers are done by whoever chooses them. */
static struct task *choose_behind_buffers(uint32_t running, bool yielded) {
    struct task *next = choose_step(running, yielded);
    while (next && store_reaches_memory(next)) next = choose_step(index_of(next), false);
    return next;
}

/* Who runs next; NULL if nobody is left. */
static struct task *(*choose_next)(uint32_t running, bool yielded) = choose_step;

static uint32_t value_of_prefix(uint32_t arity, uint32_t step) {
    uint32_t wanted = TABLE(uint32_t, prefix)[step];
    if (wanted != NONE && wanted & VALUE_BIT && (wanted & ~VALUE_BIT) < arity)
        return wanted & ~VALUE_BIT;
    diverge(step, wanted);
    return policy_value(arity);
}

bool has_planned_value(void) {
    if (segment->steps >= segment->prefix_length) return policy_has_value();
    uint32_t wanted = TABLE(uint32_t, prefix)[segment->steps];
    return wanted != NONE && wanted & VALUE_BIT;
}

uint32_t choose_value(uint32_t arity, uint32_t resource, uint64_t site) {
    uint32_t step = segment->steps;
    if (step >= segment->max_steps) reach_limit(index_of(current), step);
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

/* -- operations ----------------------------------------------------------------------- */

static bool waits_to_be_woken(const struct waiting *waiting) {
    return waiting->condition == SIGNALLED || waiting->condition == WOKEN;
}

static void declare(enum kind kind, uint32_t resource, uint64_t site,
                    const struct waiting *waiting) {
    struct task *task = current;
    task->kind = kind;
    task->resource = resource;
    if (waits_to_be_woken(waiting)) task->awaits = resource + 1;
    task->site = site;
    task->condition = waiting->condition;
    task->target = waiting->target;
    task->deadline = waiting->deadline;
    task->cancellable = waiting->cancellable || task->cancel_anywhere;
    task->interruptible = NO_HANDLER;
    if (segment->signals_matter && waiting->interruptible) task->interruptible = ENDS_THE_WAIT;
    else if (segment->signals_matter && waiting->condition > NEVER && waiting->condition != DONE)
        task->interruptible = WAITS_ON;
    task->restarts = 1;
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

/* Notes what the operation may change for others; whether its task yields. */
static bool gives_way(struct task *task, enum kind kind, uint64_t site) {
    if (is_change(kind)) segment->changes++;
    if (task->seen_changes != segment->changes) {
        task->seen_changes = segment->changes;
        task->looks = 0;
    } else if (task->looks >= FRUITLESS) {
        task->looks = 0;
        return fairness_looked(site);
    }
    return is_yield(kind);
}

/* Whether the wait that the current task is about to begin is one that a signal is to end: a handler may
 * run just before it, where it ends nothing.  A timeout makes up for that. */
static bool may_miss_signal(uint32_t resource, const struct waiting *waiting) {
    if (!segment->signals_matter || !waiting->interruptible || waiting->deadline != NO_DEADLINE)
        return false;
    if (segment->alive_count < 2 || !signals_may_come_before(waiting->interruptible == SIGNALS))
        return false;
    struct task *task = current;
    task->resource = resource;
    task->condition = waiting->condition;
    task->target = waiting->target;
    bool would_wait = !is_satisfied(task);
    task->condition = ALWAYS;
    return would_wait;
}

static enum woken perform_in_order(enum kind kind, uint32_t resource, uint64_t site,
                                   const struct waiting *waiting) {
    if (goes_unseen(kind, resource, waiting)) return GOES_ON;
    struct task *task = current;
    uint32_t also = task->also;
    if (may_miss_signal(resource, waiting)) {
        task->also = NONE;
        perform(INSPECT, TASK_BIT | index_of(task), site);
    }
    if (hooks && *hooks->settling) hooks->settle();
    bool yielded = gives_way(task, kind, site);
    do {
        task->also = also;
        declare(kind, resource, site, waiting);
        if (task->condition != ALWAYS && waits_in_a_circle(task)) finish_in_a_circle();
        struct task *next = choose_next(index_of(task), yielded);
        if (next != task) {
            bohrbug_hands_over(segment->steps - 1, site);
            hand_over(task, next);
        }
        yielded = false;
        /* Meanwhile it may have been moved to another one. */
        if (task->handling && waits_to_be_woken(waiting)) resource = task->awaits - 1;
    } while (task->handling);
    if (waits_to_be_woken(waiting)) task->awaits = 0;
    bool fired = task->timed_out;
    bool interrupted = task->interruptible == ENDS_THE_WAIT && !fired && !is_satisfied(task);
    task->interruptible = NO_HANDLER;
    task->condition = ALWAYS;
    task->deadline = NO_DEADLINE;
    task->cancellable = 0;
    task->timed_out = 0;
    task->also = NONE;
    if (order_is_kept()) order_performed(kind, resource, fired);
    if (cancels_anywhere && !waiting->cancellable) cancellation_comes();
    return fired ? TIMED_OUT : interrupted ? INTERRUPTED : GOES_ON;
}

/* Before a scheduling point memory shows what all see, and behind it what the task sees. */
static enum woken perform_with_buffers(enum kind kind, uint32_t resource, uint64_t site,
                                       const struct waiting *waiting) {
    stores_leave(kind, site);
    enum woken woken = perform_in_order(kind, resource, site, waiting);
    stores_return();
    return woken;
}

enum woken (*perform_the_long_way)(enum kind kind, uint32_t resource, uint64_t site,
                                   const struct waiting *waiting) = perform_in_order;

void schedule_with_buffers(bool with) {
    choose_next = with ? choose_behind_buffers : choose_step;
    perform_the_long_way = with ? perform_with_buffers : perform_in_order;
}

/* A plain store of a program with hooks is a scheduling point itself, if others may see it in between. */
bool has_point_behind_call(void) { return has_point_behind() && !alone && !hooks; }

static void continue_behind(uint32_t resource, uint64_t site, const struct waiting *waiting) {
    if (!has_point_behind_call()) return;
    int error = errno;
    perform_when(CONTINUE, resource, site, *waiting);
    errno = error;
}

void after_call(uint32_t resource, uint64_t site) {
    static const struct waiting nothing = {ALWAYS, 0, NO_DEADLINE, false, false};
    continue_behind(resource, site, &nothing);
}

void after_reaching(uint32_t resource, uint64_t site) {
    static const struct waiting nothing = {ALWAYS, HAS_REACHED, NO_DEADLINE, false, false};
    continue_behind(resource, site, &nothing);
}

void fruitless(uint64_t site) {
    (void)site;
    current->looks++;
}

void schedule_after(uint32_t gone) {
    struct task *next = choose_next(gone, false);
    if (next) tell(next, TO_RUN);
}

void schedule_rest(void) {
    if (has_store_buffers) stores_leave(END, 0);
    struct task *task = current;
    task_remove(task);
    task->condition = NEVER;
    task->deadline = NO_DEADLINE;
    struct task *next = choose_next(index_of(task), false);
    if (next) hand_over(task, next);
    else wait_for_turn(task);
    task->condition = ALWAYS;
    task->deadline = NO_DEADLINE;
    task->timed_out = 0;
    if (order_is_kept()) order_turn();
}

void schedule_end(void) {
    struct task *task = current;
    task_remove(task);
    current = NULL;
    if (on_fibers) fiber_end(task, choose_next(index_of(task), false));
    else schedule_after(index_of(task));
}

void schedule_elsewhere(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (!PROCESSES[task->process].joined) continue;
        tell(task, TO_DECIDE);
        return;
    }
}
