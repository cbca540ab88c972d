/* Hooks of operators and of blocks: most are of numbers, texts and locks alone, of which nothing is
   told. */
#include "accelerator.h"

/* What the Python module decides by. */
static PyObject *scalars, *families_by_class, *mapping, *called;
/* Its functions, for what is not decided here. */
enum { COMPARE, BINARY, BINARY_IN_PLACE, CONTAINS, LEAVE_BLOCK, REFERENCES };
static const char *const names[] = {"compare", "binary", "binary_in_place", "contains",
                                    "leave_block"};
static PyObject *references[REFERENCES];

/* left, right, place */
static PyObject *
operator_hook(PyObject *const *arguments, Py_ssize_t count, PyObject *reference)
{
    if (count != 3)
        return wrong_number();
    PyTypeObject *class = Py_TYPE(arguments[0]);
    if (Py_IS_TYPE(arguments[1], class)) {
        int is_scalar = PySet_Contains(scalars, (PyObject *)class);
        if (is_scalar != 0)
            return is_scalar < 0 ? NULL : Py_NewRef(Py_None);
    }
    return PyObject_Vectorcall(reference, arguments, 3, NULL);
}

static PyObject *
compare(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return operator_hook(arguments, count, references[COMPARE]);
}

static PyObject *
binary(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return operator_hook(arguments, count, references[BINARY]);
}

static PyObject *
binary_in_place(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return operator_hook(arguments, count, references[BINARY_IN_PLACE]);
}

/* key, owner, place */
static PyObject *
contains(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3)
        return wrong_number();
    PyObject *key = arguments[0], *owner = arguments[1];
    if (hooks_are_active() && (PyUnicode_CheckExact(key) || PyLong_CheckExact(key)) &&
        !dicts_stand_for_objects()) {
        PyObject *family = found_for_type(families_by_class, owner);
        if (family == NULL)
            return NULL;
        Py_DECREF(family);
        if (family == mapping)
            return end_what_was_begun() ? tell_item_now(owner, key, false, arguments[2]) : NULL;
    }
    return PyObject_Vectorcall(references[CONTAINS], arguments, 3, NULL);
}

/* perhaps the object, its method, place */
static PyObject *
leave_block(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count < 2)
        return wrong_number();
    PyObject *method = arguments[count - 2];
    int is_told = hooks_are_active() && !PyFunction_Check(method);
    if (is_told) {
        PyObject *answer = found_for_type(called, method);
        is_told = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
    }
    if (is_told > 0)
        return PyObject_Vectorcall(references[LEAVE_BLOCK], arguments, (size_t)count, NULL);
    return is_told < 0 || !end_what_was_begun() ? NULL : Py_NewRef(Py_None);
}

#define HOOK(name)                                                                               \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, "See the function in Python."}
PyMethodDef operator_hook_definitions[] = {
    HOOK(compare), HOOK(binary), HOOK(binary_in_place), HOOK(contains),
    HOOK(leave_block), {0},
};

PyObject *
use_reference(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *name;
    PyObject *function;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &function))
        return NULL;
    for (size_t i = 0; i < REFERENCES; i++)
        if (strcmp(name, names[i]) == 0) {
            Py_XSETREF(references[i], Py_NewRef(function));
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "there is no fast path before %s", name);
}

PyObject *
use_operators(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyFrozenSet_Type, &scalars, &families_by_class,
                          &mapping, &called))
        return NULL;
    PyObject *kept[] = {scalars, families_by_class, mapping, called};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]);
    Py_RETURN_NONE;
}
