/* What the policies that know pending operations ask at every step: which of these are decisions,
 * and who has the highest priority.
 *
 * See bohrbug/runtime/policies/filtering.py and partial_order.py.  Common is: the tasks are those of
 * an execution of this process.
 */
#include "deciders.h"

enum { KIND, RESOURCE };

static PyObject *points_of_operations; /* site.point_of */

int
is_among_points(PyObject *operation, PyObject *points)
{
    PyObject *point = PyObject_CallOneArg(points_of_operations, operation);
    int found = point == NULL ? -1 : PySet_Contains(points, point);
    Py_XDECREF(point);
    return found;
}

double
draw(PyObject *random)
{
    static PyObject *text_random;
    if (text_random == NULL && (text_random = PyUnicode_InternFromString("random")) == NULL)
        return -1.0;
    PyObject *drawn = PyObject_CallMethodNoArgs(random, text_random);
    double value = drawn == NULL ? -1.0 : PyFloat_AsDouble(drawn);
    Py_XDECREF(drawn);
    return value;
}

/* -- what is a decision -------------------------------------------------------------- */

static PyObject *runs_at_once_in_python;

/* filtering._is_no_decision; -1: exception */
static int
is_no_decision(PyObject *task, PyObject *points, PyObject *named)
{
    PyObject *operation = TASK(task, PENDING);
    if (operation == Py_None ||
        slot_get(PyTuple_GET_ITEM(operation, KIND), kind_slots[KIND_IS_YIELD]) != Py_False)
        return 0;
    int found = is_among_points(operation, points);
    if (found == 0 && named != NULL)
        found = PySequence_Contains(named, PyTuple_GET_ITEM(operation, RESOURCE));
    return found < 0 ? -1 : !found;
}

/* The task that runs at once, borrowed, or None; NULL: an exception, or there is a task that is not
 * of this process. */
static PyObject *
undecided(PyObject *points, PyObject *running, PyObject *enabled, bool yielded, PyObject *named)
{
    Py_ssize_t count = PyList_GET_SIZE(enabled);
    bool goes_on = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *task = PyList_GET_ITEM(enabled, i);
        if (!is_task(task))
            return NULL;
        goes_on |= task == running;
    }
    int found = goes_on && !yielded ? is_no_decision(running, points, named) : 0;
    if (found != 0)
        return found < 0 ? NULL : running;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(enabled); i++) {
        PyObject *task = PyList_GET_ITEM(enabled, i);
        found = task == running ? 0 : is_no_decision(task, points, named);
        if (found != 0)
            return found < 0 ? NULL : task;
    }
    return Py_None;
}

/* runs_at_once(points, running, enabled, yielded, named=()) */
static PyObject *
runs_at_once(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count >= 4 && arguments[0] == Py_None)
        Py_RETURN_NONE;
    if (count >= 4 && PyFrozenSet_CheckExact(arguments[0]) && PyList_CheckExact(arguments[2]) &&
        PyBool_Check(arguments[3])) {
        PyObject *task = undecided(arguments[0], arguments[1], arguments[2],
                                   arguments[3] == Py_True, count > 4 ? arguments[4] : NULL);
        if (task != NULL || PyErr_Occurred())
            return Py_XNewRef(task);
    }
    return PyObject_Vectorcall(runs_at_once_in_python, arguments, (size_t)count, NULL);
}

static PyMethodDef filtering = {
    "runs_at_once", (PyCFunction)(void (*)(void))runs_at_once, METH_FASTCALL,
    "See the function in Python.",
};

/* use_filtering(runs_at_once, point_of): ``runs_at_once`` in C */
PyObject *
use_filtering(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *reference, *points;
    if (!PyArg_ParseTuple(arguments, "OO", &reference, &points))
        return NULL;
    Py_XSETREF(runs_at_once_in_python, Py_NewRef(reference));
    Py_XSETREF(points_of_operations, Py_NewRef(points));
    return PyCFunction_New(&filtering, NULL);
}

/* -- priorities ---------------------------------------------------------------------- */

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
    return PyObject_CallFunctionObjArgs(decider_twins[HIGHEST].reference, self, options, NULL);
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
        return PyObject_CallFunctionObjArgs(decider_twins[EXECUTED].reference, self, task, NULL);
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
    [HIGHEST] = {{"_highest", highest, METH_O, "See the method in Python."}, NULL},
    [EXECUTED] = {{"_executed", executed, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* use_partial_order(PartialOrderDecider) */
PyObject *
use_partial_order(PyObject *Py_UNUSED(module), PyObject *decider)
{
    if (find_slots(decider, decider_slots) < 0 || take_over(decider, decider_twins) < 0)
        return NULL;
    Py_RETURN_NONE;
}
