/* queue.Queue: the common case of putting and getting.
 *
 * Common is: under control, not within a modelled primitive, a Queue and no subclass, made by the
 * program with its usual parts, and a call that waits as long as it has to.
 */
#include "scheduling.h"

static PyTypeObject *queue_type, *condition_type, *lock_type, *gate_type;
static PyObject *put_kind, *get_kind, *tails[2];
static bool has_shutdown;

enum { LOCK_REAL };
static Slot lock_slots[] = {[LOCK_REAL] = {"_real", 0}, {0}};
enum { BY_IDENTITY };
static Slot table_parts[] = {[BY_IDENTITY] = {"_by_identity", 0}, {0}};

static PyObject *text_queue, *text_maxsize, *text_mutex, *text_waiters, *text_shut_down;
static PyObject *text_not_empty, *text_not_full, *text_unfinished, *text_gates, *text_wait;
static PyObject *text_put, *text_get;

/* The two ends of a queue. */
typedef enum { PUT, GET } End;

/* The number of items; -1: an exception is set. */
static Py_ssize_t
size_of(PyObject *queue)
{
    PyObject *items = PyObject_GetAttr(queue, text_queue);
    Py_ssize_t size = items == NULL ? -1 : PyObject_Size(items);
    Py_XDECREF(items);
    return size;
}

/* How many items there may be, 0 or less for any number; false: an exception is set. */
static bool
get_maxsize(PyObject *queue, Py_ssize_t *maxsize)
{
    PyObject *value = PyObject_GetAttr(queue, text_maxsize);
    *maxsize = value == NULL ? -1 : PyLong_AsSsize_t(value);
    Py_XDECREF(value);
    return !PyErr_Occurred();
}

/* The real lock of the queue's mutex, a new reference; NULL, without an exception: not the usual. */
static PyObject *
real_mutex(PyObject *queue)
{
    PyObject *mutex = PyObject_GetAttr(queue, text_mutex);
    PyObject *real = mutex != NULL && Py_IS_TYPE(mutex, lock_type)
                         ? Py_NewRef(slot_get(mutex, lock_slots[LOCK_REAL]))
                         : NULL;
    Py_XDECREF(mutex);
    PyErr_Clear();
    return real;
}

/* -- predicates ---------------------------------------------------------------------- */

static int
mutex_is_free(PyObject *queue)
{
    PyObject *real = real_mutex(queue);
    if (real == NULL)
        return 1;
    int result = real_is_free(real);
    Py_DECREF(real);
    return result;
}

static int
is_shut_down(PyObject *queue)
{
    if (!has_shutdown)
        return 0;
    PyObject *value = PyObject_GetAttr(queue, text_shut_down);
    int result = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return result;
}

static int
would_not_block(PyObject *queue, End end)
{
    Py_ssize_t maxsize = 0, size = size_of(queue);
    if (size < 0 || !get_maxsize(queue, &maxsize))
        return -1;
    int possible = end == GET ? size > 0 : maxsize <= 0 || size < maxsize;
    if (!possible)
        possible = is_shut_down(queue);
    if (possible > 0)
        possible = mutex_is_free(queue);
    return possible;
}

static int
can_put(PyObject *queue)
{
    return would_not_block(queue, PUT);
}

static int
can_get(PyObject *queue)
{
    return would_not_block(queue, GET);
}

/* -- the operations -------------------------------------------------------------------- */

/* The resource of a queue, borrowed; NULL: it is not known yet. */
static PyObject *
resource_of(PyObject *self, PyObject *queue)
{
    PyObject *key = PyLong_FromVoidPtr(queue);
    if (key == NULL)
        return NULL;
    PyObject *known = slot_get(EXECUTION(RESOURCES), table_parts[BY_IDENTITY]);
    PyObject *entry = PyDict_GetItemWithError(known, key);
    Py_DECREF(key);
    return entry != NULL && refers_to(PyTuple_GET_ITEM(entry, 1), queue)
               ? PyTuple_GET_ITEM(entry, 0)
               : NULL;
}

