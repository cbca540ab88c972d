/* Numbers for what tasks do, see bohrbug/model/numbering.py: the loops over the steps of a trace. */
#include "accelerator.h"

/* A number that is known by the identities of what it stands for, borrowed; NULL: not known. */
static PyObject *
quick_number(PyObject *task, PyObject *operation, PyObject *quick_numbers)
{
    if (!PyTuple_Check(operation) || PyTuple_GET_SIZE(operation) != 3)
        return NULL;
    PyObject *place = PyTuple_GET_ITEM(operation, 2);
    /* A Site has four parts; a Place of rewritten code is of a class derived from tuple. */
    if (!PyTuple_Check(place) || PyTuple_GET_SIZE(place) != 2)
        return NULL;
    PyObject *kind = PyLong_FromVoidPtr(PyTuple_GET_ITEM(operation, 0));
    PyObject *code = PyLong_FromVoidPtr(PyTuple_GET_ITEM(place, 0));
    PyObject *key = kind == NULL || code == NULL
                        ? NULL
                        : PyTuple_Pack(5, task, kind, PyTuple_GET_ITEM(operation, 1), code,
                                       PyTuple_GET_ITEM(place, 1));
    Py_XDECREF(kind);
    Py_XDECREF(code);
    PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(quick_numbers, key);
    Py_XDECREF(key);
    return known != NULL && PyTuple_Check(known) ? PyTuple_GET_ITEM(known, 0) : NULL;
}

/* numbered(tasks, operations, quick_numbers, number): a list */
PyObject *
numbered(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tasks, *operations, *quick_numbers, *reference;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O", &PyList_Type, &tasks, &PyList_Type, &operations,
                          &PyDict_Type, &quick_numbers, &reference))
        return NULL;
    PyObject *numbers = PyList_New(0);
    for (Py_ssize_t i = 0; numbers != NULL && i < PyList_GET_SIZE(tasks); i++) {
        if (i >= PyList_GET_SIZE(operations)) {
            PyErr_SetString(PyExc_ValueError, "fewer operations than tasks");
            Py_CLEAR(numbers);
            break;
        }
        PyObject *task = PyList_GET_ITEM(tasks, i), *operation = PyList_GET_ITEM(operations, i);
        PyObject *number = Py_XNewRef(quick_number(task, operation, quick_numbers));
        if (number == NULL && !PyErr_Occurred())
            number = PyObject_CallFunctionObjArgs(reference, task, operation, NULL);
        if (number == NULL || PyList_Append(numbers, number) < 0)
            Py_CLEAR(numbers);
        Py_XDECREF(number);
    }
    return numbers;
}

/* The resource that a number is about, borrowed; see Doing. */
static PyObject *
resource_of_number(PyObject *number, PyObject *doings)
{
    PyObject *doing = PyDict_GetItemWithError(doings, number);
    if (doing == NULL || !PyTuple_Check(doing) || PyTuple_GET_SIZE(doing) < 2)
        return NULL;
    PyObject *operation = PyTuple_GET_ITEM(doing, 1);
    return PyTuple_Check(operation) && PyTuple_GET_SIZE(operation) > 1
               ? PyTuple_GET_ITEM(operation, 1)
               : NULL;
}

/* neighbours(numbers, doings, known): see the function in Python */
PyObject *
neighbours(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *numbers, *doings, *known;
    if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyList_Type, &numbers, &PyDict_Type, &doings,
                          &PySet_Type, &known))
        return NULL;
    PyObject *last = PyDict_New(), *found = PyList_New(0);
    bool failed = last == NULL || found == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(numbers); i++) {
        PyObject *number = PyList_GET_ITEM(numbers, i);
        PyObject *resource = resource_of_number(number, doings);
        if (resource == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetObject(PyExc_KeyError, number);
            failed = true;
            break;
        }
        PyObject *before = PyDict_GetItemWithError(last, resource);
        PyObject *pair = before == NULL || before == number ? NULL : PyTuple_Pack(2, before, number);
        int is_known = pair == NULL ? 1 : PySet_Contains(known, pair);
        failed = PyErr_Occurred() != NULL || is_known < 0 ||
                 (!is_known && (PySet_Add(known, pair) < 0 || PyList_Append(found, pair) < 0)) ||
                 PyDict_SetItem(last, resource, number) < 0;
        Py_XDECREF(pair);
    }
    Py_XDECREF(last);
    if (failed)
        Py_CLEAR(found);
    return found;
}
