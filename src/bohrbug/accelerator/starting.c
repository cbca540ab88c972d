/* Starting a thread.
 *
 * Common is: an ordinary Thread whose target is written in Python, started by the program itself.
 */
#include "threads.h"

/* -- what is ordinary ------------------------------------------------------------------ */

/* Whether nothing is replaced or hooked that the hand-shake of a real start would call. */
static bool
is_unhooked(void)
{
    PyObject *trace = PyDict_GetItemWithError(threading.names, thread_texts.trace_hook);
    PyObject *profile = PyDict_GetItemWithError(threading.names, thread_texts.profile_hook);
    return trace == Py_None && profile == Py_None &&
           PyDict_GetItemWithError(threading.names, thread_texts.starter) == threading.starter;
}

/* What an ordinary thread runs, for people; NULL, without an exception: it is not ordinary. */
static PyObject *
label_of(PyObject *thread)
{
    PyObject *target = own(thread, thread_texts.target);
    if (target == NULL)
        return NULL;
    PyObject *function = PyMethod_Check(target) ? PyMethod_GET_FUNCTION(target) : target;
    if (!PyFunction_Check(function))
        return NULL;
    PyObject *label = ((PyFunctionObject *)function)->func_qualname;
    return PyUnicode_GET_LENGTH(label) == 0 ? NULL : Py_NewRef(label);
}

/* Whether threading or our own code calls, and not the program. */
static bool
is_from_within(PyFrameObject *frame)
{
    PyObject *names = PyFrame_GetGlobals(frame);
    Py_DECREF(names);
    return names == threading.names || names == threading.own_names;
}

/* -- the task of it ---------------------------------------------------------------- */

/* What tells a thread that it has ended. */
static int
prepare_end(PyObject *task, PyObject *thread)
{
    if (threading.has_handles) {
        PyObject *arguments[] = {thread, task};
        PyObject *result = PyObject_Vectorcall(threading.join_handle, arguments, 2, NULL);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    PyObject *sentinel = PyObject_CallNoArgs(threading.allocate_lock);
    bool is_taken = sentinel != NULL && take_real(sentinel) >= 0;
    PyObject *stop = is_taken ? PyMethod_New(threading.stop, thread) : NULL;
    int result = stop == NULL || set_own(thread, thread_texts.sentinel, sentinel) < 0
                     ? -1
                     : PyList_Append(OF_TASK(ON_END), stop);
    Py_XDECREF(sentinel);
    Py_XDECREF(stop);
    return result;
}

/* The context that a thread runs in, unless one was given. */
static int
prepare_context(PyObject *thread)
{
    PyObject *given = own(thread, thread_texts.context);
    if (given != Py_None)
        return given == NULL && PyErr_Occurred() ? -1 : 0;
    PyObject *context = threading.inherits_context ? PyContext_CopyCurrent() : PyContext_New();
    int result = context == NULL ? -1 : set_own(thread, thread_texts.context, context);
    Py_XDECREF(context);
    return result;
}

/* The thread is alive from now on. */
static int
mark_started(PyObject *thread, PyObject *ident)
{
    PyObject *started = PyObject_GetAttr(thread, thread_texts.started);
    int result = started == NULL || set_own(started, thread_texts.flag, Py_True) < 0 ||
                         set_own(thread, thread_texts.ident, ident) < 0 ||
                         (threading.has_native_ids &&
                          set_own(thread, thread_texts.native_id, ident) < 0)
                     ? -1
                     : PyDict_SetItem(threading.active, ident, thread);
    Py_XDECREF(started);
    return result;
}

/* Let the detector and the sink know of a new task. */
static int
tell_of(PyObject *self, PyObject *parent, PyObject *task, PyObject *state)
{
    PyObject *detector = EXECUTION(DETECTOR);
    if (detector != Py_None) {
        PyObject *arguments[] = {detector, TASK(parent, INDEX), TASK(task, INDEX)};
        PyObject *result = PyObject_VectorcallMethod(thread_texts.spawn, arguments, 3, NULL);
        Py_XDECREF(result);
        if (result == NULL ||
            synchronise(detector, slot_int(parent, task_slots[INDEX]), state, true) < 0)
            return -1;
    }
    PyObject *sink = EXECUTION(SINK);
    return sink == Py_None ? 0 : PyObject_SetAttr(sink, thread_texts.enabled, Py_True);
}

/* spawn() and start_directly(): the task of a thread, which is about to begin. */
static int
start_task(PyObject *self, PyObject *parent, PyObject *thread, PyObject *id, PyObject *state,
           PyObject *place, PyObject *label)
{
    PyObject *tasks = EXECUTION(ALL_TASKS);
    Py_ssize_t number = PyList_GET_SIZE(tasks);
    PyObject *index = PyLong_FromSsize_t(number);
    PyObject *ident =
        PyLong_FromUnsignedLongLong(threading.first_ident + (unsigned long long)number);
    PyObject *children = PyLong_FromSsize_t(slot_int(parent, thread_slots[CHILDREN]) + 1);
    PyObject *task = task_type->tp_alloc(task_type, 0);
    PyObject *name = PyObject_GetAttr(thread, thread_texts.name);
    PyObject *daemon = PyObject_GetAttr(thread, thread_texts.daemonic);
    PyObject *function = PyMethod_New(threading.run, thread);
    PyObject *resource = slot_get(state, state_slots[STATE_ID]);
    PyObject *operation = new_operation(threading.begin_kind, resource, place);
    int result = -1;
    if (index != NULL && ident != NULL && children != NULL && task != NULL && name != NULL &&
        daemon != NULL && function != NULL && operation != NULL &&
        fill_task(task, id, index, ident) == 0 && give_carrier(self, task) == 0) {
        slot_set(parent, thread_slots[CHILDREN], children);
        SET_OF_TASK(NAME, name);
        SET_OF_TASK(TARGET, label);
        SET_OF_TASK(DAEMON, daemon);
        SET_OF_TASK(SPAWNED, place);
        SET_OF_TASK(STATE, state);
        SET_TASK(task, PENDING, operation);
        SET_OF_TASK(FUNCTION, function);
        SET_OF_TASK(THREAD, thread);
        SET_OF_TASK(STARTED_DIRECTLY, Py_True);
        if (PyList_Append(tasks, task) == 0 && PyList_Append(EXECUTION(ALIVE), task) == 0 &&
            tell_of(self, parent, task, state) == 0 && prepare_end(task, thread) == 0 &&
            (!threading.has_contexts || prepare_context(thread) == 0))
            result = mark_started(thread, ident);
    }
    Py_XDECREF(index);
    Py_XDECREF(ident);
    Py_XDECREF(children);
    Py_XDECREF(task);
    Py_XDECREF(name);
    Py_XDECREF(daemon);
    Py_XDECREF(function);
    Py_XDECREF(operation);
    return result;
}

/* The id and the resource of the next task that ``parent`` spawns; new references. */
static int
name_next(PyObject *self, PyObject *parent, PyObject **id, PyObject **state)
{
    Py_ssize_t children = slot_int(parent, thread_slots[CHILDREN]);
    *id = shared_part(TASK(parent, ID), '.', children + 1);
    *state = *id == NULL ? NULL : thread_resource(EXECUTION(RESOURCES), *id);
    return *state == NULL ? -1 : 0;
}

/* Whether another task has started the thread meanwhile; with the exception that this is. */
static bool
is_started_by_now(PyObject *thread)
{
    PyObject *started = own(thread, thread_texts.started);
    if (started != NULL && own(started, thread_texts.flag) == Py_False)
        return false;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "threads can only be started once");
    return true;
}

