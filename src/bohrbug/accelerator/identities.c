/* Objects that an execution makes are known by a number, and not by their address.
 *
 * The number says which task made the object, and how many of a class of that name it had made
 * before.  It is the same in each execution of a plan, whatever memory was free, and in those that
 * only differ in the order of what is independent.  It is given at the birth, in the function that
 * allocates instances, and kept by address until the object's memory is freed, or the next one is
 * born there: it lasts at least as long as the object, whose hash must never change.  Whatever was
 * made before an execution, or by code that allocates in another way, is known by its address.
 */
#include "heap.h"
#include "identities.h"
#include "scheduling.h"

/* -- the table of identities ------------------------------------------------------------ */

/* The number of places is a power of two. */
static struct {
    Identity *places;
    size_t mask, count;
} known;

/* Where objects were born in this execution. */
static struct {
    const void **places;
    size_t count, size;
} cradles;

enum { FIRST_SIZE = 128, SMALL = 1024 };

/* Where an object's place would be: what lies side by side in memory does so in the table, as it is
 * mostly made, and let go, one after the other. */
static size_t
home_of(const void *object)
{
    size_t address = (size_t)object;
    return ((address >> 4) + (address >> 20) * (size_t)0x9E3779B1u) & known.mask;
}

static size_t
place_in_known(const void *object)
{
    size_t place = home_of(object);
    while (known.places[place].object != NULL && known.places[place].object != object)
        place = (place + 1) & known.mask;
    return place;
}

static bool
resize(size_t new_size)
{
    Identity *old = known.places;
    size_t size = old == NULL ? 0 : known.mask + 1;
    Identity *places = PyMem_RawCalloc(new_size, sizeof *places);
    if (places == NULL)
        return false;
    known.places = places;
    known.mask = new_size - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i].object != NULL)
            places[place_in_known(old[i].object)] = old[i];
    PyMem_RawFree(old);
    return true;
}

static bool
has_room(void)
{
    if (known.places != NULL && 2 * known.count <= known.mask)
        return true;
    return resize(known.places == NULL ? FIRST_SIZE : 2 * (known.mask + 1));
}

static bool
cradles_have_room(void)
{
    if (cradles.count < cradles.size)
        return true;
    size_t size = cradles.size == 0 ? FIRST_SIZE : 2 * cradles.size;
    const void **places = PyMem_RawRealloc(cradles.places, size * sizeof *places);
    if (places == NULL)
        return false;
    cradles.places = places;
    cradles.size = size;
    return true;
}

static void
forget(const void *object)
{
    size_t free_place = place_in_known(object);
    if (known.places[free_place].object == NULL)
        return;
    known.count--;
    /* What follows without a gap moves up, as far as it may. */
    for (size_t place = (free_place + 1) & known.mask; known.places[place].object != NULL;
         place = (place + 1) & known.mask) {
        size_t home = home_of(known.places[place].object);
        if (((place - home) & known.mask) >= ((place - free_place) & known.mask)) {
            known.places[free_place] = known.places[place];
            free_place = place;
        }
    }
    known.places[free_place] = (Identity){0};
}

/* Other interpreters have objects, and locks, of their own. */
static bool
is_in_main_interpreter(void)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

Identity *
identity_of(PyObject *object)
{
    if (known.count == 0 || !is_in_main_interpreter())
        return NULL;
    Identity *found = &known.places[place_in_known(object)];
    return found->object == NULL ? NULL : found;
}

/* -- births ----------------------------------------------------------------------------- */

/* How many objects of classes of one name a task has made. */
typedef struct {
    PyObject *task; /* borrowed: tasks live as long as their execution; NULL: a free place */
    uint64_t class_digest, prefix, count;
} Births;

static struct {
    Births *places;
    /* Which places are taken, so that not all of them have to be emptied. */
    size_t *taken;
    size_t mask, count;
} births;

