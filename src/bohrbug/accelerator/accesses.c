/* Accesses to data: the hooks that rewritten code calls, and the sinks that they tell.
 *
 * See hooks.py in bohrbug/runtime/threads/rewrite, and data/sinks.py beside it.
 */
#include "accelerator.h"

/* -- sinks -------------------------------------------------------------------------- */

static PyTypeObject *watching_type, *point_sink_type;
static PyObject *read_kind, *write_kind;

enum { ENABLED, EPOCHS, EXECUTION, DETECTOR, ON_POINT, OWNERS, POINTS, TAGS, VARIABLES };
static Slot watching_slots[] = {
    [ENABLED] = {"enabled", 0}, [EPOCHS] = {"_epochs", 0}, [EXECUTION] = {"_execution", 0},
    [DETECTOR] = {"_detector", 0}, [ON_POINT] = {"_on_point", 0}, [OWNERS] = {"_owners", 0},
    [POINTS] = {"_points", 0}, [TAGS] = {"_tags", 0},
    [VARIABLES] = {"_variables", 0}, {0},
};
enum { POINT_ENABLED, POINT_EXECUTION, POINT_OWNERS, POINT_POINTS, POINT_VARIABLES };
static Slot point_sink_slots[] = {
    [POINT_ENABLED] = {"enabled", 0}, [POINT_EXECUTION] = {"_execution", 0},
    [POINT_OWNERS] = {"_owners", 0}, [POINT_POINTS] = {"_points", 0},
    [POINT_VARIABLES] = {"_variables", 0}, {0},
};
enum { SHADOW_READS, SHADOW_WRITES };
static Slot shadow_slots[] = {[SHADOW_READS] = {"reads", 0}, [SHADOW_WRITES] = {"writes", 0}, {0}};

static PyObject *text_attributes, *text_items, *text_whole, *text_read, *text_write;
/* The names of the methods of Variables, by What. */
static PyObject *text_shadow_of[3];

