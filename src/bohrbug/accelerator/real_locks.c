/* Real locks, by the functions in C behind their methods, which are looked up once. */
#include "accelerator.h"

static PyTypeObject *real_type;
static PyCFunction is_locked_function, release_function, acquire_function;
static PyObject *text_locked, *text_release, *text_acquire, *without_waiting;

/* The function behind a method of real locks; NULL, without an exception: it is called otherwise. */
static PyCFunction
function_of(PyObject *name, int flags)
{
    PyObject *method = PyObject_GetAttr((PyObject *)real_type, name);
    PyCFunction function = NULL;
    if (method != NULL && Py_IS_TYPE(method, &PyMethodDescr_Type) &&
        ((PyMethodDescrObject *)method)->d_method->ml_flags == flags)
        function = ((PyMethodDescrObject *)method)->d_method->ml_meth;
    Py_XDECREF(method);
    PyErr_Clear();
    return function;
}

int
know_real_locks(PyObject *allocate)
{
    const Name names[] = {
        {&text_locked, "locked"}, {&text_release, "release"}, {&text_acquire, "acquire"},
    };
    PyObject *lock = PyObject_CallNoArgs(allocate);
    if (lock == NULL || make_names(names, sizeof names / sizeof *names) < 0)
        return -1;
    without_waiting = PyTuple_Pack(1, Py_False);
    real_type = (PyTypeObject *)Py_NewRef(Py_TYPE(lock));
    Py_DECREF(lock);
    is_locked_function = function_of(text_locked, METH_NOARGS);
    release_function = function_of(text_release, METH_NOARGS);
    acquire_function = function_of(text_acquire, METH_VARARGS | METH_KEYWORDS);
    return without_waiting == NULL ? -1 : 0;
}

/* Whether a result is true; it is given up. -1: an exception is set. */
static int
truth_of(PyObject *result)
{
    int truth = result == NULL ? -1 : PyObject_IsTrue(result);
    Py_XDECREF(result);
    return truth;
}

int
real_is_free(PyObject *real)
{
    int locked = truth_of(is_locked_function != NULL && Py_IS_TYPE(real, real_type)
                              ? is_locked_function(real, NULL)
                              : PyObject_CallMethodNoArgs(real, text_locked));
    return locked < 0 ? -1 : !locked;
}

int
take_real(PyObject *real)
{
    if (acquire_function != NULL && Py_IS_TYPE(real, real_type))
        return truth_of(((PyCFunctionWithKeywords)(void (*)(void))acquire_function)(
            real, without_waiting, NULL));
    return truth_of(PyObject_CallMethodOneArg(real, text_acquire, Py_False));
}

int
release_real(PyObject *real)
{
    PyObject *result = release_function != NULL && Py_IS_TYPE(real, real_type)
                           ? release_function(real, NULL)
                           : PyObject_CallMethodNoArgs(real, text_release);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Exchange a method of a type that programs can't change. */
PyObject *
exchange_method(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyTypeObject *type;
    PyObject *name, *method;
    if (!PyArg_ParseTuple(arguments, "O!UO", &PyType_Type, &type, &name, &method) ||
        PyDict_SetItem(type->tp_dict, name, method) < 0)
        return NULL;
    PyType_Modified(type);
    Py_RETURN_NONE;
}
