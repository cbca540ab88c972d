/* What the policies in C share. */
#include "deciders.h"

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
