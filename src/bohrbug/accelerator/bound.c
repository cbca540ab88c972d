/* Methods that the ``with`` statement looks up, bound at less cost.
 *
 * For each ``with`` the interpreter binds two methods, calls them and drops them. To make and drop a
 * bound built-in method takes longer than many an operation on a lock; what is made here
 * instead comes from a small store. Whatever is asked of it, the built-in method answers.
 */
#include "accelerator.h"
#include <stddef.h>

/* What stands in the class in place of a method in C. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *method;  /* the built-in one */
    FromWith function; /* what it does when it is called as ``with`` does */
} Method;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *self;
    Method *method;
} Bound;

enum { MOST_SPARE = 8 };
static Bound *spare[MOST_SPARE];
static int spare_count;

static void
drop_bound(PyObject *bound)
{
    PyObject *self = ((Bound *)bound)->self;
    Method *method = ((Bound *)bound)->method;
    if (spare_count < MOST_SPARE)
        spare[spare_count++] = (Bound *)bound;
    else
        PyObject_Free(bound);
    Py_DECREF(self);
    Py_DECREF(method);
}

/* The built-in method, bound to the same object; a new reference. */
static PyObject *
as_usual(PyObject *bound)
{
    PyObject *self = ((Bound *)bound)->self, *method = ((Bound *)bound)->method->method;
    return Py_TYPE(method)->tp_descr_get(method, self, (PyObject *)Py_TYPE(self));
}

static PyObject *
call_bound(PyObject *bound, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (names == NULL && (count == 0 || count == 3))
        return ((Bound *)bound)->method->function(((Bound *)bound)->self, count);
    PyObject *usual = as_usual(bound);
    PyObject *result = usual == NULL ? NULL : PyObject_Vectorcall(usual, arguments, flags, names);
    Py_XDECREF(usual);
    return result;
}

static PyObject *
attribute_of_bound(PyObject *bound, PyObject *name)
{
    PyObject *usual = as_usual(bound);
    PyObject *value = usual == NULL ? NULL : PyObject_GetAttr(usual, name);
    Py_XDECREF(usual);
    return value;
}

static PyObject *
repr_of_bound(PyObject *bound)
{
    PyObject *usual = as_usual(bound);
    PyObject *text = usual == NULL ? NULL : PyObject_Repr(usual);
    Py_XDECREF(usual);
    return text;
}

static Py_hash_t
hash_of_bound(PyObject *bound)
{
    PyObject *usual = as_usual(bound);
    Py_hash_t hash = usual == NULL ? -1 : PyObject_Hash(usual);
    Py_XDECREF(usual);
    return hash;
}

static PyObject *
compare_bound(PyObject *bound, PyObject *other, int operation)
{
    if (!Py_IS_TYPE(other, Py_TYPE(bound)) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    bool is_same = ((Bound *)bound)->self == ((Bound *)other)->self &&
                   ((Bound *)bound)->method == ((Bound *)other)->method;
    return PyBool_FromLong(is_same == (operation == Py_EQ));
}

/* Not known to the garbage collector, as it lives for one call. */
static PyTypeObject bound_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "builtin_function_or_method",
    .tp_basicsize = sizeof(Bound),
    .tp_dealloc = drop_bound,
    .tp_vectorcall_offset = offsetof(Bound, call),
    .tp_call = PyVectorcall_Call,
    .tp_getattro = attribute_of_bound,
    .tp_repr = repr_of_bound,
    .tp_hash = hash_of_bound,
    .tp_richcompare = compare_bound,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A bound method of a lock.",
};

/* -- in the class ------------------------------------------------------------------------ */

static void
drop_method(PyObject *self)
{
    Py_DECREF(((Method *)self)->method);
    PyObject_Free(self);
}

static PyObject *
bind(PyObject *self, PyObject *object, PyObject *type)
{
    Method *method = (Method *)self;
    if (object == NULL || !PyObject_TypeCheck(object, PyDescr_TYPE(method->method)))
        return object == NULL ? Py_NewRef(self)
                              : Py_TYPE(method->method)->tp_descr_get(method->method, object, type);
    Bound *bound;
    if (spare_count > 0) {
        bound = spare[--spare_count];
        PyObject_Init((PyObject *)bound, &bound_type);
    } else {
        bound = PyObject_New(Bound, &bound_type);
        if (bound == NULL)
            return NULL;
    }
    bound->call = call_bound;
    bound->self = Py_NewRef(object);
    bound->method = (Method *)Py_NewRef(self);
    return (PyObject *)bound;
}

/* With the object as the first argument. */
static PyObject *
call_method(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names)
{
    return PyObject_Vectorcall(((Method *)self)->method, arguments, flags, names);
}

static PyObject *
attribute_of_method(PyObject *self, PyObject *name)
{
    return PyObject_GetAttr(((Method *)self)->method, name);
}

static PyObject *
repr_of_method(PyObject *self)
{
    return PyObject_Repr(((Method *)self)->method);
}

static PyTypeObject method_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "method_descriptor",
    .tp_basicsize = sizeof(Method),
    .tp_dealloc = drop_method,
    .tp_vectorcall_offset = offsetof(Method, call),
    .tp_call = PyVectorcall_Call,
    .tp_getattro = attribute_of_method,
    .tp_repr = repr_of_method,
    .tp_descr_get = bind,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_doc = "A method of locks.",
};

int
bind_for_with(PyObject *cls, const char *name, FromWith function)
{
    PyObject *method = PyObject_GetAttrString(cls, name);
    if (method == NULL || PyType_Ready(&bound_type) < 0 || PyType_Ready(&method_type) < 0) {
        Py_XDECREF(method);
        return -1;
    }
    Method *stand_in = PyObject_New(Method, &method_type);
    int result = -1;
    if (stand_in != NULL) {
        stand_in->call = call_method;
        stand_in->method = Py_NewRef(method);
        stand_in->function = function;
        result = PyObject_SetAttrString(cls, name, (PyObject *)stand_in);
        Py_DECREF(stand_in);
    }
    Py_DECREF(method);
    return result;
}