PyObject *
by_identity(PyObject *dict, PyObject *object)
{
    PyObject *key = PyLong_FromVoidPtr(object);
    if (key == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(dict, key);
    Py_DECREF(key);
    return found;
}

/* The variable, if it is known already: a new reference. NULL: not known, or an exception. */
static PyObject *
known_shadow(PyObject *owners, What what, PyObject *owner, PyObject *key)
{
    if (what == ITEM && !PyUnicode_CheckExact(key) && !PyLong_CheckExact(key))
        return NULL;
    PyObject *known = by_identity(owners, owner);
    if (known == NULL)
        return NULL;
    if (what == WHOLE) {
        PyObject *whole = PyObject_GetAttr(known, text_whole);
        if (whole == Py_None)
            Py_CLEAR(whole);
        return whole;
    }
    PyObject *shadows = PyObject_GetAttr(known, what == ATTRIBUTE ? text_attributes : text_items);
    if (shadows == NULL)
        return NULL;
    PyObject *shadow = PyDict_GetItemWithError(shadows, key);
    Py_XINCREF(shadow);
    Py_DECREF(shadows);
    return shadow;
}

PyObject *
call_told(PyObject *function, PyObject *name, PyObject *first, PyObject *owner, PyObject *key,
          bool is_write, PyObject *place)
{
    PyObject *arguments[5] = {first, owner};
    size_t count = 2;
    if (key != NULL)
        arguments[count++] = key;
    arguments[count++] = is_write ? Py_True : Py_False;
    arguments[count++] = place;
    return name == NULL ? PyObject_Vectorcall(function, arguments, count, NULL)
                        : PyObject_VectorcallMethod(name, arguments, count, NULL);
}

PyObject *
shadow_of(PyObject *owners, PyObject *variables, What what, PyObject *owner, PyObject *key,
          bool is_write, PyObject *place)
{
    PyObject *shadow = known_shadow(owners, what, owner, key);
    if (shadow == NULL && what == ATTRIBUTE && !PyErr_Occurred())
        shadow = attribute_shadow(variables, owner, key, place);
    if (shadow != NULL || PyErr_Occurred())
        return shadow;
    return call_told(NULL, text_shadow_of[what], variables, owner, key, is_write, place);
}

/* A detector of another class, which has these epochs and tags, too: None, or what it returns. */
static PyObject *
told_to_other(PyObject *self, PyObject *shadow, Py_ssize_t index, PyObject *place, bool is_write)
{
    PyObject *epoch = PyList_GetItem(slot_get(self, watching_slots[EPOCHS]), index);
    PyObject *tag = PyList_GetItem(slot_get(self, watching_slots[TAGS]), index);
    PyObject *identity = epoch == NULL || tag == NULL ? NULL : PyLong_FromVoidPtr(place);
    PyObject *access = identity == NULL ? NULL : PyNumber_Add(identity, tag);
    Py_XDECREF(identity);
    if (access == NULL)
        return NULL;
    PyObject *accesses = slot_get(shadow, shadow_slots[is_write ? SHADOW_WRITES : SHADOW_READS]);
    PyObject *last = PyDict_GetItemWithError(accesses, access);
    Py_DECREF(access);
    int known = last == NULL ? 0 : PyObject_RichCompareBool(last, epoch, Py_EQ);
    if (known < 0 || PyErr_Occurred())
        return NULL;
    if (known)
        return Py_NewRef(Py_None);
    PyObject *number = PyLong_FromSsize_t(index);
    PyObject *arguments[] = {slot_get(self, watching_slots[DETECTOR]), shadow, number, place};
    PyObject *conflict =
        number == NULL
            ? NULL
            : PyObject_VectorcallMethod(is_write ? text_write : text_read, arguments, 4, NULL);
    Py_XDECREF(number);
    return conflict;
}

/* The sink watches for races: a scheduling point, if it is one, then the detector. */
static int
tell_watching_sink(PyObject *self, What what, PyObject *owner, PyObject *key, bool is_write,
                   PyObject *place)
{
    PyObject *shadow =
        shadow_of(slot_get(self, watching_slots[OWNERS]), slot_get(self, watching_slots[VARIABLES]),
                  what, owner, key, is_write, place);
    if (shadow == NULL || shadow == Py_None) {
        Py_XDECREF(shadow);
        return shadow == NULL ? -1 : 0;
    }
    int result = -1;
    PyObject *execution = slot_get(self, watching_slots[EXECUTION]);
    PyObject *detector = slot_get(self, watching_slots[DETECTOR]);
    PyObject *point = by_identity(slot_get(self, watching_slots[POINTS]), place);
    if (point == NULL && PyErr_Occurred())
        goto done;
    if (point != NULL) {
        PyObject *arguments[] = {place, is_write ? write_kind : read_kind, shadow};
        PyObject *told =
            PyObject_Vectorcall(slot_get(self, watching_slots[ON_POINT]), arguments, 3, NULL);
        if (told == NULL)
            goto done;
        Py_DECREF(told);
        if (told == Py_True) { /* only announced */
            result = 0;
            goto done;
        }
    }
    Py_ssize_t index = running_index(execution);
    PyObject *conflict = is_usual_detector(detector)
                             ? detect(detector, shadow, index, place, is_write)
                             : told_to_other(self, shadow, index, place, is_write);
    if (conflict == NULL)
        goto done;
    Py_DECREF(conflict);
    result = 0;
done:
    Py_DECREF(shadow);
    return result;
}

/* The sink only knows scheduling points. */
static int
tell_point_sink(PyObject *self, What what, PyObject *owner, PyObject *key, bool is_write,
                PyObject *place)
{
    PyObject *point = by_identity(slot_get(self, point_sink_slots[POINT_POINTS]), place);
    if (point == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *shadow = shadow_of(slot_get(self, point_sink_slots[POINT_OWNERS]),
                                 slot_get(self, point_sink_slots[POINT_VARIABLES]), what, owner,
                                 key, is_write, place);
    if (shadow == NULL)
        return -1;
    int result = 0;
    if (shadow != Py_None)
        result = access_point(slot_get(self, point_sink_slots[POINT_EXECUTION]), place,
                              is_write ? write_kind : read_kind, shadow);
    Py_DECREF(shadow);
    return result < 0 ? -1 : 0;
}

/* A method of one of the two sinks; ``key`` is NULL for WHOLE. */
static int
tell_sink(PyObject *told_sink, What what, PyObject *owner, PyObject *key, bool is_write,
           PyObject *place)
{
    /* Such as a server of the whole session, which runs rewritten functions, too. */
    if (nobody_sees())
        return 0;
    if (PyObject_TypeCheck(told_sink, point_sink_type))
        return slot_get(told_sink, point_sink_slots[POINT_ENABLED]) != Py_True
                   ? 0
                   : tell_point_sink(told_sink, what, owner, key, is_write, place);
    return slot_get(told_sink, watching_slots[ENABLED]) != Py_True
               ? 0
               : tell_watching_sink(told_sink, what, owner, key, is_write, place);
}

static PyObject *
told(int result)
{
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
attribute_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "attribute() takes 4 arguments, not %zd", count);
    return told(tell_sink(self, ATTRIBUTE, arguments[0], arguments[1], arguments[2] == Py_True,
                           arguments[3]));
}

static PyObject *
item_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "item() takes 4 arguments, not %zd", count);
    return told(
        tell_sink(self, ITEM, arguments[0], arguments[1], arguments[2] == Py_True, arguments[3]));
}

