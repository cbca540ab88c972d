/* The decision: the common case of Execution._decide, and of the choice of PriorityDecider. */
#include "scheduling.h"
#include <stdint.h>

static PyObject *text_choose, *text_priority;

/* -- policies --------------------------------------------------------------------- */

static PyTypeObject *priorities_type;
enum { CHANGES, PRIORITIES };
static Slot priorities_slots[] = {[CHANGES] = {"_changes", 0}, [PRIORITIES] = {"_priorities", 0}, {0}};

/* PriorityDecider.choose when no priority changes; a borrowed task.
 * NULL: not so, or an exception is set. */
static PyObject *
highest_priority(PyObject *decider, PyObject **enabled, Py_ssize_t count, Py_ssize_t step)
{
    PyObject *changes = slot_get(decider, priorities_slots[CHANGES]);
    PyObject *priorities = slot_get(decider, priorities_slots[PRIORITIES]);
    if (PyDict_GET_SIZE(changes) != 0) {
        PyObject *number = PyLong_FromSsize_t(step);
        if (number == NULL)
            return NULL;
        int changing = PyDict_Contains(changes, number);
        Py_DECREF(number);
        if (changing != 0)
            return NULL;
    }
    if (count == 1)
        return enabled[0];
    PyObject *best = NULL;
    double highest = 0.0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *priority = Py_XNewRef(PyDict_GetItemWithError(priorities, TASK(enabled[i], ID)));
        if (priority == NULL && !PyErr_Occurred())
            priority = PyObject_CallMethodOneArg(decider, text_priority, enabled[i]);
        if (priority == NULL)
            return NULL;
        double value = PyFloat_AsDouble(priority);
        Py_DECREF(priority);
        if (value == -1.0 && PyErr_Occurred())
            return NULL;
        if (best == NULL || value > highest) {
            best = enabled[i];
            highest = value;
        }
    }
    return best;
}

static PyTypeObject *uniform_type;
static Slot uniform_slots[] = {{"_state", 0}, {0}};

/* What the decider has in place of an int as soon as it has drawn here. */
typedef struct {
    PyObject_HEAD
    unsigned long long number;
} State;

static PyTypeObject state_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bohrbug.accelerator._accelerator.State",
    .tp_basicsize = sizeof(State),
    .tp_dealloc = (destructor)PyObject_Free,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The state of a random number generator, which changes.",
};

/* The state of a decider, borrowed. */
static State *
state_of(PyObject *decider)
{
    PyObject *known = slot_get(decider, uniform_slots[0]);
    if (Py_IS_TYPE(known, &state_type))
        return (State *)known;
    unsigned long long number = PyLong_AsUnsignedLongLongMask(known);
    State *state = PyErr_Occurred() ? NULL : PyObject_New(State, &state_type);
    if (state == NULL)
        return NULL;
    state->number = number;
    slot_set(decider, uniform_slots[0], (PyObject *)state);
    Py_DECREF(state); /* the decider keeps it */
    return state;
}

/* UniformRandomDecider.value; -1: an exception is set. */
static Py_ssize_t
uniform_value(PyObject *decider, Py_ssize_t arity)
{
    State *kept = state_of(decider);
    if (kept == NULL)
        return -1;
    unsigned long long state = kept->number += 0x9E3779B97F4A7C15u;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return (Py_ssize_t)(((state ^ (state >> 31)) >> 32) * (unsigned long long)arity >> 32);
}

static PyObject *
value_method(PyObject *decider, PyObject *arity)
{
    Py_ssize_t number = PyLong_AsSsize_t(arity);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || number > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "a choice among %zd values", number);
    Py_ssize_t value = uniform_value(decider, number);
    return value < 0 ? NULL : PyLong_FromSsize_t(value);
}

