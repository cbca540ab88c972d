/* Real locks, by the functions in C behind their methods, which are looked up once. */
#include "accelerator.h"

static PyTypeObject *real_type;
static PyObject *text_locked, *text_release, *text_acquire, *without_waiting;

/* A method of real locks as it was at first, whoever has exchanged it since, and its function in C if
 * that is called in the way that we know; else it is NULL. */
typedef struct {
    PyObject *method;
    PyCFunction function;
} RealMethod;
static RealMethod is_locked, release, acquire;
typedef PyObject *(*TakingArray)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
/* ``acquire`` takes a tuple up to Python 3.14, and an array from 3.15 on. */
static TakingArray acquire_from_array;

static PyCFunction
function_of(PyObject *method, int flags)
{
    return Py_IS_TYPE(method, &PyMethodDescr_Type) &&
                   ((PyMethodDescrObject *)method)->d_method->ml_flags == flags
               ? ((PyMethodDescrObject *)method)->d_method->ml_meth
               : NULL;
}

static int
know(RealMethod *known, PyObject *name, int flags)
{
    known->method = PyObject_GetAttr((PyObject *)real_type, name);
    if (known->method == NULL)
        return -1;
    known->function = function_of(known->method, flags);
    return 0;
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
    if (without_waiting == NULL || know(&is_locked, text_locked, METH_NOARGS) < 0 ||
        know(&release, text_release, METH_NOARGS) < 0 ||
        know(&acquire, text_acquire, METH_VARARGS | METH_KEYWORDS) < 0)
        return -1;
    acquire_from_array = (TakingArray)(void (*)(void))function_of(
        acquire.method, METH_FASTCALL | METH_KEYWORDS);
    return 0;
}

/* Call a method without arguments; of another type's object the one that it has now. */
static PyObject *
call(const RealMethod *known, PyObject *name, PyObject *real)
{
    if (!Py_IS_TYPE(real, real_type))
        return PyObject_CallMethodNoArgs(real, name);
    return known->function != NULL ? known->function(real, NULL)
                                   : PyObject_CallOneArg(known->method, real);
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
    int locked = truth_of(call(&is_locked, text_locked, real));
    return locked < 0 ? -1 : !locked;
}

int
take_real(PyObject *real)
{
    if (!Py_IS_TYPE(real, real_type))
        return truth_of(PyObject_CallMethodOneArg(real, text_acquire, Py_False));
    PyObject *arguments[] = {real, Py_False};
    if (acquire_from_array != NULL)
        return truth_of(acquire_from_array(real, arguments + 1, 1, NULL));
    if (acquire.function != NULL)
        return truth_of(((PyCFunctionWithKeywords)(void (*)(void))acquire.function)(
            real, without_waiting, NULL));
    return truth_of(PyObject_Vectorcall(acquire.method, arguments, 2, NULL));
}

int
release_real(PyObject *real)
{
    PyObject *result = call(&release, text_release, real);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}
