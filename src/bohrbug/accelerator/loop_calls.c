/* What ``call_soon`` of an event loop of asyncio does, in one go, where the task calls it that runs, and
 * nothing of it is replaced; and running a handle without what stands before its method.
 *
 * A step of a task calls it once, and asyncio's own functions for it take as long as all the rest.
 */
#include "loops.h"

enum {
    HANDLE_ARGS, HANDLE_CALLBACK, HANDLE_CANCELLED, HANDLE_CONTEXT, HANDLE_LOOP, HANDLE_REPR,
    HANDLE_TRACEBACK,
};
static Slot handle_slots[] = {
    [HANDLE_ARGS] = {"_args", 0}, [HANDLE_CALLBACK] = {"_callback", 0},
    [HANDLE_CANCELLED] = {"_cancelled", 0}, [HANDLE_CONTEXT] = {"_context", 0},
    [HANDLE_LOOP] = {"_loop", 0}, [HANDLE_REPR] = {"_repr", 0},
    [HANDLE_TRACEBACK] = {"_source_traceback", 0}, {0},
};

/* What ``call_soon`` goes by: methods of asyncio's own, and what we have in place of that of Handle. */
static struct {
    PyTypeObject *handle;
    PyObject *init, *events, *contextvars, *copy_context;
    PyObject *check_closed, *call_soon, *get_debug;
} usual;
static PyObject *run_wrapper, *run_of_handle;

static PyObject *text_Handle, *text_append, *text_call_soon, *text_check_closed, *text_closed;
static PyObject *text_context, *text_copy_context, *text_debug, *text_get_debug, *text_init;
static PyObject *text_ready, *text_run, *text_thread_id;

/* Whether an object has a method by its class, this one, and nothing of its own in its place. */
static bool
has_method(PyObject *object, PyObject *own_names, PyObject *name, PyObject *method)
{
    return _PyType_Lookup(Py_TYPE(object), name) == method && !PyDict_Contains(own_names, name);
}

static bool
is_usual(PyObject *loop)
{
    PyObject *own_names = PyObject_GenericGetDict(loop, NULL);
    if (own_names == NULL) {
        PyErr_Clear();
        return false;
    }
    bool result = has_method(loop, own_names, text_check_closed, usual.check_closed) &&
                  has_method(loop, own_names, text_call_soon, usual.call_soon) &&
                  has_method(loop, own_names, text_get_debug, usual.get_debug) &&
                  PyDict_GetItemWithError(usual.events, text_Handle) == (PyObject *)usual.handle &&
                  _PyType_Lookup(usual.handle, text_init) == usual.init &&
                  PyDict_GetItemWithError(usual.contextvars, text_copy_context) ==
                      usual.copy_context;
    Py_DECREF(own_names);
    return result && !PyErr_Occurred();
}

/* Whether the running task runs a loop that is open, and not in debug mode; -1: an exception is set. */
static int
is_running(PyObject *loop, PyObject *execution)
{
    PyObject *thread;
    int result = attribute_if_any(loop, text_thread_id, &thread);
    if (result <= 0)
        return result;
    PyObject *ident = slot_get(running_task(execution), thread_slots[IDENT]);
    result = PyObject_RichCompareBool(thread, ident, Py_EQ);
    Py_DECREF(thread);
    if (result <= 0)
        return result;
    int is_closed = is_attribute_true(loop, text_closed);
    int is_debugged = is_closed != 0 ? 0 : is_attribute_true(loop, text_debug);
    return is_closed < 0 || is_debugged < 0 ? -1 : !is_closed && !is_debugged;
}

