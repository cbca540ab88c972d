/* The race detector: what is done at every synchronisation and every new access.
 *
 * See bohrbug/monitors/races.py for the algorithm.
 */
#include "accelerator.h"

static PyTypeObject *detector_type;

enum { CLOCKS, EPOCHS, LAST_EPOCH };
static Slot detector_slots[] = {
    [CLOCKS] = {"_clocks", 0}, [EPOCHS] = {"epochs", 0}, [LAST_EPOCH] = {"_last_epoch", 0}, {0},
};
enum { STATE_CLOCK };
static Slot state_slots[] = {[STATE_CLOCK] = {"clock", 0}, {0}};

#define DETECTOR(name) slot_get(self, detector_slots[name])


static long long
number_at(PyObject *list, Py_ssize_t index)
{
    return PyLong_AsLongLong(PyList_GET_ITEM(list, index));
}

/* The clock that has learnt all of ``other``, and of ``task`` up to ``epoch``. */
static PyObject *
after(PyObject *clock, PyObject *other, Py_ssize_t task, PyObject *epoch)
{
    Py_ssize_t own = PyList_GET_SIZE(clock), others = PyList_GET_SIZE(other);
    Py_ssize_t size = own > others ? own : others;
    if (size < task + 1)
        size = task + 1;
    PyObject *joined = PyList_New(size);
    if (joined == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *latest = NULL;
        if (i < own)
            latest = PyList_GET_ITEM(clock, i);
        if (i < others && (latest == NULL || number_at(other, i) > PyLong_AsLongLong(latest)))
            latest = PyList_GET_ITEM(other, i);
        if (latest == NULL)
            PyList_SET_ITEM(joined, i, PyLong_FromLong(0));
        else
            PyList_SET_ITEM(joined, i, Py_NewRef(latest));
    }
    if (PyLong_AsLongLong(epoch) > number_at(joined, task))
        PyList_SetItem(joined, task, Py_NewRef(epoch));
    if (PyErr_Occurred())
        Py_CLEAR(joined);
    return joined;
}

/* RaceDetector.synchronise for a task that is known. */
static int
synchronise_known(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    PyObject *epochs = DETECTOR(EPOCHS), *clocks = DETECTOR(CLOCKS);
    PyObject *clock = PyList_GET_ITEM(clocks, index);
    PyObject *published = slot_get(state, state_slots[STATE_CLOCK]);
    if (published != Py_None) {
        Py_ssize_t writer = PyLong_AsSsize_t(PyTuple_GET_ITEM(published, 0));
        PyObject *epoch = PyTuple_GET_ITEM(published, 1);
        if (writer != index && (writer >= PyList_GET_SIZE(clock) ||
                                number_at(clock, writer) < PyLong_AsLongLong(epoch))) {
            clock = after(clock, PyTuple_GET_ITEM(published, 2), writer, epoch);
            if (clock == NULL || PyList_SetItem(clocks, index, clock) < 0)
                return -1;
        }
    }
    if (is_write) {
        PyObject *own = Py_BuildValue("nOO", index, PyList_GET_ITEM(epochs, index), clock);
        Py_ssize_t last = slot_int(self, detector_slots[LAST_EPOCH]);
        PyObject *next = own == NULL || PyErr_Occurred() ? NULL : PyLong_FromSsize_t(last + 1);
        if (next == NULL) {
            Py_XDECREF(own);
            return -1;
        }
        slot_set(state, state_slots[STATE_CLOCK], own);
        slot_set(self, detector_slots[LAST_EPOCH], next);
        Py_DECREF(own);
        if (PyList_SetItem(epochs, index, next) < 0)
            return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int
synchronise(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    if (detector_type != NULL && Py_IS_TYPE(self, detector_type) && index >= 0 &&
        index < PyList_GET_SIZE(DETECTOR(EPOCHS)))
        return synchronise_known(self, index, state, is_write);
    PyObject *result = PyObject_CallMethod(self, "synchronise", "nOO", index, state,
                                           is_write ? Py_True : Py_False);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

PyObject *
use_detector(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *detector, *state;
    if (!PyArg_ParseTuple(arguments, "OO", &detector, &state) ||
        find_slots(detector, detector_slots) < 0 || find_slots(state, state_slots) < 0)
        return NULL;
    detector_type = (PyTypeObject *)Py_NewRef(detector);
    Py_RETURN_NONE;
}
