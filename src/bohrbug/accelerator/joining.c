/* Joining a thread, without a timeout. */
#include "threads.h"

/* The task of a thread, if it was started directly in this execution; borrowed, or NULL. */
static PyObject *
task_of(PyObject *self, PyObject *thread)
{
    PyObject *ident = own(thread, thread_texts.ident);
    if (ident == NULL || !PyLong_Check(ident)) {
        PyErr_Clear();
        return NULL;
    }
    unsigned long long number = PyLong_AsUnsignedLongLong(ident) - threading.first_ident;
    PyObject *tasks = EXECUTION(ALL_TASKS);
    if (PyErr_Occurred() || number == 0 ||
        number >= (unsigned long long)PyList_GET_SIZE(tasks)) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *task = PyList_GET_ITEM(tasks, (Py_ssize_t)number);
    PyObject *known = OF_TASK(THREAD);
    /* The ident may be one of an earlier execution. */
    if (known != thread && !(TASK(task, ENDED) == Py_True && refers_to(known, thread)))
        return NULL;
    return OF_TASK(STARTED_DIRECTLY) == Py_True ? task : NULL;
}

static int
task_has_ended(PyObject *task)
{
    return TASK(task, ENDED) == Py_True;
}

/* Whether another task was started by the running one, or before that by an ancestor of both. */
static bool
was_started_before(PyObject *joined, PyObject *running)
{
    const char *id = PyUnicode_AsUTF8(TASK(joined, ID)), *own = PyUnicode_AsUTF8(TASK(running, ID));
    const char *end = id == NULL ? NULL : strrchr(id, '.');
    if (end == NULL || own == NULL) {
        PyErr_Clear();
        return false;
    }
    size_t length = (size_t)(end - id);
    if (strncmp(id, own, length) != 0)
        return false;
    return own[length] == 0 ||
           (own[length] == '.' && strtol(own + length + 1, NULL, 10) > strtol(end + 1, NULL, 10));
}

Progress
join_thread(PyObject *thread, PyFrameObject *caller)
{
    PyObject *self = controlling_execution();
    PyObject *joined = self == NULL ? NULL : task_of(self, thread);
    if (joined == NULL || joined == EXECUTION(CURRENT) ||
        !was_started_before(joined, EXECUTION(CURRENT)))
        return RARE;
    PyObject *place = place_in(caller);
    PyObject *ready = place == NULL ? NULL : new_readiness(task_has_ended, joined, true);
    Progress progress = FAILED;
    Py_INCREF(joined);
    if (ready != NULL)
        progress = perform(self, threading.join_kind, slot_get(joined, thread_slots[STATE]), place,
                           ready);
    if (progress == DONE && TASK(joined, ENDED) != Py_True)
        progress = RARE;
    Py_DECREF(joined);
    Py_XDECREF(ready);
    Py_XDECREF(place);
    return progress;
}
