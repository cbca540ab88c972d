/* Who controls the calling code, and what runs: asked by locks, sinks and detectors. */
#include "scheduling.h"

PyObject *
controlling_execution(void)
{
    PyObject *self = slot_get(holder, holder_slots[HOLDER_EXECUTION]);
    if (self == NULL || self == Py_None || !PyObject_TypeCheck(self, execution_type))
        return NULL;
    PyObject *thread = slot_get(holder, holder_slots[HOLDER_THREAD]);
    if (PyLong_AsUnsignedLong(thread) != PyThread_get_thread_ident() ||
        EXECUTION(SUSPENDED) != zero || is_in_tracer()) {
        PyErr_Clear();
        return NULL;
    }
    return self;
}

PyObject *
controlled(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    PyObject *self = holder == NULL ? NULL : controlling_execution();
    return Py_NewRef(self == NULL ? Py_None : self);
}

bool
is_in_tracer(void)
{
    return PyThreadState_Get()->tracing > 0;
}

PyObject *
in_tracer(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(is_in_tracer());
}

bool
in_another_thread(void)
{
    PyObject *thread = holder == NULL ? NULL : slot_get(holder, holder_slots[HOLDER_THREAD]);
    unsigned long controlled = thread == NULL ? 0 : PyLong_AsUnsignedLong(thread);
    return controlled != 0 && controlled != PyThread_get_thread_ident();
}

bool
nobody_sees(void)
{
    return in_another_thread() || is_in_tracer();
}

PyObject *
is_unseen(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(nobody_sees());
}

PyObject *
another_thread(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(in_another_thread());
}

PyObject *
running_task(PyObject *self)
{
    return EXECUTION(CURRENT);
}

int
is_inside(PyObject *task)
{
    return TASK(task, INSIDE) != zero;
}

int
note_holding(PyObject *task, PyObject *lock, PyObject *place)
{
    return PyDict_SetItem(TASK(task, HOLDING), lock, place);
}

int
note_released(PyObject *task, PyObject *lock)
{
    if (PyDict_DelItem(TASK(task, HOLDING), lock) == 0)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_KeyError))
        return -1;
    PyErr_Clear();
    return 0;
}

bool
is_of_execution(PyObject *state, PyObject *self)
{
    return slot_get(state, state_slots[STATE_SERIAL]) ==
           slot_get(EXECUTION(RESOURCES), table_slots[TABLE_SERIAL]);
}

Py_ssize_t
running_index(PyObject *self)
{
    if (PyObject_TypeCheck(self, execution_type))
        return slot_int(EXECUTION(CURRENT), task_slots[INDEX]);
    PyObject *task = PyObject_GetAttrString(self, "current");
    PyObject *index = task == NULL ? NULL : PyObject_GetAttrString(task, "index");
    Py_ssize_t number = index == NULL ? -1 : PyLong_AsSsize_t(index);
    Py_XDECREF(task);
    Py_XDECREF(index);
    return number;
}

static PyObject *
new_place(PyObject *code, long lasti)
{
    PyObject *place = shared_place(code, lasti);
    Py_DECREF(code);
    return place;
}

PyObject *
place_in(PyFrameObject *frame)
{
    return new_place((PyObject *)PyFrame_GetCode(frame), PyFrame_GetLasti(frame));
}

PyFrameObject *
caller_of_method(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    return frame == NULL ? NULL : PyFrame_GetBack(frame);
}

PyObject *
calling_place(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "called without a Python frame");
        return NULL;
    }
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    long lasti = PyFrame_GetLasti(frame);
#if PY_VERSION_HEX < 0x030C0000
    /* Python 3.11 calls C functions in PRECALL once it is specialised, before that in the CALL
     * behind it and its cache: one call is one place. */
    PyObject *instructions = PyCode_GetCode((PyCodeObject *)code);
    if (instructions != NULL && lasti >= 0 && lasti < PyBytes_GET_SIZE(instructions) &&
        (unsigned char)PyBytes_AS_STRING(instructions)[lasti] == 166)
        lasti += 4;
    Py_XDECREF(instructions);
    PyErr_Clear();
#endif
    return new_place(code, lasti);
}

bool
refers_to(PyObject *reference, PyObject *object)
{
    if (!PyWeakref_CheckRef(reference))
        return false;
#if PY_VERSION_HEX < 0x030D0000
    return PyWeakref_GET_OBJECT(reference) == object;
#else
    PyObject *found;
    bool same = PyWeakref_GetRef(reference, &found) > 0 && found == object;
    Py_XDECREF(found);
    return same;
#endif
}
