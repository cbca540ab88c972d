/* The turns of an event loop of asyncio: the common case of what LoopTurns does at each step, and at the
 * begin of each turn.
 *
 * Common is: no timers, no descriptors but the loop's own, and what comes next is first in, first out.
 */
#include "loops.h"

static Py_ssize_t busy_turns;
static PyObject *text_callback, *text_check, *text_debug, *text_fd_to_key;
static PyObject *text_fileno;
static PyObject *text_scheduled, *text_selector, *text_self, *text_signal_handlers;
static PyObject *text_needed, *text_ssock, *text_stopping;

enum {
    APART, BOUND, FRESH, IS_BEGINNING, OFFERED_NOW, QUEUE, TURNS_SPINNING, TASKS, TASKS_OFFERED,
    TURNS_THREAD, TURNS_EXECUTION, LOOP, TURNS_STATE,
};
static Slot turns_slots[] = {
    [APART] = {"_apart", 0}, [BOUND] = {"_bound", 0}, [FRESH] = {"_fresh", 0},
    [IS_BEGINNING] = {"_is_beginning", 0}, [OFFERED_NOW] = {"_offered", 0}, [QUEUE] = {"_queue", 0},
    [TURNS_SPINNING] = {"_spinning", 0}, [TASKS] = {"_tasks", 0},
    [TASKS_OFFERED] = {"_tasks_offered", 0}, [TURNS_THREAD] = {"_thread", 0},
    [TURNS_EXECUTION] = {"execution", 0}, [LOOP] = {"loop", 0}, [TURNS_STATE] = {"state", 0}, {0},
};
#define TURNS(name) slot_get(turns, turns_slots[name])
#define SET_TURNS(name, value) slot_set(turns, turns_slots[name], value)

enum { NAMES };
static Slot apart_slots[] = {[NAMES] = {"names", 0}, {0}};
enum { HAS_ANY };
static Slot fresh_slots[] = {[HAS_ANY] = {"has_any", 0}, {0}};
enum { MATTERS, SPINNING_TURNS };
static Slot spinning_slots[] = {[MATTERS] = {"matters", 0}, [SPINNING_TURNS] = {"_turns", 0}, {0}};

static FastPath turns_fast_paths[];
enum { TAKE_CALLED, BEGIN_TURN, NEXT, OFFER, RUN };

/* -- what the loop was asked to call soon ----------------------------------------------------- */

/* LoopTurns._take_called */
static int
take_called_now(PyObject *turns, bool counts)
{
    return take_called_by(TURNS(LOOP), TURNS(TASKS), TURNS(QUEUE), counts);
}

