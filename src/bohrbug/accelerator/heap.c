/* Finding objects through the garbage collector; see bohrbug/runtime/threads/heap.py. */
#include <patchlevel.h>

#if PY_VERSION_HEX < 0x030C0000
/* For the lists of the collector, which PyUnstable_GC_VisitObjects walks over in later versions. */
#define Py_BUILD_CORE 1
#endif
#include "heap.h"
#if PY_VERSION_HEX < 0x030C0000
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#endif

/* -- walking ----------------------------------------------------------------------- */

/* What was found: references to it, in an array that grows. */
typedef struct {
    PyObject **objects;
    size_t count, room;
    bool failed;
} Found;

/* Add an object, borrowed; makes no objects, which could change what is walked over. False: no
 * memory. */
static bool
add_borrowed(Found *found, PyObject *object)
{
    if (found->count == found->room) {
        size_t room = found->room == 0 ? 256 : 2 * found->room;
        PyObject **objects = PyMem_RawRealloc(found->objects, room * sizeof *objects);
        if (objects == NULL) {
            found->failed = true;
            return false;
        }
        found->objects = objects;
        found->room = room;
    }
    found->objects[found->count++] = object;
    return true;
}

/* The same, with a reference. */
static bool
add(Found *found, PyObject *object)
{
    return add_borrowed(found, object) && (Py_INCREF(object), true);
}

/* A list of what was found, which is emptied. */
static PyObject *
list_of(Found *found)
{
    PyObject *list = found->failed ? NULL : PyList_New((Py_ssize_t)found->count);
    for (size_t i = 0; i < found->count; i++) {
        if (list != NULL)
            PyList_SET_ITEM(list, (Py_ssize_t)i, found->objects[i]);
        else
            Py_DECREF(found->objects[i]);
    }
    PyMem_RawFree(found->objects);
    *found = (Found){0};
    return list != NULL || PyErr_Occurred() ? list : PyErr_NoMemory();
}

/* Look at everything that the collector tracks and that is not frozen. */
static void
walk(int (*look_at)(PyObject *object, void *argument), void *argument)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_GC_VisitObjects(look_at, argument);
#else
    struct _gc_runtime_state *state = &PyInterpreterState_Get()->gc;
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        PyGC_Head *head = &state->generations[i].head;
        for (PyGC_Head *each = _PyGCHead_NEXT(head); each != head; each = _PyGCHead_NEXT(each))
            if (!look_at((PyObject *)(each + 1), argument))
                return;
    }
#endif
}

/* -- sets of objects --------------------------------------------------------------- */

