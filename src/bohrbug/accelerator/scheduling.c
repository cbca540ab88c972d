/* Scheduling points: the common case of Execution.perform and access.
 *
 * Common is: nobody waits with a timeout, nobody has yielded, the plan can be
 * followed, nothing rare is due.
 */
#include "scheduling.h"

PyObject *acquire_kind, *release_kind, *task_killed, *holder;
PyTypeObject *execution_type, *task_type;
PyObject *zero, *one, *nothing;
Py_ssize_t time_slice, lonely_steps;

static PyObject *operation_type, *progress_kinds, *write_kind;
/* Looks in a row at which it is found out whether they are in vain, and after which they are taken
 * to be. */
static Py_ssize_t first_look, second_look, spin_reads;
static PyObject *text_switch, *text_effects, *text_name_variable;
static PyObject *text_looked_again, *after_signals;
static PyObject *access_after_signals, *getcurrent, *switch_from;

Slot execution_slots[] = {
    [ABORTING] = {"aborting", 0}, [ACCESS_LOG] = {"access_log", 0}, [ALIVE] = {"alive", 0},
    [ALL_TASKS] = {"all_tasks", 0}, [ATOMIC] = {"atomic", 0}, [BUSY_PLACES] = {"_busy_places", 0},
    [COLLECTING] = {"collecting", 0}, [CURRENT] = {"current", 0}, [DECIDER] = {"_decider", 0},
    [DETECTOR] = {"detector", 0},
    [FAIRNESS] = {"fairness", 0}, [IDLE_YIELDS] = {"_idle_yields", 0}, [LOOPS] = {"loops", 0},
    [LOOP_TASKS] = {"loop_tasks", 0}, [MINDS_GIL] = {"_minds_gil", 0},
    [NEXT_CHECK] = {"next_check", 0}, [NON_PREEMPTIVE] = {"_non_preemptive", 0},
    [OUTSIDE] = {"outside", 0}, [POOL] = {"pool", 0}, [PREFIX] = {"_prefix", 0},
    [PREFIX_LENGTH] = {"_prefix_length", 0}, [RESOURCES] = {"resources", 0}, [ROOT] = {"root", 0},
    [ROWS] = {"rows", 0}, [SIGNALS] = {"signals", 0}, [SINK] = {"sink", 0},
    [SLICE_BEGAN] = {"_slice_began", 0}, [SPINNING] = {"_spinning", 0},
    [SUSPENDED] = {"suspended", 0}, [SWAP] = {"_swap", 0}, [TRACE] = {"trace", 0},
    [VARIABLES] = {"_variables", 0}, [YIELDING] = {"_yielding", 0}, {0},
};
Slot task_slots[] = {
    [BLOCKED_SINCE] = {"blocked_since", 0}, [BREAKABLE] = {"breakable", 0},
    [DEADLINE] = {"deadline", 0}, [ENDED] = {"ended", 0}, [GREENLET] = {"greenlet", 0},
    [HOLDING] = {"holding", 0}, [ID] = {"id", 0}, [INDEX] = {"index", 0}, [INSIDE] = {"inside", 0},
    [JOINED] = {"joined", 0}, [LOOKS] = {"looks", 0}, [LOOKS_AT] = {"looks_at", 0},
    [PENDING] = {"pending", 0}, [READY] = {"ready", 0}, [SENT] = {"sent", 0},
    [WAITING] = {"waiting", 0}, [WAITS_FOR] = {"waits_for", 0}, {0},
};
Slot state_slots[] = {[STATE_ID] = {"id", 0}, [STATE_SERIAL] = {"serial", 0}, {0}};
Slot table_slots[] = {[TABLE_SERIAL] = {"serial", 0}, {0}};
Slot fairness_slots[] = {[FAIRNESS_ACTIVE] = {"active", 0}, {0}};
Slot kind_slots[] = {
    [KIND_IS_WRITE] = {"is_write", 0}, [KIND_IS_YIELD] = {"is_yield", 0}, {0},
};
Slot holder_slots[] = {
    [HOLDER_EXECUTION] = {"execution", 0}, [HOLDER_THREAD] = {"thread", 0}, {0},
};

