/* asyncio's running loop, which the interpreter keeps per OS thread and tasks must not share. */
#include "scheduling.h"

static PyObject *swap_function, *text_events, *text_get_loop, *text_set_loop;
static Slot loop_slots[] = {{"running_loop", 0}, {0}};

/* asyncio.events, borrowed; NULL: nobody has imported it, and there are no loops. */
static PyObject *
events_module(void)
{
    return PyDict_GetItemWithError(PyImport_GetModuleDict(), text_events);
}

/* thread_state.swap_running_loop */
static int
swap_running_loop(PyObject *events, PyObject *leaving, PyObject *entering)
{
    PyObject *loop = PyObject_CallMethodNoArgs(events, text_get_loop);
    if (loop == NULL)
        return -1;
    slot_set(leaving, loop_slots[0], loop);
    PyObject *next = slot_get(entering, loop_slots[0]), *done = NULL;
    if (next != loop)
        done = PyObject_CallMethodOneArg(events, text_set_loop, next);
    int result = next != loop && done == NULL ? -1 : 0;
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

/* use_swap(Task, swap_running_loop): what executions that have this function do */
PyObject *
use_swap(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *task, *swap;
    if (!PyArg_ParseTuple(arguments, "OO", &task, &swap) || find_slots(task, loop_slots) < 0)
        return NULL;
    const Name names[] = {
        {&text_events, "asyncio.events"},
        {&text_get_loop, "_get_running_loop"},
        {&text_set_loop, "_set_running_loop"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    swap_function = Py_NewRef(swap);
    Py_RETURN_NONE;
}