/* recording.note_gate */
static int
note_gate(PyObject *self, bool can_take, bool has_room, bool waits)
{
    if (EXECUTION(ABORTING) != Py_False)
        return 0;
    PyObject *gates = PyObject_GetAttr(EXECUTION(TRACE), text_gates);
    PyObject *step = PyLong_FromSsize_t(PyList_GET_SIZE(EXECUTION(ROWS)) - 1);
    PyObject *gate = gate_type->tp_alloc(gate_type, 3);
    int result = -1;
    if (gates != NULL && step != NULL && gate != NULL) {
        PyTuple_SET_ITEM(gate, 0, Py_NewRef(can_take ? Py_True : Py_False));
        PyTuple_SET_ITEM(gate, 1, Py_NewRef(has_room ? Py_True : Py_False));
        PyTuple_SET_ITEM(gate, 2, Py_NewRef(waits ? Py_True : Py_False));
        result = PyObject_SetItem(gates, step, gate);
    }
    Py_XDECREF(gates);
    Py_XDECREF(step);
    Py_XDECREF(gate);
    return result;
}

/* Whether nobody waits for the other end: nobody has to be notified. */
static bool
has_no_waiters(PyObject *queue, End end)
{
    PyObject *condition = PyObject_GetAttr(queue, end == PUT ? text_not_empty : text_not_full);
    PyObject *waiters = condition != NULL && Py_IS_TYPE(condition, condition_type)
                            ? PyObject_GetAttr(condition, text_waiters)
                            : NULL;
    bool none = waiters != NULL && PyObject_Size(waiters) == 0;
    Py_XDECREF(condition);
    Py_XDECREF(waiters);
    PyErr_Clear();
    return none;
}

/* See the function in Python. */
static bool
waits_otherwise(PyObject *queue, End end)
{
    PyObject *condition = PyObject_GetAttr(queue, end == PUT ? text_not_full : text_not_empty);
    PyObject *dict = condition != NULL && Py_IS_TYPE(condition, condition_type)
                         ? PyObject_GenericGetDict(condition, NULL)
                         : NULL;
    bool as_usual = dict != NULL && PyDict_GetItemWithError(dict, text_wait) == NULL;
    Py_XDECREF(dict);
    Py_XDECREF(condition);
    PyErr_Clear();
    return !as_usual;
}

/* The real lock of the mutex, taken; NULL, without an exception: the original has to do it all. */
static PyObject *
taken_mutex(PyObject *queue, End end)
{
    PyObject *real = has_no_waiters(queue, end) ? real_mutex(queue) : NULL;
    if (real == NULL)
        return NULL;
    int taken = take_real(real);
    PyErr_Clear();
    if (taken <= 0)
        Py_CLEAR(real);
    return real;
}

static int
count_unfinished(PyObject *queue)
{
    PyObject *one_more = NULL, *number = PyObject_GetAttr(queue, text_unfinished);
    if (number != NULL)
        one_more = PyNumber_Add(number, one);
    int result = one_more == NULL ? -1 : PyObject_SetAttr(queue, text_unfinished, one_more);
    Py_XDECREF(number);
    Py_XDECREF(one_more);
    return result;
}

/* Move the item, of which is known that it can be moved. */
static PyObject *
move(PyObject *queue, End end, PyObject *item)
{
    PyObject *real = taken_mutex(queue, end);
    if (real == NULL)
        return end == PUT ? PyObject_CallFunctionObjArgs(tails[PUT], queue, item, NULL)
                          : PyObject_CallOneArg(tails[GET], queue);
    PyObject *result = end == PUT ? PyObject_CallMethodOneArg(queue, text_put, item)
                                  : PyObject_CallMethodNoArgs(queue, text_get);
    if (result != NULL && end == PUT && count_unfinished(queue) < 0)
        Py_CLEAR(result);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int released = release_real(real);
    Py_DECREF(real);
    if (released < 0) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        Py_CLEAR(result);
    } else
        PyErr_Restore(type, value, traceback);
    return result;
}