Progress
start_thread(PyObject *thread, PyFrameObject *caller)
{
    PyObject *self = controlling_execution();
    if (self == NULL || !Py_IS_TYPE(thread, threading.type) || EXECUTION(ABORTING) != Py_False)
        return RARE;
    PyObject *parent = EXECUTION(CURRENT);
    if (is_inside(parent) || EXECUTION(ATOMIC) != zero || !is_unhooked() ||
        /* Exceptions may be sent to the new thread, see look_for_exceptions(). */
        TASK(EXECUTION(ROOT), LOOKS_AT) != Py_None ||
        is_from_within(caller) || own(thread, thread_texts.initialized) != Py_True) {
        PyErr_Clear();
        return RARE;
    }
    PyObject *started = own(thread, thread_texts.started);
    bool is_fresh = started != NULL && own(started, thread_texts.flag) == Py_False;
    PyObject *label = is_fresh ? label_of(thread) : NULL;
    if (label == NULL) {
        PyErr_Clear();
        return RARE;
    }
    PyObject *id = NULL, *state = NULL, *place = NULL;
    Progress progress = FAILED;
    Py_INCREF(self);
    if (name_next(self, parent, &id, &state) == 0 && (place = place_in(caller)) != NULL)
        /* Until it has been performed nothing is done that the reference would do otherwise. */
        progress = perform(self, threading.spawn_kind, state, place, NULL);
    if (progress == DONE && (is_started_by_now(thread) ||
                             start_task(self, parent, thread, id, state, place, label) < 0))
        progress = FAILED;
    Py_DECREF(self);
    Py_DECREF(label);
    Py_XDECREF(id);
    Py_XDECREF(state);
    Py_XDECREF(place);
    return progress;
}
