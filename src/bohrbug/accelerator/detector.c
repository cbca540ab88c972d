/* The race detector: what is done at every synchronisation and every new access.
 *
 * See bohrbug/monitors/races.py for the algorithm.
 */
#include "accelerator.h"
#include <stdint.h>

static PyTypeObject *detector_type, *state_type;

enum { CLOCKS, EPOCHS, LAST_EPOCH, PLACES, SHARED_PLACES, TAGS };
static Slot detector_slots[] = {
    [CLOCKS] = {"_clocks", 0}, [EPOCHS] = {"epochs", 0}, [LAST_EPOCH] = {"_last_epoch", 0},
    [PLACES] = {"_places", 0}, [SHARED_PLACES] = {"shared_places", 0}, [TAGS] = {"tags", 0}, {0},
};
enum { BY_IDENTITY };
static Slot place_set_slots[] = {[BY_IDENTITY] = {"by_identity", 0}, {0}};
enum { CONTAINER, ITEM_READS, ITEM_WRITES, READS, SHARED, SOLE, WRITES };
static Slot shadow_slots[] = {
    [CONTAINER] = {"container", 0}, [ITEM_READS] = {"item_reads", 0},
    [ITEM_WRITES] = {"item_writes", 0}, [READS] = {"reads", 0}, [SHARED] = {"shared", 0},
    [SOLE] = {"sole", 0}, [WRITES] = {"writes", 0}, {0},
};
enum { STATE_CLOCK };
static Slot state_slots[] = {[STATE_CLOCK] = {"clock", 0}, {0}};

#define DETECTOR(name) slot_get(self, detector_slots[name])
#define SHADOW(shadow, name) slot_get(shadow, shadow_slots[name])
#define SET_SHADOW(shadow, name, value) slot_set(shadow, shadow_slots[name], value)

static PyObject *no_accesses, *several;
static int tag_bits;

static long long
number_at(PyObject *list, Py_ssize_t index)
{
    return int_value(PyList_GET_ITEM(list, index));
}

/* The clock that has learnt all of ``other``, and of ``task`` up to ``epoch``. */
static PyObject *
after(PyObject *clock, PyObject *other, Py_ssize_t task, PyObject *epoch)
{
    Py_ssize_t own = PyList_GET_SIZE(clock), others = PyList_GET_SIZE(other);
    Py_ssize_t size = own > others ? own : others;
    if (size < task + 1)
        size = task + 1;
    PyObject *joined = PyList_New(size);
    if (joined == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *latest = NULL;
        if (i < own)
            latest = PyList_GET_ITEM(clock, i);
        if (i < others && (latest == NULL || number_at(other, i) > int_value(latest)))
            latest = PyList_GET_ITEM(other, i);
        if (latest == NULL)
            PyList_SET_ITEM(joined, i, PyLong_FromLong(0));
        else
            PyList_SET_ITEM(joined, i, Py_NewRef(latest));
    }
    if (int_value(epoch) > number_at(joined, task))
        PyList_SetItem(joined, task, Py_NewRef(epoch));
    if (PyErr_Occurred())
        Py_CLEAR(joined);
    return joined;
}

/* A task, which has published its clock, is in its next epoch. */
static int
next_epoch(PyObject *self, Py_ssize_t index)
{
    Py_ssize_t last = slot_int(self, detector_slots[LAST_EPOCH]);
    PyObject *next = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(last + 1);
    if (next == NULL)
        return -1;
    slot_set(self, detector_slots[LAST_EPOCH], next);
    return PyList_SetItem(DETECTOR(EPOCHS), index, next);
}

