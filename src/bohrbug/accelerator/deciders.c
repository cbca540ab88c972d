/* What the policies in C share. */
#include "deciders.h"
#include <stdint.h>

static PyObject *points_of_operations; /* site.point_of */

void
know_points(PyObject *function)
{
    Py_XSETREF(points_of_operations, Py_NewRef(function));
}

int
is_among_points(PyObject *operation, PyObject *points)
{
    PyObject *point = PyObject_CallOneArg(points_of_operations, operation);
    int found = point == NULL ? -1 : PySet_Contains(points, point);
    Py_XDECREF(point);
    return found;
}

int
is_among_known(KnownPlaces *known, PyObject *operation, PyObject *points)
{
    enum { PLACE = 2 };
    PyObject *place = PyTuple_GET_ITEM(operation, PLACE);
    size_t entry = ((uintptr_t)place >> 5) % KNOWN_PLACES;
    if (!PyTuple_Check(place)) /* its resource is the point */
        return is_among_points(operation, points);
    if (known->place[entry] != place) {
        int found = is_among_points(operation, points);
        if (found < 0)
            return -1;
        known->place[entry] = place;
        known->found[entry] = found;
    }
    return known->found[entry];
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

PyObject *
by_reference(const Twin *twin, PyObject *self, PyObject *argument)
{
    return PyObject_CallFunctionObjArgs(twin->reference, self, argument, NULL);
}

PyObject *
use_decider(PyObject *decider, Slot *slots, Twin *twins)
{
    if (find_slots(decider, slots) < 0 || take_over(decider, twins) < 0)
        return NULL;
    Py_RETURN_NONE;
}
