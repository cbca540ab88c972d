/* Events of partial-order reduction: who, what was chosen, what was touched.
 *
 * See bohrbug/search/footprint.py and bohrbug/search/reversals.py.
 */
#include "accelerator.h"
#include "events.h"

static PyTypeObject *event_type, *reversal_type;

/* use_events(Event) */
PyObject *
use_events(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "events are tuples, not %R", type);
    Py_XSETREF(event_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

/* use_reversals(Reversal) */
PyObject *
use_reversals(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "reversals are tuples, not %R", type);
    Py_XSETREF(reversal_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

PyObject *
new_event(PyObject *task, PyObject *choice, PyObject *footprint)
{
    PyObject *event = event_type->tp_alloc(event_type, 3);
    if (event != NULL) {
        PyTuple_SET_ITEM(event, 0, Py_NewRef(task));
        PyTuple_SET_ITEM(event, 1, Py_NewRef(choice));
        PyTuple_SET_ITEM(event, 2, Py_NewRef(footprint));
    }
    return event;
}

PyObject *
new_certain_reversal(PyObject *recorded, Py_ssize_t step, PyObject *event, Py_ssize_t later)
{
    PyObject *at = PyLong_FromSsize_t(step), *behind = PyLong_FromSsize_t(later);
    PyObject *reversal = NULL;
    if (at != NULL && behind != NULL)
        reversal = reversal_type->tp_alloc(reversal_type, 6);
    if (reversal == NULL) {
        Py_XDECREF(at);
        Py_XDECREF(behind);
        return NULL;
    }
    PyTuple_SET_ITEM(reversal, 0, Py_NewRef(recorded));
    PyTuple_SET_ITEM(reversal, 1, at);
    PyTuple_SET_ITEM(reversal, 2, Py_NewRef(event));
    PyTuple_SET_ITEM(reversal, 3, Py_NewRef(Py_False));
    PyTuple_SET_ITEM(reversal, 4, behind);
    PyTuple_SET_ITEM(reversal, 5, Py_NewRef(Py_False));
    return reversal;
}

/* What an event touches: two bit masks, in C if they have no more than 63 bits. */
typedef struct {
    PyObject *reads, *writes;
    long long few_reads, few_writes;
    bool is_small;
} Masks;

static int
masks_of(PyObject *event, Masks *masks)
{
    PyObject *footprint = PyTuple_GET_ITEM(event, 2);
    int too_large, too;
    masks->reads = PyTuple_GET_ITEM(footprint, 0);
    masks->writes = PyTuple_GET_ITEM(footprint, 1);
    masks->few_reads = PyLong_AsLongLongAndOverflow(masks->reads, &too_large);
    masks->few_writes = PyLong_AsLongLongAndOverflow(masks->writes, &too);
    masks->is_small = !too_large && !too;
    return PyErr_Occurred() ? -1 : 0;
}

/* Whether two masks have a bit in common; -1: exception */
static int
meet(PyObject *first, PyObject *second)
{
    PyObject *both = PyNumber_And(first, second);
    int result = both == NULL ? -1 : PyObject_IsTrue(both);
    Py_XDECREF(both);
    return result;
}

static int
conflict(const Masks *first, const Masks *second)
{
    if (first->is_small && second->is_small)
        return (first->few_writes & (second->few_reads | second->few_writes)) != 0 ||
               (first->few_reads & second->few_writes) != 0;
    int result = meet(first->writes, second->reads);
    if (result == 0)
        result = meet(first->writes, second->writes);
    return result != 0 ? result : meet(first->reads, second->writes);
}

static bool
is_event(PyObject *object)
{
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 3 &&
           PyTuple_Check(PyTuple_GET_ITEM(object, 2)) &&
           PyTuple_GET_SIZE(PyTuple_GET_ITEM(object, 2)) == 2;
}

/* Where in a sequence an event is that can come first in it, its length if it is not there; -1: it
 * can't; -2: exception */
static Py_ssize_t
initial_at(PyObject *event, PyObject *sequence, Py_ssize_t start)
{
    Masks own, others;
    if (!is_event(event)) {
        PyErr_Format(PyExc_TypeError, "%R is no event", event);
        return -2;
    }
    if (masks_of(event, &own) < 0)
        return -2;
    PyObject *task = PyTuple_GET_ITEM(event, 0), *choice = PyTuple_GET_ITEM(event, 1);
    Py_ssize_t length = PyList_GET_SIZE(sequence);
    for (Py_ssize_t i = start; i < length; i++) {
        PyObject *other = PyList_GET_ITEM(sequence, i);
        if (!is_event(other)) {
            PyErr_Format(PyExc_TypeError, "%R is no event", other);
            return -2;
        }
        int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(other, 0), task, Py_EQ);
        if (same > 0) {
            same = PyObject_RichCompareBool(PyTuple_GET_ITEM(other, 1), choice, Py_EQ);
            return same < 0 ? -2 : same ? i : -1;
        }
        int conflicting = same < 0 || masks_of(other, &others) < 0 ? -1 : conflict(&own, &others);
        if (conflicting != 0)
            return conflicting < 0 ? -2 : -1;
    }
    return length;
}

/* is_weak_initial(event, sequence, start=0): see bohrbug/search/footprint.py */
PyObject *
is_weak_initial(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *event, *sequence;
    Py_ssize_t start = 0;
    if (!PyArg_ParseTuple(arguments, "OO!|n", &event, &PyList_Type, &sequence, &start))
        return NULL;
    Py_ssize_t at = initial_at(event, sequence, start);
    if (at == -1)
        Py_RETURN_NONE;
    return at < 0 ? NULL : PyLong_FromSsize_t(at);
}

/* first_initial(events, sequence): see bohrbug/search/footprint.py */
PyObject *
first_initial(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *events, *sequence;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &events, &PyList_Type, &sequence))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(events); i++) {
        Py_ssize_t at = initial_at(PyTuple_GET_ITEM(events, i), sequence, 0);
        if (at != -1)
            return at < 0 ? NULL : PyLong_FromSsize_t(i);
    }
    Py_RETURN_NONE;
}

