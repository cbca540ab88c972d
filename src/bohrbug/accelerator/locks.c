/* Lock and RLock: the common case of acquiring and releasing.
 *
 * Common is: under control, not within a modelled primitive, a lock of the program,
 * and a blocking acquire without a timeout.
 */
#include "scheduling.h"

enum { CREATED, INTERNAL, OWNER, REAL, STATE };
static Slot lock_slots[] = {
    [CREATED] = {"_created", 0}, [INTERNAL] = {"_internal", 0}, [OWNER] = {"_owner", 0},
    [REAL] = {"_real", 0}, [STATE] = {"_state", 0}, {0},
};
#define LOCK(name) slot_get(self, lock_slots[name])
#define SET_LOCK(name, value) slot_set(self, lock_slots[name], value)

static PyObject *allocate_lock, *internal_modules, *lent_in, *text_name, *text_type;

/* The execution in which an operation on the lock is an ordinary one, borrowed, or NULL. */
static PyObject *
ordinary(PyObject *self)
{
    PyObject *execution = controlling_execution();
    if (execution == NULL || LOCK(INTERNAL) != Py_False || is_inside(running_task(execution)))
        return NULL;
    PyObject *state = LOCK(STATE);
    return state != Py_None && is_of_execution(state, execution) ? execution : NULL;
}

static int
lock_is_free(PyObject *self)
{
    return real_is_free(LOCK(REAL));
}

static PyObject *
is_free(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    int free = lock_is_free(self);
    return free < 0 ? NULL : PyBool_FromLong(free);
}

/* Take the real lock, which was free just now. */
static int
take(PyObject *self, PyObject *execution, PyObject *place)
{
    int taken = take_real(LOCK(REAL));
    if (taken == 0)
        PyErr_SetNone(task_killed);
    if (taken <= 0)
        return -1;
    PyObject *task = running_task(execution);
    SET_LOCK(OWNER, task);
    return note_holding(task, self, place);
}

static Progress
acquire(PyObject *self)
{
    PyObject *execution = ordinary(self);
    if (execution == NULL)
        return RARE;
    if (LOCK(OWNER) == Py_None) {
        /* Held by somebody outside our control? */
        int free = lock_is_free(self);
        if (free <= 0)
            return free < 0 ? FAILED : RARE;
    }
    PyObject *place = calling_place();
    PyObject *ready = place == NULL ? NULL : new_readiness(lock_is_free, self, true);
    Progress progress = FAILED;
    if (ready != NULL) {
        PyObject *state = Py_NewRef(LOCK(STATE));
        Py_INCREF(execution);
        progress = perform(execution, acquire_kind, state, place, ready);
        if (progress == DONE && take(self, execution, place) < 0)
            progress = FAILED;
        Py_DECREF(execution);
        Py_DECREF(state);
    }
    Py_XDECREF(place);
    Py_XDECREF(ready);
    return progress;
}

/* Free the lock, whoever owns it. */
static int
let_go(PyObject *self)
{
    PyObject *owner = Py_NewRef(LOCK(OWNER));
    SET_LOCK(OWNER, Py_None);
    int released = release_real(LOCK(REAL));
    if (released == 0 && owner != Py_None)
        released = note_released(owner, self);
    Py_DECREF(owner);
    return released;
}

static Progress
release(PyObject *self)
{
    PyObject *execution = ordinary(self);
    if (execution == NULL)
        return RARE;
    PyObject *place = calling_place();
    if (place == NULL)
        return FAILED;
    PyObject *state = Py_NewRef(LOCK(STATE));
    Py_INCREF(execution);
    Progress progress = perform(execution, release_kind, state, place, NULL);
    if (progress == DONE && let_go(self) < 0)
        progress = FAILED;
    Py_DECREF(execution);
    Py_DECREF(state);
    Py_DECREF(place);
    return progress;
}

/* Whether a modelled module calls to keep the lock to itself; -1: an exception is set. */
static int
is_called_by_module(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = PyDict_GetItemWithError(globals, text_name);
    int internal = name == NULL || !PyUnicode_Check(name)
                       ? 0
                       : PySet_Contains(internal_modules, name);
    Py_DECREF(globals);
    if (internal > 0) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        internal = PySet_Contains(lent_in, code->co_qualname) == 0;
        Py_DECREF(code);
    }
    return PyErr_Occurred() ? -1 : internal;
}

/* The state of a lock that the program makes under control. */
static PyObject *
new_state(PyObject *self, PyObject *execution, PyObject *created)
{
    PyObject *type = PyObject_GetAttr(self, text_type);
    PyObject *state = type == NULL ? NULL : new_resource(execution, type, created);
    Py_XDECREF(type);
    return state;
}