/* Make the set of some objects, which must outlive it. */
static int
fill_addresses(Addresses *addresses, PyObject *const *objects, size_t count)
{
    size_t size = 16;
    while (size < 8 * count)
        size *= 2;
    addresses->mask = size - 1;
    addresses->places = PyMem_Calloc(size, sizeof(PyObject *));
    if (addresses->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        addresses->places[place_of(addresses, objects[i])] = objects[i];
    return 0;
}

int
make_addresses(Addresses *addresses, PyObject *objects)
{
    PyObject *list = PySequence_List(objects);
    if (list == NULL)
        return -1;
    PyObject **items = ((PyListObject *)list)->ob_item;
    int result = fill_addresses(addresses, items, (size_t)PyList_GET_SIZE(list));
    Py_DECREF(list);
    return result;
}

static bool
has_type(PyObject *object, const Addresses *types)
{
    return is_among((PyObject *)Py_TYPE(object), types);
}

/* -- by type ------------------------------------------------------------------------- */

typedef struct {
    Addresses types;
    Found found;
} Search;

/* A gcvisitobjects_t. */
static int
look_at_type(PyObject *object, void *argument)
{
    Search *search = argument;
    return !has_type(object, &search->types) || add(&search->found, object);
}

PyObject *
objects_of_types(PyObject *Py_UNUSED(module), PyObject *types)
{
    Search search = {0};
    if (make_addresses(&search.types, types) < 0)
        return NULL;
    walk(look_at_type, &search);
    PyMem_Free(search.types.places);
    return list_of(&search.found);
}

/* -- who holds what is to be exchanged ----------------------------------------------- */

/* What a type is, of whose objects there are many. */
enum { PRIMITIVE = 1, OTHER = 2, PASSED_OVER = 4, UNCHANGEABLE = 8 };
enum { KNOWN_TYPES = 256 };

/* What is looked for; see the function survey in Python. */
typedef struct {
    Addresses primitives, others, passed_over, unchangeable;
    struct {
        PyTypeObject *type;
        int is;
    } known[KNOWN_TYPES];
    PyObject *left_out;
    /* Objects of the types that are wanted; the holders. */
    Found objects, holders;
    /* Borrowed, as nothing is let go meanwhile: all that may hold something; what is to be
     * exchanged, and then also what can't be changed and holds some of that. */
    Found candidates, wanted;
    Addresses exchanged, leading;
} Survey;

static int
kind_of(Survey *survey, PyTypeObject *type)
{
    size_t entry = scattered(type) >> 8 & (KNOWN_TYPES - 1);
    if (survey->known[entry].type != type) {
        PyObject *object = (PyObject *)type;
        survey->known[entry].type = type;
        survey->known[entry].is = (is_among(object, &survey->primitives) ? PRIMITIVE : 0) |
                                  (is_among(object, &survey->others) ? OTHER : 0) |
                                  (is_among(object, &survey->passed_over) ? PASSED_OVER : 0) |
                                  (is_among(object, &survey->unchangeable) ? UNCHANGEABLE : 0);
    }
    return survey->known[entry].is;
}

/* A gcvisitobjects_t: only sorts, so that what follows does not go from one object to the next,
 * each of which has to be waited for. */
static int
look_at_object(PyObject *object, void *argument)
{
    Survey *survey = argument;
    if (object == survey->left_out)
        return 1;
    int is = kind_of(survey, Py_TYPE(object));
    if ((is & (PRIMITIVE | OTHER)) && !add(&survey->objects, object))
        return 0;
    if ((is & PRIMITIVE) && !add_borrowed(&survey->wanted, object))
        return 0;
    return (is & PASSED_OVER) || add_borrowed(&survey->candidates, object);
}

/* A visitproc: stops at what is wanted. Looks at its address only: to look at what is there is to
 * wait for it. */
static int
is_wanted(PyObject *object, void *argument)
{
    return is_among(object, (const Addresses *)argument);
}

static bool
refers_to_some(PyObject *object, const Addresses *some)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse != NULL && traverse(object, is_wanted, (void *)some) != 0;
}

static bool
is_holder(PyObject *object, const Survey *survey)
{
    if (!PyFunction_Check(object))
        return refers_to_some(object, &survey->leading);
    /* All that it holds and that is exchanged; the collector need not know it. */
    PyObject *defaults = PyFunction_GET_DEFAULTS(object);
    return defaults != NULL && refers_to_some(defaults, &survey->exchanged);
}

enum { AHEAD = 8 };

static inline void
fetch_ahead(const Found *found, size_t index)
{
#if defined(__GNUC__)
    if (index + AHEAD < found->count)
        __builtin_prefetch(found->objects[index + AHEAD]);
#else
    (void)found;
    (void)index;
#endif
}

/* Find the holders among the candidates. Nothing is made or let go meanwhile. */
static int
find_holders(Survey *survey)
{
    const Found *candidates = &survey->candidates, *wanted = &survey->wanted;
    if (fill_addresses(&survey->exchanged, wanted->objects, wanted->count) < 0)
        return -1;
    for (size_t i = 0; i < candidates->count; i++) {
        PyObject *object = candidates->objects[i];
        fetch_ahead(candidates, i);
        if ((kind_of(survey, Py_TYPE(object)) & UNCHANGEABLE) &&
            refers_to_some(object, &survey->exchanged) && !add_borrowed(&survey->wanted, object))
            return -1;
    }
    if (fill_addresses(&survey->leading, wanted->objects, wanted->count) < 0)
        return -1;
    for (size_t i = 0; i < candidates->count; i++) {
        PyObject *object = candidates->objects[i];
        fetch_ahead(candidates, i);
        if (is_holder(object, survey) && !add(&survey->holders, object))
            return -1;
    }
    return 0;
}

/* Let go of what was found. */
static void
forget(Found *found)
{
    for (size_t i = 0; i < found->count; i++)
        Py_DECREF(found->objects[i]);
    PyMem_RawFree(found->objects);
    *found = (Found){0};
}

