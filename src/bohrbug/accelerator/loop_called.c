/* What an event loop was asked to call soon: LoopTurns._take_called, and which of it only counts. */
#include "loops.h"

static PyTypeObject *entry_type;
/* What the module of turns has by name, and what says how callbacks that count are known. */
static PyObject *names_of_turns, *counters_of_asyncio;
static PyObject *text_callback, *text_code, *text_only_counts, *text_origin_of, *text_popleft;
static PyObject *text_ready;

/* Whether the code of a callback is one of those that may only count; -1: an exception is set. */
static int
is_counter(PyObject *handle)
{
    PyObject *callback = PyObject_GetAttr(handle, text_callback);
    if (callback == NULL)
        return -1;
    PyObject *function = PyMethod_Check(callback) ? PyMethod_GET_FUNCTION(callback) : callback;
    int result = 1;
    if (Py_IS_TYPE(function, &PyFunction_Type)) {
        PyObject *counters = PyObject_CallNoArgs(counters_of_asyncio);
        PyObject *code = counters == NULL ? NULL : PyObject_GetAttr(function, text_code);
        result = code == NULL ? -1 : PyDict_Contains(counters, code);
        Py_XDECREF(counters);
        Py_XDECREF(code);
    }
    Py_DECREF(callback);
    return result;
}

/* Whether a handle is run at once, as it only counts; it has been, then. */
static int
run_if_it_counts(PyObject *handle)
{
    int is_cancelled = is_handle_cancelled(handle);
    if (is_cancelled != 0)
        return is_cancelled < 0 ? -1 : 0;
    int may_count = is_counter(handle);
    if (may_count <= 0)
        return may_count;
    PyObject *only_counts = PyDict_GetItemWithError(names_of_turns, text_only_counts);
    PyObject *answer = only_counts == NULL ? NULL : PyObject_CallOneArg(only_counts, handle);
    int counts = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (counts <= 0)
        return counts;
    PyObject *result = run_handle(handle);
    Py_XDECREF(result);
    return result == NULL ? -1 : 1;
}

static int
take_handle(PyObject *tasks, PyObject *queue, PyObject *handle, bool counts)
{
    PyObject *origin = by_identity(OF_LOOP_TASKS(tasks, ORIGINS), handle);
    if (origin == NULL && PyErr_Occurred())
        return -1;
    Py_XINCREF(origin);
    if (counts && (origin == NULL || slot_get(origin, origin_slots[ORIGIN_GOES_ON]) != Py_True)) {
        int has_run = run_if_it_counts(handle);
        if (has_run != 0) {
            Py_XDECREF(origin);
            return has_run < 0 ? -1 : 0;
        }
    }
    if (origin == NULL && (origin = PyObject_CallMethodOneArg(tasks, text_origin_of, handle)) == NULL)
        return -1;
    PyObject *arguments[] = {
        handle, slot_get(origin, origin_slots[ORIGIN_TASK]),
        slot_get(origin, origin_slots[ORIGIN_GOES_ON]), slot_get(origin, origin_slots[ORIGIN_ORDER]),
    };
    PyObject *entry = PyObject_Vectorcall((PyObject *)entry_type, arguments, 4, NULL);
    int result = entry == NULL ? -1 : call_for(queue, entry);
    Py_XDECREF(entry);
    Py_DECREF(origin);
    return result;
}

int
take_called_by(PyObject *loop, PyObject *tasks, PyObject *queue, bool counts)
{
    PyObject *ready = PyObject_GetAttr(loop, text_ready);
    Py_ssize_t left = ready == NULL ? -1 : PyObject_Size(ready);
    int result = left < 0 ? -1 : 0;
    while (result == 0 && left > 0) {
        PyObject *handle = PyObject_CallMethodNoArgs(ready, text_popleft);
        result = handle == NULL ? -1 : take_handle(tasks, queue, handle, counts);
        Py_XDECREF(handle);
        left = PyObject_Size(ready);
    }
    Py_XDECREF(ready);
    return result < 0 || left < 0 ? -1 : 0;
}

int
use_called(PyObject *entry, PyObject *names_of_module, PyObject *counters)
{
    const Name names[] = {
        {&text_callback, "_callback"}, {&text_code, "__code__"}, {&text_only_counts, "only_counts"},
        {&text_origin_of, "origin_of"}, {&text_popleft, "popleft"}, {&text_ready, "_ready"},
    };
    entry_type = (PyTypeObject *)Py_NewRef(entry);
    names_of_turns = Py_NewRef(names_of_module);
    counters_of_asyncio = Py_NewRef(counters);
    return make_names(names, sizeof names / sizeof *names);
}
