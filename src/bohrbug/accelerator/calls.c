/* Hooks of calls, of loops and of the begin of functions: whether there is something to tell is
   decided here. */
#include "accelerator.h"

/* What the Python modules decide by; they are changed, but never exchanged. */
static PyObject *intervals, *stored_parts, *called, *by_class, *methods, *functions, *iterators,
    *containers, *made_silently;
/* Functions in Python for what is not decided here, and words that they use. */
static PyObject *enter_interval, *leave_interval, *method_in_python, *called_object, *harmless,
    *plain_write, *over_nothing, *step_into, *advance, *tell_container;
static PyObject *text_name;
/* References to an iterator that nobody but the loop over it holds, as seen here; and how many
   there are more where it is the parameter of a comprehension as well. */
static Py_ssize_t held_by_loop, more_by_comprehension;

static PyObject *
none_if_done(PyObject *result)
{
    if (result == NULL)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* Of a function or a bound method in C: tell what it does, if that is one access or none. */
static Progress
tell_built_in(PyObject *callable, PyObject *place)
{
    PyObject *owner = PyCFunction_GET_SELF(callable);
    if (owner == NULL)
        return RARE;
    if (PyModule_CheckExact(owner) || owner == Py_None) {
        PyObject *effect = PyDict_GetItemWithError(functions, callable);
        if (effect == harmless)
            return DONE;
        return PyErr_Occurred() ? FAILED : RARE;
    }
    /* Which item of a set is popped is no matter of its contents alone. */
    if (PySet_CheckExact(owner) || dicts_stand_for_objects())
        return RARE;
    PyObject *effects = found_for_type(methods, owner);
    if (effects == NULL)
        return FAILED;
    PyObject *name = PyObject_GetAttr(callable, text_name);
    PyObject *effect = name == NULL ? NULL : PyDict_GetItemWithError(effects, name);
    Progress progress = RARE;
    if (effect == NULL)
        progress = PyErr_Occurred() ? FAILED : RARE;
    else if (effect == plain_write)
        progress = tell_whole_now(owner, true, place);
    Py_XDECREF(name);
    Py_DECREF(effects);
    return progress;
}

/* Of a class: tell what making an object of it does, if that is nothing. */
static Progress
tell_class(PyObject *class)
{
    PyObject *is_silent = PyDict_GetItemWithError(made_silently, class);
    if (is_silent == Py_True)
        return DONE;
    return PyErr_Occurred() ? FAILED : RARE;
}

/* What the frame that calls a hook has accessed before is over; the hook has no frame. */
bool
end_what_was_begun(void)
{
    PyObject *frame;
    if (PyDict_GET_SIZE(intervals) == 0 || (frame = (PyObject *)PyEval_GetFrame()) == NULL)
        return true;
    PyObject *key = PyLong_FromVoidPtr(frame);
    int has_begun = key == NULL ? -1 : PyDict_Contains(intervals, key);
    if (has_begun > 0 && PyDict_DelItem(intervals, key) < 0)
        has_begun = -1;
    Py_XDECREF(key);
    return has_begun >= 0;
}

/* Whether code in C has called the function that calls a hook, perhaps in the middle of an access;
 * -1: exception. */
static int
is_in_middle(void)
{
    PyFrameObject *frame;
    if (PyDict_GET_SIZE(intervals) == 0 || (frame = PyEval_GetFrame()) == NULL)
        return 0;
    PyFrameObject *caller = PyFrame_GetBack(frame);
    if (caller == NULL)
        return PyErr_Occurred() ? -1 : 0;
    bool has_begun = by_identity(intervals, (PyObject *)caller) != NULL;
    Py_DECREF(caller);
    return PyErr_Occurred() ? -1 : has_begun;
}

/* callable, some arguments, place */
static PyObject *
call_hook(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t number)
{
    if (count != number + 2)
        return wrong_number();
    PyObject *callable = arguments[0], *place = arguments[count - 1];
    if (!end_what_was_begun())
        return NULL;
    if (Py_IS_TYPE(callable, &PyMethod_Type) && PyFunction_Check(PyMethod_GET_FUNCTION(callable))) {
        if (PySet_GET_SIZE(stored_parts) == 0)
            Py_RETURN_NONE;
        PyObject *both[] = {callable, place};
        return none_if_done(PyObject_Vectorcall(method_in_python, both, 2, NULL));
    }
    if (!hooks_are_active())
        Py_RETURN_NONE;
    PyObject *answer = found_for_type(called, callable);
    int is_told = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_told <= 0)
        return is_told < 0 ? NULL : Py_NewRef(Py_None);
    Progress progress = RARE;
    if (PyCFunction_CheckExact(callable))
        progress = tell_built_in(callable, place);
    else if (PyType_CheckExact(callable))
        progress = tell_class(callable);
    if (progress != RARE)
        return progress == FAILED ? NULL : Py_NewRef(Py_None);
    PyObject *teller = PyDict_GetItemWithError(by_class, (PyObject *)Py_TYPE(callable));
    if (teller == NULL) {
        if (PyErr_Occurred())
            return NULL;
        teller = called_object;
    }
    PyObject *given = PyTuple_New(number);
    if (given == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < number; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(arguments[1 + i]));
    PyObject *all[] = {callable, given, place};
    PyObject *result = PyObject_Vectorcall(teller, all, 3, NULL);
    Py_DECREF(given);
    return none_if_done(result);
}

