/* Handles of asyncio, as they are made: whose step each of them is; the common case of
 * LoopTasks.handle_made.
 *
 * Common is: a step or a waking of a task of asyncio in C, or a function in Python.
 */
#include "loops.h"

static PyTypeObject *origin_type, *own_reference_type;
PyObject *order_fifo, *order_arrival;
static PyObject *tasks_name;
static PyObject *text_Task, *text_cancelled, *text_cause_of_call, *text_co_qualname, *text_code;
static PyObject *text_get_coro, *text_get_name, *text_qualname, *text_self;
static PyObject *text_unfinished, *text_when, *text_wakeup, *text_step, *text_py_wakeup;
static PyObject *describe_in_python;

Slot loop_tasks_slots[] = {
    [OF_ASYNCIO] = {"_of_asyncio", 0}, [EXECUTION_OF_TASKS] = {"_execution", 0},
    [OF_LOOPS] = {"_of_loops", 0}, [HANDLES_MADE] = {"_number", 0},
    [HAVE_CHOICES] = {"have_choices", 0}, [HAVE_COMPANY] = {"have_company", 0},
    [OFFERED] = {"offered", 0}, [ORIGINS] = {"origins", 0},
    [PAUSES_CAN_BE_LATE] = {"_pauses_can_be_late", 0}, {0},
};
Slot origin_slots[] = {
    [ORIGIN_GOES_ON] = {"goes_on", 0}, [ORIGIN_ORDER] = {"order", 0}, [ORIGIN_TASK] = {"task", 0},
    {0},
};

