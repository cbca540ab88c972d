#include "task.h"

#include <stddef.h>

#include "affinity.h"
#include "ending.h"
#include "forgetting.h"
#include "past_stores.h"
#include "short_way.h"
#include "store_buffer.h"

__thread struct task *current;
__thread int inside;
__thread int busy;
uint32_t this_process;
bool alone = true;
bool early;

/* The plan's name for a task, by which its prefix speaks of it. */
static uint32_t name_of(const struct task *parent, uint32_t number) {
    const struct name_in_plan *names = TABLE(struct name_in_plan, names);
    uint32_t wanted = parent ? parent->name_in_plan : NONE;
    if (parent && wanted == NONE) return NONE;
    for (uint32_t i = 0; i < segment->names; i++)
        if (names[i].parent == wanted && names[i].number == number) return i;
    return NONE;
}

static struct task *prepare(struct task *parent, uint32_t number, uint32_t process) {
    uint32_t most = has_past_stores ? MOST_TASKS_WITH_PAST : MOST_TASKS;
    uint32_t index = segment->tasks < most ? segment->tasks++ : forgotten_task();
    if (index == NONE) finish(TOO_BIG, NONE, "an execution with more than %u tasks", most);
    early = early && !parent;
    struct task *task = &TASKS[index];
    task->state = PREPARED;
    task->parent = parent ? index_of(parent) : NONE;
    task->number = number;
    if (segment->memory == STORES_BUFFERED) store_buffer_prepare(index_of(task));
    task->name_in_plan = name_of(parent, task->number);
    task->process = process;
    task->stack = NONE;
    task->deadline = NO_DEADLINE;
    task->kind = BEGIN;
    task->also = NONE;
    POLICY_TASKS[index_of(task)].parent = task->parent;
    POLICY_TASKS[index_of(task)].name = task->name_in_plan;
    if (task->name_in_plan != NONE)
        TABLE(struct name_in_plan, names)[task->name_in_plan].task = index_of(task) + 1;
    task->resource = TASK_BIT | index_of(task);
    affinity_of_new(task, NULL);
    return task;
}

struct task *task_prepare(struct task *parent, uint32_t process) {
    return prepare(parent, parent ? ++parent->children : 0, process);
}

struct task *task_prepare_buffer(struct task *of) { return prepare(of, 0, of->process); }

void task_enliven(struct task *task) {
    look_again();
    task->state = ALIVE;
    segment->alive[segment->alive_count++] = (uint16_t)index_of(task);
}

void task_remove(struct task *task) {
    look_again();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < segment->alive_count; i++)
        if (segment->alive[i] != index_of(task)) segment->alive[kept++] = segment->alive[i];
    segment->alive_count = kept;
    task->state = OVER;
    segment->changes++;
}

void task_discard(struct task *task) {
    task_remove(task);
    task->joined = 1;
}

struct task *task_of_handle(uint64_t handle) {
    for (uint32_t i = segment->tasks; i-- > 0;) {
        struct task *task = &TASKS[i];
        if (task->handle == handle && task->process == this_process && !task->joined) return task;
    }
    return NULL;
}

const char *path_of(uint32_t task, char *text, size_t size) {
    /* Paths are built from the end. */
    char *at = text + size;
    *--at = 0;
    for (uint32_t i = task; i != NONE && at > text + 12; i = TASKS[i].parent) {
        uint32_t number = TASKS[i].number;
        do *--at = (char)('0' + number % 10);
        while (number /= 10);
        if (TASKS[i].parent != NONE) *--at = '.';
    }
    return at;
}