static int
add_originals(Survey *survey, PyObject *originals)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(originals); i++)
        if (!add_borrowed(&survey->wanted, PyList_GET_ITEM(originals, i)))
            return -1;
    return 0;
}

PyObject *
survey(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *originals, *primitives, *others, *passed_over, *unchangeable;
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyList_Type, &originals, &primitives, &others,
                          &passed_over, &unchangeable))
        return NULL;
    Survey survey = {.left_out = originals};
    PyObject *result = NULL;
    if (make_addresses(&survey.primitives, primitives) == 0 &&
        make_addresses(&survey.others, others) == 0 &&
        make_addresses(&survey.passed_over, passed_over) == 0 &&
        make_addresses(&survey.unchangeable, unchangeable) == 0 &&
        add_originals(&survey, originals) == 0) {
        walk(look_at_object, &survey);
        if (!survey.objects.failed && !survey.candidates.failed && find_holders(&survey) == 0) {
            PyObject *objects = list_of(&survey.objects);
            PyObject *holders = list_of(&survey.holders);
            if (objects != NULL && holders != NULL)
                result = PyTuple_Pack(2, objects, holders);
            Py_XDECREF(objects);
            Py_XDECREF(holders);
        }
    }
    if (result == NULL && !PyErr_Occurred())
        PyErr_NoMemory();
    forget(&survey.objects);
    forget(&survey.holders);
    PyMem_RawFree(survey.candidates.objects);
    PyMem_RawFree(survey.wanted.objects);
    Addresses *all[] = {&survey.primitives, &survey.others, &survey.passed_over,
                        &survey.unchangeable, &survey.exchanged, &survey.leading};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        PyMem_Free(all[i]->places);
    return result;
}

/* -- classes -------------------------------------------------------------------------- */

/* The dict of a class, a new reference; NULL: none, or an exception is set. */
static PyObject *
namespace_of(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

/* Note the class if its namespace is among those that are looked for. */
static int
note_class(PyObject *classes, PyObject *class, const Addresses *namespaces)
{
    PyObject *namespace = namespace_of((PyTypeObject *)class);
    if (namespace == NULL)
        return PyErr_Occurred() ? -1 : 0;
    int result = 0;
    if (is_among(namespace, namespaces)) {
        PyObject *key = PyLong_FromVoidPtr(namespace);
        result = key == NULL ? -1 : PyDict_SetItem(classes, key, class);
        Py_XDECREF(key);
    }
    Py_DECREF(namespace);
    return result;
}

/* classes_of(namespaces) */
PyObject *
classes_of(PyObject *Py_UNUSED(module), PyObject *namespaces)
{
    Addresses wanted = {0};
    if (make_addresses(&wanted, namespaces) < 0)
        return NULL;
    PyObject *classes = PyDict_New(), *all = PyList_New(0), *met = PySet_New(NULL);
    PyObject *subclasses = PyObject_GetAttrString((PyObject *)&PyType_Type, "__subclasses__");
    int result = classes == NULL || all == NULL || met == NULL || subclasses == NULL
                     ? -1
                     : PyList_Append(all, (PyObject *)&PyBaseObject_Type);
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(all); i++) {
        PyObject *class = PyList_GET_ITEM(all, i);
        PyObject *below = note_class(classes, class, &wanted) < 0
                              ? NULL
                              : PyObject_CallOneArg(subclasses, class);
        result = below == NULL ? -1 : 0;
        for (Py_ssize_t j = 0; result == 0 && j < PyList_GET_SIZE(below); j++) {
            PyObject *subclass = PyList_GET_ITEM(below, j);
            if (PyTuple_GET_SIZE(((PyTypeObject *)subclass)->tp_bases) > 1) {
                /* It is met below each of its bases; its metaclass may say how it hashes. */
                PyObject *key = PyLong_FromVoidPtr(subclass);
                int known = key == NULL ? -1 : PySet_Contains(met, key);
                result = known != 0 ? known : PySet_Add(met, key);
                Py_XDECREF(key);
            }
            if (result == 0)
                result = PyList_Append(all, subclass);
            else if (result > 0)
                result = 0;
        }
        Py_XDECREF(below);
    }
    Py_XDECREF(all);
    Py_XDECREF(met);
    Py_XDECREF(subclasses);
    PyMem_Free(wanted.places);
    if (result < 0)
        Py_CLEAR(classes);
    return classes;
}