int
attribute_if_any(PyObject *object, PyObject *name, PyObject **value)
{
    *value = PyObject_GetAttr(object, name);
    if (*value != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

int
is_attribute_true(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int is_true = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return is_true;
}

int
is_handle_cancelled(PyObject *handle)
{
    return is_attribute_true(handle, text_cancelled);
}

/* -- whose step it is -------------------------------------------------------------------- */

/* Whether something is one of asyncio's tasks in C, and these are what asyncio has for tasks. */
static bool
is_usual_task(PyObject *owner)
{
    PyObject *module = PyDict_GetItemWithError(PyImport_GetModuleDict(), tasks_name);
    PyObject *names = module != NULL && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    return names != NULL &&
           PyDict_GetItemWithError(names, text_Task) == (PyObject *)Py_TYPE(owner) &&
           strcmp(Py_TYPE(owner)->tp_name, "_asyncio.Task") == 0;
}

/* tasks._goes_on; ``owner`` is borrowed, and NULL of what is no task's. */
static Progress
goes_on(PyObject *callback, PyObject **owner, bool *is_step)
{
    *owner = NULL;
    *is_step = false;
    PyTypeObject *type = Py_TYPE(callback);
    if (type == &PyFunction_Type) {
        PyObject *own_names = ((PyFunctionObject *)callback)->func_dict;
        return own_names == NULL || PyDict_GET_SIZE(own_names) == 0 ? DONE : RARE;
    }
    if (type == &PyMethod_Type) {
        PyObject *function = PyMethod_GET_FUNCTION(callback);
        if (!Py_IS_TYPE(function, &PyFunction_Type))
            return RARE;
        PyObject *name = ((PyFunctionObject *)function)->func_name;
        bool may_be = PyUnicode_Compare(name, text_step) == 0 ||
                      PyUnicode_Compare(name, text_wakeup) == 0 ||
                      PyUnicode_Compare(name, text_py_wakeup) == 0;
        return may_be ? RARE : DONE;
    }
    if (type == &PyCFunction_Type) {
        PyObject *self = PyCFunction_GET_SELF(callback);
        if (self == NULL ||
            strcmp(((PyCFunctionObject *)callback)->m_ml->ml_name, "task_wakeup") != 0 ||
            !is_usual_task(self))
            return RARE;
        *owner = self;
        return DONE;
    }
    const char *name = strrchr(type->tp_name, '.');
    if (strcmp(name == NULL ? type->tp_name : name + 1, "TaskStepMethWrapper") != 0)
        return RARE;
    PyObject *self = PyObject_GetAttr(callback, text_self);
    if (self == NULL)
        return FAILED;
    bool is_usual = is_usual_task(self);
    *owner = self;
    *is_step = true;
    Py_DECREF(self); /* the callback keeps it */
    return is_usual ? DONE : RARE;
}

/* -- tasks of the model ------------------------------------------------------------------ */

/* LoopTasks.make; a new reference. */
static PyObject *
make_task(PyObject *loop_tasks, PyObject *creator, PyObject *place)
{
    PyObject *task = creator;
    Py_ssize_t children = int_value(OF_TASK(CHILDREN)) + 1;
    PyObject *number = PyLong_FromSsize_t(children);
    PyObject *id = number == NULL ? NULL : shared_part(TASK(creator, ID), '.', children);
    if (id == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    SET_OF_TASK(CHILDREN, number);
    Py_DECREF(number);
    task = task_type->tp_alloc(task_type, 0);
    if (task != NULL && fill_task(task, id, TASK(creator, INDEX),
                                  slot_get(creator, thread_slots[IDENT])) < 0)
        Py_CLEAR(task);
    Py_DECREF(id);
    if (task == NULL)
        return NULL;
    SET_OF_TASK(SPAWNED, place);
    SET_OF_TASK(BEGUN, Py_True);
    SET_OF_TASK(ENTERED, Py_True);
    PyObject *execution = OF_LOOP_TASKS(loop_tasks, EXECUTION_OF_TASKS);
    if (PyList_Append(slot_get(execution, execution_slots[LOOP_TASKS]), task) < 0)
        Py_CLEAR(task);
    return task;
}

int
describe_task(PyObject *task, PyObject *asyncio_task)
{
    int result = -1;
    PyObject *name = NULL, *target = NULL;
    PyObject *coroutine = PyObject_CallMethodNoArgs(asyncio_task, text_get_coro);
    if (coroutine == NULL || (name = PyObject_CallMethodNoArgs(asyncio_task, text_get_name)) == NULL)
        goto done;
    /* asyncio counts these on from one execution to the next. */
    bool is_unnamed = PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) > 5 &&
                      PyUnicode_READ_CHAR(name, 0) == 'T' && PyUnicode_READ_CHAR(name, 1) == 'a' &&
                      PyUnicode_READ_CHAR(name, 2) == 's' && PyUnicode_READ_CHAR(name, 3) == 'k' &&
                      PyUnicode_READ_CHAR(name, 4) == '-';
    if (is_unnamed && PyCoro_CheckExact(coroutine)) {
        target = PyObject_GetAttr(coroutine, text_qualname);
        if (target == NULL)
            goto done;
        SET_OF_TASK(TARGET, target);
        SET_OF_TASK(NAME, no_text);
        result = 0;
    } else {
        PyObject *arguments[] = {task, asyncio_task};
        PyObject *described = PyObject_Vectorcall(describe_in_python, arguments, 2, NULL);
        Py_XDECREF(described);
        result = described == NULL ? -1 : 0;
    }
done:
    Py_XDECREF(coroutine);
    Py_XDECREF(name);
    Py_XDECREF(target);
    return result;
}

/* LoopTasks.known, borrowed; NULL: it is not, or an exception is set. */
static PyObject *
known_task(PyObject *loop_tasks, PyObject *owner)
{
    PyObject *entry = by_identity(OF_LOOP_TASKS(loop_tasks, OF_ASYNCIO), owner);
    if (entry == NULL || !refers_to(PyTuple_GET_ITEM(entry, 0), owner))
        return NULL;
    return PyTuple_GET_ITEM(entry, 1);
}

/* Know an asyncio task as a task of the model from now on. */
static int
know_task(PyObject *loop_tasks, PyObject *owner, PyObject *task)
{
    PyObject *reference = PyObject_CallOneArg((PyObject *)own_reference_type, owner);
    PyObject *entry = reference == NULL ? NULL : PyTuple_Pack(2, reference, task);
    PyObject *key = entry == NULL ? NULL : PyLong_FromVoidPtr(owner);
    int result =
        key == NULL ? -1 : PyDict_SetItem(OF_LOOP_TASKS(loop_tasks, OF_ASYNCIO), key, entry);
    Py_XDECREF(reference);
    Py_XDECREF(entry);
    Py_XDECREF(key);
    if (result < 0 || OF_LOOP_TASKS(loop_tasks, HAVE_COMPANY) == Py_True)
        return result;
    PyObject *unfinished = PyObject_CallMethodNoArgs(loop_tasks, text_unfinished);
    if (unfinished == NULL)
        return -1;
    slot_set(loop_tasks, loop_tasks_slots[HAVE_COMPANY],
             PyList_GET_SIZE(unfinished) > 1 ? Py_True : Py_False);
    Py_DECREF(unfinished);
    return 0;
}

/* The task of a handle that goes on with an asyncio task; a new reference. */
static PyObject *
task_of_step(PyObject *loop_tasks, PyObject *creator, PyObject *owner, bool is_step,
             PyObject *frame, bool *gives_way)
{
    PyObject *task = known_task(loop_tasks, owner);
    if (task != NULL) {
        *gives_way = is_step && task == creator;
        return Py_NewRef(task);
    }
    if (PyErr_Occurred())
        return NULL;
    int begun = 0;
    if (is_step) {
        PyObject *coroutine = PyObject_CallMethodNoArgs(owner, text_get_coro);
        begun = coroutine == NULL ? -1 : has_begun(coroutine);
        Py_XDECREF(coroutine);
    }
    *gives_way = begun > 0;
    PyObject *place = begun < 0 ? NULL : place_from(frame);
    task = place == NULL ? NULL : make_task(loop_tasks, creator, place);
    Py_XDECREF(place);
    if (task != NULL &&
        (describe_task(task, owner) < 0 || know_task(loop_tasks, owner, task) < 0))
        Py_CLEAR(task);
    return task;
}

/* The task of a handle of a function in Python, or a method of it; a new reference. */
static PyObject *
task_of_callback(PyObject *loop_tasks, PyObject *creator, PyObject *handle, PyObject *callback,
                 PyObject *frame)
{
    PyObject *function =
        PyMethod_Check(callback) ? PyMethod_GET_FUNCTION(callback) : callback;
    int is_own = is_of_loop(PyFunction_GET_GLOBALS(function));
    if (is_own < 0)
        return NULL;
    bool is_hidden = is_own && !PyObject_HasAttr((PyObject *)Py_TYPE(handle), text_when);
    PyObject *place = is_hidden ? Py_NewRef(Py_None) : place_from(frame);
    PyObject *task = place == NULL ? NULL : make_task(loop_tasks, creator, place);
    Py_XDECREF(place);
    if (task == NULL)
        return NULL;
    PyObject *code = PyObject_GetAttr(function, text_code), *target = NULL;
    if (code != NULL &&
        (!is_own || PySet_Add(OF_LOOP_TASKS(loop_tasks, OF_LOOPS), TASK(task, ID)) == 0))
        target = PyObject_GetAttr(code, text_co_qualname);
    if (target != NULL)
        SET_OF_TASK(TARGET, target);
    Py_XDECREF(code);
    if (target == NULL)
        Py_CLEAR(task);
    Py_XDECREF(target);
    return task;
}

/* -- what is known of a handle ------------------------------------------------------------- */

static int
note_origin(PyObject *loop_tasks, PyObject *handle, PyObject *task, bool is_of_task,
            PyObject *order, PyObject *frame)
{
    int result = -1;
    PyObject *number = OF_LOOP_TASKS(loop_tasks, HANDLES_MADE), *origin = NULL, *key = NULL;
    PyObject *log = slot_get(OF_LOOP_TASKS(loop_tasks, EXECUTION_OF_TASKS),
                             execution_slots[ACCESS_LOG]);
    PyObject *cause = log == Py_None ? Py_NewRef(Py_None)
                                     : PyObject_CallMethodOneArg(log, text_cause_of_call, frame);
    PyObject *next = PyLong_FromSsize_t(int_value(number) + 1);
    if (cause == NULL || next == NULL)
        goto done;
    PyObject *arguments[] = {task, is_of_task ? Py_True : Py_False, order, number, cause};
    origin = PyObject_Vectorcall((PyObject *)origin_type, arguments, 5, NULL);
    key = PyLong_FromVoidPtr(handle);
    if (origin == NULL || key == NULL)
        goto done;
    result = PyDict_SetItem(OF_LOOP_TASKS(loop_tasks, ORIGINS), key, origin);
    slot_set(loop_tasks, loop_tasks_slots[HANDLES_MADE], next);
done:
    Py_XDECREF(cause);
    Py_XDECREF(next);
    Py_XDECREF(origin);
    Py_XDECREF(key);
    return result;
}

bool
is_common_handle(PyObject *callback)
{
    PyObject *owner;
    bool is_step;
    return goes_on(callback, &owner, &is_step) == DONE;
}

Progress
note_handle(PyObject *loop_tasks, PyObject *handle, PyObject *callback, PyObject *frame)
{
    PyObject *owner;
    bool is_step, gives_way = false;
    Progress progress = goes_on(callback, &owner, &is_step);
    if (progress != DONE)
        return progress;
    PyObject *self = OF_LOOP_TASKS(loop_tasks, EXECUTION_OF_TASKS);
    PyObject *creator = EXECUTION(CURRENT);
    PyObject *task = owner != NULL
                         ? task_of_step(loop_tasks, creator, owner, is_step, frame, &gives_way)
                         : task_of_callback(loop_tasks, creator, handle, callback, frame);
    if (task == NULL)
        return FAILED;
    bool may_be_late = gives_way && OF_LOOP_TASKS(loop_tasks, PAUSES_CAN_BE_LATE) == Py_True;
    int result = note_origin(loop_tasks, handle, task, owner != NULL,
                             may_be_late ? order_arrival : order_fifo, frame);
    Py_DECREF(task);
    return result < 0 ? FAILED : DONE;
}

static FastPath fast_paths[];

static PyObject *
handle_made(PyObject *loop_tasks, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "handle_made() takes handle, callback and frame");
        return NULL;
    }
    switch (note_handle(loop_tasks, arguments[0], arguments[1], arguments[2])) {
    case FAILED:
        return NULL;
    case DONE:
        Py_RETURN_NONE;
    case RARE:
        break;
    }
    PyObject *all[] = {loop_tasks, arguments[0], arguments[1], arguments[2]};
    return PyObject_Vectorcall(fast_paths[0].reference, all, 4, NULL);
}