static PyObject *
whole_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "whole() takes 3 arguments, not %zd", count);
    return told(tell_sink(self, WHOLE, arguments[0], NULL, arguments[1] == Py_True, arguments[2]));
}

#define SINK_METHOD(name, function)                                                              \
    {{name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, "See the method in Python."},  \
     NULL}
#define SINK_METHODS                                                                             \
    {                                                                                            \
        [ATTRIBUTE] = SINK_METHOD("attribute", attribute_method),                                \
        [ITEM] = SINK_METHOD("item", item_method), [WHOLE] = SINK_METHOD("whole", whole_method), \
        {{0}, NULL},                                                                             \
    }
static FastPath watching_fast_paths[4] = SINK_METHODS;
static FastPath point_sink_fast_paths[4] = SINK_METHODS;

PyObject *
use_sinks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *watching, *point_sink, *shadow;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &watching, &point_sink, &shadow, &read_kind,
                          &write_kind) ||
        find_slots(watching, watching_slots) < 0 ||
        find_slots(point_sink, point_sink_slots) < 0 || find_slots(shadow, shadow_slots) < 0)
        return NULL;
    Py_INCREF(read_kind);
    Py_INCREF(write_kind);
    watching_type = (PyTypeObject *)Py_NewRef(watching);
    point_sink_type = (PyTypeObject *)Py_NewRef(point_sink);
    text_attributes = PyUnicode_InternFromString("attributes");
    text_items = PyUnicode_InternFromString("items");
    text_whole = PyUnicode_InternFromString("whole");
    text_read = PyUnicode_InternFromString("read");
    text_write = PyUnicode_InternFromString("write");
    text_shadow_of[ATTRIBUTE] = PyUnicode_InternFromString("shadow_of_attribute");
    text_shadow_of[ITEM] = PyUnicode_InternFromString("shadow_of_item");
    text_shadow_of[WHOLE] = PyUnicode_InternFromString("shadow_of_whole");
    if (PyErr_Occurred() || take_over(watching, watching_fast_paths) < 0 ||
        take_over(point_sink, point_sink_fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* -- hooks -------------------------------------------------------------------------- */

/* The sink that is told now; NULL: none. */
static PyObject *sink;
static PyObject *instance_kind, *skip_kind, *beside_items_kind;
static PyObject *tell_attribute, *subscript, *mapping, *sequence;
static PyObject *reading, *writing, *dict_owners;
/* Kinds of attributes whose reads do nothing but tell the sink. */
static PyObject *only_told;
/* Of the sink that stands for all others while the root task is the last one. */
static PyTypeObject *silent_type;
/* The names of a sink's methods, by What. */
static PyObject *texts[3];
enum { NAMESPACE };
static Slot globals_slots[] = {[NAMESPACE] = {"namespace", 0}, {0}};

/* Whether nobody is told of reads. */
static bool
reads_are_silent(void)
{
    return Py_IS_TYPE(sink, silent_type);
}

int
tell_to(PyObject *told_sink, What what, PyObject *owner, PyObject *key, bool is_write,
        PyObject *place)
{
    if (Py_IS_TYPE(told_sink, watching_type) || Py_IS_TYPE(told_sink, point_sink_type))
        return tell_sink(told_sink, what, owner, key, is_write, place);
    Progress around = tell_around(told_sink, what, owner, key, is_write, place);
    if (around != RARE)
        return around == DONE ? 0 : -1;
    PyObject *result = call_told(NULL, texts[what], told_sink, owner, key, is_write, place);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Tell the sink that is set; a new reference to None. */
static PyObject *
tell(What what, PyObject *owner, PyObject *key, bool is_write, PyObject *place)
{
    /* Of real threads another one may have taken it away since this one has looked. */
    if (sink == NULL || (!is_write && reads_are_silent()))
        Py_RETURN_NONE;
    /* Another one may take its place while a task waits within. */
    PyObject *told_sink = Py_NewRef(sink);
    int result = tell_to(told_sink, what, owner, key, is_write, place);
    Py_DECREF(told_sink);
    return told(result);
}

PyObject *
use_silent_sink(PyObject *Py_UNUSED(module), PyObject *type)
{
    silent_type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

static bool
is_only_told(PyObject *kind)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(only_told); i++)
        if (PyTuple_GET_ITEM(only_told, i) == kind)
            return true;
    return false;
}

PyObject *
set_sink(PyObject *Py_UNUSED(module), PyObject *new_sink)
{
    Py_XSETREF(sink, new_sink == Py_None ? NULL : Py_NewRef(new_sink));
    Py_RETURN_NONE;
}

PyObject *
wrong_number(void)
{
    return PyErr_Format(PyExc_TypeError, "a hook was called with a wrong number of arguments");
}

bool
hooks_are_active(void)
{
    return sink != NULL;
}

bool
dicts_stand_for_objects(void)
{
    return PyDict_GET_SIZE(dict_owners) != 0;
}

Progress
tell_whole_now(PyObject *owner, bool is_write, PyObject *place)
{
    PyObject *result = tell(WHOLE, owner, NULL, is_write, place);
    Py_XDECREF(result);
    return result == NULL ? FAILED : DONE;
}

PyObject *
tell_item_now(PyObject *owner, PyObject *key, bool is_write, PyObject *place)
{
    return tell(ITEM, owner, key, is_write, place);
}

PyObject *
found_for_type(PyObject *table, PyObject *owner)
{
    PyObject *found = PyDict_GetItemWithError(table, (PyObject *)Py_TYPE(owner));
    if (found != NULL)
        return Py_NewRef(found);
    return PyErr_Occurred() ? NULL : PyObject_GetItem(table, (PyObject *)Py_TYPE(owner));
}

/* owner, name, kinds, place */
static PyObject *
attribute_hook(PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 4)
        return wrong_number();
    if (sink == NULL)
        Py_RETURN_NONE;
    PyObject *kind = found_for_type(arguments[2], arguments[0]);
    if (kind == NULL)
        return NULL;
    PyObject *result;
    if (kind == instance_kind) {
        result = tell(ATTRIBUTE, arguments[0], arguments[1], is_write, arguments[3]);
    } else if (kind == beside_items_kind) {
        PyObject *namespace = PyObject_GenericGetDict(arguments[0], NULL);
        result = namespace == NULL ? NULL
                                   : tell(ITEM, namespace, arguments[1], is_write, arguments[3]);
        Py_XDECREF(namespace);
    } else if (kind == skip_kind || (!is_write && reads_are_silent() && is_only_told(kind))) {
        result = Py_NewRef(Py_None);
    } else {
        PyObject *all[] = {arguments[0], arguments[1], kind, is_write ? Py_True : Py_False,
                           arguments[3]};
        result = PyObject_Vectorcall(tell_attribute, all, 5, NULL);
    }
    Py_DECREF(kind);
    return result;
}

static PyObject *
read_attribute(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return attribute_hook(arguments, count, false);
}

static PyObject *
write_attribute(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return attribute_hook(arguments, count, true);
}

/* scope, name, place */
static PyObject *
global_hook(PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 3)
        return wrong_number();
    if (sink == NULL)
        Py_RETURN_NONE;
    return tell(ITEM, slot_get(arguments[0], globals_slots[NAMESPACE]), arguments[1], is_write,
                arguments[2]);
}

