/* Finding objects through the garbage collector; see bohrbug/runtime/threads/heap.py. */
#include "heap.h"

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

/* Look at everything that the collector tracks and that is not frozen. */
static int
walk(int (*look_at)(PyObject *object, void *argument), void *argument)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyUnstable_GC_VisitObjects(look_at, argument);
    return 0;
#else
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *objects = gc == NULL ? NULL : PyObject_CallMethod(gc, "get_objects", NULL);
    Py_XDECREF(gc);
    for (Py_ssize_t i = 0; objects != NULL && i < PyList_GET_SIZE(objects); i++)
        if (!look_at(PyList_GET_ITEM(objects, i), argument))
            break;
    Py_XDECREF(objects);
    return objects == NULL ? -1 : 0;
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
    int status = walk(look_at_type, &search);
    PyMem_Free(search.types.places);
    PyObject *found = list_of(&search.found);
    if (status < 0)
        Py_CLEAR(found);
    return found;
}

/* -- who holds what is to be exchanged ----------------------------------------------- */

/* What is looked for in one walk; see the function survey in Python. */
typedef struct {
    Addresses originals, primitives, others, passed_over, unchangeable, kinds;
    PyObject *left_out;
    Found objects, holders;
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
    bool is_primitive = has_type(object, &survey->primitives);
    if (is_primitive || has_type(object, &survey->others))
        if (!add(&survey->objects, object))
            return 0;
    if (is_primitive || has_type(object, &survey->passed_over) || !is_holder(object, survey))
        return 1;
    return add(&survey->holders, object);
}

/* Make the sets of a survey. */
static int
begin_survey(Survey *survey, PyObject *originals, PyObject *primitives, PyObject *others,
             PyObject *passed_over, PyObject *unchangeable)
{
    survey->left_out = originals;
    PyObject *kinds = PySequence_List(primitives);
    int status = -1;
    if (kinds != NULL && PyList_SetSlice(kinds, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, unchangeable) == 0 &&
        make_addresses(&survey->originals, originals) == 0 &&
        make_addresses(&survey->primitives, primitives) == 0 &&
        make_addresses(&survey->others, others) == 0 &&
        make_addresses(&survey->passed_over, passed_over) == 0 &&
        make_addresses(&survey->unchangeable, unchangeable) == 0 &&
        make_addresses(&survey->kinds, kinds) == 0)
        status = 0;
    Py_XDECREF(kinds);
    return status;
}

/* What was found, after which the sets of a survey are gone. */
static PyObject *
end_survey(Survey *survey, bool is_done, PyObject *more)
{
    PyObject *objects = list_of(&survey->objects), *holders = list_of(&survey->holders);
    PyObject *result = NULL;
    if (is_done && objects != NULL && holders != NULL)
        result = more == NULL ? PyTuple_Pack(2, objects, holders)
                              : PyTuple_Pack(3, objects, holders, more);
    Py_XDECREF(objects);
    Py_XDECREF(holders);
    Addresses *all[] = {&survey->originals,   &survey->primitives,   &survey->others,
                        &survey->passed_over, &survey->unchangeable, &survey->kinds};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        PyMem_Free(all[i]->places);
    return result;
}

PyObject *
survey(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *originals, *primitives, *others, *passed_over, *unchangeable;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &originals, &primitives, &others, &passed_over,
                          &unchangeable))
        return NULL;
    Survey survey = {0};
    bool is_done =
        begin_survey(&survey, originals, primitives, others, passed_over, unchangeable) == 0 &&
        walk(look_at_holder, &survey) == 0;
    return end_survey(&survey, is_done, NULL);
}

/* -- the same among a few objects ------------------------------------------------------ */

/* What is known of an object: how often it is listed, and how many references were seen. */
typedef struct {
    PyObject *object;
    Py_ssize_t listed, seen;
    bool is_looked_at, is_unchangeable, leads, is_held;
} Known;

typedef struct {
    Survey survey;
    Known *places;
    size_t mask, count;
    /* Whether the object that is looked at leads to what is exchanged, and whether it counts. */
    bool leads, is_passed_over;
    bool failed;
} Accounts;

static Known *
known(Accounts *accounts, PyObject *object)
{
    if (2 * accounts->count >= accounts->mask) {
        size_t size = accounts->places == NULL ? 0 : accounts->mask + 1;
        size_t larger = size == 0 ? 1 << 12 : 2 * size;
        Known *old = accounts->places, *places = PyMem_RawCalloc(larger, sizeof *places);
        if (places == NULL)
            return NULL;
        accounts->places = places;
        accounts->mask = larger - 1;
        accounts->count = 0;
        for (size_t i = 0; i < size; i++)
            if (old[i].object != NULL)
                *known(accounts, old[i].object) = old[i];
        PyMem_RawFree(old);
    }
    size_t place = scattered(object) & accounts->mask;
    while (accounts->places[place].object != NULL && accounts->places[place].object != object)
        place = (place + 1) & accounts->mask;
    Known *found = &accounts->places[place];
    if (found->object == NULL) {
        found->object = object;
        accounts->count++;
    }
    return found;
}

/* A visitproc: counts references to what is to be exchanged. */
static int
count_exchanged(PyObject *object, void *argument)
{
    Accounts *accounts = argument;
    if (!is_among(object, &accounts->survey.originals) &&
        !has_type(object, &accounts->survey.primitives))
        return 0;
    Known *account = known(accounts, object);
    if (account == NULL) {
        accounts->failed = true;
        return 1;
    }
    account->seen++;
    account->is_held |= !accounts->is_passed_over;
    accounts->leads = true;
    return 0;
}

