/* The race detector: what is done at every synchronisation and every new access.
 *
 * See bohrbug/monitors/races.py for the algorithm.
 */
#include "accelerator.h"

static PyTypeObject *detector_type;

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

static PyObject *no_accesses, *several, *tag_bits, *place_mask;


static long long
number_at(PyObject *list, Py_ssize_t index)
{
    return PyLong_AsLongLong(PyList_GET_ITEM(list, index));
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
        if (i < others && (latest == NULL || number_at(other, i) > PyLong_AsLongLong(latest)))
            latest = PyList_GET_ITEM(other, i);
        if (latest == NULL)
            PyList_SET_ITEM(joined, i, PyLong_FromLong(0));
        else
            PyList_SET_ITEM(joined, i, Py_NewRef(latest));
    }
    if (PyLong_AsLongLong(epoch) > number_at(joined, task))
        PyList_SetItem(joined, task, Py_NewRef(epoch));
    if (PyErr_Occurred())
        Py_CLEAR(joined);
    return joined;
}

/* RaceDetector.synchronise for a task that is known. */
static int
synchronise_known(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    PyObject *epochs = DETECTOR(EPOCHS), *clocks = DETECTOR(CLOCKS);
    PyObject *clock = PyList_GET_ITEM(clocks, index);
    PyObject *published = slot_get(state, state_slots[STATE_CLOCK]);
    if (published != Py_None) {
        Py_ssize_t writer = PyLong_AsSsize_t(PyTuple_GET_ITEM(published, 0));
        PyObject *epoch = PyTuple_GET_ITEM(published, 1);
        if (writer != index && (writer >= PyList_GET_SIZE(clock) ||
                                number_at(clock, writer) < PyLong_AsLongLong(epoch))) {
            clock = after(clock, PyTuple_GET_ITEM(published, 2), writer, epoch);
            if (clock == NULL || PyList_SetItem(clocks, index, clock) < 0)
                return -1;
        }
    }
    if (is_write) {
        PyObject *own = Py_BuildValue("nOO", index, PyList_GET_ITEM(epochs, index), clock);
        Py_ssize_t last = slot_int(self, detector_slots[LAST_EPOCH]);
        PyObject *next = own == NULL || PyErr_Occurred() ? NULL : PyLong_FromSsize_t(last + 1);
        if (next == NULL) {
            Py_XDECREF(own);
            return -1;
        }
        slot_set(state, state_slots[STATE_CLOCK], own);
        slot_set(self, detector_slots[LAST_EPOCH], next);
        Py_DECREF(own);
        if (PyList_SetItem(epochs, index, next) < 0)
            return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

int
synchronise(PyObject *self, Py_ssize_t index, PyObject *state, bool is_write)
{
    if (detector_type != NULL && Py_IS_TYPE(self, detector_type) && index >= 0 &&
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

/* Compare with one earlier access; ``ordered``, if not NULL, gets it if it may be forgotten. */
static int
look_at_one(Access *access, PyObject *key, PyObject *epoch, bool first_is_write, PyObject *ordered)
{
    PyObject *self = access->self;
    PyObject *number = PyNumber_Rshift(key, tag_bits);
    Py_ssize_t task = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    if (task < 0)
        return -1;
    if (task == access->index)
        return 0;
    SET_SHADOW(access->shadow, SHARED, Py_True);
    PyObject *identity = PyNumber_And(key, place_mask);
    if (identity == NULL)
        return -1;
    PyObject *shared = slot_get(DETECTOR(SHARED_PLACES), place_set_slots[BY_IDENTITY]);
    PyObject *place = PyDict_GetItemWithError(DETECTOR(PLACES), identity);
    int result = -1;
    if (place == NULL)
        PyErr_SetString(PyExc_KeyError, "the place of an earlier access");
    else if (PyDict_SetItem(shared, identity, place) == 0 &&
             PyDict_SetItem(shared, access->identity, access->place) == 0)
        result = 0;
    PyObject *clock = PyList_GET_ITEM(DETECTOR(CLOCKS), access->index);
    if (result == 0 && task < PyList_GET_SIZE(clock) &&
        PyLong_AsLongLong(epoch) <= number_at(clock, task)) {
        result = ordered == NULL ? 0 : PyList_Append(ordered, key);
    } else if (result == 0) {
        PyObject *conflict = PyObject_CallMethod(
            self, "_race", "OnOOnOO", access->shadow, task, identity,
            first_is_write ? Py_True : Py_False, access->index, access->place,
            access->is_write ? Py_True : Py_False);
        if (conflict == NULL)
            result = -1;
        else
            Py_SETREF(access->conflict, conflict);
    }
    Py_DECREF(identity);
    return result;
}

/* RaceDetector._look: compare with earlier accesses that conflict with this one. */
static int
look(Access *access, PyObject *accesses, bool first_is_write, bool forget)
{
    if (PyDict_GET_SIZE(accesses) == 0)
        return 0;
    PyObject *ordered = forget ? PyList_New(0) : NULL;
    if (forget && ordered == NULL)
        return -1;
    /* Taking the stack of a race runs Python code, which must not find the dict half looked at. */
    PyObject *items = PyDict_Items(accesses);
    int result = items == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(items); i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        result = look_at_one(access, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1),
                             first_is_write, ordered);
    }
    for (Py_ssize_t i = 0; result == 0 && forget && i < PyList_GET_SIZE(ordered); i++)
        result = PyDict_DelItem(accesses, PyList_GET_ITEM(ordered, i));
    Py_XDECREF(items);
    Py_XDECREF(ordered);
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
    return PyLong_AsSsize_t(SHADOW(shadow, SOLE)) != index;
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
        PyObject *places = slot_get(DETECTOR(SHARED_PLACES), place_set_slots[BY_IDENTITY]);
        if (PyDict_SetItem(places, access->identity, access->place) < 0)
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
    if (PyDict_SetItem(DETECTOR(PLACES), access->identity, access->place) < 0)
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

enum { READ, WRITE };
static Twin detector_twins[] = {
    [READ] = {{"read", (PyCFunction)(void (*)(void))read_method, METH_FASTCALL,
               "See the method in Python."}, NULL},
    [WRITE] = {{"write", (PyCFunction)(void (*)(void))write_method, METH_FASTCALL,
                "See the method in Python."}, NULL},
    {{0}, NULL},
};

/* shadow, task_index, place */
static PyObject *
access_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "an access has 3 arguments, not %zd", count);
    Py_ssize_t index = PyLong_AsSsize_t(arguments[1]);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    PyObject *epochs = DETECTOR(EPOCHS);
    if (index < 0 || index >= PyList_GET_SIZE(epochs)) {
        PyObject *all[] = {self, arguments[0], arguments[1], arguments[2]};
        return PyObject_Vectorcall(detector_twins[is_write ? WRITE : READ].reference, all, 4, NULL);
    }
    Access access = {
        .self = self,
        .shadow = arguments[0],
        .place = arguments[2],
        .index = index,
        .is_write = is_write,
        .identity = PyLong_FromVoidPtr(arguments[2]),
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

PyObject *
use_detector(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *detector, *state, *shadow, *place_set;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &detector, &state, &shadow, &place_set,
                          &no_accesses, &several, &tag_bits, &place_mask) ||
        find_slots(detector, detector_slots) < 0 || find_slots(state, state_slots) < 0 ||
        find_slots(shadow, shadow_slots) < 0 || find_slots(place_set, place_set_slots) < 0)
        return NULL;
    PyObject *kept[] = {no_accesses, several, tag_bits, place_mask};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    if (take_over(detector, detector_twins) < 0)
        return NULL;
    detector_type = (PyTypeObject *)Py_NewRef(detector);
    Py_RETURN_NONE;
}
