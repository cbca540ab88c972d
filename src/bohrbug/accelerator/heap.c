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

/* Add an object; makes no objects, which could change what is walked over. False: no memory. */
static bool
add(Found *found, PyObject *object)
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
    found->objects[found->count++] = Py_NewRef(object);
    return true;
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

#if PY_VERSION_HEX < 0x030C0000
/* False: it does not want to see more. */
static bool
walk_over(PyGC_Head *head, int (*look_at)(PyObject *object, void *argument), void *argument)
{
    for (PyGC_Head *each = _PyGCHead_NEXT(head); each != head; each = _PyGCHead_NEXT(each))
        if (!look_at((PyObject *)(each + 1), argument))
            return false;
    return true;
}

static struct _gc_runtime_state *
collector(void)
{
    return &PyInterpreterState_Get()->gc;
}
#endif

/* Look at everything that the collector tracks and that is not frozen. */
static void
walk(int (*look_at)(PyObject *object, void *argument), void *argument)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_GC_VisitObjects(look_at, argument);
#else
    for (int i = 0; i < NUM_GENERATIONS; i++)
        if (!walk_over(&collector()->generations[i].head, look_at, argument))
            return;
#endif
}

/* -- sets of objects --------------------------------------------------------------- */

/* Make the set of some objects, which must outlive it. */
int
make_addresses(Addresses *addresses, PyObject *objects)
{
    PyObject *list = PySequence_List(objects);
    if (list == NULL)
        return -1;
    size_t size = 16;
    while (size < 8 * (size_t)PyList_GET_SIZE(list))
        size *= 2;
    addresses->mask = size - 1;
    addresses->places = PyMem_Calloc(size, sizeof(PyObject *));
    if (addresses->places == NULL) {
        Py_DECREF(list);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *object = PyList_GET_ITEM(list, i);
        addresses->places[place_of(addresses, object)] = object;
    }
    Py_DECREF(list);
    return 0;
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

#if PY_VERSION_HEX < 0x030C0000

PyObject *
frozen_objects_of_types(PyObject *Py_UNUSED(module), PyObject *types)
{
    Search search = {0};
    if (make_addresses(&search.types, types) < 0)
        return NULL;
    walk_over(&collector()->permanent_generation.head, look_at_type, &search);
    PyMem_Free(search.types.places);
    return list_of(&search.found);
}

PyObject *
last_frozen(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    PyGC_Head *head = &collector()->permanent_generation.head;
    PyGC_Head *last = _PyGCHead_PREV(head);
    return last == head ? PyLong_FromLong(0) : PyLong_FromVoidPtr(last);
}

#else

/* There the interpreter tells of functions that are made: nobody looks at frozen ones. */

PyObject *
frozen_objects_of_types(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(types))
{
    return PyList_New(0);
}

PyObject *
last_frozen(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyLong_FromLong(0);
}

#endif

/* -- who looks at them ----------------------------------------------------------------- */

static PyObject *thaw;         /* gc.unfreeze */
static PyObject *get_referrers;
static bool looks_itself;

/* A Py_AuditHookFunction: a program that asks for objects is not to miss those that are frozen. */
static int
thaw_when_asked(const char *event, PyObject *Py_UNUSED(arguments), void *Py_UNUSED(data))
{
    if (event[0] != 'g' || looks_itself ||
        (strcmp(event, "gc.get_objects") != 0 && strcmp(event, "gc.get_referrers") != 0))
        return 0;
    PyObject *nothing_else = PyObject_CallNoArgs(thaw);
    Py_XDECREF(nothing_else);
    return nothing_else == NULL ? -1 : 0;
}

/* thaw_for_programs(unfreeze, get_referrers) */
PyObject *
thaw_for_programs(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *unfreeze, *referrers;
    if (!PyArg_ParseTuple(arguments, "OO", &unfreeze, &referrers))
        return NULL;
    if (thaw == NULL) {
        thaw = Py_NewRef(unfreeze);
        get_referrers = Py_NewRef(referrers);
        if (PySys_AddAuditHook(thaw_when_asked, NULL) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *
referrers_of(PyObject *Py_UNUSED(module), PyObject *object)
{
    looks_itself = true;
    PyObject *found = PyObject_CallOneArg(get_referrers, object);
    looks_itself = false;
    return found;
}

/* -- who holds what is to be exchanged ----------------------------------------------- */

/* What is looked for in one walk; see the function survey in Python. */
typedef struct {
    Addresses originals, primitives, others, passed_over, unchangeable, kinds;
    PyObject *left_out;
    Found objects, holders, functions;
} Survey;

/* A visitproc: stops at what is to be exchanged. */
static int
is_to_be_exchanged(PyObject *object, void *argument)
{
    const Survey *survey = argument;
    return is_among(object, &survey->originals) || has_type(object, &survey->primitives);
}

/* A visitproc: stops at what is to be exchanged, or holds that and can't be changed itself. */
static int
leads_to_exchange(PyObject *object, void *argument)
{
    Survey *survey = argument;
    if (is_among(object, &survey->originals))
        return 1;
    /* Most types are of no kind that matters: one look instead of two. */
    if (!has_type(object, &survey->kinds))
        return 0;
    return has_type(object, &survey->primitives) ||
           Py_TYPE(object)->tp_traverse(object, is_to_be_exchanged, survey) != 0;
}

static bool
is_holder(PyObject *object, Survey *survey)
{
    if (PyFunction_Check(object)) {
        /* All that it holds and that is exchanged. */
        PyObject *defaults = PyFunction_GET_DEFAULTS(object);
        return defaults != NULL && leads_to_exchange(defaults, survey);
    }
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse != NULL && traverse(object, leads_to_exchange, survey) != 0;
}

/* A gcvisitobjects_t. */
static int
look_at_holder(PyObject *object, void *argument)
{
    Survey *survey = argument;
    if (object == survey->left_out)
        return 1;
#if PY_VERSION_HEX < 0x030C0000
    if (PyFunction_Check(object) && !add(&survey->functions, object))
        return 0;
#endif
    if (has_type(object, &survey->primitives) || has_type(object, &survey->others))
        if (!add(&survey->objects, object))
            return 0;
    if (has_type(object, &survey->passed_over) || !is_holder(object, survey))
        return 1;
    return add(&survey->holders, object);
}

PyObject *
survey(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *originals, *primitives, *others, *passed_over, *unchangeable;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &originals, &primitives, &others, &passed_over,
                          &unchangeable))
        return NULL;
    Survey survey = {.left_out = originals};
    PyObject *result = NULL, *kinds = PySequence_List(primitives);
    if (kinds != NULL && PyList_SetSlice(kinds, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, unchangeable) == 0 &&
        make_addresses(&survey.originals, originals) == 0 &&
        make_addresses(&survey.primitives, primitives) == 0 &&
        make_addresses(&survey.others, others) == 0 &&
        make_addresses(&survey.passed_over, passed_over) == 0 &&
        make_addresses(&survey.unchangeable, unchangeable) == 0 &&
        make_addresses(&survey.kinds, kinds) == 0) {
        walk(look_at_holder, &survey);
        PyObject *objects = list_of(&survey.objects);
        PyObject *holders = list_of(&survey.holders);
        PyObject *functions = list_of(&survey.functions);
        if (objects != NULL && holders != NULL && functions != NULL)
            result = PyTuple_Pack(3, objects, holders, functions);
        Py_XDECREF(objects);
        Py_XDECREF(holders);
        Py_XDECREF(functions);
    }
    Addresses *all[] = {&survey.originals,   &survey.primitives,   &survey.others,
                        &survey.passed_over, &survey.unchangeable, &survey.kinds};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        PyMem_Free(all[i]->places);
    Py_XDECREF(kinds);
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

/* A class, and all that are derived from it. */
PyObject *
with_subclasses(PyObject *Py_UNUSED(module), PyObject *class)
{
    if (!PyType_Check(class))
        return PyErr_Format(PyExc_TypeError, "not a class");
    PyObject *all = PyList_New(0), *met = PySet_New(NULL);
    PyObject *subclasses = PyObject_GetAttrString((PyObject *)&PyType_Type, "__subclasses__");
    int result =
        all == NULL || met == NULL || subclasses == NULL ? -1 : PyList_Append(all, class);
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(all); i++) {
        PyObject *below = PyObject_CallOneArg(subclasses, PyList_GET_ITEM(all, i));
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
    Py_XDECREF(met);
    Py_XDECREF(subclasses);
    if (result < 0)
        Py_CLEAR(all);
    return all;
}

/* classes_of(namespaces) */
PyObject *
classes_of(PyObject *module, PyObject *namespaces)
{
    Addresses wanted = {0};
    if (make_addresses(&wanted, namespaces) < 0)
        return NULL;
    PyObject *classes = PyDict_New();
    PyObject *all = classes == NULL ? NULL : with_subclasses(module, (PyObject *)&PyBaseObject_Type);
    int result = all == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(all); i++)
        result = note_class(classes, PyList_GET_ITEM(all, i), &wanted);
    Py_XDECREF(all);
    PyMem_Free(wanted.places);
    if (result < 0)
        Py_CLEAR(classes);
    return classes;
}
