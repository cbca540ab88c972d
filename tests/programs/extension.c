/* Classes as extension modules have them, and no table knows.
 *
 * Cells of three of them whose author has named no module: of one that is static, of one that is
 * made as the binding generators for Rust do it, and of one that says nothing at all.  Handles,
 * which are compared by the number that they hold, and can be changed.  A function that remembers
 * its result, and can be a method.  What asks a function when it is first used.  Proxies, numbers, and
 * records in an array.  Cursors, which work on a handle, a bound method, and an iterator.  What SWIG
 * makes: it can be referenced weakly, and leaves such references behind. */
#include <Python.h>
#include <stddef.h>

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

static Py_hash_t
hash(PyObject *self)
{
    return ((Cell *)self)->value;
}

static PyObject *
compare(PyObject *self, PyObject *other, int how)
{
    if (Py_TYPE(self) != Py_TYPE(other))
        Py_RETURN_NOTIMPLEMENTED;
    long one = ((Cell *)self)->value, another = ((Cell *)other)->value;
    Py_RETURN_RICHCOMPARE(one, another, how);
}

static PyMethodDef methods_of_handles[] = {
    {"get", get, METH_NOARGS, NULL},
    {"set_number", set, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Handle = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Handle",
    .tp_basicsize = sizeof(Cell),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods_of_handles,
    .tp_new = PyType_GenericNew,
    .tp_hash = hash,
    .tp_richcompare = compare,
};

typedef struct {
    PyObject_HEAD
    PyObject *function, *result;
} Remembered;

static PyObject *
remember(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    PyObject *function = NULL;
    if (!PyArg_ParseTuple(arguments, "|O", &function))
        return NULL;
    Remembered *made = (Remembered *)type->tp_alloc(type, 0);
    if (made != NULL)
        made->function = Py_XNewRef(function);
    return (PyObject *)made;
}

static PyObject *
call(PyObject *self, PyObject *Py_UNUSED(arguments), PyObject *Py_UNUSED(keywords))
{
    Remembered *known = (Remembered *)self;
    if (known->result == NULL) {
        PyObject *result = PyObject_CallNoArgs(known->function);
        if (result == NULL)
            return NULL;
        Py_XSETREF(known->result, result);
    }
    return Py_NewRef(known->result);
}

static PyObject *
bind(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL ? Py_NewRef(self) : PyMethod_New(self, object);
}

static void
forget(PyObject *self)
{
    Py_XDECREF(((Remembered *)self)->function);
    Py_XDECREF(((Remembered *)self)->result);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject RememberedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Remembered",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = remember,
    .tp_call = call,
    .tp_descr_get = bind,
    .tp_dealloc = forget,
};

/* What can be combined with numbers, and changed by that. */
static long
number_of(PyObject *object)
{
    return PyLong_Check(object) ? PyLong_AsLong(object) : ((Cell *)object)->value;
}

static PyObject *
add(PyObject *one, PyObject *other)
{
    return PyLong_FromLong(number_of(one) + number_of(other));
}

static PyObject *
add_in_place(PyObject *self, PyObject *other)
{
    ((Cell *)self)->value += number_of(other);
    return Py_NewRef(self);
}

static PyObject *
compare_with_number(PyObject *self, PyObject *other, int how)
{
    long one = number_of(self), another = number_of(other);
    Py_RETURN_RICHCOMPARE(one, another, how);
}

static PyObject *
iterate(PyObject *self)
{
    PyObject *numbers = Py_BuildValue("(l)", ((Cell *)self)->value);
    if (numbers == NULL)
        return NULL;
    PyObject *iterator = PyObject_GetIter(numbers);
    Py_DECREF(numbers);
    return iterator;
}

static PyObject *
as_int(PyObject *self)
{
    return get(self, NULL);
}

static PyNumberMethods operators = {
    .nb_add = add,
    .nb_inplace_add = add_in_place,
    .nb_int = as_int,
};

static PyTypeObject Number = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Number",
    .tp_basicsize = sizeof(Cell),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods,
    .tp_new = PyType_GenericNew,
    .tp_as_number = &operators,
    .tp_richcompare = compare_with_number,
    .tp_iter = iterate,
};

/* What is made when it is first asked for: an attribute, an item, or what the class describes. */
static PyObject *
attribute(PyObject *self, PyObject *Py_UNUSED(name))
{
    return call(self, NULL, NULL);
}

static PyObject *
described(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL ? Py_NewRef(self) : call(self, NULL, NULL);
}

static PyMappingMethods items = {.mp_subscript = attribute};

static PyTypeObject Lazy = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Lazy",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = remember,
    .tp_getattro = attribute,
    .tp_as_mapping = &items,
    .tp_descr_get = described,
    .tp_dealloc = forget,
};

/* What stands for another object, as the proxies of wrapt do. */
static PyObject *
wrapped(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *object = ((Remembered *)self)->function;
    if (object == NULL)
        PyErr_SetString(PyExc_ValueError, "it stands for nothing yet");
    return Py_XNewRef(object);
}

static PyObject *
attributes_of_wrapped(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *object = wrapped(self, NULL);
    PyObject *attributes = object == NULL ? NULL : PyObject_GetAttrString(object, "__dict__");
    Py_XDECREF(object);
    return attributes;
}

/* What other proxies do in __init__. */
static PyObject *
begin(PyObject *self, PyObject *object)
{
    Py_XSETREF(((Remembered *)self)->function, Py_NewRef(object));
    Py_RETURN_NONE;
}