/* Who of the sleeping, a tuple, is not woken by an event; see still_asleep in Python. */
static PyObject *
not_woken(PyObject *asleep, PyObject *event)
{
    Masks own, others;
    if (!is_event(event))
        return PyErr_Format(PyExc_TypeError, "%R is no event", event);
    PyObject *kept = masks_of(event, &own) < 0 ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asleep) && kept != NULL; i++) {
        PyObject *other = PyTuple_GET_ITEM(asleep, i);
        int wakes = -1;
        if (!is_event(other))
            PyErr_Format(PyExc_TypeError, "%R is no event", other);
        else if (masks_of(other, &others) == 0)
            wakes = PyObject_RichCompareBool(PyTuple_GET_ITEM(other, 0),
                                             PyTuple_GET_ITEM(event, 0), Py_EQ);
        if (wakes == 0)
            wakes = conflict(&own, &others);
        if (wakes < 0 || (wakes == 0 && PyList_Append(kept, other) < 0))
            Py_CLEAR(kept);
    }
    PyObject *result = kept == NULL ? NULL : PyList_AsTuple(kept);
    Py_XDECREF(kept);
    return result;
}

/* still_asleep(asleep, event): see bohrbug/search/footprint.py */
PyObject *
still_asleep(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *asleep, *event;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &asleep, &event))
        return NULL;
    return not_woken(asleep, event);
}

/* Whether one of some events makes this choice; -1: exception */
static int
is_chosen_by(PyObject *events, PyObject *choice)
{
    int found = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(events) && found == 0; i++) {
        PyObject *event = PyTuple_GET_ITEM(events, i);
        if (!is_event(event)) {
            PyErr_Format(PyExc_TypeError, "%R is no event", event);
            return -1;
        }
        found = PyObject_RichCompareBool(PyTuple_GET_ITEM(event, 1), choice, Py_EQ);
    }
    return found;
}

/* sleepers_along(tasks, choices, footprints, sleeping, start, end): see
 * bohrbug/search/reversals.py */
PyObject *
sleepers_along(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tasks, *choices, *footprints, *sleeping;
    Py_ssize_t step, end;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!nn", &PyList_Type, &tasks, &PyList_Type, &choices,
                          &PyList_Type, &footprints, &PyTuple_Type, &sleeping, &step, &end))
        return NULL;
    if (step < 0 || end > PyList_GET_SIZE(tasks) || end > PyList_GET_SIZE(choices) ||
        end > PyList_GET_SIZE(footprints)) {
        PyErr_SetString(PyExc_IndexError, "there are not so many steps");
        return NULL;
    }
    int in_vain = 0;
    PyObject *along = PyList_New(0);
    Py_INCREF(sleeping);
    while (along != NULL && PyTuple_GET_SIZE(sleeping) > 0 && step < end) {
        PyObject *choice = PyList_GET_ITEM(choices, step);
        if (in_vain == 0)
            in_vain = is_chosen_by(sleeping, choice);
        PyObject *event = in_vain < 0 ? NULL
                                      : new_event(PyList_GET_ITEM(tasks, step), choice,
                                                  PyList_GET_ITEM(footprints, step));
        PyObject *rest = event == NULL ? NULL : not_woken(sleeping, event);
        Py_XDECREF(event);
        if (rest == NULL || PyList_Append(along, rest) < 0)
            Py_CLEAR(along);
        if (rest != NULL)
            Py_SETREF(sleeping, rest);
        step++;
    }
    Py_DECREF(sleeping);
    return along == NULL ? NULL : Py_BuildValue("NO", along, in_vain ? Py_True : Py_False);
}

/* independent_events(tasks, choices, footprints, clocks, step): see reversals.py */
PyObject *
independent_events(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tasks, *choices, *footprints, *clocks;
    Py_ssize_t step;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!n", &PyList_Type, &tasks, &PyList_Type, &choices,
                          &PyList_Type, &footprints, &PyList_Type, &clocks, &step))
        return NULL;
    Py_ssize_t end = PyList_GET_SIZE(tasks);
    if (step < 0 || step >= end || PyList_GET_SIZE(choices) < end ||
        PyList_GET_SIZE(footprints) < end || PyList_GET_SIZE(clocks) < end) {
        PyErr_SetString(PyExc_IndexError, "there are not so many steps");
        return NULL;
    }
    Py_ssize_t task = PyLong_AsSsize_t(PyList_GET_ITEM(tasks, step));
    PyObject *found = task == -1 && PyErr_Occurred() ? NULL : PyList_New(0);
    for (Py_ssize_t i = step + 1; i < end && found != NULL; i++) {
        Py_ssize_t known = clock_at(PyList_GET_ITEM(clocks, i), task);
        if (known < 0) {
            Py_CLEAR(found);
        } else if (known <= step) {
            PyObject *event = new_event(PyList_GET_ITEM(tasks, i), PyList_GET_ITEM(choices, i),
                                        PyList_GET_ITEM(footprints, i));
            if (event == NULL || PyList_Append(found, event) < 0)
                Py_CLEAR(found);
            Py_XDECREF(event);
        }
    }
    return found;
}
