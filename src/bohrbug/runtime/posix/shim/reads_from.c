/* What runtime/policies/reads_from.py is for Python tests.
 *
 * Wolff, Shi, Duck, Mathur and Roychoudhury, "Greybox fuzzing for concurrency testing", ASPLOS 2024. */
#include "reads_from.h"

#include <stddef.h>

#include "operation.h"
#include "plan_events.h"
#include "points.h"

/* Who has changed a resource last: an event's index and 1; or nobody yet, or one that no pair names. */
#define NOBODY 0
#define UNNAMED UINT32_MAX

bool is_constrained(uint32_t resource) {
    return segment->patience && marks_of(resource) & NAMED;
}

/* Its reader has not been there. */
static bool is_open(const struct pair_of_plan *pair) {
    return EVENTS[pair->second].count < pair->second_occurrence;
}

static bool has_changed_last(const struct pair_of_plan *pair, const struct point *point) {
    if (pair->first == NONE) return point->last == NOBODY;
    return point->last == pair->first + 1 && point->last_occurrence == pair->first_occurrence;
}

/* Whether the reader of a pair has to wait. */
static bool is_too_early(const struct pair_of_plan *pair, const struct point *point) {
    if (!pair->holds) return has_changed_last(pair, point);
    /* Once overwritten, the source is lost and there is nothing to wait for. */
    return !has_changed_last(pair, point) && pair->first != NONE &&
           EVENTS[pair->first].count < pair->first_occurrence;
}

static bool is_held_back(const struct task *task) {
    if (!is_constrained(task->resource)) return false;
    const struct point *point = point_of(task->resource);
    const struct event_of_plan *event = event_of(task, false);
    for (uint32_t i = point->pairs; i < point->pairs_end; i++) {
        const struct pair_of_plan *pair = &PAIRS[i];
        if (!is_open(pair)) continue;
        if (event == &EVENTS[pair->second] && event->count + 1 == pair->second_occurrence) {
            if (is_too_early(pair, point)) return true;
            continue;
        }
        if (pair->holds && is_write((enum kind)task->kind) && has_changed_last(pair, point))
            return true;
    }
    return false;
}

/* Those that are not held back; all, if all are, as the constraints can't be met together then. */
static struct options allowed_of(const struct options *options) {
    static uint16_t enabled[MOST_TASKS], timed[MOST_TASKS];
    struct options allowed = {enabled, timed, 0, 0};
    for (uint32_t i = 0; i < options->enabled_count; i++)
        if (!is_held_back(&TASKS[options->enabled[i]]))
            enabled[allowed.enabled_count++] = options->enabled[i];
    for (uint32_t i = 0; i < options->timed_count; i++)
        if (!is_held_back(&TASKS[options->timed[i]]))
            timed[allowed.timed_count++] = options->timed[i];
    return allowed.enabled_count || allowed.timed_count ? allowed : *options;
}

static uint32_t highest_allowed(const struct options *options, bool yielded) {
    struct options allowed = allowed_of(options);
    uint32_t chosen = highest_priority(&segment->policy_state, POLICY_TASKS, &allowed);
    bool holds_back = allowed.enabled_count < options->enabled_count ||
                      allowed.timed_count < options->timed_count;
    /* They may be waiting in a loop for one that is held back. */
    if (holds_back && (yielded || !option_is_enabled(options, chosen))) segment->patience--;
    return chosen;
}

static void note(const struct task *task) {
    if (!is_constrained(task->resource)) return;
    struct event_of_plan *event = event_of(task, false);
    if (event) event->count++;
    if (!is_write((enum kind)task->kind)) return;
    struct point *point = point_of(task->resource);
    point->last = event ? (uint32_t)(event - EVENTS) + 1 : UNNAMED;
    point->last_occurrence = event ? event->count : 0;
}

uint32_t by_reads_from(const struct options *options, uint32_t running, bool yielded) {
    note_pending(options);
    uint32_t chosen = runs_at_once(POLICY_TASKS, options, running, yielded);
    if (chosen == NO_TASK) chosen = highest_allowed(options, yielded);
    priorities_after(&segment->policy_state, POLICY_TASKS, chosen, conflicts_of_tasks);
    note(&TASKS[chosen]);
    return chosen;
}
