/* What threading makes for itself with every thread: an event, and a hash for its set of threads. */
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

/* -- hashes of threads ----------------------------------------------------------------- */

static PyObject *hash_reference, *hash_patches, *counter, *text_hash, *text_older;
enum { LAST_EXECUTION, COUNT };
static Slot counter_slots[] = {[LAST_EXECUTION] = {"_execution", 0}, [COUNT] = {"_count", 0}, {0}};

/* Whether some thread with that address was there before the exploration; -1: exception. */
static int
may_be_older(PyObject *thread)
{
    PyObject *older = PyObject_GetAttr(hash_patches, text_older);
    PyObject *key = older == NULL ? NULL : PyLong_FromVoidPtr(thread);
    int result = key == NULL ? -1 : PyDict_Contains(older, key);
    Py_XDECREF(older);
    Py_XDECREF(key);
    return result;
}

/* _Counter.next */
static PyObject *
next_number(PyObject *self)
{
    PyObject *serial = slot_get(EXECUTION(RESOURCES), table_slots[TABLE_SERIAL]);
    int is_same = PyObject_RichCompareBool(slot_get(counter, counter_slots[LAST_EXECUTION]),
                                           serial, Py_EQ);
    if (is_same < 0)
        return NULL;
    slot_set(counter, counter_slots[LAST_EXECUTION], serial);
    Py_ssize_t before = is_same ? slot_int(counter, counter_slots[COUNT]) : 0;
    PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(before + 1);
    if (number != NULL)
        slot_set(counter, counter_slots[COUNT], number);
    return number;
}

static PyObject *
hash_of_thread(PyObject *thread, PyObject *Py_UNUSED(nothing))
{
    PyObject *dict = PyObject_GenericGetDict(thread, NULL);
    if (dict == NULL)
        return NULL;
    PyObject *known = Py_XNewRef(PyDict_GetItemWithError(dict, text_hash));
    PyObject *execution = known == NULL ? controlling_execution() : NULL;
    if (execution != NULL && !PyErr_Occurred() && may_be_older(thread) == 0) {
        known = next_number(execution);
        /* It must never change, whoever asks next. */
        if (known != NULL && PyDict_SetItem(dict, text_hash, known) < 0)
            Py_CLEAR(known);
    }
    Py_DECREF(dict);
    if (known != NULL || PyErr_Occurred())
        return known;
    return PyObject_CallOneArg(hash_reference, thread);
}

static PyMethodDef hash_definition = {
    "__hash__", hash_of_thread, METH_NOARGS, "__hash__($self, /)\n--\n\nReturn hash(self).",
};

/* use_hashes(Thread, __hash__, patches, counter, name): the method ``__hash__`` of Thread */
PyObject *
use_hashes(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *thread, *reference, *patches, *numbers, *name;
    if (!PyArg_ParseTuple(arguments, "O!OOOU", &PyType_Type, &thread, &reference, &patches,
                          &numbers, &name) ||
        find_slots((PyObject *)Py_TYPE(numbers), counter_slots) < 0)
        return NULL;
    text_older = PyUnicode_InternFromString("older");
    if (text_older == NULL)
        return NULL;
    hash_reference = Py_NewRef(reference);
    hash_patches = Py_NewRef(patches);
    counter = Py_NewRef(numbers);
    text_hash = Py_NewRef(name);
    return PyDescr_NewMethod((PyTypeObject *)thread, &hash_definition);
}
