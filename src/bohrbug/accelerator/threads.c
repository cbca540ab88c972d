/* threading.Thread: what is known of it, and what its methods try first. */
#include "threads.h"

struct threading threading;
struct thread_texts thread_texts;

PyObject *
own(PyObject *object, PyObject *name)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    Py_XDECREF(dict); /* the object keeps it */
    return dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
}

int
set_own(PyObject *object, PyObject *name, PyObject *value)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    int result = dict == NULL ? -1 : PyDict_SetItem(dict, name, value);
    Py_XDECREF(dict);
    return result;
}

/* -- the first lines of what stands for Thread.start and join ------------------------------ */

/* Whether it was done here. */
static PyObject *
try_for_caller(Progress (*function)(PyObject *, PyFrameObject *), PyObject *thread)
{
    PyFrameObject *caller = caller_of_method();
    if (caller == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    Progress progress = function(thread, caller);
    Py_DECREF(caller);
    return progress == FAILED ? NULL : PyBool_FromLong(progress == DONE);
}

static PyObject *
start_in_c(PyObject *Py_UNUSED(module), PyObject *thread)
{
    return try_for_caller(start_thread, thread);
}

static PyObject *
join_in_c(PyObject *Py_UNUSED(module), PyObject *thread)
{
    return try_for_caller(join_thread, thread);
}

static PyMethodDef thread_functions[] = {
    {"start_in_c", start_in_c, METH_O, "Start an ordinary thread, and whether that was done."},
    {"join_in_c", join_in_c, METH_O, "Join an ordinary thread, and whether that was done."},
};

/* use_threads(...): functions that try to do what ``Thread.start`` and ``join`` do */
PyObject *
use_threads(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *thread;
    int native_ids, handles, contexts, inherits;
    const char *starter_name;
    struct threading *known = &threading;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!OOOOOOOOsKpppp", &thread, &PyDict_Type, &known->names,
                          &PyDict_Type, &known->own_names, &PyDict_Type, &known->active,
                          &known->run, &known->stop, &known->join_handle, &known->allocate_lock,
                          &known->spawn_kind, &known->begin_kind, &known->join_kind,
                          &known->starter, &starter_name, &known->first_ident, &native_ids,
                          &handles, &contexts, &inherits))
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {thread, known->names, known->own_names, known->active, known->run,
                        known->stop, known->join_handle, known->allocate_lock, known->spawn_kind,
                        known->begin_kind, known->join_kind, known->starter};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    known->type = (PyTypeObject *)thread;
    known->has_native_ids = native_ids;
    known->has_handles = handles;
    known->has_contexts = contexts;
    known->inherits_context = inherits;
    struct thread_texts *texts = &thread_texts;
    const Name names[] = {
        {&texts->context, "_context"},
        {&texts->daemonic, "_daemonic"}, {&texts->enabled, "enabled"}, {&texts->flag, "_flag"},
        {&texts->ident, "_ident"},
        {&texts->initialized, "_initialized"}, {&texts->is_stopped, "_is_stopped"},
        {&texts->name, "_name"}, {&texts->native_id, "_native_id"},
        {&texts->profile_hook, "_profile_hook"}, {&texts->sentinel, "_tstate_lock"},
        {&texts->spawn, "spawn"}, {&texts->started, "_started"}, {&texts->starter, starter_name},
        {&texts->target, "_target"}, {&texts->trace_hook, "_trace_hook"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    return functions_of(thread_functions, sizeof thread_functions / sizeof *thread_functions);
}