static PyObject *
read_global(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return global_hook(arguments, count, false);
}

static PyObject *
write_global(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return global_hook(arguments, count, true);
}

/* cell, place */
static PyObject *
cell_hook(PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 2)
        return wrong_number();
    if (sink == NULL)
        Py_RETURN_NONE;
    return tell(WHOLE, arguments[0], NULL, is_write, arguments[1]);
}

static PyObject *
read_cell(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return cell_hook(arguments, count, false);
}

static PyObject *
write_cell(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return cell_hook(arguments, count, true);
}

/* owner, key, place */
static PyObject *
item_hook(PyObject *const *arguments, Py_ssize_t count, bool is_write)
{
    if (count != 3)
        return wrong_number();
    if (sink == NULL)
        Py_RETURN_NONE;
    PyObject *owner = arguments[0], *key = arguments[1];
    PyObject *family = found_for_type(is_write ? writing : reading, owner);
    if (family == NULL)
        return NULL;
    PyObject *result;
    int overflow = 0;
    if (family == Py_None ||
        (!is_write && (family == sequence || family == mapping) && reads_are_silent())) {
        result = Py_NewRef(Py_None);
    } else if ((family == sequence && PyLong_CheckExact(key) &&
                PyLong_AsLongAndOverflow(key, &overflow) >= 0 && overflow >= 0) ||
               (family == mapping && (PyUnicode_CheckExact(key) || PyLong_CheckExact(key)) &&
                !dicts_stand_for_objects())) {
        result = tell(ITEM, owner, key, is_write, arguments[2]);
    } else {
        PyObject *all[] = {owner, key, family, is_write ? Py_True : Py_False, arguments[2]};
        result = end_what_was_begun() ? PyObject_Vectorcall(subscript, all, 5, NULL) : NULL;
    }
    Py_DECREF(family);
    return result;
}

static PyObject *
read_item(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return item_hook(arguments, count, false);
}

static PyObject *
write_item(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return item_hook(arguments, count, true);
}

#define HOOK(name)                                                                               \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, "See the function in Python."}
PyMethodDef hook_definitions[] = {
    HOOK(read_attribute), HOOK(write_attribute), HOOK(read_global), HOOK(write_global),
    HOOK(read_cell), HOOK(write_cell), HOOK(read_item), HOOK(write_item), {0},
};

PyObject *
use_hooks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *globals;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOO!", &globals, &instance_kind, &skip_kind,
                          &beside_items_kind, &tell_attribute, &subscript, &reading, &writing,
                          &mapping, &sequence, &dict_owners, &PyTuple_Type, &only_told) ||
        find_slots(globals, globals_slots) < 0)
        return NULL;
    PyObject *kept[] = {instance_kind, skip_kind, beside_items_kind, tell_attribute, subscript,
                        reading, writing, mapping, sequence, dict_owners, only_told};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    texts[ATTRIBUTE] = PyUnicode_InternFromString("attribute");
    texts[ITEM] = PyUnicode_InternFromString("item");
    texts[WHOLE] = PyUnicode_InternFromString("whole");
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}
