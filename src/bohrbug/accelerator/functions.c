/* All functions written in Python, known from their making; see bohrbug/runtime/threads/heap.py.

Looking for functions among all objects takes as long as a few executions do. From Python 3.12 on
the interpreter tells of each function that is made, changed or destroyed: from the first time
that somebody asks they are kept in a table, with what is asked for. */
#include "heap.h"
#include "identities.h"

#if PY_VERSION_HEX >= 0x030C0000

/* A place of the table: a function, not owned, and what is asked for. */
typedef struct {
    PyFunctionObject *function;
    PyObject *code, *globals;
} Entry;

/* The number of places is a power of two; a place is free if it has no function. */
static struct {
    Entry *places;
    size_t mask, count;
    bool is_complete;
} table;

static int watcher = -1;

static size_t
entry_of(const PyFunctionObject *function)
{
    size_t place = scattered(function) & table.mask;
    while (table.places[place].function != NULL && table.places[place].function != function)
        place = (place + 1) & table.mask;
    return place;
}

static bool
grow(void)
{
    Entry *old = table.places;
    size_t size = old == NULL ? 0 : table.mask + 1;
    size_t larger = size == 0 ? 1 << 14 : 2 * size;
    Entry *places = PyMem_RawCalloc(larger, sizeof *places);
    if (places == NULL)
        return false;
    table.places = places;
    table.mask = larger - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i].function != NULL)
            places[entry_of(old[i].function)] = old[i];
    PyMem_RawFree(old);
    return true;
}

static void
enter(PyFunctionObject *function, PyObject *code)
{
    /* Without memory the table is given up, and everything is looked through again. */
    if ((table.places == NULL || 2 * table.count > table.mask) && !grow()) {
        table.is_complete = false;
        return;
    }
    size_t place = entry_of(function);
    table.count += table.places[place].function == NULL;
    table.places[place] = (Entry){function, code, function->func_globals};
}

static void
leave(PyFunctionObject *function)
{
    size_t free_place = entry_of(function);
    if (table.places[free_place].function == NULL)
        return;
    table.count--;
    /* What follows without a gap moves up, as far as it may. */
    for (size_t place = (free_place + 1) & table.mask; table.places[place].function != NULL;
         place = (place + 1) & table.mask) {
        size_t home = scattered(table.places[place].function) & table.mask;
        if (((place - home) & table.mask) >= ((place - free_place) & table.mask)) {
            table.places[free_place] = table.places[place];
            free_place = place;
        }
    }
    table.places[free_place] = (Entry){0};
}

/* It is not allocated as instances of other classes are. */
static void
note_birth_of(PyFunctionObject *function)
{
    const char *name = PyUnicode_AsUTF8(function->func_qualname);
    if (name == NULL)
        PyErr_Clear();
    note_birth((PyObject *)function, name == NULL ? "function" : name, true);
}

/* A PyFunction_WatchCallback. */
static int
look_at_change(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *value)
{
    if (event == PyFunction_EVENT_CREATE)
        note_birth_of(function);
    else if (event == PyFunction_EVENT_DESTROY)
        note_end(function);
    if (!table.is_complete)
        return 0;
    if (event == PyFunction_EVENT_CREATE)
        enter(function, function->func_code);
    else if (event == PyFunction_EVENT_DESTROY)
        leave(function);
    else if (event == PyFunction_EVENT_MODIFY_CODE)
        enter(function, value);
    return 0;
}

/* A gcvisitobjects_t. */
static int
look_at_function(PyObject *object, void *Py_UNUSED(argument))
{
    if (PyFunction_Check(object))
        enter((PyFunctionObject *)object, PyFunction_GET_CODE(object));
    return table.is_complete;
}

PyObject *
watch_functions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    if (!table.is_complete) {
        if (watcher < 0 && (watcher = PyFunction_AddWatcher(look_at_change)) < 0) {
            /* Others have taken all that there are. */
            PyErr_Clear();
            Py_RETURN_FALSE;
        }
        PyMem_RawFree(table.places);
        table.places = NULL;
        table.count = 0;
        table.is_complete = true;
        PyUnstable_GC_VisitObjects(look_at_function, NULL);
    }
    return PyBool_FromLong(table.is_complete);
}

PyObject *
functions_are_watched(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(table.is_complete);
}

/* Those functions in the table of which a part is one of some objects. */
static PyObject *
watched_functions_with(const Addresses *wanted, bool by_code)
{
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found != NULL && i <= table.mask && table.places != NULL; i++) {
        const Entry *entry = &table.places[i];
        if (entry->function != NULL && is_among(by_code ? entry->code : entry->globals, wanted) &&
            PyList_Append(found, (PyObject *)entry->function) < 0)
            Py_CLEAR(found);
    }
    return found;
}

#else

PyObject *
watch_functions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    Py_RETURN_FALSE;
}

PyObject *
functions_are_watched(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    Py_RETURN_FALSE;
}

static PyObject *
watched_functions_with(const Addresses *Py_UNUSED(wanted), bool Py_UNUSED(by_code))
{
    PyErr_SetString(PyExc_TypeError, "functions are not watched");
    return NULL;
}

#endif

/* Those functions in a list of which a part is one of some objects. */
static PyObject *
listed_functions_with(const Addresses *wanted, bool by_code, PyObject *functions)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(functions); i++) {
        PyObject *each = PyList_GET_ITEM(functions, i);
        if (PyFunction_Check(each) &&
            is_among(by_code ? PyFunction_GET_CODE(each) : PyFunction_GET_GLOBALS(each), wanted) &&
            PyList_Append(found, each) < 0)
            Py_CLEAR(found);
    }
    return found;
}

/* Of the functions in a list, or of those that are watched in place of ``None``. */
static PyObject *
functions_with(PyObject *arguments, bool by_code)
{
    PyObject *parts, *functions;
    Addresses wanted;
    if (!PyArg_ParseTuple(arguments, "OO", &parts, &functions))
        return NULL;
    if (functions != Py_None && !PyList_Check(functions)) {
        PyErr_SetString(PyExc_TypeError, "neither a list nor None");
        return NULL;
    }
    if (make_addresses(&wanted, parts) < 0)
        return NULL;
    PyObject *found = functions == Py_None ? watched_functions_with(&wanted, by_code)
                                           : listed_functions_with(&wanted, by_code, functions);
    PyMem_Free(wanted.places);
    return found;
}

PyObject *
functions_running(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return functions_with(arguments, true);
}

PyObject *
functions_in(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return functions_with(arguments, false);
}
