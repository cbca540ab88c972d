/* The chain of hashes that state_hashes of bohrbug/model/happens_before.py makes of a trace. */
#include "accelerator.h"

static Py_hash_t
hash_of_three(PyObject *first, PyObject *second, PyObject *third)
{
    PyObject *tuple = PyTuple_Pack(3, first, second, third);
    if (tuple == NULL)
        return -1;
    Py_hash_t hash = PyObject_Hash(tuple);
    Py_DECREF(tuple);
    return hash;
}

/* dict.get(key, otherwise), borrowed */
static PyObject *
get(PyObject *dict, PyObject *key, PyObject *otherwise)
{
    PyObject *value = PyDict_GetItemWithError(dict, key);
    return value != NULL || PyErr_Occurred() ? value : otherwise;
}

/* chained_states(digests, tasks, operations, limit): for each of the first steps the hash
 * of the steps before it; for traces without effects and without steps whose result counts. */
PyObject *
chained_states(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *digests, *tasks, *operations;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(arguments, "OO!O!n", &digests, &PyList_Type, &tasks, &PyList_Type,
                          &operations, &limit))
        return NULL;
    if (limit > PyList_GET_SIZE(tasks))
        limit = PyList_GET_SIZE(tasks);
    PyObject *start = PyLong_FromLong(0);
    PyObject *of_tasks = PyDict_New(), *before_read = PyDict_New(), *before_write = PyDict_New();
    PyObject *states = PyList_New(limit + 1);
    Py_hash_t state = 0;
    bool failed = start == NULL || of_tasks == NULL || before_read == NULL ||
                  before_write == NULL || states == NULL;
    for (Py_ssize_t i = 0; i <= limit && !failed; i++) {
        PyObject *number = PyLong_FromSsize_t(state);
        if (number == NULL) {
            failed = true;
            break;
        }
        PyList_SET_ITEM(states, i, number);
        if (i == limit)
            break;
        PyObject *task = PyList_GET_ITEM(tasks, i), *operation = PyList_GET_ITEM(operations, i);
        PyObject *kind = PyTuple_GET_ITEM(operation, 0), *resource = PyTuple_GET_ITEM(operation, 1);
        PyObject *key = PyTuple_Pack(3, task, kind, resource);
        PyObject *digest = key == NULL ? NULL : PyObject_GetItem(digests, key);
        PyObject *is_write = PyObject_GetAttrString(kind, "is_write");
        PyObject *node = NULL;
        if (digest != NULL && is_write != NULL) {
            PyObject *past = get(is_write == Py_True ? before_write : before_read, resource, start);
            PyObject *own = get(of_tasks, task, start);
            Py_hash_t hash = past == NULL || own == NULL ? -1 : hash_of_three(digest, own, past);
            if (hash != -1)
                node = PyLong_FromSsize_t(hash);
            if (node != NULL && is_write == Py_True) {
                failed = PyDict_SetItem(before_write, resource, node) < 0 ||
                         PyDict_SetItem(before_read, resource, node) < 0;
            } else if (node != NULL) {
                PyObject *writers = get(before_write, resource, start);
                PyObject *mixed = writers == NULL ? NULL : PyNumber_Xor(writers, node);
                failed = mixed == NULL || PyDict_SetItem(before_write, resource, mixed) < 0;
                Py_XDECREF(mixed);
            }
            failed = failed || node == NULL || PyDict_SetItem(of_tasks, task, node) < 0;
            state ^= hash;
        } else {
            failed = true;
        }
        Py_XDECREF(key);
        Py_XDECREF(digest);
        Py_XDECREF(is_write);
        Py_XDECREF(node);
    }
    Py_XDECREF(start);
    Py_XDECREF(of_tasks);
    Py_XDECREF(before_read);
    Py_XDECREF(before_write);
    if (failed)
        Py_CLEAR(states);
    return states;
}