/* FNV-1a: the same in each process, unlike the hash of a text. */
static uint64_t
digest(uint64_t start, const char *text)
{
    for (; *text != '\0'; text++)
        start = (start ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return start;
}

static size_t
place_in_births(PyObject *task, uint64_t class_digest)
{
    size_t place = (scattered(task) ^ (class_digest >> 20)) & births.mask;
    while (births.places[place].task != NULL &&
           (births.places[place].task != task || births.places[place].class_digest != class_digest))
        place = (place + 1) & births.mask;
    return place;
}

static void
take_place_in_births(size_t place, Births taken)
{
    births.places[place] = taken;
    births.taken[births.count++] = place;
}

static bool
births_have_room(void)
{
    if (births.places != NULL && 2 * births.count <= births.mask)
        return true;
    Births *old = births.places;
    size_t size = old == NULL ? 0 : births.mask + 1;
    size_t larger = size == 0 ? FIRST_SIZE : 2 * size;
    Births *places = PyMem_RawCalloc(larger, sizeof *places);
    size_t *taken = PyMem_RawRealloc(births.taken, larger * sizeof *taken);
    if (taken != NULL)
        births.taken = taken;
    if (places == NULL || taken == NULL) {
        PyMem_RawFree(places);
        return false;
    }
    births.places = places;
    births.mask = larger - 1;
    births.count = 0;
    for (size_t i = 0; i < size; i++)
        if (old[i].task != NULL)
            take_place_in_births(place_in_births(old[i].task, old[i].class_digest), old[i]);
    PyMem_RawFree(old);
    return true;
}

/* Bits of a number: 30 for task and class, 28 for the count, and four that are 0 as in addresses. */
enum { FREE_BITS = 4, COUNT_BITS = 28, PREFIX_BITS = 30 };

/* The number of what a task makes now; 0: there is no memory for it. */
static uint64_t
next_number(PyObject *task, const char *class_name)
{
    uint64_t class_digest = digest(UINT64_C(0xCBF29CE484222325), class_name);
    if (!births_have_room())
        return 0;
    Births *found = &births.places[place_in_births(task, class_digest)];
    if (found->task == NULL) {
        const char *name = PyUnicode_AsUTF8(TASK(task, ID));
        if (name == NULL) {
            PyErr_Clear();
            return 0;
        }
        uint64_t prefix = digest(class_digest, name);
        prefix = (prefix ^ (prefix >> PREFIX_BITS)) & ((UINT64_C(1) << PREFIX_BITS) - 1);
        take_place_in_births((size_t)(found - births.places),
                             (Births){task, class_digest, prefix, 0});
    }
    uint64_t count = ++found->count & ((UINT64_C(1) << COUNT_BITS) - 1);
    return (found->prefix << COUNT_BITS | count) << FREE_BITS;
}

/* Whether births are counted: not in an execution that never ends, where nobody replays anything. */
static bool are_counted = true;

/* The running task of the execution that controls the calling code, borrowed, or NULL. Asked at each
 * allocation, perhaps with an exception set, which stays. */
static PyObject *
making_task(void)
{
    PyObject *self = holder == NULL ? NULL : slot_get(holder, holder_slots[HOLDER_EXECUTION]);
    if (!are_counted || self == NULL || self == Py_None || !PyObject_TypeCheck(self, execution_type))
        return NULL;
    PyObject *thread = slot_get(holder, holder_slots[HOLDER_THREAD]);
    if (PyLong_AsUnsignedLong(thread) != PyThread_get_thread_ident() ||
        EXECUTION(SUSPENDED) != zero || is_in_tracer())
        return NULL;
    return EXECUTION(CURRENT);
}

void
note_birth(PyObject *object, const char *class_name, bool end_is_seen)
{
    if (!is_in_main_interpreter())
        return;
    PyObject *task = making_task();
    uint64_t number = task == NULL ? 0 : next_number(task, class_name);
    if (number != 0 && has_room() && cradles_have_room()) {
        Identity *place = &known.places[place_in_known(object)];
        known.count += place->object == NULL;
        cradles.places[cradles.count++] = object;
        *place = (Identity){object, number, 0, false, end_is_seen};
    } else if (known.count != 0)
        forget(object);
}

void
note_end(const void *object)
{
    if (known.count != 0 && is_in_main_interpreter())
        forget(object);
}

/* PyObject_GC_Del */
static void
release(void *object)
{
    note_end(object);
    PyObject_GC_Del(object);
}

/* PyType_GenericAlloc */
static PyObject *
allocate(PyTypeObject *type, Py_ssize_t items)
{
    PyObject *object = PyType_GenericAlloc(type, items);
    if (object != NULL)
        note_birth(object, type->tp_name, type->tp_free == release);
    return object;
}

/* -- classes ------------------------------------------------------------------------------ */

static newfunc original_new_class;

static bool
counts_births_of(const PyTypeObject *type)
{
    return type->tp_alloc == PyType_GenericAlloc &&
           ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_hash == PyBaseObject_Type.tp_hash);
}

