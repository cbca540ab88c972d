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

/* What is known of a frame: borrowed, as the frame lives while this is looked at. */
typedef struct {
    PyFrameObject *frame;
    PyCodeObject *code;
    long offset;
} Noted;

/* Those that were found, the innermost first. */
typedef struct {
    Noted *noted;
    Py_ssize_t count, room;
} Found;

/* What was found last: most accesses are made where the one before was, but for the last call. */
static PyObject *last_found;

/* Append what is known of a frame. */
static int
note(Found *found, PyFrameObject *frame, PyCodeObject *code)
{
    if (found->count == found->room) {
        Py_ssize_t room = found->room ? 2 * found->room : 64;
        Noted *grown = PyMem_Realloc(found->noted, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        found->noted = grown;
        found->room = room;
    }
    found->noted[found->count++] = (Noted){frame, code, PyFrame_GetLasti(frame)};
    return 0;
}

/* The garbage collector need not look at what is referred to by nothing that it looks at. */
static PyObject *
untracked(PyObject *tuple)
{
    if (tuple != NULL && !PyType_IS_GC(&PyCode_Type) && PyObject_GC_IsTracked(tuple))
        PyObject_GC_UnTrack(tuple);
    return tuple;
}

/* ``(id(frame), code, offset)``: a new reference. */
static PyObject *
told_of(Noted noted)
{
    PyObject *number = PyLong_FromVoidPtr(noted.frame);
    PyObject *offset = PyLong_FromLong(noted.offset);
    PyObject *told =
        number == NULL || offset == NULL ? NULL : PyTuple_Pack(3, number, noted.code, offset);
    Py_XDECREF(number);
    Py_XDECREF(offset);
    return untracked(told);
}

/* Whether that was told of a frame. */
static bool
was_told_of(PyObject *told, Noted noted)
{
    return PyTuple_GET_ITEM(told, 1) == (PyObject *)noted.code &&
           PyLong_AsLong(PyTuple_GET_ITEM(told, 2)) == noted.offset &&
           PyLong_AsVoidPtr(PyTuple_GET_ITEM(told, 0)) == noted.frame;
}

/* The first ``used`` of them as a tuple, the outermost first; it shares what it can with the last. */
static PyObject *
told_of_all(const Found *found, Py_ssize_t used)
{
    PyObject *all = PyTuple_New(used);
    Py_ssize_t known = last_found == NULL ? 0 : PyTuple_GET_SIZE(last_found);
    for (Py_ssize_t i = 0; all != NULL && i < used; i++) {
        Noted noted = found->noted[used - 1 - i];
        PyObject *before = i < known ? PyTuple_GET_ITEM(last_found, i) : NULL;
        PyObject *told =
            before != NULL && was_told_of(before, noted) ? Py_NewRef(before) : told_of(noted);
        if (told == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, told);
    }
    if (used > 0 && untracked(all) != NULL)
        Py_XSETREF(last_found, Py_NewRef(all));
    return all;
}

void
forget_frames(void)
{
    Py_CLEAR(last_found);
}

typedef enum { GO_ON, STOP, NO_BUSINESS, BROKEN } Next;

/* Look at one frame: what `found` has of the first `used` counts. */
static Next
look(PyFrameObject *frame, PyCodeObject *code, Found *found, Py_ssize_t *used)
{
    int own = says(is_own, own_files, code->co_filename);
    if (own != 0)
        return own < 0 ? BROKEN : found->count ? STOP : GO_ON;
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
            *used = found->count;
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
    Found found = {0};
    Py_ssize_t used = 0;
    Next next = GO_ON;
    PyFrameObject *frame = PyFrame_Check(innermost) ? (PyFrameObject *)Py_NewRef(innermost) : NULL;
    while (frame != NULL && next == GO_ON) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        next = look(frame, code, &found, &used);
        Py_DECREF(code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    PyObject *result = NULL;
    if (next == NO_BUSINESS)
        result = PyTuple_New(0);
    else if (next != BROKEN)
        result = told_of_all(&found, used);
    PyMem_Free(found.noted);
    return result;
}