/* A lock that a modelled module makes for itself, or the program under control. */
static Progress
initialise(PyObject *self)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL || allocate_lock == NULL)
        return RARE;
    int internal = is_called_by_module(frame);
    PyObject *execution = internal == 0 ? controlling_execution() : NULL;
    if (internal <= 0 && execution == NULL)
        return internal < 0 ? FAILED : RARE;
    PyObject *real = PyObject_CallNoArgs(allocate_lock);
    PyObject *created = internal ? Py_NewRef(Py_None) : calling_place();
    PyObject *state = internal ? Py_NewRef(Py_None) : NULL;
    if (real != NULL && created != NULL && state == NULL)
        state = new_state(self, execution, created);
    if (state != NULL) {
        SET_LOCK(REAL, real);
        SET_LOCK(OWNER, Py_None);
        SET_LOCK(STATE, state);
        SET_LOCK(CREATED, created);
        SET_LOCK(INTERNAL, internal ? Py_True : Py_False);
    }
    Py_XDECREF(real);
    Py_XDECREF(created);
    Py_XDECREF(state);
    return PyErr_Occurred() ? FAILED : DONE;
}

/* -- the methods ----------------------------------------------------------------------- */

static PyObject *acquire_method(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static PyObject *enter_method(PyObject *, PyObject *);
static PyObject *release_method(PyObject *, PyObject *);
static PyObject *exit_method(PyObject *, PyObject *const *, Py_ssize_t);
static PyObject *init_method(PyObject *, PyObject *);

enum { ACQUIRE, ENTER, RELEASE, EXIT, INIT, IS_FREE };
static FastPath lock_fast_paths[] = {
    [ACQUIRE] = {{"acquire", (PyCFunction)(void (*)(void))acquire_method,
                  METH_FASTCALL | METH_KEYWORDS, "As ``Lock.acquire``."}, NULL},
    [ENTER] = {{"__enter__", enter_method, METH_NOARGS, "Acquire."}, NULL},
    [RELEASE] = {{"release", release_method, METH_NOARGS, "As ``Lock.release``."}, NULL},
    [EXIT] = {{"__exit__", (PyCFunction)(void (*)(void))exit_method, METH_FASTCALL, "Release."},
              NULL},
    [INIT] = {{"__init__", init_method, METH_NOARGS, "Make a lock."}, NULL},
    [IS_FREE] = {{"_is_free", is_free, METH_NOARGS, "Whether nobody holds the lock."}, NULL},
    {{0}, NULL},
};

/* Do it here, or let the method in Python do it. */
static PyObject *
finish(Progress progress, PyObject *self, int method)
{
    if (progress == FAILED)
        return NULL;
    if (progress == RARE)
        return PyObject_CallOneArg(lock_fast_paths[method].reference, self);
    return method == ACQUIRE || method == ENTER ? Py_NewRef(Py_True) : Py_NewRef(Py_None);
}

static PyObject *
acquire_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count == 0 && names == NULL)
        return finish(acquire(self), self, ACQUIRE);
    /* ``self`` and at most two arguments, blocking and timeout; the method checks them. */
    Py_ssize_t all_count = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *all[8] = {NULL, self};
    if (all_count > 6) {
        PyErr_SetString(PyExc_TypeError, "acquire() takes at most 2 arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < all_count; i++)
        all[2 + i] = arguments[i];
    return PyObject_Vectorcall(lock_fast_paths[ACQUIRE].reference, all + 1,
                               (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

static PyObject *
enter_method(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return finish(acquire(self), self, ENTER);
}

static PyObject *
release_method(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return finish(release(self), self, RELEASE);
}

static PyObject *
exit_method(PyObject *self, PyObject *const *Py_UNUSED(arguments), Py_ssize_t Py_UNUSED(count))
{
    return finish(release(self), self, EXIT);
}

static PyObject *
enter_with(PyObject *self, Py_ssize_t count)
{
    if (count == 0)
        return enter_method(self, NULL);
    return PyErr_Format(PyExc_TypeError, "__enter__() takes no arguments (%zd given)", count);
}

static PyObject *
exit_with(PyObject *self, Py_ssize_t count)
{
    return exit_method(self, NULL, count);
}

static PyObject *
init_method(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return finish(initialise(self), self, INIT);
}

PyObject *
use_locks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *lock, *allocate, *modules, *lent;
    if (!PyArg_ParseTuple(arguments, "OOO!O!", &lock, &allocate, &PyFrozenSet_Type, &modules,
                          &PyFrozenSet_Type, &lent) ||
        find_slots(lock, lock_slots) < 0)
        return NULL;
    Py_XSETREF(allocate_lock, Py_NewRef(allocate));
    Py_XSETREF(internal_modules, Py_NewRef(modules));
    Py_XSETREF(lent_in, Py_NewRef(lent));
    text_name = PyUnicode_InternFromString("__name__");
    text_type = PyUnicode_InternFromString("_type");
    if (text_name == NULL || text_type == NULL || know_real_locks(allocate) < 0 ||
        take_over(lock, lock_fast_paths) < 0 || bind_for_with(lock, "__enter__", enter_with) < 0 ||
        bind_for_with(lock, "__exit__", exit_with) < 0)
        return NULL;
    Py_RETURN_NONE;
}
