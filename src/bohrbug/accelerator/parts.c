/* What threading makes with every thread: what is in it, and an event. */
#include "scheduling.h"

/* -- events that are parts ----------------------------------------------------------- */

static PyTypeObject *event_type, *condition_type, *lock_type;
static PyObject *threading_names, *allocate_lock, *bound_names, *new_waiters;
static PyObject *text_condition, *text_lock, *text_cond, *text_flag, *text_own_lock, *text_waiters;

enum { CREATED, INTERNAL, OWNER, REAL, STATE };
static Slot lock_slots[] = {
    [CREATED] = {"_created", 0}, [INTERNAL] = {"_internal", 0}, [OWNER] = {"_owner", 0},
    [REAL] = {"_real", 0}, [STATE] = {"_state", 0}, {0},
};

/* Whether the classes are those whose making is known. */
static bool
are_usual(PyObject *event)
{
    return Py_IS_TYPE(event, event_type) &&
           PyDict_GetItem(threading_names, text_condition) == (PyObject *)condition_type &&
           PyDict_GetItem(threading_names, text_lock) == (PyObject *)lock_type;
}

static PyObject *
new_internal_lock(void)
{
    PyObject *real = PyObject_CallNoArgs(allocate_lock);
    PyObject *lock = real == NULL ? NULL : lock_type->tp_alloc(lock_type, 0);
    if (lock != NULL) {
        slot_set(lock, lock_slots[REAL], real);
        slot_set(lock, lock_slots[OWNER], Py_None);
        slot_set(lock, lock_slots[STATE], Py_None);
        slot_set(lock, lock_slots[CREATED], Py_None);
        slot_set(lock, lock_slots[INTERNAL], Py_True);
    }
    Py_XDECREF(real);
    return lock;
}

/* Condition.__init__ */
static int
fill_condition(PyObject *condition, PyObject *lock)
{
    if (PyObject_SetAttr(condition, text_own_lock, lock) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bound_names); i++) {
        PyObject *name = PyTuple_GET_ITEM(bound_names, i), *bound = PyObject_GetAttr(lock, name);
        int result = bound == NULL ? -1 : PyObject_SetAttr(condition, name, bound);
        Py_XDECREF(bound);
        if (result < 0)
            return -1;
    }
    PyObject *waiters = PyObject_CallNoArgs(new_waiters);
    int result = waiters == NULL ? -1 : PyObject_SetAttr(condition, text_waiters, waiters);
    Py_XDECREF(waiters);
    return result;
}

/* Event.__init__ */
static int
fill_event(PyObject *event)
{
    PyObject *lock = new_internal_lock();
    PyObject *condition = lock == NULL ? NULL : PyType_GenericNew(condition_type, nothing, NULL);
    int result = condition == NULL || fill_condition(condition, lock) < 0 ||
                         PyObject_SetAttr(event, text_cond, condition) < 0
                     ? -1
                     : PyObject_SetAttr(event, text_flag, Py_False);
    Py_XDECREF(lock);
    Py_XDECREF(condition);
    return result;
}

