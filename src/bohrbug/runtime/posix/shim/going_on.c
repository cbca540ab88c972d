#include "going_on.h"

#include "policy.h"
#include "short_way.h"

struct streak streak;

void end_streak(void) { streak.task = NULL; }

static uint32_t smaller(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* Whether the options of the next step are those of the last one, unless one of those that wait now
 * can go on by then. */
static bool has_same_options(const struct step *last) {
    const uint16_t *known = POOL + last->options;
    uint32_t count = 0;
    streak.waiting_count = 0;
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

bool anybody_woke(void) {
    for (uint32_t i = 0; i < streak.waiting_count; i++)
        if (is_ready(streak.waiting[i])) return true;
    return false;
}

bool goes_on(enum kind kind, uint32_t number, uint64_t site, enum condition condition) {
    return !(number & TASK_BIT) && goes_on_here(kind, &RESOURCES[number], site, condition);
}

void begin_streak(struct task *task) {
    uint32_t step = segment->steps;
    if (step < segment->prefix_length) return;
    const struct step *last = &STEPS[step - 1];
    struct options options = {POOL + last->options, NULL, last->enabled, 0};
    uint32_t settled = policy_settled(&options, index_of(task), step);
    if (step >= settled || !has_same_options(last)) return;
    streak.until = smaller(settled, usual_until);
    if (last->enabled > 1) streak.until = smaller(streak.until, segment->slice_began + TIME_SLICE);
    streak.step_like = (struct step){
        .stack = NONE,
        .effect = NONE,
        .options = last->options,
        .enabled = last->enabled,
        .task = (uint16_t)index_of(task),
        .process = (uint16_t)task->process,
    };
    streak.draws = policy_draws();
    streak.task = task;
    streak.step = step;
}
