/* The policies that draw: who runs next, by random numbers.
 *
 * Written once, for tests in Python (accelerator/policies.c) and native programs (runtime/posix/shim/).
 * Everything is plain integers in memory that the caller has, which several processes may share; nothing is
 * allocated, and nothing is kept anywhere else.  runtime/policies/ is the reference: the same in Python.
 */
#ifndef BOHRBUG_CORE_POLICY_H
#define BOHRBUG_CORE_POLICY_H

#include "draw.h"
#include "options.h"

/* Changes of priority that PCT can make in an execution. */
#define MOST_CHANGES 64

/* What a policy knows of a task; there is one for each, by its number, and it is zero at first. */
struct policy_task {
    /* Of the task, before it is an option for the first time: who made it, or NO_TASK, and where the plan
     * names it, or NO_TASK (SURW). */
    uint32_t parent, name;
    /* Of what it is about to do, whenever it is an option: its order with other tasks' operations does not
     * matter (POS, SURW), and it is one of the selected events (SURW). */
    uint8_t is_quiet, is_selected;
    /* The policy's own: */
    uint8_t has_priority;      /* (PCT, POS) */
    uint8_t is_counted;        /* its events are no longer promised to another task (SURW) */
    uint32_t nth_to_draw;      /* not of this task: the one that drew as the n-th of those with a priority,
                                * where n is this task's number (POS) */
    int64_t priority;
    int64_t events, promised;  /* those left to it, and those of tasks that it may still make (SURW) */
};

/* What it keeps of an execution. */
struct policy_state {
    uint64_t random;           /* the state of the generator */
    int64_t lowest_priority;   /* (PCT) */
    uint32_t changes[MOST_CHANGES]; /* the steps at which a priority drops (PCT) */
    uint32_t changes_count;
    uint32_t decided_until;    /* the step behind the last decision (PCT) */
    uint32_t with_priority;    /* how many tasks have one (POS) */
    uint32_t intended;         /* who does the next selected event, or NO_TASK (SURW) */
};

/* What a plan says of a task. */
struct name_in_plan {
    uint32_t parent;           /* index of a name, or NO_TASK for the root */
    uint32_t number;           /* among the children of its parent */
    uint32_t asleep;           /* how it sleeps when the prefix ends */
    uint32_t task;             /* what stands for it: the number of a task + 1, or 0 */
    int64_t events;            /* expected of it (SURW) */
};

/* A state with nothing drawn yet. */
void policy_begins(struct policy_state *state, uint64_t seed);

/* -- at once: Morpheus (Yuan and Yang, ASPLOS 2020) ------------------------------------------------ */

/* A task whose pending operation is no decision, the running one if possible; or NO_TASK.
 *
 * Most operations never conflict, and to decide when they run is to spend the randomness on nothing. */
uint32_t runs_at_once(const struct policy_task *tasks, const struct options *options,
                      uint32_t running, bool yielded);

/* -- PCT: Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010, section 3 ------------------- */

/* Draws the changes, one less than `depth`, among `length` steps. */
void priorities_begin(struct policy_state *state, uint32_t depth, uint64_t length);
/* The highest priority runs. */
uint32_t by_priority(struct policy_state *state, struct policy_task *tasks,
                     const struct options *options, uint32_t running, bool yielded, uint32_t step);
/* The step before which `running` has the highest priority of all that are enabled; `step` if it has not. */
uint32_t highest_until(const struct policy_state *state, const struct policy_task *tasks,
                       const struct options *options, uint32_t running, uint32_t step);

/* -- POS: Yuan, Yang and Gu, CAV 2018, section 4 ---------------------------------------------------- */

/* Whether the order of what two tasks are about to do matters. */
struct conflicts {
    bool (*between)(const void *context, uint32_t one, uint32_t other);
    const void *context;
};

/* The option with the highest priority; what has none yet draws one. */
uint32_t highest_priority(struct policy_state *state, struct policy_task *tasks,
                          const struct options *options);
/* What a task is about to do is executed: it is no longer pending, and what conflicts with it draws anew.
 * Without a second draw those that lost against it would be likely to lose against the next, too. */
void priorities_after(struct policy_state *state, struct policy_task *tasks, uint32_t chosen,
                      struct conflicts conflicts);
/* The pending event with the highest priority runs. */
uint32_t by_partial_order(struct policy_state *state, struct policy_task *tasks,
                          const struct options *options, uint32_t running, bool yielded,
                          struct conflicts conflicts);

/* -- SURW: Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025 ---------------------------------------- */

/* Tables that SURW looks at. */
struct weights {
    struct policy_task *tasks;
    uint32_t tasks_count;
    const struct name_in_plan *names;
    uint32_t names_count;
};

/* Who does the next selected event is drawn in proportion to the events that are left. */
uint32_t by_weight(struct policy_state *state, const struct weights *weights,
                   const struct options *options, uint32_t running, bool yielded);

#endif
