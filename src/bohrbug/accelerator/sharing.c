/* What executions write down again and again, made once: places, ids of tasks, names of
 * threads, operations, rows.
 *
 * None of them ever changes, and nobody asks which of two equal ones it is; so equal ones may be one
 * object, in all executions of an exploration. Each kind has a table of the last ones, by a hash of
 * what is in them: who comes to an entry that is taken takes it over.
 */
#include "scheduling.h"
#include <stdint.h>

enum { ENTRY_BITS = 9, ENTRIES = 1 << ENTRY_BITS };

/* A hash, and one more thing that it is to depend on. */
static inline uint64_t
mixed(uint64_t hash, uint64_t part)
{
    return (hash ^ part) * 0x9E3779B97F4A7C15u;
}

static inline uint64_t
address(PyObject *object)
{
    return (uint64_t)(uintptr_t)object >> 4;
}

static inline size_t
entry_of(uint64_t hash)
{
    return (size_t)(hash >> (64 - ENTRY_BITS));
}

/* Take an entry over; the object may be NULL, with an exception. Returns it. */
static PyObject *
kept(PyObject **entry, PyObject *object)
{
    if (object != NULL)
        Py_XSETREF(*entry, Py_NewRef(object));
    return object;
}

/* -- places ---------------------------------------------------------------------------- */

static struct {
    long offset;
    PyObject *place;
} places[ENTRIES];

PyObject *
shared_place(PyObject *code, long offset)
{
    size_t entry = entry_of(mixed(address(code), (uint64_t)offset));
    PyObject *place = places[entry].place;
    if (place != NULL && places[entry].offset == offset && PyTuple_GET_ITEM(place, 0) == code)
        return Py_NewRef(place);
    PyObject *number = PyLong_FromLong(offset);
    place = number == NULL ? NULL : PyTuple_Pack(2, code, number);
    Py_XDECREF(number);
    if (place != NULL)
        places[entry].offset = offset;
    return kept(&places[entry].place, place);
}

/* -- ids of tasks, and of what they make -------------------------------------------------- */

static struct {
    PyObject *task;
    char sign;
    Py_ssize_t number;
    PyObject *id;
} part_ids[ENTRIES];

PyObject *
shared_part(PyObject *task, char sign, Py_ssize_t number)
{
    size_t entry = entry_of(mixed(mixed(address(task), (uint64_t)sign), (uint64_t)number));
    if (part_ids[entry].task == task && part_ids[entry].sign == sign &&
        part_ids[entry].number == number)
        return Py_NewRef(part_ids[entry].id);
    PyObject *id = PyUnicode_FromFormat("%U%c%zd", task, sign, number);
    if (id != NULL) {
        Py_XSETREF(part_ids[entry].task, Py_NewRef(task));
        part_ids[entry].sign = sign;
        part_ids[entry].number = number;
    }
    return kept(&part_ids[entry].id, id);
}

/* -- names of threads -------------------------------------------------------------------- */

static struct {
    PyObject *number, *function, *name;
} thread_names[ENTRIES];

PyObject *
shared_thread_name(PyObject *number, PyObject *function)
{
    size_t entry = entry_of(mixed(address(number), address(function)));
    PyObject *name = thread_names[entry].name;
    if (name != NULL && thread_names[entry].number == number &&
        thread_names[entry].function == function)
        return Py_NewRef(name);
    name = function == NULL ? PyUnicode_FromFormat("Thread-%S", number)
                            : PyUnicode_FromFormat("Thread-%S (%U)", number, function);
    if (name != NULL) {
        Py_XSETREF(thread_names[entry].number, Py_NewRef(number));
        Py_XSETREF(thread_names[entry].function, Py_XNewRef(function));
    }
    return kept(&thread_names[entry].name, name);
}

static struct {
    PyObject *id, *label;
} thread_labels[ENTRIES];

PyObject *
shared_thread_label(PyObject *id)
{
    size_t entry = entry_of(mixed(0, address(id)));
    if (thread_labels[entry].id == id)
        return Py_NewRef(thread_labels[entry].label);
    PyObject *label = PyUnicode_FromFormat("thread %U", id);
    if (label != NULL)
        Py_XSETREF(thread_labels[entry].id, Py_NewRef(id));
    return kept(&thread_labels[entry].label, label);
}

/* -- names of variables ------------------------------------------------------------------ */

static struct {
    PyObject *owner, *name, *id;
} attributes[ENTRIES];

