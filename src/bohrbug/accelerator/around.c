/* Sinks that stand before another one: most of what an execution with an event loop accesses passes
 * through two of them.
 *
 * See deaths.py and loops/access_log.py in bohrbug/runtime/threads.
 */
#include "scheduling.h"

enum { USUAL };
static Slot around_slots[] = {[USUAL] = {"_usual", 0}, {0}};
enum { LOG };
static Slot logging_slots[] = {[LOG] = {"_log", 0}, {0}};
enum { LOG_EXECUTION, FIRST_TOUCHES, RUNNING, TAKEN, LOG_VARIABLES, TOUCHES };
static Slot log_slots[] = {
    [LOG_EXECUTION] = {"_execution", 0}, [FIRST_TOUCHES] = {"_first_touches", 0},
    [RUNNING] = {"_running", 0}, [TAKEN] = {"_taken", 0}, [LOG_VARIABLES] = {"_variables", 0},
    [TOUCHES] = {"touches", 0}, {0},
};
enum { NUMBER, STEP_TASK };
static Slot step_slots[] = {[NUMBER] = {"number", 0}, [STEP_TASK] = {"task", 0}, {0}};
enum { OWNERS_OF };
static Slot variables_slots[] = {[OWNERS_OF] = {"owners", 0}, {0}};
enum { OWNER_TYPE };
static Slot owner_slots[] = {[OWNER_TYPE] = {"type", 0}, {0}};

static PyTypeObject *sweeping_type, *logging_type, *passing_owner_type, *named_type;
static PyObject *touch_type, *outrun, *by_target, *text_let_go;
static Py_ssize_t most_touches;
/* The names of the methods of AccessLog that find variables, by What. */
static PyObject *text_find[3];

/* -- deaths -------------------------------------------------------------------------- */

static FastPath sweeping_fast_paths[4];
enum { CHANGED, SWEEP };
static Slot sweeping_slots[] = {[CHANGED] = {"_changed", 0}, [SWEEP] = {"_sweep", 0}, {0}};

