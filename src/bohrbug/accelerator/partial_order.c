/* POS: who has the highest priority; see bohrbug/runtime/policies/partial_order.py.
 *
 * Common is: the tasks are those of an execution of this process.
 */
#include "deciders.h"

enum { KIND, RESOURCE };
enum { PRIORITY, PENDING_EVENTS, WAITING_TASKS, RANDOM };
static Slot decider_slots[] = {
    [PRIORITY] = {"_priorities", 0}, [PENDING_EVENTS] = {"_pending", 0},
    [WAITING_TASKS] = {"_waiting", 0}, [RANDOM] = {"_random", 0}, {0},
};
static Twin decider_twins[];
enum { HIGHEST, EXECUTED };

/* Draw the priority of a task anew. */
static int
draw_priority(PyObject *self, PyObject *id, double *drawn)
{
    *drawn = draw(slot_get(self, decider_slots[RANDOM]));
    PyObject *priority = *drawn < 0.0 ? NULL : PyFloat_FromDouble(*drawn);
    int result = priority == NULL
                     ? -1
                     : PyDict_SetItem(slot_get(self, decider_slots[PRIORITY]), id, priority);
    Py_XDECREF(priority);
    return result;
}

/* Note that a task waits with its event. */
static int
note_pending(PyObject *self, PyObject *id, PyObject *operation)
{
    PyObject *waiting = slot_get(self, decider_slots[WAITING_TASKS]);
    PyObject *resource = PyTuple_GET_ITEM(operation, RESOURCE);
    PyObject *tasks = Py_XNewRef(PyDict_GetItemWithError(waiting, resource));
    if (tasks == NULL && !PyErr_Occurred() && (tasks = PyDict_New()) != NULL &&
        PyDict_SetItem(waiting, resource, tasks) < 0)
        Py_CLEAR(tasks);
    int result = tasks == NULL ? -1 : PyDict_SetItem(tasks, id, Py_None);
    Py_XDECREF(tasks);
    if (result == 0)
        result = PyDict_SetItem(slot_get(self, decider_slots[PENDING_EVENTS]), id, operation);
    return result;
}

/* PartialOrderDecider._priority(task); -1: exception */
static double
priority_of(PyObject *self, PyObject *task)
{
    PyObject *id = TASK(task, ID), *operation = TASK(task, PENDING);
    PyObject *known = PyDict_GetItemWithError(slot_get(self, decider_slots[PRIORITY]), id);
    if (known != NULL)
        return PyFloat_AsDouble(known);
    double drawn;
    if (PyErr_Occurred() || draw_priority(self, id, &drawn) < 0 ||
        (operation != Py_None && note_pending(self, id, operation) < 0))
        return -1.0;
    return drawn;
}

/* PartialOrderDecider._highest(options) */
static PyObject *
highest(PyObject *self, PyObject *options)
{
    Py_ssize_t count = PyList_CheckExact(options) ? PyList_GET_SIZE(options) : 0;
    PyObject *best = NULL;
    double most = 0.0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *task = PyList_GET_ITEM(options, i);
        if (!is_task(task)) {
            best = NULL;
            break;
        }
        double value = priority_of(self, task);
        if (value < 0.0)
            return NULL;
        if (best == NULL || value > most) {
            best = task;
            most = value;
        }
    }
    if (best != NULL)
        return Py_NewRef(best);
    return by_reference(&decider_twins[HIGHEST], self, options);
}

/* Forget the event of a task that was pending. */
static int
forget(PyObject *self, PyObject *id)
{
    PyObject *priorities = slot_get(self, decider_slots[PRIORITY]);
    PyObject *pending = slot_get(self, decider_slots[PENDING_EVENTS]);
    int known = PyDict_Contains(priorities, id);
    if (known < 0 || (known && PyDict_DelItem(priorities, id) < 0))
        return -1;
    PyObject *operation = PyDict_GetItemWithError(pending, id);
    if (operation == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *waiting = PyDict_GetItemWithError(slot_get(self, decider_slots[WAITING_TASKS]),
                                                PyTuple_GET_ITEM(operation, RESOURCE));
    if (waiting == NULL || PyDict_DelItem(waiting, id) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, PyTuple_GET_ITEM(operation, RESOURCE));
        return -1;
    }
    return PyDict_DelItem(pending, id);
}

/* Draw anew for a task whose event conflicts with one that is executed. */
static int
draw_if_conflicting(PyObject *self, PyObject *id, bool is_write)
{
    PyObject *event = PyDict_GetItemWithError(slot_get(self, decider_slots[PENDING_EVENTS]), id);
    if (event == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, id);
        return -1;
    }
    if (!is_write &&
        slot_get(PyTuple_GET_ITEM(event, KIND), kind_slots[KIND_IS_WRITE]) != Py_True)
        return 0;
    double drawn;
    return draw_priority(self, id, &drawn);
}

/* PartialOrderDecider._executed(task) */
static PyObject *
executed(PyObject *self, PyObject *task)
{
    if (!is_task(task))
        return by_reference(&decider_twins[EXECUTED], self, task);
    if (forget(self, TASK(task, ID)) < 0)
        return NULL;
    PyObject *operation = TASK(task, PENDING);
    if (operation == Py_None)
        Py_RETURN_NONE;
    PyObject *waiting = PyDict_GetItemWithError(slot_get(self, decider_slots[WAITING_TASKS]),
                                                PyTuple_GET_ITEM(operation, RESOURCE));
    if (waiting == NULL && PyErr_Occurred())
        return NULL;
    if (waiting == NULL || PyDict_GET_SIZE(waiting) == 0)
        Py_RETURN_NONE;
    bool is_write =
        slot_get(PyTuple_GET_ITEM(operation, KIND), kind_slots[KIND_IS_WRITE]) == Py_True;
    PyObject *ids = PyDict_Keys(waiting);
    int result = ids == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(ids); i++)
        result = draw_if_conflicting(self, PyList_GET_ITEM(ids, i), is_write);
    Py_XDECREF(ids);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

static Twin decider_twins[] = {
    [HIGHEST] = TWIN("_highest", highest),
    [EXECUTED] = TWIN("_executed", executed),
    {{0}, NULL},
};

/* use_partial_order(PartialOrderDecider) */
PyObject *
use_partial_order(PyObject *Py_UNUSED(module), PyObject *decider)
{
    return use_decider(decider, decider_slots, decider_twins);
}