/* RaceDetector.synchronise for a task that is known. */
static int
synchronise_known(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    PyObject *epochs = DETECTOR(EPOCHS), *clocks = DETECTOR(CLOCKS);
    PyObject *clock = PyList_GET_ITEM(clocks, index);
    PyObject *published = slot_get(state, state_slots[STATE_CLOCK]);
    if (published != Py_None) {
        Py_ssize_t writer = int_value(PyTuple_GET_ITEM(published, 0));
        PyObject *epoch = PyTuple_GET_ITEM(published, 1);
        if (writer != index && (writer >= PyList_GET_SIZE(clock) ||
                                number_at(clock, writer) < int_value(epoch))) {
            clock = after(clock, PyTuple_GET_ITEM(published, 2), writer, epoch);
            if (clock == NULL || PyList_SetItem(clocks, index, clock) < 0)
                return -1;
        }
    }
    if (is_write) {
        PyObject *number = PyLong_FromSsize_t(index);
        PyObject *own =
            number == NULL ? NULL : PyTuple_Pack(3, number, PyList_GET_ITEM(epochs, index), clock);
        Py_XDECREF(number);
        if (own == NULL)
            return -1;
        slot_set(state, state_slots[STATE_CLOCK], own);
        Py_DECREF(own);
        if (next_epoch(self, index) < 0)
            return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int
synchronise(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    if (is_usual_detector(self) && index >= 0 &&
        index < PyList_GET_SIZE(DETECTOR(EPOCHS)))
        return synchronise_known(self, index, state, is_write);
    PyObject *result = PyObject_CallMethod(self, "synchronise", "nOO", index, state,
                                           is_write ? Py_True : Py_False);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* -- accesses ----------------------------------------------------------------------- */

/* An access that a task makes now. */
typedef struct {
    PyObject *self, *shadow, *place;
    Py_ssize_t index;
    bool is_write;
    PyObject *identity; /* of the place */
    PyObject *key;      /* the place and the task, as one int */
    PyObject *epoch;
    PyObject *conflict; /* the last race, or None */
} Access;

/* An access by another task, made earlier. */
typedef struct {
    PyObject *key, *epoch;
    Py_ssize_t task;
    PyObject *place; /* borrowed: the detector keeps it */
    bool is_ordered; /* it happens before the access that is made now */
} Earlier;

/* What a key says; -1: an exception is set. */
static int
read_key(PyObject *key, Earlier *earlier)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(key, &overflow);
    if (overflow == 0) {
        earlier->task = (Py_ssize_t)(number >> tag_bits);
        earlier->place = (PyObject *)(uintptr_t)(number & ((1LL << tag_bits) - 1));
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *width = PyLong_FromLong(tag_bits);
    PyObject *task = width == NULL ? NULL : PyNumber_Rshift(key, width);
    PyObject *tag = task == NULL ? NULL : PyNumber_Lshift(task, width);
    PyObject *identity = tag == NULL ? NULL : PyNumber_Subtract(key, tag);
    if (identity != NULL) {
        earlier->task = PyLong_AsSsize_t(task);
        earlier->place = PyLong_AsVoidPtr(identity);
    }
    Py_XDECREF(width);
    Py_XDECREF(task);
    Py_XDECREF(tag);
    Py_XDECREF(identity);
    return PyErr_Occurred() ? -1 : 0;
}

/* Places at which several tasks have touched a variable. */
static int
share_place(PyObject *self, PyObject *place)
{
    PyObject *places = slot_get(DETECTOR(SHARED_PLACES), place_set_slots[BY_IDENTITY]);
    PyObject *identity = PyLong_FromVoidPtr(place);
    int known = identity == NULL ? -1 : PyDict_Contains(places, identity);
    int result = known == 0 ? PyDict_SetItem(places, identity, place) : known < 0 ? -1 : 0;
    Py_XDECREF(identity);
    return result;
}

/* Compare with one earlier access. */
static int
look_at_one(Access *access, Earlier *earlier, bool first_is_write)
{
    PyObject *self = access->self;
    SET_SHADOW(access->shadow, SHARED, Py_True);
    if (share_place(self, earlier->place) < 0 || share_place(self, access->place) < 0)
        return -1;
    PyObject *clock = PyList_GET_ITEM(DETECTOR(CLOCKS), access->index);
    if (earlier->task < PyList_GET_SIZE(clock) &&
        int_value(earlier->epoch) <= number_at(clock, earlier->task)) {
        earlier->is_ordered = true;
        return 0;
    }
    PyObject *conflict = PyObject_CallMethod(
        self, "_race", "OnKOnOO", access->shadow, earlier->task,
        (unsigned long long)(uintptr_t)earlier->place, first_is_write ? Py_True : Py_False,
        access->index, access->place, access->is_write ? Py_True : Py_False);
    if (conflict == NULL)
        return -1;
    if (conflict == Py_None)
        Py_DECREF(conflict);
    else
        Py_SETREF(access->conflict, conflict);
    return 0;
}

enum { FEW = 16 };

/* RaceDetector._look: compare with earlier accesses that conflict with this one. */
static int
look(Access *access, PyObject *accesses, bool first_is_write, bool forget)
{
    Py_ssize_t size = PyDict_GET_SIZE(accesses);
    if (size == 0)
        return 0;
    /* Taking the stack of a race runs Python code, which must not find the dict half looked at. */
    Earlier few[FEW], *earlier = size <= FEW ? few : PyMem_New(Earlier, size);
    if (earlier == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t count = 0, position = 0;
    PyObject *key, *epoch;
    int result = 0;
    while (result == 0 && PyDict_Next(accesses, &position, &key, &epoch)) {
        Earlier *one = &earlier[count];
        result = read_key(key, one);
        if (result < 0 || one->task == access->index)
            continue;
        one->key = Py_NewRef(key);
        one->epoch = Py_NewRef(epoch);
        one->is_ordered = false;
        count++;
    }
    for (Py_ssize_t i = 0; result == 0 && i < count; i++)
        result = look_at_one(access, &earlier[i], first_is_write);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (result == 0 && forget && earlier[i].is_ordered)
            result = PyDict_DelItem(accesses, earlier[i].key);
        Py_DECREF(earlier[i].key);
        Py_DECREF(earlier[i].epoch);
    }
    if (earlier != few)
        PyMem_Free(earlier);
    return result;
}

/* accesses[key] = epoch, in a dict of its own */
static int
note(Access *access, PyObject *shadow, Slot slot)
{
    if (slot_get(shadow, slot) == no_accesses) {
        PyObject *accesses = PyDict_New();
        if (accesses == NULL)
            return -1;
        slot_set(shadow, slot, accesses);
        Py_DECREF(accesses);
    }
    return PyDict_SetItem(slot_get(shadow, slot), access->key, access->epoch);
}

/* Whether another task has touched a variable before. */
static bool
is_shared(PyObject *shadow, Py_ssize_t index)
{
    return int_value(SHADOW(shadow, SOLE)) != index;
}

/* Look at all that this access conflicts with. */
static int
look_at_all(Access *access, PyObject *container)
{
    PyObject *self = access->self, *shadow = access->shadow;
    SET_SHADOW(shadow, SOLE, several);
    if (SHADOW(shadow, SHARED) == Py_True ||
        (container != Py_None && SHADOW(container, SHARED) == Py_True)) {
        /* What it conflicts with may be forgotten already. */
        if (share_place(self, access->place) < 0)
            return -1;
    }
    bool is_write = access->is_write;
    if (look(access, SHADOW(shadow, WRITES), true, is_write) < 0 ||
        (is_write && look(access, SHADOW(shadow, READS), false, true) < 0) ||
        look(access, SHADOW(shadow, ITEM_WRITES), true, is_write) < 0 ||
        (is_write && look(access, SHADOW(shadow, ITEM_READS), false, true) < 0))
        return -1;
    if (container == Py_None)
        return 0;
    SET_SHADOW(container, SOLE, several);
    /* A write of one item makes nobody forget the accesses to the whole. */
    return look(access, SHADOW(container, WRITES), true, false) < 0 ||
                   (is_write && look(access, SHADOW(container, READS), false, false) < 0)
               ? -1
               : 0;
}

static int
take_in(Access *access)
{
    PyObject *self = access->self, *shadow = access->shadow;
    Slot slot = shadow_slots[access->is_write ? WRITES : READS];
    PyObject *last = PyDict_GetItemWithError(slot_get(shadow, slot), access->key);
    int known = last == NULL ? 0 : PyObject_RichCompareBool(last, access->epoch, Py_EQ);
    if (known != 0 || PyErr_Occurred())
        return known > 0 ? 0 : -1;
    if (last == NULL && PyDict_SetItem(DETECTOR(PLACES), access->identity, access->place) < 0)
        return -1;
    PyObject *container = SHADOW(shadow, CONTAINER);
    if ((is_shared(shadow, access->index) ||
         (container != Py_None && is_shared(container, access->index))) &&
        look_at_all(access, container) < 0)
        return -1;
    if (note(access, shadow, slot) < 0)
        return -1;
    return container == Py_None
               ? 0
               : note(access, container,
                      shadow_slots[access->is_write ? ITEM_WRITES : ITEM_READS]);
}

static PyObject *access_method(PyObject *, PyObject *const *, Py_ssize_t, bool);

static PyObject *
read_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return access_method(self, arguments, count, false);
}

static PyObject *
write_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return access_method(self, arguments, count, true);
}

/* Number number of arguments, as an index of a task; -1: an exception is set. */
static Py_ssize_t
index_at(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t expected, Py_ssize_t number)
{
    if (count != expected) {
        PyErr_Format(PyExc_TypeError, "there are %zd arguments, not %zd", expected, count);
        return -1;
    }
    Py_ssize_t index = PyLong_AsSsize_t(arguments[number]);
    if (index < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_IndexError, "no task has such an index");
    return PyErr_Occurred() ? -1 : index;
}

enum { READ, WRITE, SYNCHRONISE, SPAWN };
static PyObject *call_reference(PyObject *, PyObject *const *, Py_ssize_t, int);

/* task_index, clock_holder, is_write */
static PyObject *
synchronise_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t index = index_at(arguments, count, 3, 0);
    if (index < 0)
        return NULL;
    if (index >= PyList_GET_SIZE(DETECTOR(EPOCHS)) ||
        !PyObject_TypeCheck(arguments[1], state_type))
        return call_reference(self, arguments, count, SYNCHRONISE);
    return synchronise_known(self, index, arguments[1], arguments[2] == Py_True) < 0
               ? NULL
               : Py_NewRef(Py_None);
}

