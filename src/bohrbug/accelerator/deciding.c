/* The decision: the common case of Execution._decide. */
#include "scheduling.h"

#include "core/options.h"

static PyObject *text_choose;

/* -- choosing --------------------------------------------------------------------- */

/* Fill in the enabled tasks, borrowed, and return their number; 0: a rare case. There is room for
 * ``most`` of them: to ask a task may run code of the program, but starts none. */
static Py_ssize_t
enabled_tasks(PyObject *self, PyObject **enabled, Py_ssize_t most)
{
    PyObject *alive = EXECUTION(ALIVE);
    if (EXECUTION(SUSPENDED) != zero)
        return 0;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(alive) && i < most; i++) {
        PyObject *task = PyList_GET_ITEM(alive, i);
        PyObject *ready = TASK(task, READY);
        if (ready != Py_None) {
            int can_run = is_ready(self, ready);
            if (can_run < 0)
                return -1;
            if (!can_run) {
                if (TASK(task, DEADLINE) != Py_None)
                    return 0;
                continue;
            }
        }
        enabled[count++] = task;
    }
    return count;
}

static int
index_of(PyObject *task, PyObject **tasks, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (tasks[i] == task)
            return (int)i;
    return -1;
}

/* Round robin; a borrowed task. */
static PyObject *
next_of(PyObject *running, PyObject **enabled, Py_ssize_t count, Py_ssize_t step)
{
    uint16_t numbers[MANY_TASKS];
    if (count > MANY_TASKS)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t number = slot_int(enabled[i], task_slots[INDEX]);
        if (number < 0 || number > UINT16_MAX)
            return NULL;
        numbers[i] = (uint16_t)number;
    }
    struct options options = {numbers, NULL, (uint32_t)count, 0};
    uint32_t own = (uint32_t)slot_int(running, task_slots[INDEX]);
    uint32_t chosen = next_in_turn(&options, own, false, (uint32_t)step);
    for (Py_ssize_t i = 0; i < count; i++)
        if (numbers[i] == chosen)
            return enabled[i];
    return NULL;
}

/* Who runs next, borrowed; NULL: a rare case, or an exception is set. */
static PyObject *
choose(PyObject *self, PyObject *running, PyObject **enabled, Py_ssize_t count, Py_ssize_t step)
{
    Py_ssize_t prefix_length = slot_int(self, execution_slots[PREFIX_LENGTH]);
    if (prefix_length == -1)
        return NULL;
    if (step < prefix_length) {
        PyObject *wanted = PyTuple_GetItem(EXECUTION(PREFIX), step);
        if (wanted == NULL)
            return NULL;
        for (Py_ssize_t i = 0; i < count; i++)
            if (TASK(enabled[i], ID) == wanted)
                return enabled[i];
        for (Py_ssize_t i = 0; i < count; i++) {
            int equal = PyObject_RichCompareBool(TASK(enabled[i], ID), wanted, Py_EQ);
            if (equal != 0)
                return equal < 0 ? NULL : enabled[i];
        }
        return NULL;
    }
    if (EXECUTION(NON_PREEMPTIVE) == Py_True)
        return index_of(running, enabled, count) >= 0 ? running
                                                      : next_of(running, enabled, count, step);
    PyObject *decider = EXECUTION(DECIDER);
    if (is_decider(decider))
        return choose_enabled(decider, running, enabled, count, step);
    if (text_choose == NULL && (text_choose = PyUnicode_InternFromString("choose")) == NULL)
        return NULL;
    PyObject *tasks = PyList_New(count), *number = PyLong_FromSsize_t(step), *chosen = NULL;
    if (tasks != NULL && number != NULL) {
        for (Py_ssize_t i = 0; i < count; i++)
            PyList_SET_ITEM(tasks, i, Py_NewRef(enabled[i]));
        PyObject *arguments[] = {decider, running, tasks, nothing, Py_False, number};
        chosen = PyObject_VectorcallMethod(text_choose, arguments, 6, NULL);
    }
    Py_XDECREF(tasks);
    Py_XDECREF(number);
    if (chosen != NULL && (!Py_IS_TYPE(chosen, task_type) || index_of(chosen, enabled, count) < 0))
        PyErr_SetString(PyExc_RuntimeError, "a policy chose something else than an enabled task");
    Py_XDECREF(chosen); /* it is among the enabled ones, which live on */
    return PyErr_Occurred() ? NULL : chosen;
}

/* The same as decide, with room for as many tasks as are alive. */
static Progress
decide_among(PyObject *self, PyObject *running, PyObject **chosen, PyObject **enabled,
             Py_ssize_t most)
{
    if (EXECUTION(MINDS_GIL) != Py_False || EXECUTION(YIELDING) != Py_False ||
        EXECUTION(SPINNING) != Py_False ||
        slot_get(EXECUTION(FAIRNESS), fairness_slots[FAIRNESS_ACTIVE]) != Py_False)
        return RARE;
    PyObject *rows = EXECUTION(ROWS);
    Py_ssize_t step = PyList_GET_SIZE(rows);
    Py_ssize_t next_check = slot_int(self, execution_slots[NEXT_CHECK]);
    Py_ssize_t slice_began = slot_int(self, execution_slots[SLICE_BEGAN]);
    if ((next_check == -1 || slice_began == -1) && PyErr_Occurred())
        return FAILED;
    if (step >= next_check || step - slice_began >= lonely_steps)
        return RARE;
    Py_ssize_t count = enabled_tasks(self, enabled, most);
    if (count <= 0)
        return count < 0 ? FAILED : RARE;
    if (count > 1 && step - slice_began >= time_slice)
        return RARE;
    PyObject *choice = choose(self, running, enabled, count, step);
    if (choice == NULL)
        return PyErr_Occurred() ? FAILED : RARE;
    PyObject *ids = shared_ids(enabled, count);
    PyObject *row = ids == NULL ? NULL : shared_row(TASK(choice, ID), TASK(choice, PENDING), ids);
    int result = row == NULL ? -1 : PyList_Append(rows, row);
    Py_XDECREF(ids);
    Py_XDECREF(row);
    if (result < 0)
        return FAILED;
    if (choice != running) {
        PyObject *number = PyLong_FromSsize_t(step);
        if (number == NULL)
            return FAILED;
        SET_EXECUTION(SLICE_BEGAN, number);
        Py_DECREF(number);
    }
    *chosen = choice;
    return DONE;
}

Progress
decide(PyObject *self, PyObject *running, PyObject **chosen)
{
    PyObject *few[MANY_TASKS];
    Py_ssize_t most = PyList_GET_SIZE(EXECUTION(ALIVE));
    if (most <= MANY_TASKS)
        return decide_among(self, running, chosen, few, most);
    PyObject **many = PyMem_New(PyObject *, most);
    if (many == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    Progress progress = decide_among(self, running, chosen, many, most);
    PyMem_Free(many);
    return progress;
}