PyObject *
shared_attribute(PyObject *owner, PyObject *name)
{
    size_t entry = entry_of(mixed(address(owner), address(name)));
    PyObject *id = attributes[entry].id;
    if (id != NULL && attributes[entry].owner == owner && attributes[entry].name == name)
        return Py_NewRef(id);
    id = PyUnicode_FromFormat("%U.%U", owner, name);
    if (id != NULL) {
        Py_XSETREF(attributes[entry].owner, Py_NewRef(owner));
        Py_XSETREF(attributes[entry].name, Py_NewRef(name));
    }
    return kept(&attributes[entry].id, id);
}

/* -- sets of tasks ----------------------------------------------------------------------- */

static PyObject *sets[ENTRIES];

PyObject *
shared_ids(PyObject **tasks, Py_ssize_t count)
{
    uint64_t hash = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        hash = mixed(hash, address(TASK(tasks[i], ID)));
    size_t entry = entry_of(hash);
    PyObject *ids = sets[entry];
    if (ids != NULL && PyTuple_GET_SIZE(ids) == count) {
        Py_ssize_t same = 0;
        while (same < count && PyTuple_GET_ITEM(ids, same) == TASK(tasks[same], ID))
            same++;
        if (same == count)
            return Py_NewRef(ids);
    }
    ids = PyTuple_New(count);
    for (Py_ssize_t i = 0; ids != NULL && i < count; i++)
        PyTuple_SET_ITEM(ids, i, Py_NewRef(TASK(tasks[i], ID)));
    return kept(&sets[entry], ids);
}

/* -- operations ------------------------------------------------------------------------ */

static PyObject *operations[ENTRIES];

static bool
is_same_text(PyObject *one, PyObject *other)
{
    return one == other ||
           (PyUnicode_GET_LENGTH(one) == PyUnicode_GET_LENGTH(other) &&
            PyUnicode_Compare(one, other) == 0);
}

PyObject *
shared_operation(PyTypeObject *type, PyObject *kind, PyObject *resource, PyObject *place)
{
    Py_hash_t name = PyObject_Hash(resource);
    size_t entry = entry_of(mixed(mixed(mixed(0, (uint64_t)name), address(kind)), address(place)));
    PyObject *operation = operations[entry];
    if (operation != NULL && PyTuple_GET_ITEM(operation, 0) == kind &&
        PyTuple_GET_ITEM(operation, 2) == place &&
        is_same_text(PyTuple_GET_ITEM(operation, 1), resource))
        return Py_NewRef(operation);
    operation = type->tp_alloc(type, 3);
    if (operation != NULL) {
        PyTuple_SET_ITEM(operation, 0, Py_NewRef(kind));
        PyTuple_SET_ITEM(operation, 1, Py_NewRef(resource));
        PyTuple_SET_ITEM(operation, 2, Py_NewRef(place));
    }
    return kept(&operations[entry], operation);
}

/* -- rows ------------------------------------------------------------------------------ */

static PyObject *rows[ENTRIES];

PyObject *
shared_row(PyObject *id, PyObject *operation, PyObject *ids)
{
    size_t entry = entry_of(mixed(mixed(address(operation), address(ids)), address(id)));
    PyObject *row = rows[entry];
    if (row != NULL && PyTuple_GET_ITEM(row, 2) == operation && PyTuple_GET_ITEM(row, 3) == ids &&
        PyTuple_GET_ITEM(row, 1) == id)
        return Py_NewRef(row);
    return kept(&rows[entry], PyTuple_Pack(6, id, id, operation, ids, nothing, Py_False));
}

/* forget_shared(): after an exploration */
PyObject *
forget_shared(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    forget_frames();
    for (size_t i = 0; i < ENTRIES; i++) {
        Py_CLEAR(rows[i]);
        Py_CLEAR(operations[i]);
        Py_CLEAR(sets[i]);
        Py_CLEAR(part_ids[i].task);
        Py_CLEAR(part_ids[i].id);
        Py_CLEAR(thread_names[i].number);
        Py_CLEAR(thread_names[i].function);
        Py_CLEAR(thread_names[i].name);
        Py_CLEAR(attributes[i].owner);
        Py_CLEAR(attributes[i].name);
        Py_CLEAR(attributes[i].id);
        Py_CLEAR(thread_labels[i].id);
        Py_CLEAR(thread_labels[i].label);
        Py_CLEAR(places[i].place);
    }
    Py_RETURN_NONE;
}
