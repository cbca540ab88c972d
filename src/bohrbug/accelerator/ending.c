/* The end of a task, and of its thread. */
#include "threads.h"

static PyObject *end_kind, *end_reference;

/* threading.stop */
static int
stop(PyObject *thread)
{
    PyObject *sentinel = own(thread, thread_texts.sentinel);
    if (sentinel == NULL || sentinel == Py_None)
        return PyErr_Occurred() ? -1 : 0;
    return release_real(sentinel) < 0 || set_own(thread, thread_texts.is_stopped, Py_True) < 0
               ? -1
               : set_own(thread, thread_texts.sentinel, Py_None);
}

static int
call_hook(PyObject *hook)
{
    if (PyMethod_Check(hook) && PyMethod_GET_FUNCTION(hook) == threading.stop &&
        Py_IS_TYPE(PyMethod_GET_SELF(hook), threading.type))
        return stop(PyMethod_GET_SELF(hook));
    PyObject *result = PyObject_CallNoArgs(hook);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int
make_end(PyObject *self, PyObject *task)
{
    PyObject *hooks = OF_TASK(ON_END);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks); i++)
        if (call_hook(PyList_GET_ITEM(hooks, i)) < 0)
            return -1;
    if (PyList_SetSlice(hooks, 0, PyList_GET_SIZE(hooks), NULL) < 0)
        return -1;
    PyDict_Clear(OF_TASK(LOCAL_VALUES));
    PyObject *thread = OF_TASK(THREAD);
    if (thread != Py_None) {
        PyObject *reference = PyWeakref_NewRef(thread, NULL);
        if (reference == NULL)
            return -1;
        SET_OF_TASK(THREAD, reference);
        Py_DECREF(reference);
    }
    SET_TASK(task, ENDED, Py_True);
    PyObject *alive = EXECUTION(ALIVE);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(alive); i++)
        if (PyList_GET_ITEM(alive, i) == task)
            return PyList_SetSlice(alive, i, i + 1, NULL);
    return 0;
}

int
end_of_task(PyObject *self, PyObject *task)
{
    Progress progress = RARE;
    if (EXECUTION(ABORTING) == Py_False)
        progress = perform(self, end_kind, OF_TASK(STATE), OF_TASK(SPAWNED), NULL);
    if (progress == RARE) {
        PyObject *arguments[] = {self, task};
        PyObject *result = PyObject_Vectorcall(end_reference, arguments, 2, NULL);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    if (progress == FAILED) {
        if (!PyErr_ExceptionMatches(task_killed))
            return -1;
        PyErr_Clear();
    }
    return make_end(self, task);
}

static PyObject *
end_task(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyObject_TypeCheck(arguments[0], execution_type) ||
        !Py_IS_TYPE(arguments[1], task_type)) {
        PyErr_SetString(PyExc_TypeError, "end() takes an execution and a task");
        return NULL;
    }
    if (end_of_task(arguments[0], arguments[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef end_definition = {
    "end", (PyCFunction)(void (*)(void))end_task, METH_FASTCALL, "The last operation of a task.",
};

PyObject *
use_end(PyObject *kind, PyObject *reference)
{
    end_kind = Py_NewRef(kind);
    end_reference = Py_NewRef(reference);
    return PyCFunction_New(&end_definition, NULL);
}
