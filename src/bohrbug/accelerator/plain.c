/* Making objects of plain classes: those with slots whose __init__ only stores what it is given.
 *
 * A call of such a class goes through half a dozen functions of the interpreter and a frame of
 * Python. Here it allocates the object and fills its slots; what stores where, plain.py has found
 * out. Calls that are wrong in any way are left to the class, which raises the usual errors.
 */
#include "accelerator.h"

enum { MOST_CLASSES = 64, MOST_ITEMS = 24 };

/* Where what is in a slot comes from. */
typedef struct {
    Py_ssize_t offset;
    int parameter;   /* the argument with this number; -1: another value */
    PyObject *value; /* this object; a class: a new object of it */
} Fill;

typedef struct {
    PyTypeObject *type;
    Py_ssize_t fill_count, parameter_count, positional_count;
    Fill fills[MOST_ITEMS];
    PyObject *parameters; /* their names */
    PyObject *defaults;   /* of the last parameters */
} Plain;

static Plain classes[MOST_CLASSES];
static size_t class_count;

/* An argument that is not given: its default, borrowed; NULL: it must be given. */
static PyObject *
default_of(const Plain *plain, Py_ssize_t parameter)
{
    Py_ssize_t first = plain->parameter_count - PyTuple_GET_SIZE(plain->defaults);
    return parameter < first ? NULL : PyTuple_GET_ITEM(plain->defaults, parameter - first);
}

/* Put the arguments of a call in order, borrowed; false: not a call that is expected.
 *
 * Which of them are defaults is told apart: a class that a caller gives stands for itself. */
static bool
arrange(const Plain *plain, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
        PyObject **given, bool *is_default)
{
    if (count > plain->positional_count)
        return false;
    for (Py_ssize_t i = 0; i < plain->parameter_count; i++) {
        given[i] = i < count ? arguments[i] : NULL;
        is_default[i] = false;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        Py_ssize_t at = count;
        while (at < plain->parameter_count &&
               PyTuple_GET_ITEM(plain->parameters, at) != PyTuple_GET_ITEM(names, i))
            at++;
        if (at == plain->parameter_count)
            return false;
        given[at] = arguments[count + i];
    }
    for (Py_ssize_t i = count; i < plain->parameter_count; i++)
        if (given[i] == NULL) {
            is_default[i] = true;
            if ((given[i] = default_of(plain, i)) == NULL)
                return false;
        }
    return true;
}

static PyObject *
call_as_usual(PyObject *type, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *positional = PyTuple_New(count), *named = names == NULL ? NULL : PyDict_New();
    bool is_complete = positional != NULL && (names == NULL || named != NULL);
    for (Py_ssize_t i = 0; is_complete && i < count; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(arguments[i]));
    for (Py_ssize_t i = 0; is_complete && names != NULL && i < PyTuple_GET_SIZE(names); i++)
        is_complete = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), arguments[count + i]) == 0;
    PyObject *made = is_complete ? PyType_Type.tp_call(type, positional, named) : NULL;
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return made;
}

/* Calling a plain class */
static PyObject *
make(PyObject *type, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    const Plain *plain = classes, *end = classes + class_count;
    while (plain < end && plain->type != (PyTypeObject *)type)
        plain++;
    PyObject *given[MOST_ITEMS];
    bool is_default[MOST_ITEMS];
    if (plain == end || !arrange(plain, arguments, count, names, given, is_default))
        return call_as_usual(type, arguments, count, names);
    PyObject *made = plain->type->tp_alloc(plain->type, 0);
    for (Py_ssize_t i = 0; made != NULL && i < plain->fill_count; i++) {
        const Fill *fill = &plain->fills[i];
        PyObject *value = fill->parameter < 0 ? fill->value : given[fill->parameter];
        bool may_be_new = fill->parameter < 0 || is_default[fill->parameter];
        value = !may_be_new                         ? Py_NewRef(value)
                : value == (PyObject *)&PyDict_Type ? PyDict_New()
                : value == (PyObject *)&PyList_Type ? PyList_New(0)
                : value == (PyObject *)&PySet_Type  ? PySet_New(NULL)
                                                    : Py_NewRef(value);
        if (value == NULL)
            Py_CLEAR(made);
        else
            *(PyObject **)((char *)made + fill->offset) = value;
    }
    return made;
}

/* use_plain(class, parameters, positional, defaults, slots)
 *
 *     parameters: their names
 *     positional: how many of them may be given without their name
 *     defaults: of the last parameters
 *     slots: of each, what is in it: the name, the number of a parameter or -1, and a value
 *
 * A value or default that is ``dict``, ``list`` or ``set`` stands for a new, empty one.
 */
PyObject *
use_plain(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *cls, *parameters, *defaults, *slots;
    Py_ssize_t positional;
    if (!PyArg_ParseTuple(arguments, "O!O!nO!O!", &PyType_Type, &cls, &PyTuple_Type, &parameters,
                          &positional, &PyTuple_Type, &defaults, &PyTuple_Type, &slots))
        return NULL;
    if (class_count == MOST_CLASSES || PyTuple_GET_SIZE(parameters) > MOST_ITEMS ||
        PyTuple_GET_SIZE(slots) > MOST_ITEMS)
        return PyErr_Format(PyExc_TypeError, "too many plain classes, or too much in %R", cls);
    Plain *plain = &classes[class_count];
    *plain = (Plain){(PyTypeObject *)cls, PyTuple_GET_SIZE(slots), PyTuple_GET_SIZE(parameters),
                     positional, {{0}}, parameters, defaults};
    for (Py_ssize_t i = 0; i < plain->fill_count; i++) {
        Slot found[] = {{NULL, 0}, {0}};
        Fill *fill = &plain->fills[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(slots, i), "siO", &found[0].name, &fill->parameter,
                              &fill->value) ||
            find_slots(cls, found) < 0)
            return NULL;
        fill->offset = found[0].offset;
    }
    class_count++;
    /* They live as long as the process, and what is in ``slots`` with them. */
    Py_INCREF(cls);
    Py_INCREF(parameters);
    Py_INCREF(defaults);
    Py_INCREF(slots);
    ((PyTypeObject *)cls)->tp_vectorcall = make;
    Py_RETURN_NONE;
}
