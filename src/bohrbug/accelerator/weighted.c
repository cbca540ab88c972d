/* SURW: who does the next selected event; see bohrbug/runtime/policies/weighted.py.
 *
 * Common is: the tasks are those of an execution of this process.
 */
#include "deciders.h"

enum { SELECTED, LEFT, PROMISED, INTENDED, RANDOM };
static Slot decider_slots[] = {
    [SELECTED] = {"_selected", 0}, [LEFT] = {"_left", 0}, [PROMISED] = {"_promised", 0},
    [INTENDED] = {"_intended", 0}, [RANDOM] = {"_random", 0}, {0},
};
static Twin decider_twins[];
enum { DRAWN, IS_SELECTED };

/* WeightedRandomDecider._is_selected; -1: exception */
static int
is_selected(PyObject *self, PyObject *task, KnownPlaces *known)
{
    PyObject *operation = TASK(task, PENDING), *selected = slot_get(self, decider_slots[SELECTED]);
    if (operation == Py_None)
        return 0;
    return selected == Py_None ? 1 : is_among_known(known, operation, selected);
}

/* The number that a dictionary has for a task, 0 if none; -1: exception */
static long long
number_for(PyObject *numbers, PyObject *id)
{
    PyObject *number = PyDict_GetItemWithError(numbers, id);
    return number == NULL ? (PyErr_Occurred() ? -1 : 0) : PyLong_AsLongLong(number);
}

/* WeightedRandomDecider._weights and _one_of: the index of the task that is drawn; ``count``: all
 * weights are 0; -1: exception. ``sums`` has room for one number for each task. */
static Py_ssize_t
one_by_weight(PyObject *self, PyObject *const *tasks, const bool *selected, Py_ssize_t count,
              long long *sums)
{
    long long sum = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *id = TASK(tasks[i], ID);
        long long left = number_for(slot_get(self, decider_slots[LEFT]), id);
        long long promised = number_for(slot_get(self, decider_slots[PROMISED]), id);
        if (PyErr_Occurred())
            return -1;
        long long weight = left + promised, least = selected[i] ? 1 : 0;
        sums[i] = sum += weight > least ? weight : least;
    }
    if (sum == 0)
        return count;
    double drawn = draw(slot_get(self, decider_slots[RANDOM]));
    if (drawn < 0.0)
        return -1;
    drawn *= (double)sum;
    Py_ssize_t index = 0;
    while (index < count - 1 && drawn >= (double)sums[index])
        index++;
    return index;
}

/* Draw whose selected event comes next, unless the one that was drawn is among some tasks. */
static int
intend(PyObject *self, PyObject *const *tasks, const bool *selected, Py_ssize_t count,
       long long *sums)
{
    PyObject *intended = slot_get(self, decider_slots[INTENDED]);
    for (Py_ssize_t i = 0; i < count && intended != Py_None; i++) {
        int is_there = PyObject_RichCompareBool(TASK(tasks[i], ID), intended, Py_EQ);
        if (is_there != 0)
            return is_there < 0 ? -1 : 0;
    }
    Py_ssize_t index = one_by_weight(self, tasks, selected, count, sums);
    if (index < 0)
        return -1;
    slot_set(self, decider_slots[INTENDED], index < count ? TASK(tasks[index], ID) : Py_None);
    return 0;
}

/* The task that is drawn, borrowed; NULL: exception. The other arrays have room for ``count``. */
static PyObject *
drawn_among(PyObject *self, PyObject *const *tasks, Py_ssize_t count, bool *selected,
            PyObject **able, long long *sums)
{
    KnownPlaces known = {0};
    for (Py_ssize_t i = 0; i < count; i++) {
        int found = is_selected(self, tasks[i], &known);
        if (found < 0)
            return NULL;
        selected[i] = found;
    }
    if (intend(self, tasks, selected, count, sums) < 0)
        return NULL;
    PyObject *intended = slot_get(self, decider_slots[INTENDED]);
    Py_ssize_t number = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int can = selected[i] ? PyObject_RichCompareBool(TASK(tasks[i], ID), intended, Py_EQ) : 1;
        if (can < 0)
            return NULL;
        if (can)
            able[number++] = tasks[i];
    }
    double drawn = draw(slot_get(self, decider_slots[RANDOM]));
    if (drawn < 0.0)
        return NULL;
    if (number == 0) {
        PyErr_SetString(PyExc_RuntimeError, "no task may run");
        return NULL;
    }
    return able[(Py_ssize_t)(drawn * (double)number)];
}

static PyObject *
drawn_of(PyObject *self, PyObject *const *tasks, Py_ssize_t count)
{
    if (count <= MANY_TASKS) {
        bool selected[MANY_TASKS];
        PyObject *able[MANY_TASKS];
        long long sums[MANY_TASKS];
        return drawn_among(self, tasks, count, selected, able, sums);
    }
    bool *selected = PyMem_New(bool, count);
    PyObject **able = PyMem_New(PyObject *, count), *drawn = NULL;
    long long *sums = PyMem_New(long long, count);
    if (selected == NULL || able == NULL || sums == NULL)
        PyErr_NoMemory();
    else
        drawn = drawn_among(self, tasks, count, selected, able, sums);
    PyMem_Free(selected);
    PyMem_Free(able);
    PyMem_Free(sums);
    return drawn;
}

/* WeightedRandomDecider._drawn(options) */
static PyObject *
drawn_method(PyObject *self, PyObject *options)
{
    Py_ssize_t count = PyList_CheckExact(options) ? PyList_GET_SIZE(options) : 0;
    bool is_common = count > 0;
    for (Py_ssize_t i = 0; i < count && is_common; i++)
        is_common = is_task(PyList_GET_ITEM(options, i));
    if (is_common)
        return Py_XNewRef(drawn_of(self, ((PyListObject *)options)->ob_item, count));
    return by_reference(&decider_twins[DRAWN], self, options);
}

/* WeightedRandomDecider._is_selected(task) */
static PyObject *
is_selected_method(PyObject *self, PyObject *task)
{
    if (!is_task(task))
        return by_reference(&decider_twins[IS_SELECTED], self, task);
    KnownPlaces known = {0};
    int found = is_selected(self, task, &known);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

static Twin decider_twins[] = {
    [DRAWN] = TWIN("_drawn", drawn_method),
    [IS_SELECTED] = TWIN("_is_selected", is_selected_method),
    {{0}, NULL},
};

/* use_weighted(WeightedRandomDecider) */
PyObject *
use_weighted(PyObject *Py_UNUSED(module), PyObject *decider)
{
    return use_decider(decider, decider_slots, decider_twins);
}
