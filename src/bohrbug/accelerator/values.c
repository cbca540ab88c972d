/* Whether a dict is as it was; see bohrbug/runtime/threads/replaced_builtins.py.
 *
 * It is asked twice in each execution, of some 160 builtins.  So it is remembered of which dict it was
 * true last; that this has not changed since is known by its version, which no other state of any
 * dict has had, and from Python 3.12 on from the interpreter, which tells of changes. */
#include "accelerator.h"
#include <stdint.h>

static struct {
    PyObject *namespace, *values;
    uint64_t version;
} last;

#if PY_VERSION_HEX >= 0x030C0000

static int watcher = -1;
static PyObject *watched;
static uint64_t changes;

/* A PyDict_WatchCallback. */
static int
count_change(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict), PyObject *Py_UNUSED(key),
             PyObject *Py_UNUSED(value))
{
    changes++;
    return 0;
}

/* 0: not known. */
static uint64_t
version_of(PyObject *namespace)
{
    if (watched == NULL) {
        /* There are few watchers, and others may have taken them all. */
        if (watcher < 0 && (watcher = PyDict_AddWatcher(count_change)) < 0) {
            PyErr_Clear();
            return 0;
        }
        if (PyDict_Watch(watcher, namespace) < 0) {
            PyErr_Clear();
            return 0;
        }
        watched = Py_NewRef(namespace);
    }
    return watched == namespace ? changes + 1 : 0;
}

#else

static uint64_t
version_of(PyObject *namespace)
{
    return ((PyDictObject *)namespace)->ma_version_tag;
}

#endif

static bool
is_as_it_was(PyObject *namespace, PyObject *values)
{
    PyObject *key, *value;
    Py_ssize_t place = 0, index = 0, count = PyList_GET_SIZE(values);
    if (PyDict_GET_SIZE(namespace) != count)
        return false;
    while (PyDict_Next(namespace, &place, &key, &value)) {
        if (index == count || PyList_GET_ITEM(values, index) != value)
            return false;
        index++;
    }
    return index == count;
}

/* has_values(namespace, values): nobody changes the list */
PyObject *
has_values(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *namespace, *values;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &namespace, &PyList_Type, &values))
        return NULL;
    uint64_t version = version_of(namespace);
    if (version != 0 && last.version == version && last.namespace == namespace &&
        last.values == values)
        Py_RETURN_TRUE;
    bool result = is_as_it_was(namespace, values);
    last.version = result ? version : 0;
    Py_XSETREF(last.namespace, Py_NewRef(namespace));
    Py_XSETREF(last.values, Py_NewRef(values));
    return PyBool_FromLong(result);
}
