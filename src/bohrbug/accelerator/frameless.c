/* Calling a function in Python as if it were in C: without a frame of its own in tracebacks.
 *
 * See bohrbug/runtime/threads/replacement.py. Programs look behind the frame that calls ``exec``:
 * the next one of a traceback is that of the code that was executed.
 */
#include "accelerator.h"

/* Leaves the frame of a function out where a traceback begins. */
static void
drop_frame_of(PyObject *function)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (traceback != NULL && PyFunction_Check(function)) {
        PyTracebackObject *first = (PyTracebackObject *)traceback;
        PyCodeObject *code = PyFrame_GetCode(first->tb_frame);
        if ((PyObject *)code == PyFunction_GET_CODE(function)) {
            PyObject *rest = Py_XNewRef((PyObject *)first->tb_next);
            Py_SETREF(traceback, rest);
        }
        Py_DECREF(code);
    }
    PyErr_Restore(type, error, traceback);
}

/* call_without_frame(stand_in, *arguments): calls ``stand_in._function``. */
static PyObject *
call_without_frame(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count,
                   PyObject *keywords)
{
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "called without what stands for the function");
        return NULL;
    }
    static PyObject *name;
    if (name == NULL && (name = PyUnicode_InternFromString("_function")) == NULL)
        return NULL;
    PyObject *function = PyObject_GetAttr(arguments[0], name);
    if (function == NULL)
        return NULL;
    PyObject *result = PyObject_Vectorcall(function, arguments + 1, (size_t)count - 1, keywords);
    if (result == NULL)
        drop_frame_of(function);
    Py_DECREF(function);
    return result;
}

static PyMethodDef definition = {
    "__call__", (PyCFunction)(void (*)(void))call_without_frame, METH_FASTCALL | METH_KEYWORDS,
    "Call the replacement."};

/* without_frame(): a method ``__call__`` of classes whose objects have a ``_function`` */
PyObject *
without_frame(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *function = PyCFunction_New(&definition, NULL);
    PyObject *method = function == NULL ? NULL : PyInstanceMethod_New(function);
    Py_XDECREF(function);
    return method;
}