/* Handle.__init__; the handle. */
static PyObject *
new_handle(PyObject *loop, PyObject *callback, PyObject *arguments, PyObject *context)
{
    PyObject *handle = usual.handle->tp_alloc(usual.handle, 0);
    context = context == NULL || context == Py_None ? PyContext_CopyCurrent() : Py_NewRef(context);
    if (handle == NULL || context == NULL) {
        Py_XDECREF(handle);
        Py_XDECREF(context);
        return NULL;
    }
    slot_set(handle, handle_slots[HANDLE_CONTEXT], context);
    Py_DECREF(context);
    slot_set(handle, handle_slots[HANDLE_LOOP], loop);
    slot_set(handle, handle_slots[HANDLE_CALLBACK], callback);
    slot_set(handle, handle_slots[HANDLE_ARGS], arguments);
    slot_set(handle, handle_slots[HANDLE_CANCELLED], Py_False);
    slot_set(handle, handle_slots[HANDLE_REPR], Py_None);
    slot_set(handle, handle_slots[HANDLE_TRACEBACK], Py_None);
    return handle;
}

/* Make a handle, and let the loop have it; a new reference. */
static PyObject *
call_now(PyObject *loop, PyObject *tasks, PyObject *given, PyObject *context)
{
    PyObject *callback = PyTuple_GET_ITEM(given, 0);
    PyObject *arguments = PyTuple_GetSlice(given, 1, PyTuple_GET_SIZE(given));
    PyObject *handle = arguments == NULL ? NULL : new_handle(loop, callback, arguments, context);
    Py_XDECREF(arguments);
    PyObject *frame = (PyObject *)PyEval_GetFrame(), *ready = NULL, *appended = NULL;
    if (handle != NULL && frame != NULL && note_handle(tasks, handle, callback, frame) == DONE &&
        (ready = PyObject_GetAttr(loop, text_ready)) != NULL)
        appended = PyObject_CallMethodOneArg(ready, text_append, handle);
    Py_XDECREF(ready);
    if (appended == NULL)
        Py_CLEAR(handle);
    Py_XDECREF(appended);
    return handle;
}

/* call_soon(loop, arguments, named): the handle; None: it is to be done as usual, nothing is yet. */
PyObject *
call_soon_in_loop(PyObject *Py_UNUSED(module), PyObject *const *all, Py_ssize_t count)
{
    PyObject *execution = count == 3 ? controlling_execution() : NULL;
    if (execution == NULL || usual.handle == NULL || usual.call_soon == NULL ||
        !PyTuple_CheckExact(all[1]) || PyTuple_GET_SIZE(all[1]) == 0 || !PyDict_CheckExact(all[2]))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *loop = all[0], *given = all[1], *self = execution;
    PyObject *context = PyDict_GetItemWithError(all[2], text_context);
    PyObject *tasks = EXECUTION(LOOPS);
    if (PyDict_GET_SIZE(all[2]) != (context != NULL) || tasks == Py_None ||
        !is_common_handle(PyTuple_GET_ITEM(given, 0)) || !is_usual(loop))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    int runs = is_running(loop, execution);
    if (runs <= 0)
        return runs < 0 ? NULL : Py_NewRef(Py_None);
    return call_now(loop, tasks, given, context);
}

PyObject *
run_handle(PyObject *handle)
{
    if (text_run == NULL && (text_run = PyUnicode_InternFromString("_run")) == NULL)
        return NULL;
    if (run_wrapper != NULL && _PyType_Lookup(Py_TYPE(handle), text_run) == run_wrapper)
        return PyObject_CallOneArg(run_of_handle, handle);
    return PyObject_CallMethodNoArgs(handle, text_run);
}

/* -- by what a loop waits ---------------------------------------------------------------------- */

static PyObject *text_module, *text_select, *text_selector, *text_selectors, *text_dict;
/* The type of a selector that was looked at last, as it was then, and whether its ``select`` is that of
 * the standard library. */
static struct {
    PyTypeObject *type;
    unsigned int version;
    bool is_asyncios;
} last_selector;

/* Whether the class that says how a type selects is of the standard library; -1: an exception. */
static int
selects_as_asyncios(PyTypeObject *type)
{
    int result = 0;
    bool is_found = false;
    for (Py_ssize_t i = 0; result == 0 && !is_found && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyObject *cls = PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *names = PyObject_GetAttr(cls, text_dict);
        int has_it = names == NULL ? -1 : PySequence_Contains(names, text_select);
        Py_XDECREF(names);
        if (has_it > 0) {
            PyObject *module = PyObject_GetAttr(cls, text_module);
            result = module == NULL ? -1 : PyObject_RichCompareBool(module, text_selectors, Py_EQ);
            Py_XDECREF(module);
            is_found = true;
        } else if (has_it < 0)
            result = -1;
    }
    return result;
}

