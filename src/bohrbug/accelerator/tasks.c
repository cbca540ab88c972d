/* Making a task. */
#include "threads.h"

/* The slots that a new task has the same in, in the order of ``fresh_values``. */
static Slot fresh_slots[] = {
    {"greenlet", 0}, {"carrier", 0}, {"function", 0}, {"spawned", 0}, {"thread", 0},
    {"pending", 0}, {"ready", 0}, {"deadline", 0}, {"waits_for", 0}, {"prelude_of", 0},
    {"state", 0}, {"running_loop", 0}, {"loop_task", 0}, {"host", 0},
    {"looks_at", 0}, {"sent", 0},
    /* from here on false */
    {"daemon", 0}, {"ended", 0}, {"started_directly", 0}, {"timed_out", 0}, {"external", 0},
    /* from here on true */
    {"waiting", 0}, {"breakable", 0},
    /* from here on 0 */
    {"blocked_since", 0}, {"inside", 0}, {"joined", 0}, {"children", 0}, {"resources", 0},
    /* from here on empty text */
    {"name", 0}, {"target", 0},
    /* from here on an empty dict each */
    {"holding", 0}, {"looks", 0}, {"local_values", 0},
    {0},
};
enum { FIRST_FALSE = 16, FIRST_TRUE = 21, FIRST_ZERO = 23, FIRST_TEXT = 28, FIRST_DICT = 30 };

Slot thread_slots[] = {
    [BEGUN] = {"begun", 0}, [CARRIER] = {"carrier", 0}, [CHILDREN] = {"children", 0},
    [DAEMON] = {"daemon", 0}, [ENTERED] = {"entered", 0}, [FIRING] = {"firing", 0},
    [FUNCTION] = {"function", 0}, [IDENT] = {"ident", 0}, [LAST_YIELD] = {"last_yield", 0},
    [LOCAL_VALUES] = {"local_values", 0}, [NAME] = {"name", 0}, [ON_END] = {"on_end", 0},
    [RESOURCES_MADE] = {"resources", 0}, [SPAWNED] = {"spawned", 0},
    [STARTED_DIRECTLY] = {"started_directly", 0}, [STATE] = {"state", 0},
    [TARGET] = {"target", 0}, [THREAD] = {"thread", 0}, {0},
};

PyObject *no_text;
static PyObject *early, *minus_one;

int
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

static FastPath task_fast_paths[] = {
    {{"__init__", (PyCFunction)(void (*)(void))init_task, METH_FASTCALL, "Make a task."}, NULL},
    {{0}, NULL},
};

/* use_tasks(Task, ResourceState, ResourceTable, firing, end kind, end): ``end`` in C */
PyObject *
use_tasks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *task, *state, *table, *firing, *end_operation, *reference;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &task, &state, &table, &firing, &end_operation,
                          &reference) ||
        find_slots(task, fresh_slots) < 0 || find_slots(task, thread_slots) < 0 ||
        know_resources(state, table) < 0)
        return NULL;
    early = Py_NewRef(firing);
    zero = zero == NULL ? PyLong_FromLong(0) : zero;
    minus_one = PyLong_FromLong(-1);
    no_text = PyUnicode_InternFromString("");
    if (PyErr_Occurred() || take_over(task, task_fast_paths) < 0)
        return NULL;
    return use_end(end_operation, reference);
}
