/* asyncio's running loop, and what it runs from Python 3.14 on: the interpreter keeps them per OS thread,
 * and tasks must not share them. */
#include "scheduling.h"

static PyObject *swap_function, *text_events, *text_get_loop, *text_set_loop;
static PyObject *text_asyncio, *text_swap_task;
static bool keeps_tasks;
enum { RUNNING_LOOP, LOOP_TASK };
static Slot loop_slots[] = {
    [RUNNING_LOOP] = {"running_loop", 0}, [LOOP_TASK] = {"loop_task", 0}, {0},
};

/* asyncio.events, borrowed; NULL: nobody has imported it, and there are no loops. */
static PyObject *
events_module(void)
{
    return PyDict_GetItemWithError(PyImport_GetModuleDict(), text_events);
}

/* thread_state._exchange_task; a new reference */
static PyObject *
swap_task(PyObject *loop, PyObject *task)
{
    PyObject *module =
        keeps_tasks && loop != Py_None
            ? PyDict_GetItemWithError(PyImport_GetModuleDict(), text_asyncio)
            : NULL;
    if (module == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    /* Programs may let asyncio's own code in Python keep the running loop. */
    PyObject *running = PyObject_CallMethodNoArgs(module, text_get_loop);
    if (running == NULL)
        return NULL;
    Py_DECREF(running);
    if (running != loop)
        return Py_NewRef(Py_None);
    PyObject *arguments[] = {module, loop, task};
    return PyObject_VectorcallMethod(text_swap_task, arguments, 3, NULL);
}

/* thread_state.swap_running_loop */
static int
swap_running_loop(PyObject *events, PyObject *leaving, PyObject *entering)
{
    PyObject *loop = PyObject_CallMethodNoArgs(events, text_get_loop);
    if (loop == NULL)
        return -1;
    slot_set(leaving, loop_slots[RUNNING_LOOP], loop);
    PyObject *next = slot_get(entering, loop_slots[RUNNING_LOOP]), *done = NULL;
    PyObject *task = swap_task(loop, Py_None);
    if (task != NULL) {
        slot_set(leaving, loop_slots[LOOP_TASK], task);
        done = next == loop ? Py_NewRef(Py_None)
                            : PyObject_CallMethodOneArg(events, text_set_loop, next);
        Py_DECREF(task);
    }
    if (done != NULL) {
        Py_SETREF(done, swap_task(next, slot_get(entering, loop_slots[LOOP_TASK])));
        slot_set(entering, loop_slots[LOOP_TASK], Py_None);
    }
    int result = done == NULL ? -1 : 0;
    Py_DECREF(loop);
    Py_XDECREF(done);
    return result;
}

int
swap_state(PyObject *self, PyObject *leaving, PyObject *entering)
{
    PyObject *swap = EXECUTION(SWAP);
    if (swap == Py_None)
        return 0;
    if (swap == swap_function) {
        PyObject *events = events_module();
        if (events == NULL)
            return PyErr_Occurred() ? -1 : 0;
        return swap_running_loop(events, leaving, entering);
    }
    PyObject *tasks[] = {leaving, entering};
    PyObject *result = PyObject_Vectorcall(swap, tasks, 2, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* use_swap(Task, swap_running_loop, tasks): what executions that have this function do
 *
 *     tasks: whether what a loop runs is kept per OS thread, too
 */
PyObject *
use_swap(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *task, *swap;
    int tasks;
    if (!PyArg_ParseTuple(arguments, "OOp", &task, &swap, &tasks) ||
        find_slots(task, loop_slots) < 0)
        return NULL;
    keeps_tasks = tasks;
    const Name names[] = {
        {&text_events, "asyncio.events"},
        {&text_get_loop, "_get_running_loop"},
        {&text_set_loop, "_set_running_loop"},
        {&text_asyncio, "_asyncio"},
        {&text_swap_task, "_swap_current_task"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    swap_function = Py_NewRef(swap);
    Py_RETURN_NONE;
}
