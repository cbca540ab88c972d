/* Finding objects through the garbage collector; see bohrbug/runtime/threads/heap.py. */
#include "accelerator.h"

/* Everything that the collector tracks. */
static PyObject *
tracked_objects(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *objects = gc == NULL ? NULL : PyObject_CallMethod(gc, "get_objects", NULL);
    Py_XDECREF(gc);
    return objects;
}

PyObject *
objects_of_types(PyObject *Py_UNUSED(module), PyObject *types)
{
    PyObject *objects = tracked_objects(), *found = PyList_New(0);
    bool failed = objects == NULL || found == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(objects); i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        int wanted = PySequence_Contains(types, (PyObject *)Py_TYPE(object));
        failed = wanted < 0 || (wanted && PyList_Append(found, object) < 0);
    }
    Py_XDECREF(objects);
    if (failed)
        Py_CLEAR(found);
    return found;
}

/* A set of addresses; the number of places is a power of two, most of them are empty. */
typedef struct {
    PyObject **places;
    size_t mask;
} Addresses;

static size_t
place_of(const Addresses *addresses, PyObject *object)
{
    size_t place = ((size_t)object >> 4) * (size_t)0x9E3779B1u & addresses->mask;
    while (addresses->places[place] != NULL && addresses->places[place] != object)
        place = (place + 1) & addresses->mask;
    return place;
}

/* A visitproc: stops at the first object that is wanted. */
static int
is_wanted(PyObject *object, void *addresses)
{
    const Addresses *wanted = addresses;
    return wanted->places[place_of(wanted, object)] != NULL;
}

/* Make the set of some objects, which must outlive it. */
static int
make_addresses(Addresses *addresses, PyObject *objects)
{
    if (!PyList_Check(objects)) {
        PyErr_SetString(PyExc_TypeError, "not a list");
        return -1;
    }
    size_t size = 16;
    while (size < 8 * (size_t)PyList_GET_SIZE(objects))
        size *= 2;
    addresses->mask = size - 1;
    addresses->places = PyMem_Calloc(size, sizeof(PyObject *));
    if (addresses->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        addresses->places[place_of(addresses, object)] = object;
    }
    return 0;
}

typedef bool (*Test)(PyObject *object, Addresses *addresses);

/* All tracked objects, but for the list ``objects`` itself, that pass a test. */
static PyObject *
tracked_objects_that(Test test, PyObject *objects)
{
    Addresses addresses;
    if (make_addresses(&addresses, objects) < 0)
        return NULL;
    PyObject *all = tracked_objects(), *found = PyList_New(0);
    bool failed = all == NULL || found == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(all); i++) {
        PyObject *object = PyList_GET_ITEM(all, i);
        if (object != objects && test(object, &addresses))
            failed = PyList_Append(found, object) < 0;
    }
    Py_XDECREF(all);
    PyMem_Free(addresses.places);
    if (failed)
        Py_CLEAR(found);
    return found;
}

static bool
refers_to_one(PyObject *object, Addresses *addresses)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse != NULL && traverse(object, is_wanted, addresses) != 0;
}

static bool
runs_one(PyObject *object, Addresses *addresses)
{
    return PyFunction_Check(object) && is_wanted(PyFunction_GET_CODE(object), addresses);
}

static bool
has_globals(PyObject *object, Addresses *addresses)
{
    return PyFunction_Check(object) && is_wanted(PyFunction_GET_GLOBALS(object), addresses);
}

PyObject *
referrers(PyObject *Py_UNUSED(module), PyObject *objects)
{
    return tracked_objects_that(refers_to_one, objects);
}

PyObject *
functions_running(PyObject *Py_UNUSED(module), PyObject *codes)
{
    return tracked_objects_that(runs_one, codes);
}

PyObject *
functions_in(PyObject *Py_UNUSED(module), PyObject *namespaces)
{
    return tracked_objects_that(has_globals, namespaces);
}
