/* Where iterative preemption bounding branches off an execution.
 *
 * See BoundedSearch in bohrbug/search/bounded.py.
 */
#include "accelerator.h"

typedef struct {
    PyObject *choices, *tasks, *enabled, *timed, *yielded, *arities, *states, *visited;
    PyObject *digest, *alternatives, *trace;
    bool recording;
} Search;

/* state ^ digest(choice): an edge of the cache */
static PyObject *
edge(const Search *search, PyObject *state, PyObject *choice)
{
    PyObject *digest = PyObject_CallOneArg(search->digest, choice);
    PyObject *key = digest == NULL ? NULL : PyNumber_Xor(state, digest);
    Py_XDECREF(digest);
    return key;
}

/* Append the edges' choices that were not taken before; those that are free count as taken. */
static int
sort_in(const Search *search, Py_ssize_t step, PyObject *choice, bool is_free, PyObject *free,
        PyObject *later)
{
    PyObject *key = edge(search, PyList_GET_ITEM(search->states, step), choice);
    int known = key == NULL ? -1 : is_among_keys(search->visited, key);
    int result = known < 0 ? -1 : 0;
    if (known == 0 && is_free) {
        result = PyList_Append(free, choice);
        if (result == 0 && search->recording)
            result = add_key(search->visited, key);
    } else if (known == 0) {
        PyObject *branch = Py_BuildValue("nOO", step, choice, key);
        result = branch == NULL ? -1 : PyList_Append(later, branch);
        Py_XDECREF(branch);
    }
    Py_XDECREF(key);
    return result;
}

/* All choices not made at a step at which only tasks can be chosen, none by its timeout. */
static int
ordinary_alternatives(const Search *search, Py_ssize_t step, PyObject *free, PyObject *later)
{
    PyObject *chosen = PyList_GET_ITEM(search->choices, step);
    PyObject *enabled = PyList_GET_ITEM(search->enabled, step);
    PyObject *previous = step > 0 ? PyList_GET_ITEM(search->tasks, step - 1) : Py_None;
    int goes_on = PySequence_Contains(enabled, previous);
    if (goes_on < 0)
        return -1;
    if (PyList_GET_ITEM(search->yielded, step) == Py_True)
        goes_on = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(enabled); i++) {
        PyObject *task = PyTuple_GET_ITEM(enabled, i);
        int is_chosen = PyObject_RichCompareBool(task, chosen, Py_EQ);
        int is_previous = PyObject_RichCompareBool(task, previous, Py_EQ);
        if (is_chosen < 0 || is_previous < 0)
            return -1;
        if (!is_chosen && sort_in(search, step, task, !goes_on || is_previous, free, later) < 0)
            return -1;
    }
    return 0;
}

/* The same at any step, with what bohrbug.search.branching.alternatives says. */
static int
rare_alternatives(const Search *search, Py_ssize_t step, PyObject *free, PyObject *later)
{
    PyObject *both = PyObject_CallFunction(search->alternatives, "On", search->trace, step);
    int result = both == NULL ? -1 : 0;
    for (Py_ssize_t which = 0; which < 2 && result == 0; which++) {
        PyObject *choices = PyTuple_GET_ITEM(both, which);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(choices) && result == 0; i++)
            result = sort_in(search, step, PyList_GET_ITEM(choices, i), which == 0, free, later);
    }
    Py_XDECREF(both);
    return result;
}

/* One step; -1: exception, 1: what comes behind it is known, 0: go on. */
static int
look_at(const Search *search, Py_ssize_t step, PyObject *branches, PyObject *later)
{
    PyObject *choice = PyList_GET_ITEM(search->choices, step);
    if (!PyTuple_Check(PyList_GET_ITEM(search->enabled, step)) ||
        !PyTuple_Check(PyList_GET_ITEM(search->timed, step))) {
        PyErr_SetString(PyExc_TypeError, "the options of a step are no tuple");
        return -1;
    }
    PyObject *key = edge(search, PyList_GET_ITEM(search->states, step), choice);
    int known = key == NULL ? -1 : is_among_keys(search->visited, key);
    if (known == 0 && search->recording && add_key(search->visited, key) < 0)
        known = -1;
    Py_XDECREF(key);
    if (known < 0)
        return -1;
    Py_ssize_t options = PyTuple_GET_SIZE(PyList_GET_ITEM(search->enabled, step));
    Py_ssize_t timed = PyTuple_GET_SIZE(PyList_GET_ITEM(search->timed, step));
    bool has_data = PyDict_GET_SIZE(search->arities) != 0;
    if (options + timed == 1 && !has_data)
        return known;
    PyObject *free = PyList_New(0);
    int result = free == NULL                ? -1
                 : timed == 0 && !has_data ? ordinary_alternatives(search, step, free, later)
                                           : rare_alternatives(search, step, free, later);
    if (result == 0 && PyList_GET_SIZE(free) != 0) {
        PyObject *branch = NULL;
        if (PyList_Reverse(free) == 0)
            branch = Py_BuildValue("nO", step, free);
        result = branch == NULL ? -1 : PyList_Append(branches, branch);
        Py_XDECREF(branch);
    }
    Py_XDECREF(free);
    return result < 0 ? -1 : known;
}

/* branches(trace, columns, states, start, end, visited, recording, digest, alternatives):
 * what can be taken now, and what costs a preemption. */
PyObject *
branches(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Search search;
    Py_ssize_t start, end;
    int recording;
    if (!PyArg_ParseTuple(arguments, "O(O!O!O!O!O!O!)O!nnO!pOO", &search.trace, &PyList_Type,
                          &search.choices, &PyList_Type, &search.tasks, &PyList_Type,
                          &search.enabled, &PyList_Type, &search.timed, &PyList_Type,
                          &search.yielded, &PyDict_Type, &search.arities, &PyList_Type,
                          &search.states, &start, &end, &keys_type, &search.visited, &recording,
                          &search.digest, &search.alternatives))
        return NULL;
    search.recording = recording;
    if (start < 0 || end > PyList_GET_SIZE(search.choices) ||
        end > PyList_GET_SIZE(search.tasks) || end > PyList_GET_SIZE(search.enabled) ||
        end > PyList_GET_SIZE(search.timed) || end > PyList_GET_SIZE(search.yielded) ||
        end > PyList_GET_SIZE(search.states)) {
        PyErr_SetString(PyExc_ValueError, "there are not so many steps");
        return NULL;
    }
    PyObject *now = PyList_New(0), *later = PyList_New(0), *both = NULL;
    int result = now == NULL || later == NULL ? -1 : 0;
    for (Py_ssize_t step = start; step < end && result == 0; step++)
        result = look_at(&search, step, now, later);
    if (result >= 0)
        both = PyTuple_Pack(2, now, later);
    Py_XDECREF(now);
    Py_XDECREF(later);
    return both;
}
