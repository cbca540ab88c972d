/* A set of 64-bit numbers without an object for each; see bohrbug/search/keys.py.
 *
 * Open addressing: 11 to 21 bytes for each number, where a set and its ints take some 80. */
#include "accelerator.h"
#include <stdint.h>

typedef struct {
    PyObject_HEAD
    int64_t *places; /* 0: a free place */
    size_t mask, count;
    bool has_zero;
} Keys;

enum { FIRST_SIZE = 64 };

static size_t
place_of_key(const Keys *self, int64_t key)
{
    uint64_t mixed = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);
    size_t place = (size_t)(mixed ^ mixed >> 32) & self->mask;
    while (self->places[place] != 0 && self->places[place] != key)
        place = (place + 1) & self->mask;
    return place;
}

static int
make_room(Keys *self)
{
    size_t size = self->places == NULL ? 0 : self->mask + 1;
    if (4 * self->count < 3 * size)
        return 0;
    size_t larger = size == 0 ? FIRST_SIZE : 2 * size;
    int64_t *places = PyMem_RawCalloc(larger, sizeof *places), *old = self->places;
    if (places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->places = places;
    self->mask = larger - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i] != 0)
            places[place_of_key(self, old[i])] = old[i];
    PyMem_RawFree(old);
    return 0;
}

static int
has(const Keys *self, int64_t key)
{
    if (key == 0)
        return self->has_zero;
    return self->places != NULL && self->places[place_of_key(self, key)] == key;
}

static int
put(Keys *self, int64_t key)
{
    if (key == 0) {
        self->has_zero = true;
        return 0;
    }
    if (make_room(self) < 0)
        return -1;
    size_t place = place_of_key(self, key);
    self->count += self->places[place] == 0;
    self->places[place] = key;
    return 0;
}

int
is_among_keys(PyObject *keys, PyObject *key)
{
    int64_t number = PyLong_AsLongLong(key);
    return number == -1 && PyErr_Occurred() ? -1 : has((Keys *)keys, number);
}

int
add_key(PyObject *keys, PyObject *key)
{
    int64_t number = PyLong_AsLongLong(key);
    return number == -1 && PyErr_Occurred() ? -1 : put((Keys *)keys, number);
}

static PyObject *
add_method(PyObject *self, PyObject *key)
{
    if (add_key(self, key) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
update(PyObject *self, PyObject *keys)
{
    PyObject *all = PyObject_GetIter(keys), *key = NULL;
    int result = all == NULL ? -1 : 0;
    while (result == 0 && (key = PyIter_Next(all)) != NULL) {
        result = add_key(self, key);
        Py_DECREF(key);
    }
    Py_XDECREF(all);
    if (result < 0 || PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static Py_ssize_t
length(PyObject *self)
{
    return (Py_ssize_t)((Keys *)self)->count + ((Keys *)self)->has_zero;
}

/* Of a copy. */
static PyObject *
iterate(PyObject *object)
{
    const Keys *self = (Keys *)object;
    size_t size = self->places == NULL ? 0 : self->mask + 1;
    PyObject *all = PyList_New(length(object)), *iterator = NULL;
    Py_ssize_t next = 0;
    if (all != NULL && self->has_zero)
        PyList_SET_ITEM(all, next++, PyLong_FromLong(0));
    for (size_t i = 0; all != NULL && i < size; i++) {
        if (self->places[i] == 0)
            continue;
        PyObject *key = PyLong_FromLongLong(self->places[i]);
        if (key == NULL)
            Py_CLEAR(all);
        else
            PyList_SET_ITEM(all, next++, key);
    }
    if (all != NULL)
        iterator = PyObject_GetIter(all);
    Py_XDECREF(all);
    return iterator;
}

static void
dealloc(PyObject *self)
{
    PyMem_RawFree(((Keys *)self)->places);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
size_of(PyObject *object, PyObject *Py_UNUSED(nothing))
{
    const Keys *self = (Keys *)object;
    size_t places = self->places == NULL ? 0 : self->mask + 1;
    return PyLong_FromSize_t(sizeof(Keys) + places * sizeof *self->places);
}

static PyMethodDef methods[] = {
    {"__sizeof__", size_of, METH_NOARGS, "The bytes that it takes."},
    {"add", add_method, METH_O, "Add a number."},
    {"update", update, METH_O, "Add several numbers."},
    {0},
};

static PySequenceMethods as_sequence = {.sq_length = length, .sq_contains = is_among_keys};

PyTypeObject keys_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bohrbug.accelerator._accelerator.Keys",
    .tp_basicsize = sizeof(Keys),
    .tp_dealloc = dealloc,
    .tp_as_sequence = &as_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A set of 64-bit numbers.",
    .tp_iter = iterate,
    .tp_methods = methods,
    .tp_new = PyType_GenericNew,
};
