/* What a blocked task waits for: whether it holds, asked before each step, without a call of Python. */
#include "scheduling.h"

typedef struct {
    PyObject_HEAD
    /* 1: it holds, 0: it does not, -1: an exception is set. */
    int (*holds)(PyObject *);
    PyObject *subject;
    /* Asking runs no code of the program. */
    bool is_quiet;
} Readiness;

/* The last one that was let go: one is made for each operation that may block. */
static Readiness *spare;

static void
dealloc(PyObject *self)
{
    Py_DECREF(((Readiness *)self)->subject);
    if (spare == NULL)
        spare = (Readiness *)self;
    else
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
new_readiness(int (*holds)(PyObject *), PyObject *subject, bool is_quiet)
{
    Readiness *self = spare;
    if (self != NULL) {
        spare = NULL;
        PyObject_Init((PyObject *)self, &readiness_type);
    } else if (PyType_HasFeature(&readiness_type, Py_TPFLAGS_READY) ||
               PyType_Ready(&readiness_type) == 0)
        self = PyObject_New(Readiness, &readiness_type);
    if (self != NULL) {
        self->holds = holds;
        self->subject = Py_NewRef(subject);
        self->is_quiet = is_quiet;
    }
    return (PyObject *)self;
}

int
is_ready(PyObject *self, PyObject *ready)
{
    bool is_ours = Py_IS_TYPE(ready, &readiness_type);
    if (is_ours && ((Readiness *)ready)->is_quiet)
        return ((Readiness *)ready)->holds(((Readiness *)ready)->subject);
    /* Predicates may run code of the program, such as a queue's own _qsize. */
    SET_EXECUTION(SUSPENDED, one);
    Py_INCREF(ready);
    int result;
    if (is_ours) {
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
