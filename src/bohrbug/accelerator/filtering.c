/* What the policies that know pending operations ask at each step: which of these are decisions.
 *
 * See bohrbug/runtime/policies/filtering.py.  Common is: the tasks are those of an execution of this
 * process.
 */
#include "deciders.h"

enum { KIND, RESOURCE };

static PyObject *runs_at_once_in_python;

/* filtering._is_no_decision; -1: exception */
static int
is_no_decision(KnownPlaces *known, PyObject *task, PyObject *points, PyObject *named)
{
    PyObject *operation = TASK(task, PENDING);
    if (operation == Py_None ||
        slot_get(PyTuple_GET_ITEM(operation, KIND), kind_slots[KIND_IS_YIELD]) != Py_False)
        return 0;
    int found = is_among_known(known, operation, points);
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
    KnownPlaces known = {0};
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *task = PyList_GET_ITEM(enabled, i);
        if (!is_task(task))
            return NULL;
        goes_on |= task == running;
    }
    int found = goes_on && !yielded ? is_no_decision(&known, running, points, named) : 0;
    if (found != 0)
        return found < 0 ? NULL : running;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(enabled); i++) {
        PyObject *task = PyList_GET_ITEM(enabled, i);
        found = task == running ? 0 : is_no_decision(&known, task, points, named);
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
    know_points(points);
    return PyCFunction_New(&filtering, NULL);
}