/* parent_index, child_index */
static PyObject *
spawn_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t parent = index_at(arguments, count, 2, 0);
    Py_ssize_t child = parent < 0 ? -1 : index_at(arguments, count, 2, 1);
    if (child < 0)
        return NULL;
    PyObject *epochs = DETECTOR(EPOCHS), *clocks = DETECTOR(CLOCKS);
    Py_ssize_t known = PyList_GET_SIZE(epochs);
    if (parent >= known)
        return call_reference(self, arguments, count, SPAWN);
    if (child >= known) {
        PyObject *number = PyLong_FromSsize_t(child + 1);
        PyObject *result =
            number == NULL ? NULL : PyObject_CallMethod(self, "add_tasks", "O", number);
        Py_XDECREF(number);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
    }
    PyObject *clock = after(PyList_GET_ITEM(clocks, child), PyList_GET_ITEM(clocks, parent),
                            parent, PyList_GET_ITEM(epochs, parent));
    if (clock == NULL || PyList_SetItem(clocks, child, clock) < 0)
        return NULL;
    return next_epoch(self, parent) < 0 ? NULL : Py_NewRef(Py_None);
}

static FastPath detector_fast_paths[] = {
    [READ] = {{"read", (PyCFunction)(void (*)(void))read_method, METH_FASTCALL,
               "See the method in Python."}, NULL},
    [WRITE] = {{"write", (PyCFunction)(void (*)(void))write_method, METH_FASTCALL,
                "See the method in Python."}, NULL},
    [SYNCHRONISE] = {{"synchronise", (PyCFunction)(void (*)(void))synchronise_method,
                      METH_FASTCALL, "See the method in Python."}, NULL},
    [SPAWN] = {{"spawn", (PyCFunction)(void (*)(void))spawn_method, METH_FASTCALL,
                "See the method in Python."}, NULL},
    {{0}, NULL},
};

