/* Where the tasks of event loops are asked for, and where they stand: looked at for each handle that
 * asyncio makes, and for each step of a task. */
#include "loops.h"

static PyObject *is_name_of_library, *is_name_of_loop;
/* What the two functions have said of names of modules. */
static PyObject *library_modules, *loop_modules;
static PyObject *text_name, *no_name;
static PyObject *text_cr_await, *text_cr_frame, *text_gi_frame, *text_gi_yieldfrom;

int
know_places(PyObject *of_library, PyObject *of_loop)
{
    const Name names[] = {
        {&text_name, "__name__"},       {&no_name, ""},
        {&text_cr_await, "cr_await"},   {&text_cr_frame, "cr_frame"},
        {&text_gi_frame, "gi_frame"},   {&text_gi_yieldfrom, "gi_yieldfrom"},
    };
    if (make_names(names, sizeof names / sizeof *names) < 0)
        return -1;
    library_modules = PyDict_New();
    loop_modules = PyDict_New();
    is_name_of_library = Py_NewRef(of_library);
    is_name_of_loop = Py_NewRef(of_loop);
    return library_modules == NULL || loop_modules == NULL ? -1 : 0;
}

/* What a function says of the name of the module with these globals; 1, 0, or -1 for an error. */
static int
says(PyObject *function, PyObject *known, PyObject *globals)
{
    PyObject *name = PyDict_GetItemWithError(globals, text_name);
    if (name == NULL) {
        if (PyErr_Occurred())
            return -1;
        name = no_name;
    }
    bool is_kept = PyUnicode_CheckExact(name);
    PyObject *answer = is_kept ? PyDict_GetItemWithError(known, name) : NULL;
    if (answer != NULL)
        return answer == Py_True;
    if (PyErr_Occurred())
        return -1;
    Py_INCREF(name);
    answer = PyObject_CallOneArg(function, name);
    int is_true = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_true >= 0 && is_kept && PyDict_SetItem(known, name, is_true ? Py_True : Py_False) < 0)
        is_true = -1;
    Py_DECREF(name);
    return is_true;
}

int
is_of_loop(PyObject *globals)
{
    return says(is_name_of_loop, loop_modules, globals);
}

/* Whether the code of a frame is the program's own, or else of a layer above event loops. */
typedef enum { BROKEN = -1, OF_LOOP, ABOVE_LOOP, OWN } Whose;

static Whose
whose(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    int of_library = says(is_name_of_library, library_modules, globals);
    int of_loop = of_library > 0 ? is_of_loop(globals) : 0;
    Py_DECREF(globals);
    if (of_library < 0 || of_loop < 0)
        return BROKEN;
    return !of_library ? OWN : of_loop ? OF_LOOP : ABOVE_LOOP;
}

/* Take what stands in a frame for the place that was found, or with a least offset. */
static int
note_place(PyObject **place, PyFrameObject *frame, int least)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    int offset = PyFrame_GetLasti(frame);
    Py_XSETREF(*place, shared_place((PyObject *)code, offset < least ? least : offset));
    Py_DECREF(code);
    return *place == NULL ? -1 : 0;
}

PyObject *
place_from_frame(PyObject *Py_UNUSED(module), PyObject *innermost)
{
    return place_from(innermost);
}

