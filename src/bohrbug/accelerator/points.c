/* What operations are recognised by in other executions: the common case of site.point_of.
 *
 * Common is: a place in Python code that was asked for before.
 */
#include "accelerator.h"

enum { PLACE = 2 };

static PyObject *known_points, *reference;

static PyObject *
point_of(PyObject *Py_UNUSED(module), PyObject *operation)
{
    PyObject *place = PyTuple_Check(operation) && PyTuple_GET_SIZE(operation) > PLACE
                          ? PyTuple_GET_ITEM(operation, PLACE)
                          : NULL;
    /* A Site has four parts; a Place of rewritten code is of a class derived from tuple. */
    if (place != NULL && PyTuple_Check(place) && PyTuple_GET_SIZE(place) == 2) {
        PyObject *address = PyLong_FromVoidPtr(PyTuple_GET_ITEM(place, 0));
        PyObject *key = address == NULL ? NULL : PyTuple_Pack(2, address, PyTuple_GET_ITEM(place, 1));
        PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(known_points, key);
        Py_XDECREF(address);
        Py_XDECREF(key);
        if (known != NULL)
            return Py_NewRef(PyTuple_GET_ITEM(known, 1));
        if (PyErr_Occurred())
            return NULL;
    }
    return PyObject_CallOneArg(reference, operation);
}

static PyMethodDef definition = {"point_of", point_of, METH_O, "See the function in Python."};

/* use_points(points, point_of): ``point_of`` in C */
PyObject *
use_points(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &known_points, &reference))
        return NULL;
    Py_INCREF(known_points);
    Py_INCREF(reference);
    return PyCFunction_New(&definition, NULL);
}