static FastPath fast_paths[] = {
    {{"handle_made", (PyCFunction)(void (*)(void))handle_made, METH_FASTCALL,
      "See the method in Python."},
     NULL},
    {{0}, NULL},
};

/* use_handles(LoopTasks, Origin, OwnReference, FIFO, ARRIVAL, describe,
 *             is_name_of_library, is_name_of_loop) */
PyObject *
use_handles(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tasks, *origin, *own_reference, *fifo, *arrival, *describe;
    PyObject *of_library, *of_loop;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &tasks, &origin, &own_reference, &fifo,
                          &arrival, &describe, &of_library, &of_loop) ||
        find_slots(tasks, loop_tasks_slots) < 0 || find_slots(origin, origin_slots) < 0 ||
        know_places(of_library, of_loop) < 0)
        return NULL;
    const Name names[] = {
        {&tasks_name, "asyncio.tasks"},
        {&text_Task, "Task"},
        {&text_cancelled, "_cancelled"},
        {&text_cause_of_call, "cause_of_call"},
        {&text_co_qualname, "co_qualname"},
        {&text_code, "__code__"},
        {&text_get_coro, "get_coro"},
        {&text_get_name, "get_name"},
        {&text_qualname, "__qualname__"},
        {&text_self, "__self__"},
        {&text_unfinished, "unfinished"},
        {&text_when, "_when"},
        {&text_wakeup, "task_wakeup"},
        {&text_step, "__step"},
        {&text_py_wakeup, "__wakeup"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    origin_type = (PyTypeObject *)Py_NewRef(origin);
    own_reference_type = (PyTypeObject *)Py_NewRef(own_reference);
    order_fifo = Py_NewRef(fifo);
    order_arrival = Py_NewRef(arrival);
    describe_in_python = Py_NewRef(describe);
    if (take_over(tasks, fast_paths) < 0)
        return NULL;
    Py_RETURN_NONE;
}
