/* Numbers in memory that several processes share. */
#include "accelerator.h"
#include <stdint.h>

/* add_shared(memory, index): add one to a number of 64 bits in a buffer, and return what it was,
 * at once for all who share the memory */
PyObject *
add_shared(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *memory;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(arguments, "On", &memory, &index))
        return NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    PyObject *before = NULL;
    if (index < 0 || index >= view.len / (Py_ssize_t)sizeof(int64_t))
        PyErr_SetString(PyExc_IndexError, "there is no such number in this memory");
    else {
        int64_t *number = (int64_t *)view.buf + index;
        before = PyLong_FromLongLong(__atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST));
    }
    PyBuffer_Release(&view);
    return before;
}
