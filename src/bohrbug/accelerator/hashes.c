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

/* What a step comes after: the nodes of the graph, by task and by resource. */
typedef struct {
    PyObject *start, *of_tasks, *before_read, *before_write;
} Pasts;

/* The node of a step, which takes its place among the pasts; a new reference. */
static PyObject *
add_node(const Pasts *pasts, PyObject *digest, PyObject *task, PyObject *resource, bool is_write)
{
    PyObject *past = get(is_write ? pasts->before_write : pasts->before_read, resource, pasts->start);
    PyObject *own = get(pasts->of_tasks, task, pasts->start);
    if (past == NULL || own == NULL)
        return NULL;
    Py_hash_t hash = hash_of_three(digest, own, past);
    PyObject *node = hash == -1 ? NULL : PyLong_FromSsize_t(hash);
    if (node == NULL)
        return NULL;
    int result;
    if (is_write) {
        result = PyDict_SetItem(pasts->before_write, resource, node);
        if (result == 0)
            result = PyDict_SetItem(pasts->before_read, resource, node);
    } else {
        /* A write comes after all reads, in whatever order. */
        PyObject *readers = get(pasts->before_write, resource, pasts->start);
        PyObject *mixed = readers == NULL ? NULL : PyNumber_Xor(readers, node);
        result = mixed == NULL ? -1 : PyDict_SetItem(pasts->before_write, resource, mixed);
        Py_XDECREF(mixed);
    }
    if (result < 0 || PyDict_SetItem(pasts->of_tasks, task, node) < 0)
        Py_CLEAR(node);
    return node;
}

/* Add a step to the chain; -1: an exception is set. */
static int
add_step(const Pasts *pasts, PyObject *digests, PyObject *task, PyObject *operation, Py_hash_t *state)
{
    PyObject *kind = PyTuple_GET_ITEM(operation, 0), *resource = PyTuple_GET_ITEM(operation, 1);
    PyObject *key = PyTuple_Pack(3, task, kind, resource);
    PyObject *digest = key == NULL ? NULL : PyObject_GetItem(digests, key);
    PyObject *is_write = digest == NULL ? NULL : PyObject_GetAttrString(kind, "is_write");
    PyObject *node = NULL;
    if (is_write != NULL)
        node = add_node(pasts, digest, task, resource, is_write == Py_True);
    if (node != NULL)
        *state ^= (Py_hash_t)PyLong_AsSsize_t(node);
    Py_XDECREF(key);
    Py_XDECREF(digest);
    Py_XDECREF(is_write);
    Py_XDECREF(node);
    return node == NULL ? -1 : 0;
}

/* Fill in, for each of the first steps, the hash of the steps before it; -1: an exception is set. */
static int
chain(const Pasts *pasts, PyObject *digests, PyObject *tasks, PyObject *operations, PyObject *states)
{
    Py_ssize_t last = PyList_GET_SIZE(states) - 1;
    Py_hash_t state = 0;
    for (Py_ssize_t i = 0;; i++) {
        PyObject *number = PyLong_FromSsize_t(state);
        if (number == NULL)
            return -1;
        PyList_SET_ITEM(states, i, number);
        if (i == last)
            return 0;
        if (add_step(pasts, digests, PyList_GET_ITEM(tasks, i), PyList_GET_ITEM(operations, i),
                     &state) < 0)
            return -1;
    }
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
    Pasts pasts = {PyLong_FromLong(0), PyDict_New(), PyDict_New(), PyDict_New()};
    PyObject *states = PyList_New(limit + 1);
    if (pasts.start == NULL || pasts.of_tasks == NULL || pasts.before_read == NULL ||
        pasts.before_write == NULL || states == NULL ||
        chain(&pasts, digests, tasks, operations, states) < 0)
        Py_CLEAR(states);
    Py_XDECREF(pasts.start);
    Py_XDECREF(pasts.of_tasks);
    Py_XDECREF(pasts.before_read);
    Py_XDECREF(pasts.before_write);
    return states;
}
