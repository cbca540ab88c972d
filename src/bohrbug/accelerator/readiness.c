/* What a blocked task waits for: whether it holds, asked before each step, without a call of Python. */
#include "scheduling.h"

typedef struct {
    PyObject_HEAD
    /* 1: it holds, 0: it does not, -1: an exception is set. */
    int (*holds)(PyObject *);
    PyObject *subject;
} Readiness;

static void
dealloc(PyObject *self)
{
    Py_DECREF(((Readiness *)self)->subject);
    PyObject_Free(self);
}

static PyObject *
call(PyObject *self, PyObject *Py_UNUSED(arguments), PyObject *Py_UNUSED(names))
{
    int answer = ((Readiness *)self)->holds(((Readiness *)self)->subject);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* Not known to the garbage collector: a task lets go of it when it goes on or is unwound. */
static PyTypeObject readiness_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bohrbug.accelerator._accelerator.Readiness",
    .tp_basicsize = sizeof(Readiness),
    .tp_dealloc = dealloc,
    .tp_call = call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Whether an operation would not block.",
};

PyObject *
new_readiness(int (*holds)(PyObject *), PyObject *subject)
{
    if (!PyType_HasFeature(&readiness_type, Py_TPFLAGS_READY) &&
        PyType_Ready(&readiness_type) < 0)
        return NULL;
    Readiness *self = PyObject_New(Readiness, &readiness_type);
    if (self != NULL) {
        self->holds = holds;
        self->subject = Py_NewRef(subject);
    }
    return (PyObject *)self;
}

int
is_ready(PyObject *self, PyObject *ready)
{
    /* Predicates may run code of the program, such as a queue's own _qsize. */
    SET_EXECUTION(SUSPENDED, one);
    Py_INCREF(ready);
    int result;
    if (Py_IS_TYPE(ready, &readiness_type)) {
        result = ((Readiness *)ready)->holds(((Readiness *)ready)->subject);
    } else {
        PyObject *answer = PyObject_CallNoArgs(ready);
        result = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
    }
    Py_DECREF(ready);
    SET_EXECUTION(SUSPENDED, zero);
    return result;
}
