/* Threads: the common case of making a task, starting and joining a threading.Thread, and its end.
 *
 * Common is: an ordinary Thread whose target is written in Python, started by the program
 * itself, and joined without a timeout.
 */
#include "scheduling.h"

/* -- tasks ------------------------------------------------------------------------- */

/* The slots that a new task has the same in, in the order of ``fresh_values``. */
static Slot fresh_slots[] = {
    {"greenlet", 0}, {"carrier", 0}, {"function", 0}, {"spawned", 0}, {"thread", 0},
    {"pending", 0}, {"ready", 0}, {"deadline", 0}, {"waits_for", 0}, {"prelude_of", 0},
    {"state", 0}, {"running_loop", 0},
    /* from here on false */
    {"daemon", 0}, {"ended", 0}, {"started_directly", 0}, {"timed_out", 0}, {"external", 0},
    /* from here on true */
    {"waiting", 0}, {"breakable", 0},
    /* from here on 0 */
    {"blocked_since", 0}, {"inside", 0}, {"children", 0}, {"resources", 0},
    /* from here on empty text */
    {"name", 0}, {"target", 0},
    /* from here on an empty dict each */
    {"holding", 0}, {"looks", 0}, {"local_values", 0},
    {0},
};
enum { FIRST_FALSE = 12, FIRST_TRUE = 17, FIRST_ZERO = 19, FIRST_TEXT = 23, FIRST_DICT = 25 };

enum {
    BEGUN, CARRIER, CHILDREN, DAEMON, ENTERED, FIRING, FUNCTION, IDENT, LAST_YIELD, LOCAL_VALUES,
    NAME, ON_END, RESOURCES_MADE, SPAWNED, STARTED_DIRECTLY, STATE, TARGET, THREAD,
};
static Slot thread_slots[] = {
    [BEGUN] = {"begun", 0}, [CARRIER] = {"carrier", 0}, [CHILDREN] = {"children", 0},
    [DAEMON] = {"daemon", 0}, [ENTERED] = {"entered", 0}, [FIRING] = {"firing", 0},
    [FUNCTION] = {"function", 0}, [IDENT] = {"ident", 0}, [LAST_YIELD] = {"last_yield", 0},
    [LOCAL_VALUES] = {"local_values", 0}, [NAME] = {"name", 0}, [ON_END] = {"on_end", 0},
    [RESOURCES_MADE] = {"resources", 0}, [SPAWNED] = {"spawned", 0},
    [STARTED_DIRECTLY] = {"started_directly", 0}, [STATE] = {"state", 0},
    [TARGET] = {"target", 0}, [THREAD] = {"thread", 0}, {0},
};
#define OF_TASK(name) slot_get(task, thread_slots[name])
#define SET_OF_TASK(name, value) slot_set(task, thread_slots[name], value)

static PyObject *early, *minus_one, *no_text;

