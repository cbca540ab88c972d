#include "timeouts.h"

#include "task.h"

/* As many yields for each enabled task, without a change by anybody, and virtual time passes: a loop that waits for
 * what a sleeping task will do can't be left to itself, as in real life time passes while it spins.  As in
 * threads/pace.py. */
#define IDLE_YIELDS 20

static uint16_t waiting[MOST_TASKS];
static uint32_t waiting_count;

void timeouts_begin(void) { waiting_count = 0; }

void timeouts_add(uint16_t task) { waiting[waiting_count++] = task; }

static enum firing firing_of(uint32_t task) { return (enum firing)TASKS[task].fires; }

/* Whether anybody uses the processor whose time the timer of a task counts. */
static bool somebody_computes(const struct task *timer, const uint16_t *enabled, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct task *task = &TASKS[enabled[i]];
        if (timer->computes == NONE ? task->process == timer->process : enabled[i] == timer->computes)
            return true;
    }
    return false;
}

static bool is_possible(uint32_t task, const uint16_t *enabled, uint32_t count) {
    switch (firing_of(task)) {
    case ANY_TIME: case ON_TIME: case ON_TIME_AGAIN:
        return true;
    case WITH_PROCESSOR:
        return somebody_computes(&TASKS[task], enabled, count);
    case LAST_RESORT: case NOT_AT_ALL:
        break;
    }
    return false;
}

/* The first in the order of time of those that may fire, of the kernel's timers only if `of_kernel`; or NONE. */
static uint32_t first_of(const uint16_t *enabled, uint32_t count, bool of_kernel) {
    uint32_t first = NONE;
    for (uint32_t i = 0; i < waiting_count; i++) {
        if (!is_possible(waiting[i], enabled, count)) continue;
        if (of_kernel && firing_of(waiting[i]) < ON_TIME) continue;
        if (first == NONE || TASKS[waiting[i]].deadline < TASKS[first].deadline) first = waiting[i];
    }
    return first;
}

/* Timeouts of last resort: one that comes before those of all others, where nobody is enabled.  Where nobody else can
 * go on at all it would only end what hangs, unless it is waited for. */
static uint32_t first_of_last_resort(const uint16_t *timed, uint32_t timed_count) {
    uint32_t first = NONE;
    for (uint32_t i = 0; i < waiting_count; i++)
        if (firing_of(waiting[i]) == LAST_RESORT &&
            (first == NONE || TASKS[waiting[i]].deadline < TASKS[first].deadline))
            first = waiting[i];
    if (first == NONE) return NONE;
    bool comes_first = timed_count > 0, is_awaited = false;
    for (uint32_t i = 0; i < timed_count; i++)
        comes_first &= TASKS[first].deadline <= TASKS[timed[i]].deadline;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        is_awaited |= task->condition == SIGNAL_SENT && task->target & TASKS[first].target;
    }
    return comes_first || is_awaited ? first : NONE;
}

/* When the first of the kernel's timers comes that has not fired yet: no task can be woken later before that. */
static uint64_t latest_moment(void) {
    uint64_t latest = NO_DEADLINE;
    for (uint32_t i = 0; i < waiting_count; i++)
        if (firing_of(waiting[i]) == ON_TIME && TASKS[waiting[i]].deadline < latest)
            latest = TASKS[waiting[i]].deadline;
    return latest;
}

static bool may_fire(uint32_t task, uint32_t first_timer, uint64_t latest, const uint16_t *enabled, uint32_t count) {
    switch (firing_of(task)) {
    case ANY_TIME:
        return TASKS[task].deadline <= latest;
    case ON_TIME: case ON_TIME_AGAIN: case WITH_PROCESSOR:
        return is_possible(task, enabled, count) && TASKS[task].deadline == TASKS[first_timer].deadline;
    case LAST_RESORT: case NOT_AT_ALL:
        break;
    }
    return false;
}

uint32_t timeouts_find(const uint16_t *enabled, uint32_t *enabled_count, uint16_t *timed) {
    if (!waiting_count) return 0;
    uint32_t count = *enabled_count, found = 0;
    uint32_t timer = segment->timers ? first_of(enabled, count, true) : NONE;
    if (timer != NONE && TASKS[timer].deadline <= segment->now) {
        *enabled_count = 0;
        timed[0] = (uint16_t)timer;
        return 1;
    }
    if (segment->late_timeouts && count) return 0;
    uint64_t latest = segment->timers ? latest_moment() : NO_DEADLINE;
    for (uint32_t i = 0; i < waiting_count; i++)
        if (may_fire(waiting[i], timer, latest, enabled, count)) timed[found++] = waiting[i];
    uint32_t last = count || !segment->timers ? NONE : first_of_last_resort(timed, found);
    if (last != NONE) timed[found++] = (uint16_t)last;
    if (segment->late_timeouts && found) {
        uint16_t first = timed[0];
        for (uint32_t i = 1; i < found; i++)
            if (TASKS[timed[i]].deadline < TASKS[first].deadline) first = timed[i];
        timed[0] = first;
        return 1;
    }
    return found;
}

uint32_t timeout_of_idlers(const uint16_t *enabled, uint32_t enabled_count) {
    if (!waiting_count || !enabled_count) return NONE;
    if (segment->idle_changes != segment->changes) {
        segment->idle_changes = segment->changes;
        segment->idle_yields = 0;
    }
    if (++segment->idle_yields <= IDLE_YIELDS * enabled_count) return NONE;
    segment->idle_yields = 0;
    return first_of(enabled, enabled_count, false);
}

void time_has_passed(void) {
    segment->idle_changes = segment->changes;
    segment->idle_yields += IDLE_YIELDS;
}

bool timer_is_due(void) {
    if (!segment->timers) return false;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        bool waits = task->deadline != NO_DEADLINE && task->fires >= ON_TIME && task != current;
        if (waits && task->deadline <= segment->now) return true;
    }
    return false;
}