/* Count the references that an unchangeable object holds, once; whether there are any. */
static bool
look_through(Accounts *accounts, PyObject *object)
{
    Known *account = known(accounts, object);
    if (account == NULL) {
        accounts->failed = true;
        return false;
    }
    if (!account->is_looked_at) {
        account->is_looked_at = account->is_unchangeable = true;
        bool before = accounts->leads, was_passed_over = accounts->is_passed_over;
        accounts->leads = accounts->is_passed_over = false;
        Py_TYPE(object)->tp_traverse(object, count_exchanged, accounts);
        bool leads = accounts->leads;
        accounts->leads = before;
        accounts->is_passed_over = was_passed_over;
        account = known(accounts, object);
        account->leads = leads;
    }
    return account->leads;
}

/* A visitproc: counts references to what is to be exchanged, and to what leads there. */
static int
count_leading(PyObject *object, void *argument)
{
    Accounts *accounts = argument;
    if (count_exchanged(object, argument))
        return 1;
    if (!has_type(object, &accounts->survey.unchangeable) || !look_through(accounts, object))
        return accounts->failed;
    known(accounts, object)->seen++;
    accounts->leads = true;
    return 0;
}

/* Look at one object of the list; -1: no memory. */
static int
look_closely(Accounts *accounts, PyObject *object)
{
    Survey *survey = &accounts->survey;
    bool leads = false;
    if (has_type(object, &survey->unchangeable))
        leads = look_through(accounts, object);
    Known *account = known(accounts, object);
    if (account == NULL || accounts->failed)
        return -1;
    if (account->is_looked_at && !account->is_unchangeable)
        return 0;
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (!account->is_unchangeable && traverse != NULL) {
        account->is_looked_at = true;
        accounts->leads = false;
        accounts->is_passed_over = has_type(object, &survey->passed_over);
        traverse(object, count_leading, accounts);
        leads = accounts->leads;
    }
    if (accounts->failed)
        return -1;
    bool is_primitive = has_type(object, &survey->primitives);
    if (is_primitive || has_type(object, &survey->others))
        if (!add(&survey->objects, object))
            return -1;
    if (!is_primitive && leads && object != survey->left_out &&
        !has_type(object, &survey->passed_over) && is_holder(object, survey) &&
        !add(&survey->holders, object))
        return -1;
    return 0;
}

/* References that nobody in the list holds: of each original, and then of all else together. */
static PyObject *
unseen_references(Accounts *accounts, PyObject *originals)
{
    PyObject *counts = PyList_New(0);
    Py_ssize_t others = 0;
    for (size_t i = 0; i <= accounts->mask; i++) {
        const Known *each = &accounts->places[i];
        if (each->object == NULL || is_among(each->object, &accounts->survey.originals))
            continue;
        bool is_primitive = has_type(each->object, &accounts->survey.primitives);
        if (is_primitive || (each->is_unchangeable && each->leads)) {
            Py_ssize_t unseen = Py_REFCNT(each->object) - each->listed - each->seen;
            others += unseen != 0 || (is_primitive && each->listed == 0);
        }
    }
    for (Py_ssize_t i = 0; counts != NULL && i <= PyList_GET_SIZE(originals); i++) {
        Py_ssize_t unseen = others;
        if (i < PyList_GET_SIZE(originals)) {
            PyObject *original = PyList_GET_ITEM(originals, i);
            const Known *account = known(accounts, original);
            unseen = account == NULL
                         ? -1
                         : Py_REFCNT(original) - account->listed - account->seen;
        }
        PyObject *count = PyLong_FromSsize_t(unseen);
        if (count == NULL || PyList_Append(counts, count) < 0)
            Py_CLEAR(counts);
        Py_XDECREF(count);
    }
    return counts;
}

PyObject *
survey_among(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *list, *originals, *primitives, *others, *passed_over, *unchangeable;
    if (!PyArg_ParseTuple(arguments, "O!O!OOOO", &PyList_Type, &list, &PyList_Type, &originals,
                          &primitives, &others, &passed_over, &unchangeable))
        return NULL;
    Accounts accounts = {0};
    Survey *survey = &accounts.survey;
    PyObject *unseen = NULL;
    Found idle = {0};
    if (begin_survey(survey, originals, primitives, others, passed_over, unchangeable) == 0) {
        bool is_done = true;
        for (Py_ssize_t i = 0; is_done && i < PyList_GET_SIZE(list); i++) {
            Known *account = known(&accounts, PyList_GET_ITEM(list, i));
            is_done = account != NULL;
            if (is_done)
                account->listed++;
        }
        for (Py_ssize_t i = 0; is_done && i < PyList_GET_SIZE(list); i++)
            is_done = look_closely(&accounts, PyList_GET_ITEM(list, i)) == 0;
        /* What was added has one reference more for each time. */
        for (size_t i = 0; is_done && i < survey->objects.count; i++)
            known(&accounts, survey->objects.objects[i])->listed++;
        for (size_t i = 0; is_done && i < survey->holders.count; i++)
            known(&accounts, survey->holders.objects[i])->listed++;
        if (is_done)
            unseen = unseen_references(&accounts, originals);
        else
            PyErr_NoMemory();
        for (size_t i = 0; unseen != NULL && i < survey->objects.count; i++) {
            PyObject *object = survey->objects.objects[i];
            if (has_type(object, &survey->primitives) && !known(&accounts, object)->is_held)
                add(&idle, object);
        }
    }
    PyMem_RawFree(accounts.places);
    PyObject *list_of_idle = list_of(&idle), *more = NULL;
    if (unseen != NULL && list_of_idle != NULL)
        more = PyTuple_Pack(2, list_of_idle, unseen);
    PyObject *result = end_survey(survey, more != NULL, more);
    Py_XDECREF(more);
    Py_XDECREF(list_of_idle);
    Py_XDECREF(unseen);
    return result;
}
