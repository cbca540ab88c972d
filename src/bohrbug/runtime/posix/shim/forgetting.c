#include "forgetting.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber.h"
#include "live.h"
#include "order.h"
#include "short_way.h"
#include "task.h"

static uint32_t less(uint32_t number, uint32_t count) { return number > count ? number - count : 0; }

/* Where the options of a step are, or of the first one behind it that has some. */
static uint32_t options_from(uint32_t step) {
    for (; step < segment->steps; step++)
        if (STEPS[step].kind != CHOOSE) return STEPS[step].options;
    return segment->pool_used;
}

void forget_steps(uint32_t count) {
    if (count > segment->steps) count = segment->steps;
    uint32_t pooled = options_from(count), left = segment->steps - count;
    memmove(STEPS, STEPS + count, left * sizeof *STEPS);
    for (uint32_t i = 0; i < left; i++)
        if (STEPS[i].kind != CHOOSE) STEPS[i].options -= pooled;
    segment->pool_used -= pooled;
    memmove(POOL, POOL + pooled, segment->pool_used * sizeof *POOL);
    segment->steps = left;
    segment->slice_began = less(segment->slice_began, count);
    segment->idle_looked_at = less(segment->idle_looked_at, count);
    segment->nudge_steps = less(segment->nudge_steps, count);
    for (uint32_t i = 0; i < segment->tasks; i++) {
        struct task *task = &TASKS[i];
        task->blocked_since = less(task->blocked_since, count);
        task->last_yield = less(task->last_yield, count);
        task->last_run = less(task->last_run, count);
    }
    live->forgotten += count;
    if (live->followed != NONE) live->followed = less(live->followed, count);
    live_forgets(count);
    look_again();
}

/* The last step is kept: the options of the next one may be the same. */
static void forget_all(void) {
    if (segment->steps > 1) forget_steps(segment->steps - 1);
}

static bool is_done_by(uint32_t task) { return segment->steps && STEPS[0].task == task; }
static bool is_done_to(uint32_t resource) {
    return segment->steps && (STEPS[0].resource == resource || STEPS[0].effect == resource);
}

/* -- tasks ------------------------------------------------------------------------------------------ */

static bool has_children(uint32_t parent) {
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (TASKS[segment->alive[i]].parent == parent) return true;
    return false;
}

/* Its kernel thread may still be on its way out, and reads what stands for the task. */
static void wait_until_gone(const struct task *task) {
    while (task->thread && syscall(SYS_tgkill, PROCESSES[task->process].pid, task->thread, 0) == 0)
        syscall(SYS_sched_yield);
}

uint32_t forgotten_task(void) {
    /* What is known of the order of accesses is kept by their number. */
    if (!live || order_is_kept()) return NONE;
    forget_all();
    for (uint32_t i = 1; i < segment->tasks; i++) {
        struct task *task = &TASKS[i];
        bool is_over = task->state == OVER && (task->joined || task->detached || task->main);
        if (!is_over || is_done_by(i) || is_done_to(TASK_BIT | i) || has_children(i)) continue;
        if (!task->main) wait_until_gone(task);
        for (uint32_t j = 0; j < segment->tasks; j++)
            if (TASKS[j].parent == i) TASKS[j].parent = task->parent;
        memset(task, 0, sizeof *task);
        memset(&fibers[i], 0, sizeof fibers[i]);
        memset(&POLICY_TASKS[i], 0, sizeof POLICY_TASKS[i]);
        memset(TABLE(char, below) + i * MOST_TASKS / 8, 0, MOST_TASKS / 8);
        return i;
    }
    return NONE;
}

uint32_t forgotten_process(void) {
    for (uint32_t i = 1; live && i < segment->processes; i++)
        if (PROCESSES[i].state == OVER && PROCESSES[i].collected) {
            memset(&PROCESSES[i], 0, sizeof PROCESSES[i]);
            return i;
        }
    return NONE;
}

/* -- resources -------------------------------------------------------------------------------------- */

static bool is_used(uint32_t resource) {
    if (is_done_to(resource)) return true;
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task->resource == resource || task->also == resource) return true;
    }
    return false;
}

uint32_t forgotten_resource(void) {
    static uint32_t next;
    if (!live || order_is_kept()) return NONE;
    forget_all();
    for (uint32_t i = 0; i < segment->resources; i++, next++) {
        if (next >= segment->resources) next = 0;
        struct resource *resource = &RESOURCES[next];
        if (!resource->destroyed || is_used(next)) continue;
        memset(resource, 0, sizeof *resource);
        return next++;
    }
    return NONE;
}