PyObject *
place_from(PyObject *innermost)
{
    if (!PyFrame_Check(innermost))
        return Py_NewRef(Py_None);
    PyFrameObject *frame = (PyFrameObject *)Py_NewRef(innermost);
    PyObject *outer = NULL;
    while (frame != NULL) {
        Whose owner = whose(frame);
        int result = owner == BROKEN ? -1 : 0;
        if (owner == OWN || (owner == ABOVE_LOOP && outer == NULL))
            result = note_place(&outer, frame, -1);
        if (owner == OWN || result < 0) {
            if (result < 0)
                Py_CLEAR(outer);
            Py_DECREF(frame);
            return outer;
        }
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    return outer == NULL ? Py_NewRef(Py_None) : outer;
}

/* Whether an iterator is how a future is awaited: it has no frame. */
static bool
awaits_future(PyObject *object)
{
    const char *name = strrchr(Py_TYPE(object)->tp_name, '.');
    return strcmp(name == NULL ? Py_TYPE(object)->tp_name : name + 1, "FutureIter") == 0;
}

Progress
place_in_coroutine(PyObject *coroutine, PyObject **found)
{
    if (!PyCoro_CheckExact(coroutine))
        return RARE;
    PyObject *each = Py_NewRef(coroutine), *own = NULL, *outer = NULL;
    Progress progress = DONE;
    while (progress == DONE && each != Py_None) {
        bool is_coroutine = PyCoro_CheckExact(each);
        if (!is_coroutine && !PyGen_CheckExact(each)) {
            if (!awaits_future(each))
                progress = RARE;
            break;
        }
        PyObject *frame = PyObject_GetAttr(each, is_coroutine ? text_cr_frame : text_gi_frame);
        if (frame == NULL || frame == Py_None) {
            progress = frame == NULL ? FAILED : DONE;
            Py_XDECREF(frame);
            break;
        }
        Whose owner = whose((PyFrameObject *)frame);
        if (owner == BROKEN ||
            (owner != OF_LOOP &&
             note_place(owner == OWN ? &own : &outer, (PyFrameObject *)frame, 0) < 0))
            progress = FAILED;
        Py_DECREF(frame);
        PyObject *next =
            PyObject_GetAttr(each, is_coroutine ? text_cr_await : text_gi_yieldfrom);
        if (next == NULL) {
            progress = FAILED;
            break;
        }
        Py_SETREF(each, next);
    }
    Py_DECREF(each);
    if (progress == DONE)
        *found = Py_NewRef(own != NULL ? own : outer != NULL ? outer : Py_None);
    Py_XDECREF(own);
    Py_XDECREF(outer);
    return progress;
}

int
has_begun(PyObject *coroutine)
{
    PyObject *awaited;
    int may_await = attribute_if_any(coroutine, text_cr_await, &awaited);
    if (may_await <= 0)
        return may_await;
    Py_DECREF(awaited);
    return awaited != Py_None;
}

/* -- locks that are handed over ---------------------------------------------------------------- */

static PyObject *has_locks, *is_around_locks, *text_release;
/* What the two functions have said of names of modules. */
static PyObject *modules_with_locks, *modules_around_locks;

PyObject *
hands_lock_over(PyObject *Py_UNUSED(module), PyObject *innermost)
{
    PyFrameObject *frame = PyFrame_Check(innermost) ? (PyFrameObject *)Py_NewRef(innermost) : NULL;
    int is_found = 0;
    while (frame != NULL) {
        PyObject *globals = PyFrame_GetGlobals(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (PyUnicode_Compare(code->co_name, text_release) == 0)
            is_found = says(has_locks, modules_with_locks, globals);
        int goes_on = is_found ? 0 : says(is_around_locks, modules_around_locks, globals);
        Py_DECREF(globals);
        Py_DECREF(code);
        if (goes_on <= 0) {
            is_found = goes_on < 0 ? -1 : is_found;
            break;
        }
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    return is_found < 0 || PyErr_Occurred() ? NULL : Py_NewRef(is_found ? Py_True : Py_False);
}

/* use_locks_of_loops(has_locks, is_around_locks): what hands_lock_over goes by. */
PyObject *
use_locks_of_loops(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *locks, *around;
    if (!PyArg_ParseTuple(arguments, "OO", &locks, &around))
        return NULL;
    const Name names[] = {{&text_name, "__name__"}, {&no_name, ""}, {&text_release, "release"}};
    modules_with_locks = PyDict_New();
    modules_around_locks = PyDict_New();
    if (modules_with_locks == NULL || modules_around_locks == NULL ||
        make_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    has_locks = Py_NewRef(locks);
    is_around_locks = Py_NewRef(around);
    Py_RETURN_NONE;
}