static Twin uniform_twins[] = {
    {{"value", value_method, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

PyObject *
use_policies(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *priorities, *uniform;
    if (!PyArg_ParseTuple(arguments, "OO", &priorities, &uniform) ||
        find_slots(priorities, priorities_slots) < 0 || find_slots(uniform, uniform_slots) < 0)
        return NULL;
    priorities_type = (PyTypeObject *)Py_NewRef(priorities);
    uniform_type = (PyTypeObject *)Py_NewRef(uniform);
    text_priority = PyUnicode_InternFromString("_priority");
    text_choose = PyUnicode_InternFromString("choose");
    if (PyErr_Occurred() || PyType_Ready(&state_type) < 0 || take_over(uniform, uniform_twins) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* -- choosing --------------------------------------------------------------------- */

/* Fill in the enabled tasks, borrowed, and return their number; 0: a rare case. There is room for
 * ``most`` of them: to ask a task may run code of the program, but starts none. */
static Py_ssize_t
enabled_tasks(PyObject *self, PyObject **enabled, Py_ssize_t most)
{
    PyObject *alive = EXECUTION(ALIVE);
    if (EXECUTION(SUSPENDED) != zero)
        return 0;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(alive) && i < most; i++) {
        PyObject *task = PyList_GET_ITEM(alive, i);
        PyObject *ready = TASK(task, READY);
        if (ready != Py_None) {
            int can_run = is_ready(self, ready);
            if (can_run < 0)
                return -1;
            if (!can_run) {
                if (TASK(task, DEADLINE) != Py_None)
                    return 0;
                continue;
            }
        }
        enabled[count++] = task;
    }
    return count;
}

static int
index_of(PyObject *task, PyObject **tasks, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (tasks[i] == task)
            return (int)i;
    return -1;
}

/* Who runs next, borrowed; NULL: a rare case, or an exception is set. */
static PyObject *
choose(PyObject *self, PyObject *running, PyObject **enabled, Py_ssize_t count, Py_ssize_t step)
{
    Py_ssize_t prefix_length = slot_int(self, execution_slots[PREFIX_LENGTH]);
    if (prefix_length == -1)
        return NULL;
    if (step < prefix_length) {
        PyObject *wanted = PyTuple_GetItem(EXECUTION(PREFIX), step);
        if (wanted == NULL)
            return NULL;
        for (Py_ssize_t i = 0; i < count; i++)
            if (TASK(enabled[i], ID) == wanted)
                return enabled[i];
        for (Py_ssize_t i = 0; i < count; i++) {
            int equal = PyObject_RichCompareBool(TASK(enabled[i], ID), wanted, Py_EQ);
            if (equal != 0)
                return equal < 0 ? NULL : enabled[i];
        }
        return NULL;
    }
    if (EXECUTION(NON_PREEMPTIVE) == Py_True) {
        if (index_of(running, enabled, count) >= 0)
            return running;
        Py_ssize_t own = slot_int(running, task_slots[INDEX]);
        for (Py_ssize_t i = 0; i < count; i++)
            if (slot_int(enabled[i], task_slots[INDEX]) > own)
                return enabled[i];
        return enabled[0];
    }
    PyObject *decider = EXECUTION(DECIDER);
    if (priorities_type != NULL && Py_IS_TYPE(decider, priorities_type)) {
        PyObject *chosen = highest_priority(decider, enabled, count, step);
        if (chosen != NULL || PyErr_Occurred())
            return chosen;
    }
    if (uniform_type != NULL && Py_IS_TYPE(decider, uniform_type)) {
        Py_ssize_t drawn = count > 1 ? uniform_value(decider, count) : 0;
        return drawn < 0 ? NULL : enabled[drawn];
    }
    PyObject *tasks = PyList_New(count), *number = PyLong_FromSsize_t(step), *chosen = NULL;
    if (tasks != NULL && number != NULL) {
        for (Py_ssize_t i = 0; i < count; i++)
            PyList_SET_ITEM(tasks, i, Py_NewRef(enabled[i]));
        PyObject *arguments[] = {decider, running, tasks, nothing, Py_False, number};
        chosen = PyObject_VectorcallMethod(text_choose, arguments, 6, NULL);
    }
    Py_XDECREF(tasks);
    Py_XDECREF(number);
    if (chosen != NULL && (!Py_IS_TYPE(chosen, task_type) || index_of(chosen, enabled, count) < 0))
        PyErr_SetString(PyExc_RuntimeError, "a policy chose something else than an enabled task");
    Py_XDECREF(chosen); /* it is among the enabled ones, which live on */
    return PyErr_Occurred() ? NULL : chosen;
}

/* The same as decide, with room for as many tasks as are alive. */
static Progress
decide_among(PyObject *self, PyObject *running, PyObject **chosen, PyObject **enabled,
             Py_ssize_t most)
{
    if (EXECUTION(MINDS_GIL) != Py_False || EXECUTION(YIELDING) != Py_False ||
        EXECUTION(SPINNING) != Py_False ||
        slot_get(EXECUTION(FAIRNESS), fairness_slots[FAIRNESS_ACTIVE]) != Py_False)
        return RARE;
    PyObject *rows = EXECUTION(ROWS);
    Py_ssize_t step = PyList_GET_SIZE(rows);
    Py_ssize_t next_check = slot_int(self, execution_slots[NEXT_CHECK]);
    Py_ssize_t slice_began = slot_int(self, execution_slots[SLICE_BEGAN]);
    if ((next_check == -1 || slice_began == -1) && PyErr_Occurred())
        return FAILED;
    if (step >= next_check || step - slice_began >= lonely_steps)
        return RARE;
    Py_ssize_t count = enabled_tasks(self, enabled, most);
    if (count <= 0)
        return count < 0 ? FAILED : RARE;
    if (count > 1 && step - slice_began >= time_slice)
        return RARE;
    PyObject *choice = choose(self, running, enabled, count, step);
    if (choice == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    PyObject *ids = shared_ids(enabled, count);
    PyObject *row = ids == NULL ? NULL : shared_row(TASK(choice, ID), TASK(choice, PENDING), ids);
    int result = row == NULL ? -1 : PyList_Append(rows, row);
    Py_XDECREF(ids);
    Py_XDECREF(row);
    if (result < 0)
        return FAILED;
    if (choice != running) {
        PyObject *number = PyLong_FromSsize_t(step);
        if (number == NULL)
            return FAILED;
        SET_EXECUTION(SLICE_BEGAN, number);
        Py_DECREF(number);
    }
    *chosen = choice;
    return DONE;
}

Progress
decide(PyObject *self, PyObject *running, PyObject **chosen)
{
    PyObject *few[MANY_TASKS];
    Py_ssize_t most = PyList_GET_SIZE(EXECUTION(ALIVE));
    if (most <= MANY_TASKS)
        return decide_among(self, running, chosen, few, most);
    PyObject **many = PyMem_New(PyObject *, most);
    if (many == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    Progress progress = decide_among(self, running, chosen, many, most);
    PyMem_Free(many);
    return progress;
}
