/* The columns of the rows that an execution wrote; see bohrbug/runtime/threads/recorded.py. */
#include "accelerator.h"

/* columns_of(rows, width) */
PyObject *
columns_of(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *rows;
    Py_ssize_t width;
    if (!PyArg_ParseTuple(arguments, "O!n", &PyList_Type, &rows, &width))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(rows);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *row = PyList_GET_ITEM(rows, i);
        if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != width)
            return PyErr_Format(PyExc_TypeError, "%R is no row of %zd values", row, width);
    }
    PyObject *columns = PyTuple_New(width);
    for (Py_ssize_t column = 0; column < width && columns != NULL; column++) {
        PyObject *values = PyList_New(count);
        if (values == NULL) {
            Py_CLEAR(columns);
            break;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *value = PyTuple_GET_ITEM(PyList_GET_ITEM(rows, i), column);
            PyList_SET_ITEM(values, i, Py_NewRef(value));
        }
        PyTuple_SET_ITEM(columns, column, values);
    }
    return columns;
}