static PyObject *
call0(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return call_hook(arguments, count, 0);
}

static PyObject *
call1(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return call_hook(arguments, count, 1);
}

static PyObject *
call2(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return call_hook(arguments, count, 2);
}

static PyObject *
call3(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return call_hook(arguments, count, 3);
}

/* place; a function begins */
static PyObject *
enter(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 1)
        return wrong_number();
    int is_told = is_in_middle();
    if (is_told <= 0)
        return is_told < 0 ? NULL : Py_NewRef(Py_None);
    return PyObject_CallOneArg(enter_interval, arguments[0]);
}

/* value, place; a function ends, or stops */
static PyObject *
leave(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2)
        return wrong_number();
    int is_told = is_in_middle();
    if (is_told <= 0)
        return is_told < 0 ? NULL : Py_NewRef(Py_None);
    return PyObject_Vectorcall(leave_interval, arguments, 2, NULL);
}

/* iterator, place */
static PyObject *
step_hook(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t held)
{
    if (count != 2)
        return wrong_number();
    if (!hooks_are_active())
        Py_RETURN_NONE;
    PyObject *iterator = arguments[0];
    bool is_private = Py_REFCNT(iterator) <= held;
    PyObject *role = found_for_type(iterators, iterator);
    if (role == NULL)
        return NULL;
    PyObject *told = NULL;
    if (role == Py_None) {
        PyObject *answer = found_for_type(containers, iterator);
        int is_container = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
        if (is_container < 0)
            goto failed;
        if (is_container)
            told = tell_container;
    } else if (!is_private) {
        told = advance;
    } else if (role != over_nothing) {
        told = step_into;
    }
    Py_DECREF(role);
    if (told == NULL)
        Py_RETURN_NONE;
    if (!end_what_was_begun())
        return NULL;
    return none_if_done(PyObject_Vectorcall(told, arguments, 2, NULL));
failed:
    Py_DECREF(role);
    return NULL;
}

static PyObject *
step(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return step_hook(arguments, count, held_by_loop);
}

static PyObject *
step_of_comprehension(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return step_hook(arguments, count, held_by_loop + more_by_comprehension);
}

static PyObject *
hold_by_comprehension(PyObject *Py_UNUSED(module), PyObject *number)
{
    more_by_comprehension = PyLong_AsSsize_t(number);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *
references_of_argument(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return count != 1 ? wrong_number() : PyLong_FromSsize_t(Py_REFCNT(arguments[0]));
}

#define HOOK(name)                                                                               \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, "See the function in Python."}
PyMethodDef call_hook_definitions[] = {
    HOOK(call0), HOOK(call1), HOOK(call2), HOOK(call3), HOOK(enter),
    HOOK(leave), HOOK(step), HOOK(step_of_comprehension),
    {"hold_by_comprehension", hold_by_comprehension, METH_O,
     "Say how many references more than a loop a comprehension holds to its iterator."},
    {"references_of_argument", (PyCFunction)(void (*)(void))references_of_argument, METH_FASTCALL,
     "How many references there are to an argument that nobody else holds."},
    {0},
};

PyObject *
use_intervals(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyDict_Type, &intervals, &enter_interval,
                          &leave_interval))
        return NULL;
    Py_INCREF(intervals);
    Py_INCREF(enter_interval);
    Py_INCREF(leave_interval);
    Py_RETURN_NONE;
}

PyObject *
use_calls(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "O!OOOOOOOOO!", &PySet_Type, &stored_parts,
                          &called, &by_class, &methods, &functions, &method_in_python,
                          &called_object, &harmless, &plain_write, &PyDict_Type,
                          &made_silently))
        return NULL;
    PyObject *kept[] = {stored_parts, called, by_class, methods, functions,
                        method_in_python, called_object, harmless, plain_write, made_silently};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    text_name = PyUnicode_InternFromString("__name__");
    return text_name == NULL ? NULL : Py_NewRef(Py_None);
}

PyObject *
use_iteration(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "nOOOOOO", &held_by_loop, &iterators, &containers,
                          &over_nothing, &step_into, &advance, &tell_container))
        return NULL;
    PyObject *kept[] = {iterators, containers, over_nothing, step_into, advance, tell_container};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    Py_RETURN_NONE;
}
