/* What ``hash``, ``id`` and ``repr`` say of objects that are known by a number; see identities.c.
 *
 * The functions in C behind them are exchanged where they are: in the classes that inherit them from
 * object, in the descriptors that lead to them, and in the builtin function.  They stay exchanged, as
 * an object may outlive the execution that made it, and must go on being what it was.
 */
#include "identities.h"
#include <string.h>

/* -- hash --------------------------------------------------------------------------------- */

static hashfunc hash_of_address, hash_of_method;

static Py_hash_t
hash_of_number(uint64_t number)
{
    /* As the hash of an address is made: the last four bits, which are 0, are of no use. */
    return (Py_hash_t)(number >> 4);
}

static Py_hash_t
hash_of_object(PyObject *object)
{
    Identity *identity = identity_of(object);
    if (identity == NULL)
        return hash_of_address(object);
    identity->is_told = true;
    return hash_of_number(identity->number);
}

/* A bound method hashes by the address of its object, and by its function, whose address differs from
 * process to process: where the object has a number, that alone will do. */
static Py_hash_t
hash_of_bound_method(PyObject *method)
{
    PyObject *object = PyMethod_GET_SELF(method);
    return identity_of(object) == NULL ? hash_of_method(method) : hash_of_object(object);
}

/* -- id ----------------------------------------------------------------------------------- */

static PyCFunction original_id;

/* Addresses of objects, by what ``id()`` has said of them. */
static PyObject *told;

/* Whether what was said before is the id of another object that lives; -1: an exception is set. */
static int
is_in_use(PyObject *number, const PyObject *object)
{
    PyObject *address = PyDict_GetItemWithError(told, number);
    if (address == NULL)
        return PyErr_Occurred() ? -1 : false;
    PyObject *other = PyLong_AsVoidPtr(address);
    const Identity *identity = other == object ? NULL : identity_of(other);
    return identity != NULL && identity->is_living &&
           identity->id == PyLong_AsUnsignedLongLong(number);
}

/* Ids of objects that live at the same time differ: one of an earlier execution may live on. */
static PyObject *
tell_new_id(PyObject *object, Identity *identity)
{
    uint64_t id = identity->number;
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    int in_use = 0;
    while (number != NULL && (in_use = is_in_use(number, object)) > 0) {
        id += UINT64_C(1) << 32;
        Py_SETREF(number, PyLong_FromUnsignedLongLong(id));
    }
    PyObject *address = number == NULL || in_use < 0 ? NULL : PyLong_FromVoidPtr(object);
    if (address == NULL || PyDict_SetItem(told, number, address) < 0)
        Py_CLEAR(number);
    Py_XDECREF(address);
    if (number != NULL) {
        identity->id = id;
        identity->is_told = true;
    }
    return number;
}

static PyObject *
id_of(PyObject *object, Identity *identity)
{
    return identity->id == 0 ? tell_new_id(object, identity)
                             : PyLong_FromUnsignedLongLong(identity->id);
}

/* Whether code of this tool asks, which knows objects by their addresses, in Python as in C. */
static bool
is_asked_by_tool(void)
{
    static const char own[] = "bohrbug.";
    PyObject *names = PyEval_GetGlobals();
    PyObject *name = names == NULL ? NULL : PyDict_GetItemString(names, "__name__");
    Py_ssize_t size;
    const char *text =
        name == NULL || !PyUnicode_Check(name) ? NULL : PyUnicode_AsUTF8AndSize(name, &size);
    return text != NULL && strncmp(text, own, sizeof own - 1) == 0;
}

/* Whether the function that asks works with ctypes, and may make a pointer of what it is told. */
static bool
is_asked_for_address(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame == NULL ? NULL : PyFrame_GetCode(frame);
    if (code == NULL)
        return false;
    bool is_found = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names) && !is_found; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(code->co_names, i));
        if (name == NULL)
            PyErr_Clear();
        else
            is_found = strcmp(name, "ctypes") == 0 || strcmp(name, "_ctypes") == 0 ||
                       strcmp(name, "py_object") == 0 || strcmp(name, "from_address") == 0;
    }
    Py_DECREF(code);
    return is_found;
}

/* builtins.id */
static PyObject *
id(PyObject *module, PyObject *object)
{
    Identity *identity = identity_of(object);
    if (identity == NULL || is_asked_by_tool() || is_asked_for_address())
        return original_id(module, object);
    PyObject *number = id_of(object, identity);
    if (number != NULL && PySys_Audit("builtins.id", "O", number) < 0)
        Py_CLEAR(number);
    return number;
}

/* -- repr --------------------------------------------------------------------------------- */

static reprfunc repr_with_address;

static PyObject *
repr_of_object(PyObject *object)
{
    PyObject *text = repr_with_address(object);
    Identity *identity = text == NULL ? NULL : identity_of(object);
    if (identity == NULL)
        return text;
    PyObject *number = id_of(object, identity);
    PyObject *before = number == NULL ? NULL : PyUnicode_FromFormat("%p", (void *)object);
    PyObject *after = before == NULL ? NULL : PyNumber_ToBase(number, 16);
    Py_SETREF(text, after == NULL ? NULL : PyUnicode_Replace(text, before, after, -1));
    Py_XDECREF(number);
    Py_XDECREF(before);
    Py_XDECREF(after);
    return text;
}

/* -- taking over -------------------------------------------------------------------------- */

/* What a descriptor such as ``object.__hash__`` calls; -1: an exception is set. */
static int
exchange_in_descriptor(PyTypeObject *type, const char *name, void *function)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, name);
    if (descriptor == NULL)
        return -1;
    bool is_usual = Py_IS_TYPE(descriptor, &PyWrapperDescr_Type);
    if (is_usual)
        ((PyWrapperDescrObject *)descriptor)->d_wrapped = function;
    else
        PyErr_Format(PyExc_TypeError, "%R is no descriptor", descriptor);
    Py_DECREF(descriptor);
    return is_usual ? 0 : -1;
}

void
take_over_class(PyTypeObject *type)
{
    if (hash_of_address == NULL) {
        hash_of_address = PyBaseObject_Type.tp_hash;
        hash_of_method = PyMethod_Type.tp_hash;
        repr_with_address = PyBaseObject_Type.tp_repr;
    }
    if (type->tp_hash == hash_of_address)
        type->tp_hash = hash_of_object;
    else if (type->tp_hash == hash_of_method)
        type->tp_hash = hash_of_bound_method;
    if (type->tp_repr == repr_with_address)
        type->tp_repr = repr_of_object;
}

int
take_over_questions(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *function = builtins == NULL ? NULL : PyDict_GetItemString(builtins, "id");
    if (function == NULL || !PyCFunction_CheckExact(function) ||
        PyCFunction_GET_FLAGS(function) != METH_O) {
        PyErr_SetString(PyExc_TypeError, "id is not the builtin function");
        return -1;
    }
    told = PyDict_New();
    if (told == NULL ||
        exchange_in_descriptor(&PyBaseObject_Type, "__hash__", (void *)hash_of_object) < 0 ||
        exchange_in_descriptor(&PyMethod_Type, "__hash__", (void *)hash_of_bound_method) < 0 ||
        exchange_in_descriptor(&PyBaseObject_Type, "__repr__", (void *)repr_of_object) < 0)
        return -1;
    PyMethodDef *definition = ((PyCFunctionObject *)function)->m_ml;
    original_id = definition->ml_meth;
    definition->ml_meth = id;
    return 0;
}
