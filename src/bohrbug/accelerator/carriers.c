/* Carriers: greenlets that carry one task after the other from its first operation to its last.
 *
 * Fast paths of Carrier.run, Execution.carry and lifecycle.carry, with the same effects in the
 * same order.
 */
#include "scheduling.h"

enum { CARRIED_TASK, CARRIED_FOR, POOL_OF };
static Slot carrier_slots[] = {
    [CARRIED_TASK] = {"task", 0}, [CARRIED_FOR] = {"execution", 0}, [POOL_OF] = {"pool", 0}, {0},
};
enum { IDLE };
static Slot pool_slots[] = {[IDLE] = {"_idle", 0}, {0}};
enum { BEGUN, CARRIER, ENTERED, FUNCTION, PRELUDE_OF, STATE };
static Slot parts[] = {
    [BEGUN] = {"begun", 0}, [CARRIER] = {"carrier", 0}, [ENTERED] = {"entered", 0},
    [FUNCTION] = {"function", 0}, [PRELUDE_OF] = {"prelude_of", 0}, [STATE] = {"state", 0}, {0},
};
static Slot outside_slots[] = {{"in_child", 0}, {0}};

static PyTypeObject *carrier_type;
static PyObject *text_switch, *text_context, *fail_task, *leave_child;

/* lifecycle._begin; false: the execution is over, or an exception is set. */
static bool
begin(PyObject *self, PyObject *task)
{
    slot_set(task, parts[BEGUN], Py_True);
    SET_TASK(task, BREAKABLE, Py_True);
    PyObject *detector = EXECUTION(DETECTOR);
    if (detector != Py_None && synchronise(detector, slot_int(task, task_slots[INDEX]),
                                           slot_get(task, parts[STATE]), true) < 0)
        return false;
    return EXECUTION(ABORTING) == Py_False;
}

/* Do what the task is for. */
static int
do_function(PyObject *self, PyObject *task)
{
    if (slot_get(task, parts[PRELUDE_OF]) == Py_None ? !begin(self, task)
                                                      : EXECUTION(ABORTING) != Py_False)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *function = Py_NewRef(slot_get(task, parts[FUNCTION]));
    PyObject *result = PyObject_CallNoArgs(function);
    Py_DECREF(function);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* lifecycle.carry */
static int
carry(PyObject *self, PyObject *task)
{
    slot_set(task, parts[ENTERED], Py_True);
    if (do_function(self, task) < 0) {
        if (PyErr_ExceptionMatches(task_killed) || PyErr_ExceptionMatches(PyExc_SystemExit))
            PyErr_Clear();
        else {
            PyObject *type, *error, *traceback;
            PyErr_Fetch(&type, &error, &traceback);
            PyErr_NormalizeException(&type, &error, &traceback);
            if (traceback != NULL)
                PyException_SetTraceback(error, traceback);
            PyObject *arguments[] = {self, task, error};
            PyObject *result = PyObject_Vectorcall(fail_task, arguments, 3, NULL);
            Py_XDECREF(type);
            Py_XDECREF(error);
            Py_XDECREF(traceback);
            Py_XDECREF(result);
            if (result == NULL)
                return -1;
        }
    }
    if (slot_get(EXECUTION(OUTSIDE), outside_slots[0]) != Py_False) {
        PyObject *result = PyObject_CallOneArg(leave_child, self);
        Py_XDECREF(result);
        if (result == NULL)
            return -1;
    }
    return end_of_task(self, task);
}

/* Execution.carry; a new reference to the greenlet that goes on. */
static PyObject *
carry_to_end(PyObject *self, PyObject *task)
{
    if (carry(self, task) < 0)
        return NULL;
    PyObject *chosen = Py_NewRef(EXECUTION(ROOT));
    if (EXECUTION(ABORTING) == Py_False)
        Py_SETREF(chosen, decided(self, task));
    PyObject *successor = NULL;
    if (chosen != NULL && swap_state(self, task, chosen) == 0) {
        SET_EXECUTION(CURRENT, chosen);
        successor = Py_NewRef(TASK(chosen, GREENLET));
    }
    Py_XDECREF(chosen);
    return successor;
}

/* Carrier.run */
static PyObject *
run(PyObject *carrier, PyObject *maker)
{
    PyObject *begun = PyObject_CallMethodNoArgs(maker, text_switch);
    if (begun == NULL)
        return NULL;
    Py_DECREF(begun);
    for (;;) {
        PyObject *task = Py_NewRef(slot_get(carrier, carrier_slots[CARRIED_TASK]));
        PyObject *execution = Py_NewRef(slot_get(carrier, carrier_slots[CARRIED_FOR]));
        PyObject *successor = carry_to_end(execution, task);
        Py_DECREF(execution);
        if (successor != NULL) {
            slot_set(task, parts[CARRIER], Py_None);
            slot_set(task, parts[FUNCTION], Py_None);
            slot_set(carrier, carrier_slots[CARRIED_TASK], Py_None);
            slot_set(carrier, carrier_slots[CARRIED_FOR], Py_None);
        }
        Py_DECREF(task);
        PyObject *pool = slot_get(carrier, carrier_slots[POOL_OF]), *result = NULL;
        if (successor != NULL && PyObject_SetAttr(carrier, text_context, Py_None) == 0 &&
            PyList_Append(slot_get(pool, pool_slots[IDLE]), carrier) == 0)
            result = PyObject_CallMethodNoArgs(successor, text_switch);
        Py_XDECREF(successor);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
    }
}

/* CarrierPool.get */
static PyObject *
new_carrier(PyObject *pool)
{
    PyObject *idle = slot_get(pool, pool_slots[IDLE]);
    Py_ssize_t count = PyList_GET_SIZE(idle);
    if (count == 0)
        return PyObject_CallOneArg((PyObject *)carrier_type, pool);
    PyObject *carrier = Py_NewRef(PyList_GET_ITEM(idle, count - 1));
    if (PyList_SetSlice(idle, count - 1, count, NULL) < 0)
        Py_CLEAR(carrier);
    return carrier;
}

int
give_carrier(PyObject *self, PyObject *task)
{
    PyObject *carrier = new_carrier(EXECUTION(POOL));
    if (carrier == NULL)
        return -1;
    slot_set(carrier, carrier_slots[CARRIED_TASK], task);
    slot_set(carrier, carrier_slots[CARRIED_FOR], self);
    slot_set(task, parts[CARRIER], carrier);
    SET_TASK(task, GREENLET, carrier);
    Py_DECREF(carrier);
    return 0;
}

static FastPath carrier_fast_paths[] = {
    {{"run", run, METH_O, "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* use_carriers(Carrier, CarrierPool, Task, Outside, fail_task, leave_child) */
PyObject *
use_carriers(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *carrier, *pool, *task, *outside, *fail, *leave;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &carrier, &pool, &task, &outside, &fail, &leave) ||
        find_slots(carrier, carrier_slots) < 0 || find_slots(pool, pool_slots) < 0 ||
        find_slots(task, parts) < 0 || find_slots(outside, outside_slots) < 0)
        return NULL;
    const Name names[] = {{&text_switch, "switch"}, {&text_context, "gr_context"}};
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    /* They live as long as the process. */
    carrier_type = (PyTypeObject *)Py_NewRef(carrier);
    fail_task = Py_NewRef(fail);
    leave_child = Py_NewRef(leave);
    if (take_over(carrier, carrier_fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}