static PyObject *
call_reference(PyObject *self, PyObject *const *arguments, Py_ssize_t count, int method)
{
    PyObject *all[4] = {self};
    for (Py_ssize_t i = 0; i < count; i++)
        all[1 + i] = arguments[i];
    return PyObject_Vectorcall(detector_fast_paths[method].reference, all, (size_t)count + 1, NULL);
}

PyObject *
detect(PyObject *self, PyObject *shadow, Py_ssize_t index, PyObject *place, bool is_write)
{
    PyObject *epochs = DETECTOR(EPOCHS);
    if (index < 0 || index >= PyList_GET_SIZE(epochs)) {
        PyObject *number = PyLong_FromSsize_t(index);
        PyObject *all[] = {shadow, number, place};
        PyObject *result =
            number == NULL ? NULL : call_reference(self, all, 3, is_write ? WRITE : READ);
        Py_XDECREF(number);
        return result;
    }
    Access access = {
        .self = self,
        .shadow = shadow,
        .place = place,
        .index = index,
        .is_write = is_write,
        .identity = PyLong_FromVoidPtr(place),
        .epoch = Py_NewRef(PyList_GET_ITEM(epochs, index)),
        .conflict = Py_NewRef(Py_None),
    };
    if (access.identity != NULL)
        access.key = PyNumber_Add(access.identity, PyList_GET_ITEM(DETECTOR(TAGS), index));
    if (access.key == NULL || take_in(&access) < 0)
        Py_CLEAR(access.conflict);
    Py_XDECREF(access.identity);
    Py_XDECREF(access.key);
    Py_DECREF(access.epoch);
    return access.conflict;
}

bool
is_usual_detector(PyObject *detector)
{
    return detector_type != NULL && Py_IS_TYPE(detector, detector_type);
}

/* shadow, task_index, place */
static PyObject *
access_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "an access has 3 arguments, not %zd", count);
    Py_ssize_t index = PyLong_AsSsize_t(arguments[1]);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    return detect(self, arguments[0], index, arguments[2], is_write);
}

PyObject *
use_detector(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *detector, *state, *shadow, *place_set;
    if (!PyArg_ParseTuple(arguments, "OOOOOOi", &detector, &state, &shadow, &place_set,
                          &no_accesses, &several, &tag_bits) ||
        find_slots(detector, detector_slots) < 0 || find_slots(state, state_slots) < 0 ||
        find_slots(shadow, shadow_slots) < 0 || find_slots(place_set, place_set_slots) < 0)
        return NULL;
    Py_INCREF(no_accesses);
    Py_INCREF(several);
    if (take_over(detector, detector_fast_paths) < 0)
        return NULL;
    detector_type = (PyTypeObject *)Py_NewRef(detector);
    state_type = (PyTypeObject *)Py_NewRef(state);
    Py_RETURN_NONE;
}