/* Execution.switch */
static int
switch_to(PyObject *self, PyObject *running, PyObject *chosen)
{
    if (swap_state(self, running, chosen) < 0)
        return -1;
    SET_EXECUTION(CURRENT, chosen);
    PyObject *here = PyObject_CallNoArgs(getcurrent), *result;
    if (here == NULL)
        return -1;
    if (here == TASK(running, GREENLET)) {
        PyObject *greenlet = Py_NewRef(TASK(chosen, GREENLET));
        result = PyObject_CallMethodNoArgs(greenlet, text_switch);
        Py_DECREF(greenlet);
    }
    else
        result = PyObject_CallFunctionObjArgs(switch_from, here, running, chosen, NULL);
    Py_DECREF(here);
    if (result == NULL)
        return -1;
    Py_DECREF(result);
    return 0;
}

PyObject *
new_operation(PyObject *kind, PyObject *resource, PyObject *place)
{
    return shared_operation((PyTypeObject *)operation_type, kind, resource, place);
}

/* The pending operation of a task. */
static int
set_pending(PyObject *task, PyObject *kind, PyObject *resource, PyObject *place)
{
    PyObject *operation = new_operation(kind, resource, place);
    if (operation == NULL)
        return -1;
    SET_TASK(task, PENDING, operation);
    Py_DECREF(operation);
    return 0;
}

/* A signal waits for the task, which stands for the main thread, or an exception was sent to it. */
static int
is_interrupted(PyObject *self, PyObject *task)
{
    return TASK(task, SENT) != Py_None ||
           (PyList_GET_SIZE(EXECUTION(SIGNALS)) != 0 && task == EXECUTION(ROOT));
}

/* -- scheduling points -------------------------------------------------------------- */

Progress
perform(PyObject *self, PyObject *kind, PyObject *state, PyObject *place, PyObject *ready)
{
    if (EXECUTION(ABORTING) != Py_False || EXECUTION(MINDS_GIL) != Py_False ||
        EXECUTION(ATOMIC) != zero || EXECUTION(COLLECTING) != Py_False ||
        slot_get(kind, kind_slots[KIND_IS_YIELD]) != Py_False)
        return RARE;
    PyObject *task = EXECUTION(CURRENT);
    if (TASK(task, LOOKS_AT) != Py_None)
        return RARE;
    if (set_pending(task, kind, slot_get(state, state_slots[STATE_ID]), place) < 0)
        return FAILED;
    if (ready != NULL) {
        SET_TASK(task, READY, ready);
        SET_TASK(task, WAITS_FOR, state);
        PyObject *number = PyLong_FromSsize_t(PyList_GET_SIZE(EXECUTION(ROWS)));
        if (number == NULL)
            return FAILED;
        SET_TASK(task, BLOCKED_SINCE, number);
        Py_DECREF(number);
    }
    PyObject *looks = TASK(task, LOOKS);
    if (PyDict_GET_SIZE(looks) != 0 || EXECUTION(IDLE_YIELDS) != zero) {
        int is_progress = PySet_Contains(progress_kinds, kind);
        if (is_progress < 0)
            return FAILED;
        if (is_progress) {
            PyDict_Clear(looks);
            SET_EXECUTION(IDLE_YIELDS, zero);
        }
    }
    SET_TASK(task, WAITING, Py_True);
    PyObject *chosen = NULL;
    Progress progress = decide(self, task, &chosen);
    if (progress != DONE)
        return progress;
    /* Until here nothing was done that the reference, doing it again, would do otherwise. */
    if (chosen != task && switch_to(self, task, chosen) < 0)
        return FAILED;
    if (EXECUTION(ABORTING) != Py_False) {
        SET_TASK(task, READY, Py_None);
        SET_TASK(task, DEADLINE, Py_None);
        PyErr_SetNone(task_killed);
        return FAILED;
    }
    SET_TASK(task, WAITING, Py_False);
    if (is_interrupted(self, task)) {
        PyObject *arguments[] = {self, kind, state, place, ready == NULL ? Py_None : ready};
        PyObject *result = PyObject_Vectorcall(after_signals, arguments, 5, NULL);
        Py_XDECREF(result);
        return result == NULL ? FAILED : DONE;
    }
    if (ready != NULL)
        SET_TASK(task, READY, Py_None);
    SET_TASK(task, BREAKABLE, Py_False);
    PyObject *detector = EXECUTION(DETECTOR);
    if (detector != Py_None &&
        synchronise(detector, slot_int(task, task_slots[INDEX]), state,
                    slot_get(kind, kind_slots[KIND_IS_WRITE]) == Py_True) < 0)
        return FAILED;
    return DONE;
}

