/* What the code in C looks at in an execution and its tasks: the slots of the Python classes. */
#ifndef BOHRBUG_SCHEDULING_H
#define BOHRBUG_SCHEDULING_H

#include "accelerator.h"

enum {
    ABORTING, ACCESS_LOG, ALIVE, ALL_TASKS, ATOMIC, BUSY_PLACES, COLLECTING, CURRENT, DECIDER,
    DETECTOR, FAIRNESS, IDLE_YIELDS, LOOPS, LOOP_TASKS, MINDS_GIL, NEXT_CHECK, NON_PREEMPTIVE,
    OUTSIDE, POOL, PREFIX, PREFIX_LENGTH, RESOURCES, ROOT, ROWS, SIGNALS, SINK, SLICE_BEGAN,
    SPINNING, SUSPENDED, SWAP, TRACE, VARIABLES, YIELDING,
};
enum {
    BLOCKED_SINCE, BREAKABLE, DEADLINE, ENDED, GREENLET, HOLDING, ID, INDEX, INSIDE, JOINED, LOOKS,
    LOOKS_AT, PENDING, READY, SENT, WAITING, WAITS_FOR,
};
enum { STATE_ID, STATE_SERIAL };
enum { TABLE_SERIAL };
enum { FAIRNESS_ACTIVE };
enum { KIND_IS_WRITE, KIND_IS_YIELD };
enum { HOLDER_EXECUTION, HOLDER_THREAD };

extern Slot execution_slots[], task_slots[], state_slots[], table_slots[], fairness_slots[];
extern Slot kind_slots[], holder_slots[];

#define EXECUTION(name) slot_get(self, execution_slots[name])
#define SET_EXECUTION(name, value) slot_set(self, execution_slots[name], value)
#define TASK(task, name) slot_get(task, task_slots[name])
#define SET_TASK(task, name, value) slot_set(task, task_slots[name], value)

extern PyTypeObject *execution_type, *task_type;
/* The one object that says which execution is in control. */
extern PyObject *holder;
extern PyObject *zero, *one, *nothing;
extern Py_ssize_t time_slice, lonely_steps;

/* Tasks alive at the same time for which there is room on the stack. */
enum { MANY_TASKS = 96 };

/* ``Operation(kind, resource, place)`` */
PyObject *new_operation(PyObject *kind, PyObject *resource, PyObject *place);

/* -- sharing.c: what never changes, as one object for all that are equal; new references --- */

/* ``f"{task}{sign}{number}"``: the id of a task's child (".") or of a resource that it made (":"). */
PyObject *shared_part(PyObject *task, char sign, Py_ssize_t number);
/* ``f"Thread-{number} ({function})"``, or without a function (NULL) ``f"Thread-{number}"``. */
PyObject *shared_thread_name(PyObject *number, PyObject *function);
/* ``f"thread {id}"`` */
PyObject *shared_thread_label(PyObject *id);
/* ``f"{owner}.{name}"`` */
PyObject *shared_attribute(PyObject *owner, PyObject *name);
/* The ids of some tasks, as a tuple. */
PyObject *shared_ids(PyObject **tasks, Py_ssize_t count);
PyObject *shared_operation(PyTypeObject *type, PyObject *kind, PyObject *resource, PyObject *place);
/* What an execution records of an ordinary step. */
PyObject *shared_row(PyObject *id, PyObject *operation, PyObject *ids);

/* -- policies.c --------------------------------------------------------------------- */

/* Whether it is the executor of a policy in C. */
bool is_decider(PyObject *object);
/* Whom it chooses of some enabled tasks, after no yield; borrowed. */
PyObject *choose_enabled(PyObject *decider, PyObject *running, PyObject *const *enabled,
                         Py_ssize_t count, Py_ssize_t step);

/* -- deciding.c, and what it asks --------------------------------------------------- */

/* Whether what a task of an execution waits for holds; -1: an exception is set. */
int is_ready(PyObject *execution, PyObject *ready);

/* Execution._decide; on DONE ``chosen`` is borrowed. */
Progress decide(PyObject *execution, PyObject *running, PyObject **chosen);
/* The same, or by the method in Python; a new reference. */
PyObject *decided(PyObject *execution, PyObject *running);
/* lifecycle.end */
int end_of_task(PyObject *execution, PyObject *task);
/* ``ResourceTable.new`` for the running task; a new reference. */
PyObject *new_resource(PyObject *execution, PyObject *type, PyObject *created);
/* The carrier of a new task. */
int give_carrier(PyObject *execution, PyObject *task);
/* ``Execution._swap``, if there is one. */
int swap_state(PyObject *execution, PyObject *leaving, PyObject *entering);

#endif