/* as_asyncio.is_selected_as_asyncios */
PyObject *
is_selected_as_asyncios(PyObject *Py_UNUSED(module), PyObject *loop)
{
    if (text_selectors == NULL) {
        const Name names[] = {
            {&text_module, "__module__"}, {&text_select, "select"}, {&text_selector, "_selector"},
            {&text_dict, "__dict__"},     {&text_selectors, "selectors"},
        };
        if (make_names(names, sizeof names / sizeof *names) < 0)
            return NULL;
    }
    PyObject *selector = PyObject_GetAttr(loop, text_selector);
    if (selector == NULL)
        return NULL;
    PyTypeObject *type = Py_TYPE(selector);
    PyObject *own_names;
    int result = attribute_if_any(selector, text_dict, &own_names);
    if (result > 0)
        result = PySequence_Contains(own_names, text_select);
    Py_XDECREF(own_names);
    Py_DECREF(selector); /* the loop keeps it */
    if (result != 0)
        return result < 0 ? NULL : Py_NewRef(Py_False);
    /* By this the type gets a number, which it loses when it, or a base, is changed. */
    _PyType_Lookup(type, text_select);
    if (type != last_selector.type || type->tp_version_tag == 0 ||
        type->tp_version_tag != last_selector.version) {
        result = selects_as_asyncios(type);
        if (result < 0)
            return NULL;
        last_selector.type = type;
        last_selector.version = type->tp_version_tag;
        last_selector.is_asyncios = result;
    }
    return Py_NewRef(last_selector.is_asyncios ? Py_True : Py_False);
}

/* use_handle(Handle, its __init__, asyncio.events, contextvars): handles are made in C for as long as
 * these are what they are. */
PyObject *
use_handle(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *handle, *init, *events, *contextvars;
    if (!PyArg_ParseTuple(arguments, "OOOO", &handle, &init, &events, &contextvars) ||
        find_slots(handle, handle_slots) < 0)
        return NULL;
    const Name names[] = {
        {&text_Handle, "Handle"},
        {&text_append, "append"},
        {&text_closed, "_closed"},
        {&text_context, "context"},
        {&text_copy_context, "copy_context"},
        {&text_debug, "_debug"},
        {&text_init, "__init__"},
        {&text_ready, "_ready"},
        {&text_thread_id, "_thread_id"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    usual.init = Py_NewRef(init);
    usual.events = Py_NewRef(PyModule_GetDict(events));
    usual.contextvars = Py_NewRef(PyModule_GetDict(contextvars));
    usual.copy_context = PyObject_GetAttr(contextvars, text_copy_context);
    if (usual.copy_context == NULL)
        return NULL;
    usual.handle = (PyTypeObject *)Py_NewRef(handle);
    Py_RETURN_NONE;
}

/* use_loop(methods): those of BaseEventLoop by which call_soon does its work. */
PyObject *
use_loop(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *check_closed, *call_soon, *get_debug;
    if (!PyArg_ParseTuple(arguments, "OOO", &check_closed, &call_soon, &get_debug))
        return NULL;
    const Name names[] = {
        {&text_call_soon, "_call_soon"},
        {&text_check_closed, "_check_closed"},
        {&text_get_debug, "get_debug"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    usual.check_closed = Py_NewRef(check_closed);
    usual.get_debug = Py_NewRef(get_debug);
    usual.call_soon = Py_NewRef(call_soon);
    Py_RETURN_NONE;
}

/* use_run(wrapper, function): what stands for Handle._run, and the function that it calls. */
PyObject *
use_run(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *wrapper, *function;
    if (!PyArg_ParseTuple(arguments, "OO", &wrapper, &function))
        return NULL;
    run_of_handle = Py_NewRef(function);
    run_wrapper = Py_NewRef(wrapper);
    Py_RETURN_NONE;
}
