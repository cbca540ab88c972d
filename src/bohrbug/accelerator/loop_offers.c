/* What a task of an event loop is about to do, and the choice of whose step comes next: LoopThread.choose,
 * tasks.operation_of, tasks.bind. */
#include "loops.h"

PyObject *begin_kind, *resume_kind;
static PyObject *cancelled_kind, *callback_kind, *saw, *operation_in_python;
static PyObject *text_args, *text_callback, *text_code, *text_defaults, *text_CANCELLED;
static PyObject *text_get_coro, *text_must_cancel, *text_self, *text_state, *text_switch;

Slot entry_slots[] = {
    [ENTRY_GOES_ON] = {"goes_on", 0}, [ENTRY_HANDLE] = {"handle", 0},
    [ENTRY_ORDER] = {"order", 0},     [ENTRY_PENDING] = {"pending", 0},
    [ENTRY_PLACE] = {"place", 0},     [ENTRY_SINCE] = {"since", 0},
    [ENTRY_TASK] = {"task", 0},       {0},
};
Slot loop_thread_slots[] = {
    [THREAD_EXECUTION] = {"_execution", 0}, [THREAD_STATE] = {"_state", 0},
    [THREAD_HOST] = {"host", 0}, [THREAD_STANDING] = {"standing", 0}, {0},
};
enum { OF_TASK_HOST, OF_TASK_RUNNING_LOOP };
static Slot bound_slots[] = {
    [OF_TASK_HOST] = {"host", 0}, [OF_TASK_RUNNING_LOOP] = {"running_loop", 0}, {0},
};

/* -- what it is about to do ------------------------------------------------------------------ */

/* ``handle._callback.__self__`` */
static PyObject *
asyncio_task_of(PyObject *entry)
{
    PyObject *callback = PyObject_GetAttr(ENTRY(entry, ENTRY_HANDLE), text_callback);
    PyObject *task = callback == NULL ? NULL : PyObject_GetAttr(callback, text_self);
    Py_XDECREF(callback);
    return task;
}

int
is_step_cancelled(PyObject *entry)
{
    PyObject *task = asyncio_task_of(entry);
    int result = task == NULL ? -1 : is_attribute_true(task, text_must_cancel);
    Py_XDECREF(task);
    if (result != 0)
        return result;
    PyObject *given = PyObject_GetAttr(ENTRY(entry, ENTRY_HANDLE), text_args);
    if (given == NULL)
        return -1;
    if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) > 0) {
        PyObject *state;
        result = attribute_if_any(PyTuple_GET_ITEM(given, 0), text_state, &state);
        if (result > 0)
            result = PyObject_RichCompareBool(state, text_CANCELLED, Py_EQ);
        Py_XDECREF(state);
    }
    Py_DECREF(given);
    return result;
}

/* What a callback that is a function in Python stands for, or a method of it. */
static Progress
operation_of_callback(PyObject *entry, PyObject **kind, PyObject **place)
{
    PyObject *callback = PyObject_GetAttr(ENTRY(entry, ENTRY_HANDLE), text_callback);
    if (callback == NULL)
        return FAILED;
    PyObject *function = PyMethod_Check(callback) ? PyMethod_GET_FUNCTION(callback) : callback;
    Progress progress = RARE;
    if (Py_IS_TYPE(function, &PyFunction_Type)) {
        PyObject *code = PyObject_GetAttr(function, text_code);
        *place = code == NULL ? NULL : shared_place(code, 0);
        Py_XDECREF(code);
        *kind = Py_NewRef(callback_kind);
        progress = *place == NULL ? FAILED : DONE;
        if (progress == FAILED)
            Py_CLEAR(*kind);
    }
    Py_DECREF(callback);
    return progress;
}

static Progress
try_operation_of(PyObject *entry, PyObject **kind, PyObject **place)
{
    if (ENTRY(entry, ENTRY_GOES_ON) != Py_True)
        return operation_of_callback(entry, kind, place);
    PyObject *task = asyncio_task_of(entry);
    PyObject *coroutine = task == NULL ? NULL : PyObject_CallMethodNoArgs(task, text_get_coro);
    Py_XDECREF(task);
    if (coroutine == NULL)
        return FAILED;
    Progress progress = place_in_coroutine(coroutine, place);
    if (progress == DONE) {
        int begun = has_begun(coroutine);
        int cancelled = begun > 0 ? is_step_cancelled(entry) : 0;
        if (begun < 0 || cancelled < 0) {
            Py_CLEAR(*place);
            progress = FAILED;
        } else
            *kind = Py_NewRef(!begun ? begin_kind : cancelled ? cancelled_kind : resume_kind);
    }
    Py_DECREF(coroutine);
    return progress;
}

