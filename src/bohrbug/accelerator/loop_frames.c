/* The frames around an access by a task of an event loop: looked at for each one that is taken down, so
 * that of a library with deep stacks they are most of what that takes. */
#include "accelerator.h"

static PyObject *is_own, *is_name_of_loop, *text_name, *text_unrolled_run, *trio_run, *no_name;
/* What the two functions have said of file names, and of names of modules. */
static PyObject *own_files, *loop_modules;

/* use_frames(is_own, is_name_of_loop, trio_run): how frames are told apart. */
PyObject *
use_frames(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *own, *of_loop, *trio;
    if (!PyArg_ParseTuple(arguments, "OOO", &own, &of_loop, &trio))
        return NULL;
    if (own_files == NULL) {
        own_files = PyDict_New();
        loop_modules = PyDict_New();
        text_name = PyUnicode_InternFromString("__name__");
        text_unrolled_run = PyUnicode_InternFromString("unrolled_run");
        no_name = PyUnicode_InternFromString("");
        if (own_files == NULL || loop_modules == NULL || text_name == NULL ||
            text_unrolled_run == NULL || no_name == NULL)
            return NULL;
    }
    Py_XSETREF(is_own, Py_NewRef(own));
    Py_XSETREF(is_name_of_loop, Py_NewRef(of_loop));
    Py_XSETREF(trio_run, Py_NewRef(trio));
    Py_RETURN_NONE;
}

/* What a function says of a name, asked once; 1, 0, or -1 for an error. */
static int
says(PyObject *function, PyObject *known, PyObject *name)
{
    PyObject *answer = PyDict_GetItemWithError(known, name);
    if (answer != NULL)
        return answer == Py_True;
    if (PyErr_Occurred())
        return -1;
    answer = PyObject_CallOneArg(function, name);
    int is_true = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_true < 0 || PyDict_SetItem(known, name, is_true ? Py_True : Py_False) < 0)
        return -1;
    return is_true;
}

/* Append what is known of a frame to a list. */
static int
note(PyObject *found, PyFrameObject *frame, PyCodeObject *code)
{
    PyObject *number = PyLong_FromVoidPtr(frame);
    PyObject *offset = PyLong_FromLong(PyFrame_GetLasti(frame));
    PyObject *noted = number == NULL || offset == NULL ? NULL : PyTuple_Pack(3, number, code, offset);
    Py_XDECREF(number);
    Py_XDECREF(offset);
    int failed = noted == NULL ? -1 : PyList_Append(found, noted);
    Py_XDECREF(noted);
    return failed;
}

typedef enum { GO_ON, STOP, NO_BUSINESS, BROKEN } Next;

/* Look at one frame: what `found` has of the first `used` counts. */
static Next
look(PyFrameObject *frame, PyCodeObject *code, PyObject *found, Py_ssize_t *used)
{
    int own = says(is_own, own_files, code->co_filename);
    if (own != 0)
        return own < 0 ? BROKEN : PyList_GET_SIZE(found) ? STOP : GO_ON;
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = PyDict_GetItemWithError(globals, text_name);
    if (name == NULL)
        name = no_name;
    Py_INCREF(name);
    Py_DECREF(globals);
    Next next = PyErr_Occurred() ? BROKEN : GO_ON;
    if (next == GO_ON && PyUnicode_Compare(code->co_name, text_unrolled_run) == 0) {
        int is_run = PyObject_RichCompareBool(name, trio_run, Py_EQ);
        next = is_run < 0 ? BROKEN : is_run ? STOP : GO_ON;
    }
    if (next == GO_ON) {
        int of_loop = says(is_name_of_loop, loop_modules, name);
        if (of_loop < 0 || note(found, frame, code) < 0)
            next = BROKEN;
        else if (!of_loop)
            *used = PyList_GET_SIZE(found);
        else if (*used == 0)
            next = NO_BUSINESS;
    }
    Py_DECREF(name);
    return next;
}

/* access_log.frames_of_step */
PyObject *
frames_of_step(PyObject *Py_UNUSED(module), PyObject *innermost)
{
    PyObject *found = PyList_New(0);
    if (found == NULL)
        return NULL;
    Py_ssize_t used = 0;
    Next next = GO_ON;
    PyFrameObject *frame = PyFrame_Check(innermost) ? (PyFrameObject *)Py_NewRef(innermost) : NULL;
    while (frame != NULL && next == GO_ON) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        next = look(frame, code, found, &used);
        Py_DECREF(code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    PyObject *result = NULL;
    if (next == NO_BUSINESS)
        result = PyTuple_New(0);
    else if (next != BROKEN && PyList_SetSlice(found, used, PyList_GET_SIZE(found), NULL) == 0 &&
             PyList_Reverse(found) == 0)
        result = PyList_AsTuple(found);
    Py_DECREF(found);
    return result;
}
