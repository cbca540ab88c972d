/* First calls of functions on Python 3.11, which has no sys.monitoring; see
   bohrbug/runtime/threads/rewrite/discovery.py.

   A function that evaluates frames (PEP 523) looks whether the code object of a frame is known.
   This costs a call of C for each call of a function written in Python, and nothing for
   instructions; a profile function or trace function would slow down both. */
#include <patchlevel.h>

#if PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE 1
#endif
#include "accelerator.h"

#if PY_VERSION_HEX < 0x030C0000

#include "internal/pycore_frame.h"

static PyObject *teller;
static _PyFrameEvalFunction usual;
static Py_ssize_t extra_index = -1;
/* What a known code object has as its extra value; another one, and no code is known. */
static uintptr_t generation;
static bool is_telling;

static PyObject *
evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int is_throwing)
{
    PyObject *code = (PyObject *)frame->f_code;
    void *extra = NULL;
    /* Where an exception is thrown into a generator, it has begun before. */
    if (!is_throwing && !is_telling && _PyCode_GetExtra(code, extra_index, &extra) == 0 &&
        (uintptr_t)extra != generation) {
        is_telling = true;
        PyObject *is_enough = PyObject_CallFunctionObjArgs(teller, code, frame->f_globals, NULL);
        if (is_enough == NULL)
            PyErr_WriteUnraisable(code);
        else if (is_enough == Py_True && _PyCode_SetExtra(code, extra_index, (void *)generation) < 0)
            PyErr_WriteUnraisable(code);
        Py_XDECREF(is_enough);
        is_telling = false;
    }
    return usual(state, frame, is_throwing);
}

PyObject *
tell_first_calls(PyObject *Py_UNUSED(module), PyObject *function)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (extra_index < 0 && (extra_index = _PyEval_RequestCodeExtraIndex(NULL)) < 0)
        Py_RETURN_FALSE;
    bool was_telling = teller != NULL;
    Py_CLEAR(teller);
    generation++;
    if (function != Py_None) {
        teller = Py_NewRef(function);
        if (!was_telling) {
            usual = _PyInterpreterState_GetEvalFrameFunc(interpreter);
            _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
        }
    }
    else if (was_telling && _PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, usual);
    Py_RETURN_TRUE;
}

#else

PyObject *
tell_first_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(function))
{
    Py_RETURN_FALSE;
}

#endif