Progress
operation_of(PyObject *entry, PyObject **kind, PyObject **place)
{
    Progress progress = try_operation_of(entry, kind, place);
    if (progress != RARE)
        return progress;
    PyObject *both = PyObject_CallOneArg(operation_in_python, entry);
    if (both == NULL)
        return FAILED;
    *kind = Py_NewRef(PyTuple_GET_ITEM(both, 0));
    *place = Py_NewRef(PyTuple_GET_ITEM(both, 1));
    Py_DECREF(both);
    return DONE;
}

bool
is_bound_to(PyObject *task, PyObject *host)
{
    return slot_get(task, bound_slots[OF_TASK_HOST]) == host;
}

void
bind_task(PyObject *task, PyObject *host, PyObject *loop, PyObject *state)
{
    slot_set(task, bound_slots[OF_TASK_HOST], host);
    slot_set(task, bound_slots[OF_TASK_RUNNING_LOOP], loop);
    SET_OF_TASK(STATE, state);
    SET_TASK(task, LOOKS_AT, state);
    SET_TASK(task, INDEX, TASK(host, INDEX));
    SET_TASK(task, GREENLET, TASK(host, GREENLET));
    enum { COPIED = 4 };
    static const int copied[COPIED] = {IDENT, THREAD, DAEMON, LOCAL_VALUES};
    for (int i = 0; i < COPIED; i++)
        slot_set(task, thread_slots[copied[i]], slot_get(host, thread_slots[copied[i]]));
}

/* -- whose step comes next ------------------------------------------------------------------- */

static Py_ssize_t
index_in(PyObject *list, PyObject *object)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == object)
            return i;
    return -1;
}

/* Deciding.decide_by_default; a new reference. */
static PyObject *
decided_by_default(PyObject *self, PyObject *chosen_by_default)
{
    PyObject *rows = EXECUTION(ROWS);
    Py_ssize_t step = PyList_GET_SIZE(rows);
    PyObject *chosen = decided(self, chosen_by_default);
    if (chosen == NULL || step == 0 || PyList_GET_SIZE(rows) <= step)
        return chosen;
    PyObject *id = TASK(chosen_by_default, ID);
    PyObject *before = PyTuple_GET_ITEM(PyList_GET_ITEM(rows, step - 1), 1);
    int differs = before == id ? 0 : PyObject_RichCompareBool(before, id, Py_NE);
    PyObject *defaults = NULL, *number = NULL;
    if (differs > 0) {
        defaults = PyObject_GetAttr(EXECUTION(TRACE), text_defaults);
        number = PyLong_FromSsize_t(step);
        if (defaults == NULL || number == NULL || PyObject_SetItem(defaults, number, id) < 0)
            differs = -1;
    }
    Py_XDECREF(defaults);
    Py_XDECREF(number);
    if (differs < 0)
        Py_CLEAR(chosen);
    return chosen;
}

/* Nobody but who was chosen stands for the thread. */
static int
withdraw_others(PyObject *alive, PyObject *tasks, PyObject *chosen)
{
    if (PyList_GET_SIZE(tasks) == 1) {
        PyObject *only = PyList_GET_ITEM(tasks, 0);
        Py_ssize_t at = only == chosen ? -1 : index_in(alive, only);
        return at < 0 ? 0 : PyList_SetSlice(alive, at, at + 1, NULL);
    }
    PyObject *left = PyList_New(0);
    int result = left == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(alive); i++) {
        PyObject *task = PyList_GET_ITEM(alive, i);
        if (task == chosen || index_in(tasks, task) < 0)
            result = PyList_Append(left, task);
    }
    if (result == 0)
        result = PyList_SetSlice(alive, 0, PyList_GET_SIZE(alive), left);
    Py_XDECREF(left);
    return result;
}

