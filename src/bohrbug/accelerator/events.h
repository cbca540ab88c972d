/* What the parts of partial-order reduction share. */
#ifndef BOHRBUG_EVENTS_H
#define BOHRBUG_EVENTS_H

#include "accelerator.h"

/* Event(task, choice, footprint) */
PyObject *new_event(PyObject *task, PyObject *choice, PyObject *footprint);
/* Reversal(recorded, step, event, False, later, False) */
PyObject *new_certain_reversal(PyObject *recorded, Py_ssize_t step, PyObject *event,
                               Py_ssize_t later);

/* What a clock says of a task; -1: exception */
static inline Py_ssize_t
clock_at(PyObject *clock, Py_ssize_t task)
{
    if (!PyList_Check(clock) || task < 0 || task >= PyList_GET_SIZE(clock)) {
        PyErr_SetString(PyExc_IndexError, "a clock does not know a task");
        return -1;
    }
    return PyLong_AsSsize_t(PyList_GET_ITEM(clock, task));
}

#endif