static PyMethodDef methods_of_proxies[] = {
    {"begin", begin, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *
attribute_of_wrapped(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0)
        return wrapped(self, NULL);
    if (PyUnicode_CompareWithASCIIString(name, "begin") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((Remembered *)self)->function, name);
}

static int
set_attribute_of_wrapped(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Remembered *)self)->function, name, value);
}

static Py_ssize_t
length_of_wrapped(PyObject *self)
{
    return PyObject_Length(((Remembered *)self)->function);
}

static PyMappingMethods items_of_wrapped = {.mp_length = length_of_wrapped};

static PyGetSetDef computed[] = {
    {"__wrapped__", wrapped, NULL, NULL, NULL},
    {"__dict__", attributes_of_wrapped, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Proxy = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "_wrappers.ObjectProxy",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = remember,
    .tp_methods = methods_of_proxies,
    .tp_getset = computed,
    .tp_getattro = attribute_of_wrapped,
    .tp_setattro = set_attribute_of_wrapped,
    .tp_as_mapping = &items_of_wrapped,
    .tp_dealloc = forget,
};

/* A record in an array, as numpy has them: what it is a view of, and of which kind it is, say two
 * classes.  Here the array is a cell. */
static PyObject *
interface(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    return PyDict_New();
}

static PyGetSetDef of_arrays[] = {
    {"__array_interface__", interface, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Generic = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Generic",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = remember,
    .tp_getset = of_arrays,
    .tp_dealloc = forget,
};

static PyObject *
get_in_array(PyObject *self, PyObject *ignored)
{
    return get(((Remembered *)self)->function, ignored);
}

static PyObject *
set_in_array(PyObject *self, PyObject *value)
{
    return set(((Remembered *)self)->function, value);
}

static PyMethodDef methods_of_records[] = {
    {"get", get_in_array, METH_NOARGS, NULL},
    {"set", set_in_array, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef of_records[] = {
    {"base", wrapped, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Record = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Record",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_base = &Generic,
    .tp_new = remember,
    .tp_methods = methods_of_records,
    .tp_getset = of_records,
    .tp_dealloc = forget,
};

/* What works on another object, as the cursors of a database do, and tells the garbage collector. */
static int
traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Remembered *)self)->function);
    return 0;
}

static void
forget_held(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    forget(self);
}

static PyObject *
value_of_held(PyObject *self, void *Py_UNUSED(closure))
{
    return get_in_array(self, NULL);
}

/* What it has no descriptor for. */
static PyObject *
found_by_cursor(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "found") == 0)
        return get_in_array(self, NULL);
    return PyObject_GenericGetAttr(self, name);
}

static PyGetSetDef of_cursors[] = {
    {"value", value_of_held, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Cursor = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Cursor",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = remember,
    .tp_methods = methods_of_records,
    .tp_getset = of_cursors,
    .tp_getattro = found_by_cursor,
    .tp_traverse = traverse,
    .tp_dealloc = forget_held,
};

/* A method that is bound, as nanobind makes it. */
static PyObject *
count_held(PyObject *self, PyObject *Py_UNUSED(arguments), PyObject *Py_UNUSED(keywords))
{
    return PyLong_FromLong(++((Cell *)((Remembered *)self)->function)->value);
}

static PyTypeObject BoundMethod = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "nanobind.nb_bound_method",
    .tp_basicsize = sizeof(Remembered),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = remember,
    .tp_call = count_held,
    .tp_traverse = traverse,
    .tp_dealloc = forget_held,
};

/* An iterator that has a method for what iterators do, as Cython makes it. */
static PyObject *
next_number(PyObject *self)
{
    return PyLong_FromLong(++((Cell *)self)->value);
}

static PyObject *
call_next(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return next_number(self);
}

static PyMethodDef methods_of_numbers[] = {
    {"get", get, METH_NOARGS, NULL},
    {"__next__", call_next, METH_NOARGS | METH_COEXIST, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Numbers = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "extension.Numbers",
    .tp_basicsize = sizeof(Cell),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods_of_numbers,
    .tp_new = PyType_GenericNew,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = next_number,
};

typedef struct {
    Cell cell;
    PyObject *weak_references;
} Wrapped;

static PyTypeObject OfSwig = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "swig_runtime_data.SwigPyObject",
    .tp_basicsize = sizeof(Wrapped),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods,
    .tp_new = PyType_GenericNew,
    .tp_weaklistoffset = offsetof(Wrapped, weak_references),
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "extension",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit_extension(void)
{
    PyTypeObject *types[] = {
        &Static, &Handle, &RememberedType, &Lazy, &Proxy, &Number, &Record, &OfSwig,
        &Cursor, &BoundMethod, &Numbers,
    };
    const char *names[] = {
        "Static", "Handle", "Remembered", "Lazy", "Proxy", "Number", "Record", "OfSwig",
        "Cursor", "BoundMethod", "Numbers",
    };
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (PyType_Ready(types[i]) < 0
            || PyModule_AddObjectRef(made, names[i], (PyObject *)types[i]) < 0)
            return NULL;
    if (PyModule_AddObjectRef(made, "Builtin", PyType_FromSpec(&builtin)) < 0
        || PyModule_AddObjectRef(made, "Silent", PyType_FromSpec(&silent)) < 0)
        return NULL;
    return made;
}