static PyObject *perform_method(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static PyObject *access_method(PyObject *, PyObject *const *, Py_ssize_t);

enum { PERFORM, ACCESS, DECIDE };
static FastPath execution_fast_paths[] = {
    [PERFORM] = {{"perform", (PyCFunction)(void (*)(void))perform_method,
                  METH_FASTCALL | METH_KEYWORDS, "See the method in Python."}, NULL},
    [ACCESS] = {{"access", (PyCFunction)(void (*)(void))access_method, METH_FASTCALL,
                 "See the method in Python."}, NULL},
    [DECIDE] = {{"_decide", decided, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

static PyObject *
perform_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    /* kind, state, place, ready, timeout */
    if (names == NULL && count >= 3 && count <= 5 && (count < 5 || arguments[4] == Py_None)) {
        PyObject *ready = count > 3 && arguments[3] != Py_None ? arguments[3] : NULL;
        switch (perform(self, arguments[0], arguments[1], arguments[2], ready)) {
        case FAILED:
            return NULL;
        case DONE:
            Py_RETURN_TRUE;
        case RARE:
            break;
        }
    }
    PyObject *all[12] = {NULL, self};
    Py_ssize_t names_count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count + names_count > 10) {
        PyErr_SetString(PyExc_TypeError, "perform() takes at most 7 arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count + names_count; i++)
        all[2 + i] = arguments[i];
    return PyObject_Vectorcall(execution_fast_paths[PERFORM].reference, all + 1,
                               (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

PyObject *
decided(PyObject *self, PyObject *running)
{
    PyObject *chosen = NULL;
    switch (decide(self, running, &chosen)) {
    case FAILED:
        return NULL;
    case DONE:
        return Py_NewRef(chosen);
    case RARE:
        break;
    }
    PyObject *arguments[] = {self, running};
    return PyObject_Vectorcall(execution_fast_paths[DECIDE].reference, arguments, 2, NULL);
}

/* The running task has looked at a place: Execution._count_look */
static int
count_look(PyObject *self, PyObject *looks, PyObject *place)
{
    PyObject *key = PyLong_FromVoidPtr(place);
    if (key == NULL)
        return -1;
    PyObject *before = PyDict_GetItemWithError(looks, key);
    Py_ssize_t looked = before == NULL ? 0 : PyLong_AsSsize_t(before);
    PyObject *after = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(looked + 1);
    int result = after == NULL ? -1 : PyDict_SetItem(looks, key, after);
    looked++;
    if (result == 0 && looked >= spin_reads) {
        PyDict_Clear(looks);
        SET_EXECUTION(SPINNING, Py_True);
    } else if (result == 0 && (looked == first_look || looked == second_look) &&
               (result = PySet_Contains(EXECUTION(BUSY_PLACES), key)) == 0) {
        PyObject *noted = PyObject_CallMethodOneArg(self, text_looked_again, key);
        result = noted == NULL ? -1 : 0;
        Py_XDECREF(noted);
    }
    Py_DECREF(key);
    Py_XDECREF(after);
    return result < 0 ? -1 : 0;
}

/* trace.effects.append((step, task, container, is_write)) */
static int
note_effect(PyObject *self, PyObject *task, PyObject *container, PyObject *kind)
{
    PyObject *effects = PyObject_GetAttr(EXECUTION(TRACE), text_effects);
    PyObject *effect = effects == NULL ? NULL
                                       : Py_BuildValue("nOOO", PyList_GET_SIZE(EXECUTION(ROWS)) - 1,
                                                       TASK(task, ID), container,
                                                       slot_get(kind, kind_slots[KIND_IS_WRITE]));
    int result = effect == NULL ? -1 : PyList_Append(effects, effect);
    Py_XDECREF(effects);
    Py_XDECREF(effect);
    return result;
}

/* Execution.access */
static Progress
try_access(PyObject *self, PyObject *place, PyObject *kind, PyObject *shadow)
{
    PyObject *task = EXECUTION(CURRENT);
    if (EXECUTION(ABORTING) != Py_False || EXECUTION(MINDS_GIL) != Py_False ||
        EXECUTION(ATOMIC) != zero || EXECUTION(COLLECTING) != Py_False ||
        EXECUTION(SUSPENDED) != zero || TASK(task, INSIDE) != zero ||
        TASK(task, JOINED) != zero || TASK(task, LOOKS_AT) != Py_None ||
        PyList_GET_SIZE(EXECUTION(ALIVE)) == 1)
        return RARE;
    PyObject *key = PyLong_FromVoidPtr(shadow);
    if (key == NULL)
        return FAILED;
    PyObject *entry = PyDict_GetItemWithError(EXECUTION(VARIABLES), key);
    if (entry == NULL && !PyErr_Occurred())
        entry = name_variable(self, key, shadow);
    Py_DECREF(key);
    if (entry == NULL) {
        if (!PyErr_Occurred())
            entry = PyObject_CallMethodOneArg(self, text_name_variable, shadow);
        if (entry == NULL)
            return FAILED;
        Py_DECREF(entry); /* the execution keeps it */
    }
    PyObject *container = Py_NewRef(PyTuple_GET_ITEM(entry, 1));
    PyObject *chosen = NULL;
    Progress progress = FAILED;
    if (set_pending(task, kind, PyTuple_GET_ITEM(entry, 0), place) < 0)
        goto done;
    SET_TASK(task, WAITING, Py_True);
    progress = decide(self, task, &chosen);
    if (progress != DONE)
        goto done;
    progress = FAILED;
    if (chosen != task && switch_to(self, task, chosen) < 0)
        goto done;
    if (EXECUTION(ABORTING) != Py_False) {
        PyErr_SetNone(task_killed);
        goto done;
    }
    SET_TASK(task, WAITING, Py_False);
    if (is_interrupted(self, task)) {
        PyObject *arguments[] = {self, place, kind, shadow};
        PyObject *result = PyObject_Vectorcall(access_after_signals, arguments, 4, NULL);
        Py_XDECREF(result);
        progress = result == NULL ? FAILED : DONE;
        goto done;
    }
    SET_TASK(task, BREAKABLE, Py_False);
    if (container != Py_None && note_effect(self, task, container, kind) < 0)
        goto done;
    PyObject *looks = TASK(task, LOOKS);
    if (kind == write_kind) {
        PyDict_Clear(looks);
        SET_EXECUTION(IDLE_YIELDS, zero);
    } else if (count_look(self, looks, place) < 0)
        goto done;
    progress = DONE;
done:
    Py_DECREF(container);
    return progress;
}

/* 1: it was only announced. */
int
access_point(PyObject *self, PyObject *place, PyObject *kind, PyObject *shadow)
{
    Progress progress = try_access(self, place, kind, shadow);
    if (progress == RARE) {
        PyObject *arguments[] = {self, place, kind, shadow};
        PyObject *result =
            PyObject_Vectorcall(execution_fast_paths[ACCESS].reference, arguments, 4, NULL);
        Py_XDECREF(result);
        return result == NULL ? -1 : result == Py_True;
    }
    return progress == FAILED ? -1 : 0;
}

static PyObject *
access_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "access() takes place, kind and variable");
        return NULL;
    }
    int announced = access_point(self, arguments[0], arguments[1], arguments[2]);
    return announced < 0 ? NULL : Py_NewRef(announced ? Py_True : Py_False);
}

/* -- predicates ---------------------------------------------------------------------- */

static PyObject *
has_ended(PyObject *task, PyObject *Py_UNUSED(nothing))
{
    return Py_NewRef(TASK(task, ENDED));
}

static FastPath task_fast_paths[] = {
    {{"has_ended", has_ended, METH_NOARGS, "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* -- setting up ---------------------------------------------------------------------- */

PyObject *
use_execution(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *execution, *task, *state, *table, *fairness, *kind;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOOOnnnnnOOOO", &execution, &task, &state, &table,
                          &fairness, &kind, &holder, &operation_type, &task_killed, &progress_kinds,
                          &acquire_kind, &release_kind, &write_kind, &time_slice, &lonely_steps,
                          &first_look, &second_look, &spin_reads, &after_signals,
                          &access_after_signals, &getcurrent, &switch_from))
        return NULL;
    if (find_slots(execution, execution_slots) < 0 || find_slots(task, task_slots) < 0 ||
        find_slots(state, state_slots) < 0 || find_slots(table, table_slots) < 0 ||
        find_slots(fairness, fairness_slots) < 0 || find_slots(kind, kind_slots) < 0 ||
        find_slots((PyObject *)Py_TYPE(holder), holder_slots) < 0)
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {execution, task, holder, operation_type, task_killed, progress_kinds,
                        acquire_kind, release_kind, write_kind, after_signals, access_after_signals,
                        getcurrent, switch_from};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    execution_type = (PyTypeObject *)execution;
    task_type = (PyTypeObject *)task;
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    nothing = PyTuple_New(0);
    text_switch = PyUnicode_InternFromString("switch");
    text_effects = PyUnicode_InternFromString("effects");
    text_name_variable = PyUnicode_InternFromString("_name_variable");
    text_looked_again = PyUnicode_InternFromString("looked_again");
    if (PyErr_Occurred() || take_over(execution, execution_fast_paths) < 0 ||
        take_over(task, task_fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}