/* Task.__init__ */
static int
fill_task(PyObject *task, PyObject *id, PyObject *index, PyObject *ident)
{
    for (int i = 0; fresh_slots[i].name != NULL; i++) {
        if (i >= FIRST_DICT) {
            PyObject *empty = PyDict_New();
            if (empty == NULL)
                return -1;
            slot_set(task, fresh_slots[i], empty);
            Py_DECREF(empty);
        } else
            slot_set(task, fresh_slots[i],
                     i < FIRST_FALSE  ? Py_None
                     : i < FIRST_TRUE ? Py_False
                     : i < FIRST_ZERO ? Py_True
                     : i < FIRST_TEXT ? zero
                                      : no_text);
    }
    PyObject *hooks = PyList_New(0);
    if (hooks == NULL)
        return -1;
    SET_OF_TASK(ON_END, hooks);
    Py_DECREF(hooks);
    bool is_root = PyLong_Check(index) && PyLong_AsSsize_t(index) == 0;
    SET_TASK(task, ID, id);
    SET_TASK(task, INDEX, index);
    SET_OF_TASK(IDENT, ident);
    SET_OF_TASK(FIRING, early);
    SET_OF_TASK(LAST_YIELD, minus_one);
    SET_OF_TASK(BEGUN, is_root ? Py_True : Py_False);
    SET_OF_TASK(ENTERED, is_root ? Py_True : Py_False);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
init_task(PyObject *task, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "Task() takes id, index and ident");
        return NULL;
    }
    if (fill_task(task, arguments[0], arguments[1], arguments[2]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static Twin task_twins[] = {
    {{"__init__", (PyCFunction)(void (*)(void))init_task, METH_FASTCALL, "Make a task."}, NULL},
    {{0}, NULL},
};

/* -- resources --------------------------------------------------------------------- */

enum { CLOCK, CREATED, GIVEN_LABEL, SERIAL, STATE_NAME, TYPE };
static Slot resource_slots[] = {
    [CLOCK] = {"clock", 0}, [CREATED] = {"created", 0}, [GIVEN_LABEL] = {"given_label", 0},
    [SERIAL] = {"serial", 0}, [STATE_NAME] = {"id", 0},
    [TYPE] = {"type", 0}, {0},
};
enum { NAMED, STATES };
static Slot table_parts[] = {[NAMED] = {"_named", 0}, [STATES] = {"_states", 0}, {0}};

static PyTypeObject *state_type;
static PyObject *text_thread_type;

/* ResourceState(...) in a table; a new reference, or NULL, also if the id is NULL. */
static PyObject *
add_state(PyObject *table, PyObject *id, PyObject *type, PyObject *created, PyObject *label,
          PyObject *serial)
{
    PyObject *state = id == NULL ? NULL : state_type->tp_alloc(state_type, 0);
    if (state == NULL)
        return NULL;
    slot_set(state, resource_slots[STATE_NAME], id);
    slot_set(state, resource_slots[TYPE], type);
    slot_set(state, resource_slots[CREATED], created);
    slot_set(state, resource_slots[GIVEN_LABEL], label);
    slot_set(state, resource_slots[SERIAL], serial);
    slot_set(state, resource_slots[CLOCK], Py_None);
    if (PyList_Append(slot_get(table, table_parts[STATES]), state) < 0)
        Py_CLEAR(state);
    return state;
}

/* ResourceTable.thread; a new reference. */
static PyObject *
thread_resource(PyObject *table, PyObject *task_id)
{
    PyObject *named = slot_get(table, table_parts[NAMED]);
    PyObject *known = PyDict_GetItemWithError(named, task_id);
    if (known != NULL || PyErr_Occurred())
        return Py_XNewRef(known);
    PyObject *label = shared_thread_label(task_id);
    PyObject *state =
        label == NULL ? NULL : add_state(table, task_id, text_thread_type, Py_None, label, zero);
    Py_XDECREF(label);
    if (state != NULL && PyDict_SetItem(named, task_id, state) < 0)
        Py_CLEAR(state);
    return state;
}

PyObject *
new_resource(PyObject *self, PyObject *type, PyObject *created)
{
    PyObject *task = EXECUTION(CURRENT), *table = EXECUTION(RESOURCES);
    Py_ssize_t before = slot_int(task, thread_slots[RESOURCES_MADE]);
    PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(before + 1);
    if (number == NULL)
        return NULL;
    PyObject *id = shared_part(TASK(task, ID), ':', before);
    PyObject *serial = slot_get(table, table_slots[TABLE_SERIAL]);
    PyObject *state = add_state(table, id, type, created, no_text, serial);
    if (state != NULL)
        SET_OF_TASK(RESOURCES_MADE, number);
    Py_XDECREF(id);
    Py_DECREF(number);
    return state;
}

/* -- what is known of threading ------------------------------------------------------ */

static PyObject *threading_names, *own_names, *active_threads, *run_thread, *stop_thread;
static PyObject *spawn_kind, *begin_kind, *join_kind, *end_kind, *allocate_lock, *starter;
static PyObject *join_handle;
static PyTypeObject *thread_type;
static unsigned long long first_ident;
static bool has_native_ids, has_handles;

static PyObject *text_initialized, *text_started, *text_flag, *text_target, *text_name;
static PyObject *text_daemonic, *text_ident, *text_native_id, *text_sentinel;
static PyObject *text_enabled, *text_spawn, *text_is_stopped;
static PyObject *text_trace_hook, *text_profile_hook, *text_starter;

/* What an ordinary thread, or what is in it, has of its own by a name: borrowed; NULL, also with an
 * exception: nothing. Its class has no descriptors of these names. */
static PyObject *
own(PyObject *object, PyObject *name)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    Py_XDECREF(dict); /* the object keeps it */
    return dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
}

static int
set_own(PyObject *object, PyObject *name, PyObject *value)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    int result = dict == NULL ? -1 : PyDict_SetItem(dict, name, value);
    Py_XDECREF(dict);
    return result;
}

/* Whether nothing is replaced or hooked that the hand-shake of a real start would call. */
static bool
is_unhooked(void)
{
    PyObject *trace = PyDict_GetItemWithError(threading_names, text_trace_hook);
    PyObject *profile = PyDict_GetItemWithError(threading_names, text_profile_hook);
    return trace == Py_None && profile == Py_None &&
           PyDict_GetItemWithError(threading_names, text_starter) == starter;
}