/* ``_take_called(*, counts=False)`` */
static PyObject *
take_called(PyObject *turns, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 0 || (names != NULL && PyTuple_GET_SIZE(names) != 1)) {
        PyErr_SetString(PyExc_TypeError, "_take_called() takes counts, by its name");
        return NULL;
    }
    if (TURNS(LOOP) == NULL) {
        PyErr_SetString(PyExc_AttributeError, "the execution of this loop is over");
        return NULL;
    }
    if (take_called_now(turns, names != NULL && arguments[0] == Py_True) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* -- the begin of a turn ---------------------------------------------------------------------- */

/* Whether a loop has anything by some name: a list that is not empty, say; -1: an exception is set. */
static int
has_attribute_that_is_true(PyObject *object, PyObject *name)
{
    PyObject *value;
    int has_it = attribute_if_any(object, name, &value);
    if (has_it <= 0)
        return has_it;
    int is_true = PyObject_IsTrue(value);
    Py_DECREF(value);
    return is_true;
}

/* Whether a loop watches no descriptor but the one by which it is woken; -1: an exception is set. */
static int
watches_nothing(PyObject *loop)
{
    PyObject *selector = PyObject_GetAttr(loop, text_selector), *own = NULL, *number = NULL;
    PyObject *watched = selector == NULL ? NULL : PyObject_GetAttr(selector, text_fd_to_key);
    int result = watched == NULL ? -1 : 0;
    Py_ssize_t count = result < 0 ? 0 : PyObject_Size(watched);
    if (result == 0 && count == 0)
        result = 1;
    else if (result == 0 && count == 1 && PyDict_Check(watched)) {
        /* Not as an attribute: to ask for that makes it. */
        PyObject *attributes = PyObject_GenericGetDict(loop, NULL);
        own = attributes == NULL ? NULL : PyDict_GetItemWithError(attributes, text_ssock);
        Py_XINCREF(own);
        Py_XDECREF(attributes);
        if (own == NULL)
            result = PyErr_Occurred() ? -1 : 0;
        else if (own != Py_None) {
            number = PyObject_CallMethodNoArgs(own, text_fileno);
            result = number == NULL ? -1 : PyDict_Contains(watched, number);
        }
    } else if (count < 0)
        result = -1;
    Py_XDECREF(selector);
    Py_XDECREF(watched);
    Py_XDECREF(own);
    Py_XDECREF(number);
    return result;
}

/* Whether nothing can have arrived: no timers, no descriptors; -1: an exception is set. */
static int
nothing_arrives(PyObject *loop)
{
    int has_timers = is_attribute_true(loop, text_scheduled);
    int has_handlers = has_timers != 0 ? 0 : has_attribute_that_is_true(loop, text_signal_handlers);
    if (has_timers != 0 || has_handlers != 0)
        return has_timers < 0 || has_handlers < 0 ? -1 : 0;
    return watches_nothing(loop);
}

static Progress
try_begin_turn(PyObject *turns)
{
    PyObject *self = TURNS(TURNS_EXECUTION), *loop = TURNS(LOOP), *queue = TURNS(QUEUE);
    PyObject *spinning = TURNS(TURNS_SPINNING);
    if (loop == NULL || EXECUTION(ABORTING) != Py_False ||
        slot_get(TURNS(FRESH), fresh_slots[HAS_ANY]) != Py_False)
        return RARE;
    Py_ssize_t made = slot_int(spinning, spinning_slots[SPINNING_TURNS]);
    if (made < 0 || made + 1 >= busy_turns)
        return RARE;
    int is_alone = nothing_arrives(loop);
    if (is_alone < 0)
        return FAILED;
    /* What was called for is taken over once, whoever does the rest. */
    if (!is_alone || only_state(queue) == NULL)
        return RARE;
    if (take_called_now(turns, false) < 0)
        return FAILED;
    PyObject *state = only_state(queue);
    Py_ssize_t left = state == NULL ? 0
                                    : PyList_GET_SIZE(OF_STATE(TURN)) +
                                          PyList_GET_SIZE(OF_STATE(FOLLOWING)) +
                                          PyList_GET_SIZE(OF_STATE(ARRIVED));
    int stops = left > 0 ? 0 : is_attribute_true(loop, text_stopping);
    if (stops < 0)
        return FAILED;
    if (left == 0 && !stops)
        return RARE;
    PyObject *number = PyLong_FromSsize_t(made + 1);
    if (number == NULL)
        return FAILED;
    slot_set(spinning, spinning_slots[SPINNING_TURNS], number);
    Py_DECREF(number);
    Progress progress = begin_turn_of_queue(queue);
    if (progress == DONE)
        SET_TURNS(IS_BEGINNING, Py_True);
    return progress;
}

static PyObject *
begin_turn(PyObject *turns, PyObject *Py_UNUSED(nothing))
{
    Progress progress = try_begin_turn(turns);
    if (progress == RARE)
        return PyObject_CallOneArg(turns_fast_paths[BEGIN_TURN].reference, turns);
    if (progress == FAILED)
        return NULL;
    Py_RETURN_NONE;
}

/* -- what comes next ---------------------------------------------------------------------------- */

/* ``entry.handle._callback.__self__`` has got its name by now. */
static int
describe_step(PyObject *entry)
{
    PyObject *callback = PyObject_GetAttr(ENTRY(entry, ENTRY_HANDLE), text_callback);
    PyObject *owner = callback == NULL ? NULL : PyObject_GetAttr(callback, text_self);
    int result = owner == NULL ? -1 : describe_task(ENTRY(entry, ENTRY_TASK), owner);
    Py_XDECREF(callback);
    Py_XDECREF(owner);
    return result;
}

/* LoopTurns._offer; the task, borrowed. */
static PyObject *
offered(PyObject *turns, PyObject *entry)
{
    PyObject *task = ENTRY(entry, ENTRY_TASK), *operation = ENTRY(entry, ENTRY_PENDING);
    bool is_new = operation == Py_None;
    if (!is_new && PyTuple_GET_ITEM(operation, 0) == resume_kind) {
        int is_cancelled = is_step_cancelled(entry);
        if (is_cancelled < 0)
            return NULL;
        is_new = is_cancelled;
    }
    if (is_new) {
        PyObject *kind, *place;
        if (operation_of(entry, &kind, &place) != DONE)
            return NULL;
        PyObject *host = slot_get(TURNS(TURNS_THREAD), loop_thread_slots[THREAD_HOST]);
        PyObject *state = TURNS(TURNS_STATE);
        int result = 0;
        if (!is_bound_to(task, host)) {
            bind_task(task, host, TURNS(LOOP), state);
            result = PyList_Append(TURNS(BOUND), task);
            if (result == 0 && kind == begin_kind)
                result = describe_step(entry);
        }
        operation =
            result < 0 ? NULL : new_operation(kind, slot_get(state, state_slots[STATE_ID]), place);
        Py_DECREF(kind);
        Py_DECREF(place);
        if (operation == NULL)
            return NULL;
        SET_ENTRY(entry, ENTRY_PENDING, operation);
        Py_DECREF(operation); /* the entry keeps it */
        if (PyDict_SetItem(OF_LOOP_TASKS(TURNS(TASKS), OFFERED), TASK(task, ID), operation) < 0)
            return NULL;
    }
    SET_TASK(task, PENDING, operation);
    SET_TASK(task, WAITING, Py_True);
    SET_TASK(task, READY, Py_None);
    SET_TASK(task, DEADLINE, Py_None);
    return task;
}

static PyObject *
offer(PyObject *turns, PyObject *entry)
{
    if (TURNS(LOOP) == NULL)
        return PyObject_CallFunctionObjArgs(turns_fast_paths[OFFER].reference, turns, entry, NULL);
    return Py_XNewRef(offered(turns, entry));
}

/* Offer some entries; the tasks whose steps they are, a new list. */
static PyObject *
offered_tasks(PyObject *turns, PyObject *found)
{
    Py_ssize_t count = PyList_GET_SIZE(found);
    PyObject *tasks = PyList_New(0);
    for (Py_ssize_t i = 0; tasks != NULL && i < count; i++) {
        PyObject *task = offered(turns, PyList_GET_ITEM(found, i));
        if (task == NULL || PyList_Append(tasks, task) < 0)
            Py_CLEAR(tasks);
    }
    return tasks;
}

/* Let one of some entries be chosen; a new reference to it, or None: another thread's step was. */
static PyObject *
choose_among(PyObject *turns, PyObject *found)
{
    PyObject *tasks = offered_tasks(turns, found);
    if (tasks == NULL)
        return NULL;
    /* Another thread may add to them. */
    SET_TURNS(OFFERED_NOW, found);
    SET_TURNS(TASKS_OFFERED, tasks);
    if (PyList_GET_SIZE(tasks) > 1)
        slot_set(TURNS(TASKS), loop_tasks_slots[HAVE_CHOICES], Py_True);
    PyObject *chosen = choose_step(TURNS(TURNS_THREAD), tasks), *next = NULL;
    Py_DECREF(tasks);
    if (chosen == NULL)
        return NULL;
    SET_TURNS(OFFERED_NOW, Py_None);
    for (Py_ssize_t i = 0; next == NULL && i < PyList_GET_SIZE(found); i++)
        if (ENTRY(PyList_GET_ITEM(found, i), ENTRY_TASK) == chosen)
            next = PyList_GET_ITEM(found, i);
    Py_DECREF(chosen);
    return Py_NewRef(next == NULL ? Py_None : next);
}

/* What may come next where something that may be late comes first; on DONE a new list. */
static Progress
found_among_arrivals(PyObject *turns, PyObject **found)
{
    PyObject *queue = TURNS(QUEUE), *loop = TURNS(LOOP);
    int stops = is_attribute_true(loop, text_stopping);
    int is_quiet = stops != 0 ? 0 : nothing_arrives(loop);
    if (stops < 0 || is_quiet < 0)
        return FAILED;
    bool may_end;
    Progress progress = is_quiet ? next_arrivals(queue, found, &may_end) : RARE;
    if (progress != DONE)
        return progress;
    if (may_end)
        /* Nor does anything follow: all that is left may be late. */
        SET_TURNS(IS_BEGINNING, Py_True);
    if (PyList_GET_SIZE(*found) == 1)
        return DONE;
    PyObject *arguments[] = {TURNS(APART), *found, queue, Py_None};
    PyObject *needed = PyObject_VectorcallMethod(text_needed, arguments, 4, NULL);
    if (needed != NULL)
        Py_SETREF(*found, Py_NewRef(PyTuple_GET_ITEM(needed, 0)));
    else
        Py_CLEAR(*found);
    Py_XDECREF(needed);
    return needed == NULL ? FAILED : DONE;
}

/* The same where what comes first is first in, first out. */
static Progress
found_first(PyObject *turns, PyObject *entry, PyObject **found)
{
    int has_timers =
        TURNS(IS_BEGINNING) == Py_True ? is_attribute_true(TURNS(LOOP), text_scheduled) : 0;
    if (has_timers != 0)
        return has_timers < 0 ? FAILED : RARE;
    if ((*found = PyList_New(1)) == NULL)
        return FAILED;
    PyList_SET_ITEM(*found, 0, Py_NewRef(entry));
    return DONE;
}

/* On DONE ``next`` is an entry or None, a new reference. */
static Progress
try_next(PyObject *turns, PyObject **next)
{
    PyObject *apart = TURNS(APART), *queue = TURNS(QUEUE);
    if (apart == NULL)
        return RARE;
    if (PyObject_Size(slot_get(apart, apart_slots[NAMES])) != 0) {
        PyObject *checked = PyObject_CallMethodNoArgs(apart, text_check);
        if (checked == NULL)
            return FAILED;
        Py_DECREF(checked);
    }
    if (take_called_now(turns, true) < 0)
        return FAILED;
    PyObject *state = only_state(queue), *self = TURNS(TURNS_EXECUTION), *found;
    if (state == NULL)
        return RARE;
    if (PyList_GET_SIZE(OF_STATE(TURN)) == 0) {
        *next = Py_NewRef(Py_None);
        return DONE;
    }
    PyObject *host = slot_get(TURNS(TURNS_THREAD), loop_thread_slots[THREAD_HOST]);
    if (slot_get(queue, queue_slots[WAS_IMPATIENT]) != Py_False ||
        slot_get(queue, queue_slots[HAS_FORGOTTEN]) != Py_False ||
        EXECUTION(ABORTING) != Py_False ||
        (host == EXECUTION(ROOT) && PyObject_Size(EXECUTION(SIGNALS)) != 0))
        return RARE;
    Progress progress;
    PyObject *entry = first_of(state, &progress);
    if (progress == DONE)
        progress = entry != NULL ? found_first(turns, entry, &found)
                                 : found_among_arrivals(turns, &found);
    if (progress != DONE)
        return progress;
    *next = choose_among(turns, found);
    Py_DECREF(found);
    return *next == NULL ? FAILED : DONE;
}

static PyObject *
next_step(PyObject *turns, PyObject *Py_UNUSED(nothing))
{
    PyObject *next = NULL;
    Progress progress = try_next(turns, &next);
    return progress == RARE ? PyObject_CallOneArg(turns_fast_paths[NEXT].reference, turns) : next;
}

/* -- a step ------------------------------------------------------------------------------------- */

static PyObject *
run_step(PyObject *turns, PyObject *entry)
{
    PyObject *self = TURNS(TURNS_EXECUTION), *handle = ENTRY(entry, ENTRY_HANDLE);
    int is_debugged = TURNS(LOOP) == NULL ? 1 : is_attribute_true(TURNS(LOOP), text_debug);
    if (is_debugged < 0)
        return NULL;
    if (is_debugged || EXECUTION(ACCESS_LOG) != Py_None ||
        slot_get(TURNS(TURNS_SPINNING), spinning_slots[MATTERS]) != Py_False)
        return PyObject_CallFunctionObjArgs(turns_fast_paths[RUN].reference, turns, entry, NULL);
    SET_TURNS(IS_BEGINNING, Py_False);
    int is_cancelled = is_handle_cancelled(handle);
    if (is_cancelled != 0)
        return is_cancelled < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *offers = OF_LOOP_TASKS(TURNS(TASKS), OFFERED);
    PyObject *id = TASK(ENTRY(entry, ENTRY_TASK), ID);
    int is_offered = PyDict_Contains(offers, id);
    if (is_offered < 0 || (is_offered && PyDict_DelItem(offers, id) < 0))
        return NULL;
    Py_INCREF(handle);
    PyObject *result = run_handle(handle);
    Py_DECREF(handle);
    if (result == NULL)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

static FastPath turns_fast_paths[] = {
    [TAKE_CALLED] = {{"_take_called", (PyCFunction)(void (*)(void))take_called,
                      METH_FASTCALL | METH_KEYWORDS, "See the method in Python."},
                     NULL},
    [BEGIN_TURN] = {{"_begin_turn", begin_turn, METH_NOARGS, "See the method in Python."}, NULL},
    [NEXT] = {{"_next", next_step, METH_NOARGS, "See the method in Python."}, NULL},
    [OFFER] = {{"_offer", offer, METH_O, "See the method in Python."}, NULL},
    [RUN] = {{"_run", run_step, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* use_turns(LoopTurns, ReadyQueue, its state, LoopEntry, Apart, FreshTimers, Spinning,
 *           names of the module, counters, BUSY_TURNS, TIMER)
 *
 * Of the names of the module ``only_counts`` is looked up when it is called.
 */
PyObject *
use_turns(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *turns, *queue, *state, *entry, *apart, *fresh, *spinning, *names_of_module, *counters;
    PyObject *timer;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO!OnO", &turns, &queue, &state, &entry, &apart, &fresh,
                          &spinning, &PyDict_Type, &names_of_module, &counters, &busy_turns,
                          &timer) ||
        find_slots(turns, turns_slots) < 0 || find_slots(apart, apart_slots) < 0 ||
        find_slots(fresh, fresh_slots) < 0 || find_slots(spinning, spinning_slots) < 0)
        return NULL;
    const Name names[] = {
        {&text_callback, "_callback"},
        {&text_check, "check"},
        {&text_debug, "_debug"},
        {&text_fd_to_key, "_fd_to_key"},
        {&text_fileno, "fileno"},
        {&text_needed, "needed"},
        {&text_scheduled, "_scheduled"},
        {&text_selector, "_selector"},
        {&text_self, "__self__"},
        {&text_signal_handlers, "_signal_handlers"},
        {&text_ssock, "_ssock"},
        {&text_stopping, "_stopping"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    if (use_queue(queue, state, entry, timer) < 0 ||
        use_called(entry, names_of_module, counters) < 0 || take_over(turns, turns_fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}
