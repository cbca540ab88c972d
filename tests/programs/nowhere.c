/* Cells of three classes whose author has named no module: of one that is static, of one that is
 * made as the binding generators for Rust do it, and of one that says nothing at all. */
#include <Python.h>

typedef struct {
    PyObject_HEAD
    long value;
} Cell;

static PyObject *
get(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(((Cell *)self)->value);
}

static PyObject *
set(PyObject *self, PyObject *value)
{
    long wanted = PyLong_AsLong(value);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    ((Cell *)self)->value = wanted;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"get", get, METH_NOARGS, NULL},
    {"set", set, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Static = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "Static",
    .tp_basicsize = sizeof(Cell),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods,
    .tp_new = PyType_GenericNew,
};

static PyType_Slot slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_new, PyType_GenericNew},
    {0, NULL},
};

static PyType_Spec builtin = {
    .name = "builtins.Builtin",
    .basicsize = sizeof(Cell),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HEAPTYPE,
    .slots = slots,
};

static PyType_Spec silent = {
    .name = "Silent",
    .basicsize = sizeof(Cell),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HEAPTYPE,
    .slots = slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "nowhere",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit_nowhere(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyType_Ready(&Static) < 0)
        return NULL;
    if (PyModule_AddObjectRef(made, "Static", (PyObject *)&Static) < 0
        || PyModule_AddObjectRef(made, "Builtin", PyType_FromSpec(&builtin)) < 0
        || PyModule_AddObjectRef(made, "Silent", PyType_FromSpec(&silent)) < 0)
        return NULL;
    return made;
}