/* What an ordinary thread runs, for people; NULL, without an exception: it is not ordinary. */
static PyObject *
label_of(PyObject *thread)
{
    PyObject *target = own(thread, text_target);
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
    return names == threading_names || names == own_names;
}

/* -- starting -------------------------------------------------------------------------- */

/* What tells a thread that it has ended. */
static int
prepare_end(PyObject *task, PyObject *thread)
{
    if (has_handles) {
        PyObject *arguments[] = {thread, task};
        PyObject *result = PyObject_Vectorcall(join_handle, arguments, 2, NULL);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    PyObject *sentinel = PyObject_CallNoArgs(allocate_lock);
    bool is_taken = sentinel != NULL && take_real(sentinel) >= 0;
    PyObject *stop = is_taken ? PyMethod_New(stop_thread, thread) : NULL;
    int result = stop == NULL || set_own(thread, text_sentinel, sentinel) < 0
                     ? -1
                     : PyList_Append(OF_TASK(ON_END), stop);
    Py_XDECREF(sentinel);
    Py_XDECREF(stop);
    return result;
}

/* The thread is alive from now on. */
static int
mark_started(PyObject *thread, PyObject *ident)
{
    PyObject *started = PyObject_GetAttr(thread, text_started);
    int result = started == NULL || set_own(started, text_flag, Py_True) < 0 ||
                         set_own(thread, text_ident, ident) < 0 ||
                         (has_native_ids && set_own(thread, text_native_id, ident) < 0)
                     ? -1
                     : PyDict_SetItem(active_threads, ident, thread);
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
        PyObject *result = PyObject_VectorcallMethod(text_spawn, arguments, 3, NULL);
        Py_XDECREF(result);
        if (result == NULL ||
            synchronise(detector, slot_int(parent, task_slots[INDEX]), state, true) < 0)
            return -1;
    }
    PyObject *sink = EXECUTION(SINK);
    return sink == Py_None ? 0 : PyObject_SetAttr(sink, text_enabled, Py_True);
}

/* spawn() and start_directly(): the task of a thread, which is about to begin. */
static int
start_task(PyObject *self, PyObject *parent, PyObject *thread, PyObject *id, PyObject *state,
           PyObject *place, PyObject *label)
{
    PyObject *tasks = EXECUTION(ALL_TASKS);
    Py_ssize_t number = PyList_GET_SIZE(tasks);
    PyObject *index = PyLong_FromSsize_t(number);
    PyObject *ident = PyLong_FromUnsignedLongLong(first_ident + (unsigned long long)number);
    PyObject *children = PyLong_FromSsize_t(slot_int(parent, thread_slots[CHILDREN]) + 1);
    PyObject *task = task_type->tp_alloc(task_type, 0);
    PyObject *name = PyObject_GetAttr(thread, text_name);
    PyObject *daemon = PyObject_GetAttr(thread, text_daemonic);
    PyObject *function = PyMethod_New(run_thread, thread);
    PyObject *operation = new_operation(begin_kind, slot_get(state, state_slots[STATE_ID]), place);
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
            tell_of(self, parent, task, state) == 0 && prepare_end(task, thread) == 0)
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

/* Start a thread, as the function does that ``caller`` has called. */
static Progress
start(PyObject *thread, PyFrameObject *caller)
{
    PyObject *self = controlling_execution();
    if (self == NULL || !Py_IS_TYPE(thread, thread_type) || EXECUTION(ABORTING) != Py_False)
        return RARE;
    PyObject *parent = EXECUTION(CURRENT);
    if (is_inside(parent) || EXECUTION(ATOMIC) != zero || !is_unhooked() ||
        is_from_within(caller) || own(thread, text_initialized) != Py_True) {
        PyErr_Clear();
        return RARE;
    }
    PyObject *started = own(thread, text_started);
    bool is_fresh = started != NULL && own(started, text_flag) == Py_False;
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
        progress = perform(self, spawn_kind, state, place, NULL);
    if (progress == DONE && start_task(self, parent, thread, id, state, place, label) < 0)
        progress = FAILED;
    Py_DECREF(self);
    Py_DECREF(label);
    Py_XDECREF(id);
    Py_XDECREF(state);
    Py_XDECREF(place);
    return progress;
}

/* -- joining ----------------------------------------------------------------------------- */

