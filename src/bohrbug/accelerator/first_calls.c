/* First calls of functions on Python 3.11, which has no sys.monitoring; see
   bohrbug/runtime/threads/rewrite/discovery.py.

   A function that evaluates frames (PEP 523) looks whether the code object of a frame is known.
   This costs a call of C for each call of a function written in Python, and nothing for
   instructions; a profile function or trace function would slow down both.  It is in use only
   while somebody listens, as what runs between executions has no business here. */
#include <patchlevel.h>

#if PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE 1
#endif
#include "accelerator.h"

#if PY_VERSION_HEX < 0x030C0000

#include "internal/pycore_frame.h"

static PyObject *teller;
static _PyFrameEvalFunction usual;
static bool is_listening;
/* What is told is written in Python, as is what hears of its errors: they are no news. */
static _Thread_local bool is_telling;
static Py_ssize_t extra_index = -1;
/* What a known code object has as its extra value; another one, and no code is known. */
static uintptr_t generation;

static void
tell(PyObject *code, PyObject *globals)
{
    is_telling = true;
    PyObject *is_enough = PyObject_CallFunctionObjArgs(teller, code, globals, NULL);
    if (is_enough == NULL ||
        (is_enough == Py_True && _PyCode_SetExtra(code, extra_index, (void *)generation) < 0))
        PyErr_WriteUnraisable(code);
    Py_XDECREF(is_enough);
    is_telling = false;
}

/* What CPython keeps the extra values of a code object in, which it shows nobody; looking there
   takes no call, and evaluating ends with a jump: it takes no room on the stacks of tasks, which
   are copied when control passes. */
typedef struct {
    Py_ssize_t size;
    void *values[];
} Extras;

static inline bool
is_new(PyCodeObject *code)
{
    Extras *extras = code->co_extra;
    return extras == NULL || extras->size <= extra_index ||
           (uintptr_t)extras->values[extra_index] != generation;
}

static __attribute__((noinline)) PyObject *
evaluate_new(PyThreadState *state, struct _PyInterpreterFrame *frame, int is_throwing)
{
    /* Where an exception is thrown into a generator, it has begun before. */
    if (!is_throwing && !is_telling && teller != NULL)
        tell((PyObject *)frame->f_code, frame->f_globals);
    return usual(state, frame, is_throwing);
}

static PyObject *
evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int is_throwing)
{
    return is_new(frame->f_code) ? evaluate_new(state, frame, is_throwing)
                                 : usual(state, frame, is_throwing);
}

PyObject *
tell_first_calls(PyObject *Py_UNUSED(module), PyObject *function)
{
    if (extra_index < 0 && (extra_index = _PyEval_RequestCodeExtraIndex(NULL)) < 0)
        Py_RETURN_FALSE;
    generation++;
    Py_XSETREF(teller, function == Py_None ? NULL : Py_NewRef(function));
    Py_RETURN_TRUE;
}

PyObject *
listen_to_first_calls(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (wanted == Py_True && !is_listening) {
        usual = _PyInterpreterState_GetEvalFrameFunc(interpreter);
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
        is_listening = true;
    }
    else if (wanted != Py_True && is_listening) {
        /* Somebody else may have put a function of theirs on top of this one. */
        if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate)
            Py_RETURN_NONE;
        _PyInterpreterState_SetEvalFrameFunc(interpreter, usual);
        is_listening = false;
    }
    Py_RETURN_NONE;
}

PyObject *
evaluator(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    /* A pointer to a function is no pointer to an object for the language. */
    return PyLong_FromUnsignedLongLong(
        (uintptr_t)_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()));
}

#else

PyObject *
evaluator(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    Py_RETURN_NONE;
}

PyObject *
tell_first_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(function))
{
    Py_RETURN_FALSE;
}

PyObject *
listen_to_first_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(wanted))
{
    Py_RETURN_NONE;
}

#endif