/* Make an event, if threading does so; whether that was done. */
static PyObject *
event_in_c(PyObject *Py_UNUSED(module), PyObject *event)
{
    PyFrameObject *caller = caller_of_method();
    if (caller == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *names = PyFrame_GetGlobals(caller);
    bool is_part = names == threading_names && are_usual(event);
    Py_DECREF(names);
    Py_DECREF(caller);
    if (is_part && fill_event(event) < 0)
        return NULL;
    return PyBool_FromLong(is_part);
}

static PyMethodDef event_functions[] = {
    {"event_in_c", event_in_c, METH_O, "Make an event of threading's own, and whether that was done."},
};

/* use_parts(Event, Condition, lock, namespace, names, deque, allocate): see event_in_c */
PyObject *
use_parts(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *event, *condition, *lock;
    if (!PyArg_ParseTuple(arguments, "OOOO!O!OO", &event, &condition, &lock, &PyDict_Type,
                          &threading_names, &PyTuple_Type, &bound_names, &new_waiters,
                          &allocate_lock) ||
        find_slots(lock, lock_slots) < 0)
        return NULL;
    const Name names[] = {
        {&text_condition, "Condition"}, {&text_lock, "Lock"}, {&text_cond, "_cond"},
        {&text_flag, "_flag"}, {&text_own_lock, "_lock"}, {&text_waiters, "_waiters"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {event, condition, lock, threading_names, bound_names, new_waiters,
                        allocate_lock};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    event_type = (PyTypeObject *)event;
    condition_type = (PyTypeObject *)condition;
    lock_type = (PyTypeObject *)lock;
    return functions_of(event_functions, sizeof event_functions / sizeof *event_functions);
}

/* -- threads --------------------------------------------------------------------------- */

/* What is in a thread. */
typedef enum {
    TARGET, NAME, ARGS, KWARGS, DAEMONIC, CONTEXT, STARTED, HANDLE, ERRORS, EXCEPTHOOK, INITIALIZED, STOPPED,
    NOTHING_YET,
} Part;
static const struct {
    const char *name;
    Part part;
} known_parts[] = {
    {"_target", TARGET}, {"_name", NAME}, {"_args", ARGS}, {"_kwargs", KWARGS},
    {"_daemonic", DAEMONIC}, {"_context", CONTEXT}, {"_ident", NOTHING_YET}, {"_native_id", NOTHING_YET},
    {"_tstate_lock", NOTHING_YET}, {"_handle", HANDLE}, {"_os_thread_handle", HANDLE}, {"_started", STARTED},
    {"_is_stopped", STOPPED}, {"_initialized", INITIALIZED}, {"_stderr", ERRORS},
    {"_invoke_excepthook", EXCEPTHOOK},
};
enum { MOST_PARTS = sizeof known_parts / sizeof *known_parts };

static PyTypeObject *thread_type;
/* The names of what is in a thread, in order, and what that is. */
static PyObject *part_names;
static Part parts[MOST_PARTS];
/* What threading's own names refer to, as long as nobody replaces it. */
static PyObject *usual_names;
static PyObject *active_threads, *usual_daemon, *invoke_excepthook, *sys_names;
static PyObject *text_counter, *text_handle_type, *text_dangling;
static PyObject *text_add, *text_data, *text_pending, *text_remove;
static bool puts_off_removals;
static PyObject *text_daemon, *text_daemonic, *text_errors, *text_excepthook;
static Slot ident_slots[] = {{"ident", 0}, {0}};

/* Whether making a thread would call and use nothing else than usual. */
static bool
is_usual_making(void)
{
    PyObject *name, *usual;
    Py_ssize_t position = 0;
    while (PyDict_Next(usual_names, &position, &name, &usual))
        if (PyDict_GetItemWithError(threading_names, name) != usual)
            return false;
    return PyDict_GetItemWithError(threading_names, text_excepthook) != Py_None &&
           PyDict_GetItemWithError(sys_names, text_excepthook) != Py_None;
}

/* The name of the function that a thread runs, a new reference; NULL: it may take code of the
 * program to find out. */
static PyObject *
name_of_target(PyObject *target)
{
    PyObject *function = PyMethod_Check(target) ? PyMethod_GET_FUNCTION(target) : target;
    return PyFunction_Check(function) ? Py_NewRef(((PyFunctionObject *)function)->func_name) : NULL;
}

/* Whether a thread that says nothing of it is a daemon: as the running one; a new reference, or
 * NULL, without an exception: it may take code of the program to find out. */
static PyObject *
is_usually_daemon(PyObject *self)
{
    PyObject *ident = slot_get(EXECUTION(CURRENT), ident_slots[0]);
    PyObject *running = PyDict_GetItemWithError(active_threads, ident);
    if (running == NULL)
        return NULL;
    PyObject *daemon = PyObject_GetAttr((PyObject *)Py_TYPE(running), text_daemon);
    Py_XDECREF(daemon);
    return daemon == usual_daemon ? PyObject_GetAttr(running, text_daemonic) : NULL;
}

/* The name of a thread to which none is given. */
static PyObject *
next_thread_name(PyObject *function_name)
{
    PyObject *counter = PyDict_GetItemWithError(threading_names, text_counter);
    PyObject *number = counter == NULL ? NULL : PyObject_CallNoArgs(counter);
    PyObject *name = number == NULL ? NULL : shared_thread_name(number, function_name);
    Py_XDECREF(number);
    return name;
}

/* The event by which a thread tells that it has started. Its condition is made when somebody asks for
 * it, see started_flags.py: nobody does if the thread is started here. */
static PyObject *
new_started_flag(void)
{
    PyObject *event = PyType_GenericNew(event_type, nothing, NULL);
    PyObject *dict = event == NULL ? NULL : PyObject_GenericGetDict(event, NULL);
    if (dict == NULL || PyDict_SetItem(dict, text_flag, Py_False) < 0)
        Py_CLEAR(event);
    Py_XDECREF(dict);
    return event;
}

/* Whether a WeakSet has put off removals, which it makes up for before it adds something. Up to Python
 * 3.13 it may have, while somebody goes through it. -1: an exception is set. */
static int
has_put_off_removals(PyObject *set)
{
    if (!puts_off_removals)
        return false;
    PyObject *pending = PyObject_GetAttr(set, text_pending);
    int result = pending == NULL ? -1 : PyObject_IsTrue(pending);
    Py_XDECREF(pending);
    return result;
}

/* WeakSet.add */
static int
add_weakly(PyObject *set, PyObject *object)
{
    PyObject *added = NULL;
    if (has_put_off_removals(set) == 0) {
        PyObject *data = PyObject_GetAttr(set, text_data);
        PyObject *remove = data == NULL ? NULL : PyObject_GetAttr(set, text_remove);
        PyObject *reference = remove == NULL ? NULL : PyWeakref_NewRef(object, remove);
        if (reference != NULL && PySet_Add(data, reference) == 0)
            added = Py_NewRef(Py_None);
        Py_XDECREF(data);
        Py_XDECREF(remove);
        Py_XDECREF(reference);
    } else {
        PyErr_Clear();
        added = PyObject_CallMethodOneArg(set, text_add, object);
    }
    Py_XDECREF(added);
    return added == NULL ? -1 : 0;
}

/* What a part of a new thread is; ``given`` are the parts up to CONTEXT. */
static PyObject *
new_part(Part part, PyObject *const *given)
{
    switch (part) {
    case STARTED:
        return new_started_flag();
    case HANDLE: {
        PyObject *type = PyDict_GetItemWithError(threading_names, text_handle_type);
        return type == NULL ? NULL : PyObject_CallNoArgs(type);
    }
    case ERRORS: {
        PyObject *errors = PyDict_GetItemWithError(sys_names, text_errors);
        return Py_NewRef(errors == NULL ? Py_None : errors);
    }
    case EXCEPTHOOK:
        return Py_NewRef(invoke_excepthook);
    case INITIALIZED:
        return Py_NewRef(Py_True);
    case STOPPED:
        return Py_NewRef(Py_False);
    case NOTHING_YET:
        return Py_NewRef(Py_None);
    default:
        return Py_NewRef(given[part]);
    }
}

/* Whether a part is the same in all new threads. */
static bool
is_always_equal(Part part)
{
    return part == EXCEPTHOOK || part == INITIALIZED || part == STOPPED || part == NOTHING_YET;
}

/* What is in a new thread, with placeholders for what differs: copying that takes less time than
 * putting in one thing after the other. */
static PyObject *
parts_of_any(void)
{
    static PyObject *found;
    PyObject *dict = found == NULL ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; dict != NULL && i < PyTuple_GET_SIZE(part_names); i++) {
        PyObject *part = is_always_equal(parts[i]) ? new_part(parts[i], NULL) : Py_NewRef(Py_None);
        if (part == NULL || PyDict_SetItem(dict, PyTuple_GET_ITEM(part_names, i), part) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(part);
    }
    if (found == NULL)
        found = dict;
    return found;
}

/* The dict of a new thread, a new reference; with all that is equal in it, if nothing was before. */
static PyObject *
prepared_dict(PyObject *thread, bool *is_prepared)
{
    PyObject *dict = PyObject_GenericGetDict(thread, NULL);
    /* From Python 3.13 on an object whose dict is exchanged so would still look into the old one. */
    *is_prepared =
        PY_VERSION_HEX < 0x030D0000 && dict != NULL && PyDict_GET_SIZE(dict) == 0;
    if (*is_prepared) {
        PyObject *known = parts_of_any();
        Py_SETREF(dict, known == NULL ? NULL : PyDict_Copy(known));
        if (dict != NULL && PyObject_GenericSetDict(thread, dict, NULL) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static int
fill_thread(PyObject *thread, PyObject *const *given)
{
    bool is_prepared;
    PyObject *dict = prepared_dict(thread, &is_prepared);
    int result = dict == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(part_names); i++) {
        if (is_prepared && is_always_equal(parts[i]))
            continue;
        PyObject *part = new_part(parts[i], given);
        result = part == NULL ? -1 : PyDict_SetItem(dict, PyTuple_GET_ITEM(part_names, i), part);
        Py_XDECREF(part);
    }
    Py_XDECREF(dict);
    PyObject *dangling =
        result < 0 ? NULL : PyDict_GetItemWithError(threading_names, text_dangling);
    return dangling == NULL ? -1 : add_weakly(dangling, thread);
}

/* Thread.__init__ for an ordinary thread: thread, target, name, args, kwargs, daemon, context; whether
 * that was done. */
static PyObject *
thread_in_c(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *self = count == 7 ? controlling_execution() : NULL;
    if (self == NULL || !Py_IS_TYPE(arguments[0], thread_type) || !is_usual_making())
        Py_RETURN_FALSE;
    PyObject *target = arguments[1], *name = arguments[2], *kwargs = arguments[4];
    PyObject *daemon = arguments[5] == Py_None ? is_usually_daemon(self) : Py_NewRef(arguments[5]);
    PyObject *function_name = target == Py_None ? NULL : name_of_target(target);
    bool is_named = PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) != 0;
    bool is_ordinary = daemon != NULL && PyBool_Check(daemon) && (is_named || name == Py_None) &&
                       (target == Py_None || function_name != NULL);
    PyObject *result = NULL;
    if (!is_ordinary) {
        PyErr_Clear();
        result = Py_NewRef(Py_False);
    } else {
        PyObject *given[] = {
            [TARGET] = target,
            [NAME] = is_named ? Py_NewRef(name) : next_thread_name(function_name),
            [ARGS] = arguments[3],
            [KWARGS] = kwargs == Py_None ? PyDict_New() : Py_NewRef(kwargs),
            [DAEMONIC] = daemon,
            [CONTEXT] = arguments[6],
        };
        if (given[NAME] != NULL && given[KWARGS] != NULL && fill_thread(arguments[0], given) == 0)
            result = Py_NewRef(Py_True);
        Py_XDECREF(given[NAME]);
        Py_XDECREF(given[KWARGS]);
    }
    Py_XDECREF(daemon);
    Py_XDECREF(function_name);
    return result;
}

static PyMethodDef thread_definition = {
    "thread_in_c", (PyCFunction)(void (*)(void))thread_in_c, METH_FASTCALL,
    "Make an ordinary thread, and whether that was done.",
};

/* use_thread_parts(Thread, Task, names, usual, system, threads, daemon, excepthook): ``thread_in_c``; None:
 * there is something in a thread that is not known here
 *
 *     names: of what is in a thread, in order
 *     usual: what the names in threading refer to that its making uses
 *     system: the names in ``sys``
 *     threads: those that are active, by their idents
 *     daemon: the property of threads, as it is under control
 *     excepthook: what a thread calls for an exception that leaves it
 */
PyObject *
use_thread_parts(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *thread, *task;
    if (!PyArg_ParseTuple(arguments, "OOO!O!O!O!OO", &thread, &task, &PyTuple_Type, &part_names,
                          &PyDict_Type, &usual_names, &PyDict_Type, &sys_names, &PyDict_Type,
                          &active_threads, &usual_daemon, &invoke_excepthook) ||
        find_slots(task, ident_slots) < 0)
        return NULL;
    Py_ssize_t known = 0;
    for (; known < PyTuple_GET_SIZE(part_names); known++) {
        size_t i = 0;
        PyObject *name = PyTuple_GET_ITEM(part_names, known);
        while (i < MOST_PARTS && PyUnicode_CompareWithASCIIString(name, known_parts[i].name) != 0)
            i++;
        if (i == MOST_PARTS || known == MOST_PARTS)
            Py_RETURN_NONE;
        parts[known] = known_parts[i].part;
    }
    const Name names[] = {
        {&text_counter, "_counter"}, {&text_handle_type, "_ThreadHandle"},
        {&text_dangling, "_dangling"}, {&text_add, "add"},
        {&text_data, "data"}, {&text_pending, "_pending_removals"}, {&text_remove, "_remove"},
        {&text_daemon, "daemon"}, {&text_daemonic, "_daemonic"}, {&text_errors, "stderr"},
        {&text_excepthook, "excepthook"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    PyObject *dangling = PyDict_GetItemWithError(usual_names, text_dangling);
    puts_off_removals = dangling != NULL && PyObject_HasAttr(dangling, text_pending);
    /* They live as long as the process. */
    PyObject *kept[] = {thread,         part_names,   usual_names,      sys_names,
                        active_threads, usual_daemon, invoke_excepthook};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    thread_type = (PyTypeObject *)thread;
    return PyCFunction_New(&thread_definition, NULL);
}