/* The task of a thread, if it was started directly in this execution; borrowed, or NULL. */
static PyObject *
task_of(PyObject *self, PyObject *thread)
{
    PyObject *ident = own(thread, text_ident);
    if (ident == NULL || !PyLong_Check(ident)) {
        PyErr_Clear();
        return NULL;
    }
    unsigned long long number = PyLong_AsUnsignedLongLong(ident) - first_ident;
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

static Progress
join(PyObject *thread, PyFrameObject *caller)
{
    PyObject *self = controlling_execution();
    PyObject *joined = self == NULL ? NULL : task_of(self, thread);
    if (joined == NULL || joined == EXECUTION(CURRENT))
        return RARE;
    PyObject *place = place_in(caller);
    PyObject *ready = place == NULL ? NULL : new_readiness(task_has_ended, joined, true);
    Progress progress = FAILED;
    Py_INCREF(joined);
    if (ready != NULL)
        progress = perform(self, join_kind, slot_get(joined, thread_slots[STATE]), place, ready);
    if (progress == DONE && TASK(joined, ENDED) != Py_True)
        progress = RARE;
    Py_DECREF(joined);
    Py_XDECREF(ready);
    Py_XDECREF(place);
    return progress;
}

/* -- the end ----------------------------------------------------------------------------- */

static PyObject *end_reference;

/* stop_thread */
static int
stop(PyObject *thread)
{
    PyObject *sentinel = own(thread, text_sentinel);
    if (sentinel == NULL || sentinel == Py_None)
        return PyErr_Occurred() ? -1 : 0;
    return release_real(sentinel) < 0 || set_own(thread, text_is_stopped, Py_True) < 0
               ? -1
               : set_own(thread, text_sentinel, Py_None);
}

static int
call_hook(PyObject *hook)
{
    if (PyMethod_Check(hook) && PyMethod_GET_FUNCTION(hook) == stop_thread &&
        Py_IS_TYPE(PyMethod_GET_SELF(hook), thread_type))
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
    return try_for_caller(start, thread);
}

static PyObject *
join_in_c(PyObject *Py_UNUSED(module), PyObject *thread)
{
    return try_for_caller(join, thread);
}

static PyMethodDef thread_functions[] = {
    {"start_in_c", start_in_c, METH_O, "Start an ordinary thread, and whether that was done."},
    {"join_in_c", join_in_c, METH_O, "Join an ordinary thread, and whether that was done."},
};
static PyMethodDef end_definition = {
    "end", (PyCFunction)(void (*)(void))end_task, METH_FASTCALL, "The last operation of a task.",
};

/* use_tasks(Task, ResourceState, ResourceTable, firing, end kind, end): ``end`` in C */
PyObject *
use_tasks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *task, *state, *table, *firing, *end_operation, *reference;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &task, &state, &table, &firing, &end_operation,
                          &reference) ||
        find_slots(task, fresh_slots) < 0 || find_slots(task, thread_slots) < 0 ||
        find_slots(state, resource_slots) < 0 || find_slots(table, table_parts) < 0)
        return NULL;
    state_type = (PyTypeObject *)Py_NewRef(state);
    early = Py_NewRef(firing);
    zero = zero == NULL ? PyLong_FromLong(0) : zero;
    end_kind = Py_NewRef(end_operation);
    end_reference = Py_NewRef(reference);
    minus_one = PyLong_FromLong(-1);
    no_text = PyUnicode_InternFromString("");
    text_thread_type = PyUnicode_InternFromString("Thread");
    if (PyErr_Occurred() || take_over(task, task_twins) < 0)
        return NULL;
    return PyCFunction_New(&end_definition, NULL);
}

/* use_threads(...): functions that try to do what ``Thread.start`` and ``join`` do */
PyObject *
use_threads(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *thread;
    int native_ids, handles;
    const char *starter_name;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!OOOOOOOOsKpp", &thread, &PyDict_Type,
                          &threading_names, &PyDict_Type, &own_names, &PyDict_Type,
                          &active_threads, &run_thread, &stop_thread, &join_handle, &allocate_lock,
                          &spawn_kind, &begin_kind, &join_kind, &starter, &starter_name,
                          &first_ident, &native_ids, &handles))
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {thread, threading_names, own_names, active_threads, run_thread,
                        stop_thread, join_handle, allocate_lock, spawn_kind, begin_kind,
                        join_kind, starter};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    thread_type = (PyTypeObject *)thread;
    has_native_ids = native_ids;
    has_handles = handles;
    const Name names[] = {
        {&text_initialized, "_initialized"}, {&text_started, "_started"}, {&text_flag, "_flag"},
        {&text_target, "_target"}, {&text_name, "_name"}, {&text_daemonic, "_daemonic"},
        {&text_ident, "_ident"}, {&text_native_id, "_native_id"},
        {&text_sentinel, "_tstate_lock"}, {&text_is_stopped, "_is_stopped"},
        {&text_enabled, "enabled"}, {&text_spawn, "spawn"},
        {&text_trace_hook, "_trace_hook"},
        {&text_profile_hook, "_profile_hook"}, {&text_starter, starter_name},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    return functions_of(thread_functions, sizeof thread_functions / sizeof *thread_functions);
}
