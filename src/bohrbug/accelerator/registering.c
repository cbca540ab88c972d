/* The making of primitives of threading: most are parts of others, and nothing is to be done. */
#include "scheduling.h"

/* ``self`` is what registering_method got. */
static PyObject *
initialise(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *original = PyTuple_GET_ITEM(self, 0), *reference = PyTuple_GET_ITEM(self, 1);
    PyObject *execution = slot_get(holder, holder_slots[HOLDER_EXECUTION]);
    PyFrameObject *frame = PyEval_GetFrame();
    bool is_part = execution == Py_None;
    if (!is_part && frame != NULL) {
        PyObject *globals = PyFrame_GetGlobals(frame);
        is_part = globals == PyTuple_GET_ITEM(self, 2);
        Py_DECREF(globals);
    }
    return PyObject_Vectorcall(is_part ? original : reference, arguments, (size_t)count, names);
}

static PyMethodDef definition = {
    "__init__", (PyCFunction)(void (*)(void))initialise, METH_FASTCALL | METH_KEYWORDS,
    "Make a primitive.",
};

/* registering_method(original, reference, namespace): an ``__init__`` that calls the original where
 * nothing is under control or code of the namespace calls, else the reference, which registers. */
PyObject *
registering_method(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (PyTuple_GET_SIZE(arguments) != 3) {
        PyErr_SetString(PyExc_TypeError, "registering_method() takes 3 arguments");
        return NULL;
    }
    PyObject *function = PyCFunction_New(&definition, arguments);
    PyObject *method = function == NULL ? NULL : PyInstanceMethod_New(function);
    Py_XDECREF(function);
    return method;
}