/* Put or get, as the method does that ``caller`` has called; on DONE ``result`` is what it returns. */
static Progress
operate(PyObject *queue, End end, PyObject *item, PyFrameObject *caller, PyObject **result)
{
    PyObject *self = controlling_execution();
    Py_ssize_t maxsize = 0;
    if (self == NULL || !Py_IS_TYPE(queue, queue_type) || is_inside(EXECUTION(CURRENT)) ||
        !get_maxsize(queue, &maxsize) || is_shut_down(queue) != 0 ||
        ((end == GET || maxsize > 0) && waits_otherwise(queue, end))) {
        PyErr_Clear();
        return RARE;
    }
    PyObject *state = resource_of(self, queue);
    if (state == NULL) {
        PyErr_Clear();
        return RARE;
    }
    PyObject *real = real_mutex(queue);
    if (real == NULL)
        return RARE;
    Py_DECREF(real);
    PyObject *place = place_in(caller);
    PyObject *ready = place == NULL ? NULL : new_readiness(end == PUT ? can_put : can_get, queue, false);
    Progress progress = FAILED;
    Py_INCREF(self);
    Py_INCREF(state);
    if (ready != NULL)
        progress = perform(self, end == PUT ? put_kind : get_kind, state, place, ready);
    if (progress == DONE) {
        Py_ssize_t size = size_of(queue);
        bool has_room = maxsize <= 0 || size < maxsize, waits = end == GET || maxsize > 0;
        int shut_down = is_shut_down(queue);
        progress = FAILED;
        if (size >= 0 && shut_down >= 0 &&
            note_gate(self, size > 0 || shut_down, has_room || shut_down, waits) == 0) {
            bool is_possible = !shut_down && (end == PUT ? has_room : size > 0);
            *result = is_possible  ? move(queue, end, item)
                      : end == PUT ? PyObject_CallFunctionObjArgs(tails[PUT], queue, item, NULL)
                                   : PyObject_CallOneArg(tails[GET], queue);
            progress = *result == NULL ? FAILED : DONE;
        }
    }
    Py_DECREF(self);
    Py_DECREF(state);
    Py_XDECREF(place);
    Py_XDECREF(ready);
    return progress;
}

/* -- the first lines of what stands for Queue.put and get ------------------------------- */

static PyObject *
put_in_c(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "put_in_c() takes a queue and an item");
        return NULL;
    }
    PyFrameObject *caller = caller_of_method();
    if (caller == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *result = NULL;
    Progress progress = operate(arguments[0], PUT, arguments[1], caller, &result);
    Py_DECREF(caller);
    Py_XDECREF(result);
    return progress == FAILED ? NULL : PyBool_FromLong(progress == DONE);
}

static PyObject *
get_in_c(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "get_in_c() takes a queue and what stands for no item");
        return NULL;
    }
    PyFrameObject *caller = caller_of_method();
    if (caller == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(arguments[1]);
    PyObject *result = NULL;
    Progress progress = operate(arguments[0], GET, NULL, caller, &result);
    Py_DECREF(caller);
    return progress == RARE ? Py_NewRef(arguments[1]) : result;
}

static PyMethodDef functions[] = {
    {"put_in_c", (PyCFunction)(void (*)(void))put_in_c, METH_FASTCALL,
     "Put an item into an ordinary queue, and whether that was done."},
    {"get_in_c", (PyCFunction)(void (*)(void))get_in_c, METH_FASTCALL,
     "Get an item from an ordinary queue; the second argument: nothing was done."},
};

/* use_queues(Queue, Condition, lock, ResourceTable, Gate, put kind, get kind, has shutdown,
 *            putting, getting): functions that try to do what ``Queue.put`` and ``get`` do */
PyObject *
use_queues(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *queue, *condition, *lock, *table, *gate;
    int shutdown;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOpOO", &queue, &condition, &lock, &table, &gate,
                          &put_kind, &get_kind, &shutdown, &tails[PUT], &tails[GET]) ||
        find_slots(lock, lock_slots) < 0 || find_slots(table, table_parts) < 0)
        return NULL;
    /* They live as long as the process. */
    PyObject *kept[] = {queue, condition, lock, gate, put_kind, get_kind,
                        tails[PUT], tails[GET]};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    queue_type = (PyTypeObject *)queue;
    condition_type = (PyTypeObject *)condition;
    lock_type = (PyTypeObject *)lock;
    gate_type = (PyTypeObject *)gate;
    has_shutdown = shutdown;
    const Name names[] = {
        {&text_queue, "queue"}, {&text_maxsize, "maxsize"}, {&text_mutex, "mutex"},
        {&text_waiters, "_waiters"}, {&text_shut_down, "is_shutdown"},
        {&text_not_empty, "not_empty"}, {&text_not_full, "not_full"}, {&text_wait, "wait"},
        {&text_unfinished, "unfinished_tasks"}, {&text_gates, "gates"},
        {&text_put, "_put"}, {&text_get, "_get"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    return functions_of(functions, sizeof functions / sizeof *functions);
}