/* Let a task that was chosen stand for the thread. */
static int
let_stand(PyObject *thread, PyObject *self, PyObject *chosen)
{
    slot_set(thread, loop_thread_slots[THREAD_STANDING], chosen);
    SET_EXECUTION(CURRENT, chosen);
    if (EXECUTION(ABORTING) != Py_False) {
        PyErr_SetNone(task_killed);
        return -1;
    }
    SET_TASK(chosen, WAITING, Py_False);
    PyObject *detector = EXECUTION(DETECTOR);
    if (detector != Py_None) {
        Py_ssize_t index = int_value(TASK(chosen, INDEX));
        Py_INCREF(detector);
        PyObject *state = slot_get(thread, loop_thread_slots[THREAD_STATE]);
        int result = synchronise(detector, index, state, true);
        Py_DECREF(detector);
        if (result < 0)
            return -1;
    }
    PyObject *looks_at = TASK(slot_get(thread, loop_thread_slots[THREAD_HOST]), LOOKS_AT);
    if (looks_at != Py_None) {
        PyObject *arguments[] = {self, looks_at};
        PyObject *result = PyObject_Vectorcall(saw, arguments, 2, NULL);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    return 0;
}

PyObject *
choose_step(PyObject *thread, PyObject *tasks)
{
    PyObject *self = slot_get(thread, loop_thread_slots[THREAD_EXECUTION]);
    PyObject *alive = EXECUTION(ALIVE);
    Py_ssize_t at = index_in(alive, slot_get(thread, loop_thread_slots[THREAD_STANDING]));
    if (at < 0) {
        PyErr_SetString(PyExc_ValueError, "nobody stands for the thread of a loop");
        return NULL;
    }
    if (PyList_SetSlice(alive, at, at + 1, tasks) < 0)
        return NULL;
    PyObject *running = Py_NewRef(EXECUTION(CURRENT));
    PyObject *chosen = decided_by_default(self, PyList_GET_ITEM(tasks, 0));
    PyObject *host = slot_get(thread, loop_thread_slots[THREAD_HOST]);
    if (chosen != NULL && TASK(chosen, GREENLET) != TASK(host, GREENLET)) {
        PyObject *arguments[] = {self, running, chosen};
        PyObject *switched = PyObject_VectorcallMethod(text_switch, arguments, 3, NULL);
        if (switched == NULL)
            Py_CLEAR(chosen);
        else
            Py_SETREF(chosen, Py_NewRef(EXECUTION(CURRENT)));
        Py_XDECREF(switched);
    }
    Py_DECREF(running);
    if (chosen != NULL && (withdraw_others(EXECUTION(ALIVE), tasks, chosen) < 0 ||
                           let_stand(thread, self, chosen) < 0))
        Py_CLEAR(chosen);
    return chosen;
}

static FastPath fast_paths[];

static PyObject *
choose(PyObject *thread, PyObject *tasks)
{
    /* Some of them in one choice: see the method in Python. */
    if (!PyList_Check(tasks) || PyList_GET_SIZE(tasks) != 1)
        return PyObject_CallFunctionObjArgs(fast_paths[0].reference, thread, tasks, NULL);
    return choose_step(thread, tasks);
}

static FastPath fast_paths[] = {
    {{"choose", choose, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* use_offers(LoopThread, LoopEntry, Task, kinds, saw, operation_of): ``kinds`` are BEGIN, RESUME,
 * CANCELLED and CALLBACK. */
PyObject *
use_offers(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *thread, *entry, *task, *sees, *reference;
    if (!PyArg_ParseTuple(arguments, "OOO(OOOO)OO", &thread, &entry, &task, &begin_kind,
                          &resume_kind, &cancelled_kind, &callback_kind, &sees, &reference) ||
        find_slots(thread, loop_thread_slots) < 0 || find_slots(entry, entry_slots) < 0 ||
        find_slots(task, bound_slots) < 0)
        return NULL;
    const Name names[] = {
        {&text_args, "_args"},
        {&text_callback, "_callback"},
        {&text_code, "__code__"},
        {&text_defaults, "defaults"},
        {&text_CANCELLED, "CANCELLED"},
        {&text_get_coro, "get_coro"},
        {&text_must_cancel, "_must_cancel"},
        {&text_self, "__self__"},
        {&text_state, "_state"},
        {&text_switch, "switch"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {begin_kind, resume_kind, cancelled_kind, callback_kind};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    saw = Py_NewRef(sees);
    operation_in_python = Py_NewRef(reference);
    if (take_over(thread, fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}
