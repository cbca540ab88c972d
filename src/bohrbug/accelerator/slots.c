/* Finding the slots of Python classes, and exchanging their methods. */
#include "accelerator.h"
#include <string.h>
#include <structmember.h>

int
find_slots(PyObject *cls, Slot *slots)
{
    for (Slot *slot = slots; slot->name != NULL; slot++) {
        PyObject *member = PyObject_GetAttrString(cls, slot->name);
        if (member == NULL)
            return -1;
        bool is_slot = Py_IS_TYPE(member, &PyMemberDescr_Type) &&
                       ((PyMemberDescrObject *)member)->d_member->type == T_OBJECT_EX;
        if (is_slot)
            slot->offset = ((PyMemberDescrObject *)member)->d_member->offset;
        else
            PyErr_Format(PyExc_TypeError, "%R has no slot %s", cls, slot->name);
        Py_DECREF(member);
        if (!is_slot)
            return -1;
    }
    return 0;
}

int
take_over(PyObject *cls, FastPath *fast_paths)
{
    if (!PyType_Check(cls)) {
        PyErr_SetString(PyExc_TypeError, "not a class");
        return -1;
    }
    for (FastPath *fast_path = fast_paths; fast_path->definition.ml_name != NULL; fast_path++) {
        PyObject *reference = PyObject_GetAttrString(cls, fast_path->definition.ml_name);
        if (reference == NULL)
            return -1;
        Py_XSETREF(fast_path->reference, reference);
        PyObject *method = PyDescr_NewMethod((PyTypeObject *)cls, &fast_path->definition);
        if (method == NULL)
            return -1;
        int result = PyObject_SetAttrString(cls, fast_path->definition.ml_name, method);
        Py_DECREF(method);
        if (result < 0)
            return -1;
    }
    return 0;
}

PyObject *
functions_of(PyMethodDef *definitions, size_t count)
{
    PyObject *functions = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; functions != NULL && i < count; i++) {
        PyObject *function = PyCFunction_New(&definitions[i], NULL);
        if (function == NULL)
            Py_CLEAR(functions);
        else
            PyTuple_SET_ITEM(functions, (Py_ssize_t)i, function);
    }
    return functions;
}

int
make_names(const Name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *names[i].text = PyUnicode_InternFromString(names[i].value);
        if (*names[i].text == NULL)
            return -1;
    }
    return 0;
}
