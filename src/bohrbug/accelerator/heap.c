/* Finding objects through the garbage collector; see bohrbug/runtime/threads/heap.py. */
#include "accelerator.h"

/* -- walking ----------------------------------------------------------------------- */

typedef struct Addresses Addresses;
typedef bool (*Test)(PyObject *object, Addresses *addresses);

/* What is looked for, and what was found: references to it, in an array that grows. */
typedef struct {
    Test test;
    Addresses *addresses;
    Addresses *types_passed_over;
    PyObject *left_out;
    PyObject **found;
    size_t count, room;
    bool failed;
} Search;

static bool has_type(PyObject *object, Addresses *addresses);

/* A gcvisitobjects_t.  It makes no objects, which could change what is walked over. */
static int
look_at(PyObject *object, void *argument)
{
    Search *search = argument;
    if (object == search->left_out ||
        (search->types_passed_over != NULL && has_type(object, search->types_passed_over)) ||
        !search->test(object, search->addresses))
        return 1;
    if (search->count == search->room) {
        size_t room = search->room == 0 ? 256 : 2 * search->room;
        PyObject **found = PyMem_RawRealloc(search->found, room * sizeof *found);
        if (found == NULL) {
            search->failed = true;
            return 0;
        }
        search->found = found;
        search->room = room;
    }
    search->found[search->count++] = Py_NewRef(object);
    return 1;
}

/* Look at everything that the collector tracks. */
static void
walk(Search *search)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_GC_VisitObjects(look_at, search);
#else
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *objects = gc == NULL ? NULL : PyObject_CallMethod(gc, "get_objects", NULL);
    Py_XDECREF(gc);
    search->failed = objects == NULL;
    for (Py_ssize_t i = 0; objects != NULL && i < PyList_GET_SIZE(objects); i++)
        if (!look_at(PyList_GET_ITEM(objects, i), search))
            break;
    Py_XDECREF(objects);
#endif
}

/* -- sets of objects --------------------------------------------------------------- */

/* A set of addresses; the number of places is a power of two, most of them are empty. */
struct Addresses {
    PyObject **places;
    size_t mask;
};

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

/* -- searches ---------------------------------------------------------------------- */

/* All tracked objects, but for the list ``objects`` itself, that pass a test. */
static PyObject *
tracked_objects_that(Test test, PyObject *objects, Addresses *types_passed_over)
{
    Addresses addresses;
    if (make_addresses(&addresses, objects) < 0)
        return NULL;
    Search search = {.test = test, .addresses = &addresses, .left_out = objects,
                     .types_passed_over = types_passed_over};
    walk(&search);
    PyMem_Free(addresses.places);
    PyObject *found = search.failed ? NULL : PyList_New((Py_ssize_t)search.count);
    for (size_t i = 0; i < search.count; i++) {
        if (found != NULL)
            PyList_SET_ITEM(found, (Py_ssize_t)i, search.found[i]);
        else
            Py_DECREF(search.found[i]);
    }
    PyMem_RawFree(search.found);
    return found != NULL || PyErr_Occurred() ? found : PyErr_NoMemory();
}

static bool
has_type(PyObject *object, Addresses *addresses)
{
    return is_wanted((PyObject *)Py_TYPE(object), addresses);
}

static bool
refers_to_one(PyObject *object, Addresses *addresses)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse != NULL && traverse(object, is_wanted, addresses) != 0;
}

PyObject *
objects_of_types(PyObject *Py_UNUSED(module), PyObject *types)
{
    PyObject *list = PySequence_List(types);
    PyObject *found = list == NULL ? NULL : tracked_objects_that(has_type, list, NULL);
    Py_XDECREF(list);
    return found;
}

PyObject *
referrers(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects, *types;
    if (!PyArg_ParseTuple(arguments, "OO", &objects, &types))
        return NULL;
    PyObject *list = PySequence_List(types);
    Addresses passed_over;
    if (list == NULL || make_addresses(&passed_over, list) < 0) {
        Py_XDECREF(list);
        return NULL;
    }
    PyObject *found = tracked_objects_that(refers_to_one, objects, &passed_over);
    PyMem_Free(passed_over.places);
    Py_DECREF(list);
    return found;
}

/* -- functions ----------------------------------------------------------------------- */

static PyObject *
code_of(PyObject *function)
{
    return PyFunction_GET_CODE(function);
}

static PyObject *
globals_of(PyObject *function)
{
    return PyFunction_GET_GLOBALS(function);
}

/* Those of the functions in a list of which a part is one of some objects. */
static PyObject *
functions_with(PyObject *arguments, PyObject *(*part_of)(PyObject *))
{
    PyObject *parts, *functions;
    Addresses wanted;
    if (!PyArg_ParseTuple(arguments, "OO!", &parts, &PyList_Type, &functions) ||
        make_addresses(&wanted, parts) < 0)
        return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(functions); i++) {
        PyObject *each = PyList_GET_ITEM(functions, i);
        if (PyFunction_Check(each) && is_wanted(part_of(each), &wanted) &&
            PyList_Append(found, each) < 0)
            Py_CLEAR(found);
    }
    PyMem_Free(wanted.places);
    return found;
}

PyObject *
functions_running(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return functions_with(arguments, code_of);
}

PyObject *
functions_in(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return functions_with(arguments, globals_of);
}