/* The method in Python. */
static int
by_reference(FastPath *fast_paths, PyObject *self, What what, PyObject *owner, PyObject *key,
             bool is_write, PyObject *place)
{
    PyObject *reference = fast_paths[what].reference;
    PyObject *result = call_told(reference, NULL, self, owner, key, is_write, place);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* _SweepingSink.let_go_of_changed */
static int
let_go_of_changed(PyObject *self)
{
    slot_set(self, sweeping_slots[CHANGED], Py_False);
    PyObject *result = PyObject_CallNoArgs(slot_get(self, sweeping_slots[SWEEP]));
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

typedef struct {
    PyObject *known, *found;
    bool looks_into_dicts;
} Looking;

static int
look_at_referent(PyObject *referent, void *argument)
{
    Looking *looking = argument;
    bool is_known = by_identity(looking->known, referent) != NULL;
    if (is_known ? PyList_Append(looking->found, referent) < 0 : PyErr_Occurred() != NULL)
        return -1;
    if (looking->looks_into_dicts && PyDict_CheckExact(referent)) {
        Looking within = {looking->known, looking->found, false};
        return Py_TYPE(referent)->tp_traverse(referent, look_at_referent, &within);
    }
    return 0;
}

/* Those of the objects that one refers to whose ids are known, and of those in its dicts. */
static PyObject *
referents_among(PyObject *holder, PyObject *known)
{
    PyObject *found = PyList_New(0);
    Looking looking = {known, found, true};
    if (found != NULL && PyObject_IS_GC(holder) && Py_TYPE(holder)->tp_traverse != NULL &&
        Py_TYPE(holder)->tp_traverse(holder, look_at_referent, &looking) < 0)
        Py_CLEAR(found);
    return found;
}

PyObject *
known_referents(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *holder, *known;
    if (!PyArg_ParseTuple(arguments, "OO!", &holder, &PyDict_Type, &known))
        return NULL;
    return referents_among(holder, known);
}

/* _SweepingSink._let_go, of an object that does not stand for local variables. */
static int
let_go(PyObject *self, PyObject *holder)
{
    if (PyDict_GET_SIZE(by_target) == 0)
        return 0;
    PyObject *found = referents_among(holder, by_target);
    if (found == NULL)
        return -1;
    bool is_any = PyList_GET_SIZE(found) > 0;
    Py_DECREF(found);
    if (!is_any)
        return 0;
    PyObject *result = PyObject_CallMethodOneArg(self, text_let_go, holder);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Common is an access to an object to which nobody refers weakly. */
static int
tell_sweeping_sink(PyObject *self, What what, PyObject *owner, PyObject *key, bool is_write,
                   PyObject *place)
{
    if (nobody_sees())
        return 0;
    /* Local variables have been told of by Deaths.drop. */
    bool are_locals = what == WHOLE && is_write && Py_IS_TYPE(owner, named_type);
    if (((is_write && !are_locals) || slot_get(self, sweeping_slots[CHANGED]) == Py_True) &&
        let_go_of_changed(self) < 0)
        return -1;
    /* Behind it, as finalizers may make weak references. */
    bool is_common = PyList_GET_SIZE(outrun) == 0 &&
                     (PyDict_GET_SIZE(by_target) == 0 ||
                      (what == WHOLE ? !are_locals : by_identity(by_target, owner) == NULL));
    if (PyErr_Occurred())
        return -1;
    if (!is_common)
        return by_reference(sweeping_fast_paths, self, what, owner, key, is_write, place);
    if (tell_to(slot_get(self, around_slots[USUAL]), what, owner, key, is_write, place) < 0)
        return -1;
    if (is_write) {
        if (let_go(self, owner) < 0)
            return -1;
        /* Other tasks may have run meanwhile. */
        if (slot_get(self, sweeping_slots[CHANGED]) == Py_True && let_go_of_changed(self) < 0)
            return -1;
        slot_set(self, sweeping_slots[CHANGED], Py_True);
    }
    return 0;
}

/* -- the log of what tasks of event loops access ------------------------------------- */

/* AccessLog.attribute, item and whole; a new reference. */
static PyObject *
passing_shadow(PyObject *log, What what, PyObject *owner, PyObject *key, bool is_write,
               PyObject *place)
{
    PyObject *variables = slot_get(log, log_slots[LOG_VARIABLES]);
    PyObject *owners = slot_get(variables, variables_slots[OWNERS_OF]);
    PyObject *known = by_identity(owners, owner);
    if (known == NULL && PyErr_Occurred())
        return NULL;
    bool was_another = known != NULL && Py_IS_TYPE(known, passing_owner_type) &&
                       slot_get(known, owner_slots[OWNER_TYPE]) != (PyObject *)Py_TYPE(owner);
    bool is_global = what == ATTRIBUTE && PyModule_Check(owner);
    if (!was_another && !is_global)
        return shadow_of(owners, variables, what, owner, key, is_write, place);
    return call_told(NULL, text_find[what], log, owner, key, is_write, place);
}

/* Whether an access is the first of its kind in a step, which it is no more; -1: exception. */
static int
is_first(PyObject *log, PyObject *step, PyObject *shadow, bool is_write, PyObject *place)
{
    PyObject *taken = slot_get(log, log_slots[TAKEN]);
    PyObject *key = Py_BuildValue("(ONNO)", slot_get(step, step_slots[NUMBER]),
                                  PyLong_FromVoidPtr(shadow), PyLong_FromVoidPtr(place),
                                  is_write ? Py_True : Py_False);
    int is_known = key == NULL ? -1 : PySet_Contains(taken, key);
    if (is_known == 0 && PySet_Add(taken, key) < 0)
        is_known = -1;
    Py_XDECREF(key);
    return is_known < 0 ? -1 : !is_known;
}

/* AccessLog.take */
static int
take(PyObject *log, PyObject *step, PyObject *shadow, bool is_write, PyObject *place)
{
    PyObject *touches = slot_get(log, log_slots[TOUCHES]);
    if (shadow == Py_None || PyList_GET_SIZE(touches) >= most_touches)
        return 0;
    int first = is_first(log, step, shadow, is_write, place);
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    if (first <= 0 || frame == NULL)
        return first < 0 ? -1 : 0;
    PyObject *around = frames_of_step(NULL, frame);
    if (around == NULL || PyTuple_GET_SIZE(around) == 0) {
        Py_XDECREF(around);
        return around == NULL ? -1 : 0;
    }
    PyObject *self = slot_get(log, log_slots[LOG_EXECUTION]);
    PyObject *at = PyLong_FromSsize_t(PyList_GET_SIZE(EXECUTION(ROWS)));
    PyObject *arguments[] = {step, shadow, is_write ? Py_True : Py_False, place, around, at};
    PyObject *touch = at == NULL ? NULL : PyObject_Vectorcall(touch_type, arguments, 6, NULL);
    Py_XDECREF(at);
    Py_DECREF(around);
    bool is_taken = touch != NULL && PyList_Append(touches, touch) == 0 &&
                    PyDict_SetDefault(slot_get(log, log_slots[FIRST_TOUCHES]),
                                      slot_get(step, step_slots[STEP_TASK]),
                                      slot_get(step, step_slots[NUMBER])) != NULL;
    Py_XDECREF(touch);
    return is_taken ? 0 : -1;
}

static int
tell_logging_sink(PyObject *sink, What what, PyObject *owner, PyObject *key, bool is_write,
                  PyObject *place)
{
    if (tell_to(slot_get(sink, around_slots[USUAL]), what, owner, key, is_write, place) < 0)
        return -1;
    PyObject *log = slot_get(sink, logging_slots[LOG]);
    PyObject *self = slot_get(log, log_slots[LOG_EXECUTION]);
    PyObject *step = PyDict_GetItemWithError(slot_get(log, log_slots[RUNNING]),
                                             TASK(EXECUTION(CURRENT), INDEX));
    if (step == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (nobody_sees())
        return 0;
    /* A finalizer may run while these are made, and end the step. */
    Py_INCREF(step);
    PyObject *shadow = passing_shadow(log, what, owner, key, is_write, place);
    int result = shadow == NULL ? -1 : take(log, step, shadow, is_write, place);
    Py_XDECREF(shadow);
    Py_DECREF(step);
    return result;
}

/* -- both ---------------------------------------------------------------------------- */

Progress
tell_around(PyObject *sink, What what, PyObject *owner, PyObject *key, bool is_write,
            PyObject *place)
{
    int result;
    if (Py_IS_TYPE(sink, sweeping_type))
        result = tell_sweeping_sink(sink, what, owner, key, is_write, place);
    else if (Py_IS_TYPE(sink, logging_type))
        result = tell_logging_sink(sink, what, owner, key, is_write, place);
    else
        return RARE;
    return result < 0 ? FAILED : DONE;
}

static PyObject *
told(PyObject *self, What what, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t wanted = what == WHOLE ? 3 : 4;
    if (count != wanted)
        return PyErr_Format(PyExc_TypeError, "a sink is told %zd things of an access, not %zd",
                            wanted, count);
    /* Another one may take its place while a task waits within. */
    Py_INCREF(self);
    Progress result = tell_around(self, what, arguments[0], what == WHOLE ? NULL : arguments[1],
                                  arguments[wanted - 2] == Py_True, arguments[wanted - 1]);
    Py_DECREF(self);
    if (result != DONE)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
attribute_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return told(self, ATTRIBUTE, arguments, count);
}

static PyObject *
item_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return told(self, ITEM, arguments, count);
}

static PyObject *
whole_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    return told(self, WHOLE, arguments, count);
}

#define METHOD(name, function)                                                                  \
    {{name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, "See the method in Python."}, \
     NULL}
#define METHODS                                                                        \
    {                                                                                  \
        [ATTRIBUTE] = METHOD("attribute", attribute_method),                           \
        [ITEM] = METHOD("item", item_method), [WHOLE] = METHOD("whole", whole_method), \
        {{0}, NULL},                                                                   \
    }
static FastPath sweeping_fast_paths[4] = METHODS;
static FastPath logging_fast_paths[4] = METHODS;

/* use_sweeping_sink(_SweepingSink, lives.outrun_lives, lives.lives_by_target, Named) */
PyObject *
use_sweeping_sink(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *named;
    if (!PyArg_ParseTuple(arguments, "OO!O!O", &type, &PyList_Type, &outrun, &PyDict_Type,
                          &by_target, &named) ||
        find_slots(type, around_slots) < 0 || find_slots(type, sweeping_slots) < 0 ||
        take_over(type, sweeping_fast_paths) < 0 ||
        (text_let_go = PyUnicode_InternFromString("_let_go")) == NULL)
        return NULL;
    Py_INCREF(outrun);
    Py_INCREF(by_target);
    sweeping_type = (PyTypeObject *)Py_NewRef(type);
    named_type = (PyTypeObject *)Py_NewRef(named);
    Py_RETURN_NONE;
}

/* use_logging_sink(LoggingSink, AccessLog, LoopStep, Touch, PassingVariables, PassingOwner,
 * MOST_TOUCHES) */
PyObject *
use_logging_sink(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *log, *step, *touch, *variables, *owner;
    if (!PyArg_ParseTuple(arguments, "OOOOOOn", &type, &log, &step, &touch, &variables, &owner,
                          &most_touches) ||
        find_slots(type, around_slots) < 0 || find_slots(type, logging_slots) < 0 ||
        find_slots(log, log_slots) < 0 || find_slots(step, step_slots) < 0 ||
        find_slots(variables, variables_slots) < 0 || find_slots(owner, owner_slots) < 0 ||
        take_over(type, logging_fast_paths) < 0)
        return NULL;
    text_find[ATTRIBUTE] = PyUnicode_InternFromString("attribute");
    text_find[ITEM] = PyUnicode_InternFromString("item");
    text_find[WHOLE] = PyUnicode_InternFromString("whole");
    if (PyErr_Occurred())
        return NULL;
    know_passing_variables(variables);
    touch_type = Py_NewRef(touch);
    passing_owner_type = (PyTypeObject *)Py_NewRef(owner);
    logging_type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}