static void
count_births_of(PyTypeObject *type)
{
    if (!counts_births_of(type))
        return;
    type->tp_alloc = allocate;
#if PY_VERSION_HEX >= 0x030D0000
    /* Specialised calls allocate by themselves, until the class has changed. */
    PyType_Modified(type);
#endif
}

/* See the ends of objects of a class. An object can be given another class only if both release it in
 * the same way, so that it is done for all of those between which that is possible. */
static void
see_ends_of(PyTypeObject *type)
{
    bool has_changing_class = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type == &PyModule_Type;
    if (type->tp_free == PyObject_GC_Del && (has_changing_class || type->tp_alloc == allocate))
        type->tp_free = release;
}

/* type.__new__ */
static PyObject *
new_class(PyTypeObject *metaclass, PyObject *arguments, PyObject *named)
{
    PyObject *class = original_new_class(metaclass, arguments, named);
    if (class != NULL && PyType_Check(class) && is_in_main_interpreter()) {
        count_births_of((PyTypeObject *)class);
        see_ends_of((PyTypeObject *)class);
    }
    return class;
}

/* know_births(classes, all): from now on, for all classes that there are and will be, count the
 * births of objects, and answer by numbers
 *
 *     classes: those that there are and whose objects count
 *     all: those that there are */
PyObject *
know_births(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *classes, *all;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &classes, &PyList_Type, &all))
        return NULL;
    if (original_new_class != NULL)
        Py_RETURN_NONE;
    original_new_class = PyType_Type.tp_new;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(classes); i++)
        count_births_of((PyTypeObject *)PyList_GET_ITEM(classes, i));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
        PyTypeObject *type = (PyTypeObject *)PyList_GET_ITEM(all, i);
        take_over_class(type);
        see_ends_of(type);
        /* Metaclasses have copies of what makes classes. */
        if (type->tp_new == original_new_class)
            type->tp_new = new_class;
    }
    if (take_over_questions() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* count_births(is_wanted): whether executions from now on do, as they usually do */
PyObject *
count_births(PyObject *Py_UNUSED(module), PyObject *is_wanted)
{
    int is_true = PyObject_IsTrue(is_wanted);
    if (is_true < 0)
        return NULL;
    are_counted = is_true;
    Py_RETURN_NONE;
}

/* forget_births(): an execution has ended. What nobody has asked for is known by its address from now
 * on, and the next execution counts anew. */
PyObject *
forget_births(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    while (births.count != 0)
        births.places[births.taken[--births.count]] = (Births){0};
    for (size_t i = 0; i < cradles.count; i++) {
        const Identity *identity = &known.places[place_in_known(cradles.places[i])];
        if (identity->object != NULL && !identity->is_told)
            forget(identity->object);
    }
    /* Room for as many as were born now is kept for those of the next execution. */
    size_t wanted = known.count + cradles.count;
    if (known.mask >= SMALL && 16 * wanted < known.mask)
        resize((known.mask + 1) / 2);
    cradles.count = 0;
    Py_RETURN_NONE;
}
