/* Variables that are attributes: found for the first time in an execution, and named.
 *
 * Fast paths of Variables.shadow_of_attribute, Execution._name_variable and what they call, see
 * bohrbug/runtime/threads/data. Common is: an instance of an ordinary class, which can be referenced
 * weakly, and which is never used as a whole.
 */
#include "scheduling.h"

enum { COUNTS, EXECUTION_OF, FORGET, KINDS, OWNERS_OF };
static Slot variables_slots[] = {
    [COUNTS] = {"_counts", 0}, [EXECUTION_OF] = {"_execution", 0}, [FORGET] = {"_forget", 0},
    [KINDS] = {"_kinds", 0}, [OWNERS_OF] = {"owners", 0}, {0},
};
enum {
    ATTRIBUTES, IDENTITY, IDENTITY_KEY, ITEMS, KIND, LABEL, NAME, PLACE, OWNER_VARIABLES, OWNER_WHOLE,
};
static Slot owner_slots[] = {
    [ATTRIBUTES] = {"attributes", 0}, [IDENTITY] = {"identity", 0},
    [IDENTITY_KEY] = {"identity_key", 0}, [ITEMS] = {"items", 0}, [KIND] = {"kind", 0},
    [LABEL] = {"label", 0}, [NAME] = {"name", 0}, [PLACE] = {"place", 0},
    [OWNER_VARIABLES] = {"variables", 0}, [OWNER_WHOLE] = {"whole", 0}, {0},
};
enum { HELD, IS_CONTAINER, IS_MODULE, IS_TYPE, TRACKED };
static Slot kind_parts[] = {
    [HELD] = {"held", 0}, [IS_CONTAINER] = {"is_container", 0}, [IS_MODULE] = {"is_module", 0},
    [IS_TYPE] = {"is_type", 0}, [TRACKED] = {"tracked", 0}, {0},
};
enum {
    CONTAINER, IS_ITEM, ITEM_READS, ITEM_WRITES, KEY, OWNER, READS, SHARED, SOLE, WRITES,
};
static Slot shadow_parts[] = {
    [CONTAINER] = {"container", 0}, [IS_ITEM] = {"is_item", 0}, [ITEM_READS] = {"item_reads", 0},
    [ITEM_WRITES] = {"item_writes", 0}, [KEY] = {"key", 0}, [OWNER] = {"owner", 0},
    [READS] = {"reads", 0}, [SHARED] = {"shared", 0}, [SOLE] = {"sole", 0},
    [WRITES] = {"writes", 0}, {0},
};
enum { VARIABLE_ID, VARIABLE_SHADOW };
static Slot variable_slots[] = {[VARIABLE_ID] = {"id", 0}, [VARIABLE_SHADOW] = {"shadow", 0}, {0}};
static Slot states_slots[] = {{"_states", 0}, {0}};
static Slot namespaces_slots[] = {{"_namespaces", 0}, {0}};

static PyTypeObject *variables_type, *passing_type, *weak_owner_type, *shadow_type, *variable_type, *file_type;
static PyObject *no_accesses;

#define OF_VARIABLES(name) slot_get(variables, variables_slots[name])
#define OF_OWNER(name) slot_get(owner, owner_slots[name])
#define SET_OWNER(name, value) slot_set(owner, owner_slots[name], value)
#define OF_SHADOW(name) slot_get(shadow, shadow_parts[name])
#define SET_SHADOW(name, value) slot_set(shadow, shadow_parts[name], value)

void
know_passing_variables(PyObject *type)
{
    passing_type = (PyTypeObject *)Py_NewRef(type);
}

/* Whether variables treat attributes of common objects as usual. */
static bool
is_usual(PyObject *variables)
{
    return Py_IS_TYPE(variables, variables_type) || Py_IS_TYPE(variables, passing_type);
}

/* The execution whose variables these are, borrowed; NULL: something else. */
static PyObject *
execution_of(PyObject *variables)
{
    PyObject *execution = OF_VARIABLES(EXECUTION_OF);
    return Py_IS_TYPE(execution, execution_type) ? execution : NULL;
}

/* -- finding --------------------------------------------------------------------------- */

/* What is known of the class of an object, if its attributes are common variables; borrowed, or NULL,
 * also with an exception. */
static PyObject *
common_kind(PyObject *variables, PyObject *target)
{
    PyTypeObject *type = Py_TYPE(target);
    PyObject *key = PyLong_FromVoidPtr(type);
    PyObject *kind = key == NULL ? NULL : PyDict_GetItemWithError(OF_VARIABLES(KINDS), key);
    Py_XDECREF(key);
    if (kind == NULL || type == file_type)
        return NULL;
    bool is_common = slot_get(kind, kind_parts[TRACKED]) == Py_True &&
                     slot_get(kind, kind_parts[HELD]) == Py_False &&
                     slot_get(kind, kind_parts[IS_MODULE]) == Py_False &&
                     slot_get(kind, kind_parts[IS_TYPE]) == Py_False;
    return is_common ? kind : NULL;
}

/* Variables._register; a new reference. */
static PyObject *
new_owner(PyObject *variables, PyObject *target, PyObject *kind, PyObject *place)
{
    PyObject *arguments[] = {target, OF_VARIABLES(FORGET)};
    PyObject *owner = PyObject_Vectorcall((PyObject *)weak_owner_type, arguments, 2, NULL);
    PyObject *identity = PyLong_FromVoidPtr(target);
    PyObject *attributes = PyDict_New(), *items = PyDict_New();
    bool is_made = owner != NULL && identity != NULL && attributes != NULL && items != NULL;
    if (is_made) {
        SET_OWNER(IDENTITY, identity);
        SET_OWNER(KIND, kind);
        SET_OWNER(LABEL, Py_None);
        SET_OWNER(OWNER_VARIABLES, variables);
        SET_OWNER(NAME, Py_None);
        SET_OWNER(PLACE, place);
        SET_OWNER(ATTRIBUTES, attributes);
        SET_OWNER(ITEMS, items);
        SET_OWNER(OWNER_WHOLE, Py_None);
        SET_OWNER(IDENTITY_KEY, Py_None);
        is_made = PyDict_SetItem(OF_VARIABLES(OWNERS_OF), identity, owner) == 0;
    }
    if (!is_made)
        Py_CLEAR(owner);
    Py_XDECREF(identity);
    Py_XDECREF(attributes);
    Py_XDECREF(items);
    return owner;
}

/* ``Shadow(owner, name, container, False, current.index)``, put in; a new reference. */
static PyObject *
new_shadow(PyObject *owner, PyObject *name, PyObject *task)
{
    PyObject *shadow = shadow_type->tp_alloc(shadow_type, 0);
    if (shadow == NULL)
        return NULL;
    bool is_container = slot_get(OF_OWNER(KIND), kind_parts[IS_CONTAINER]) == Py_True;
    SET_SHADOW(OWNER, owner);
    SET_SHADOW(KEY, name);
    SET_SHADOW(CONTAINER, is_container ? Py_None : OF_OWNER(OWNER_WHOLE));
    SET_SHADOW(IS_ITEM, Py_False);
    SET_SHADOW(SOLE, TASK(task, INDEX));
    SET_SHADOW(SHARED, Py_False);
    SET_SHADOW(READS, no_accesses);
    SET_SHADOW(WRITES, no_accesses);
    SET_SHADOW(ITEM_READS, no_accesses);
    SET_SHADOW(ITEM_WRITES, no_accesses);
    if (PyDict_SetItem(OF_OWNER(ATTRIBUTES), name, shadow) < 0)
        Py_CLEAR(shadow);
    return shadow;
}

/* Variables.shadow_of_attribute; a new reference; NULL, without an exception: a rare case. */
PyObject *
attribute_shadow(PyObject *variables, PyObject *target, PyObject *name, PyObject *place)
{
    PyObject *execution =
        is_usual(variables) && PyUnicode_CheckExact(name) ? execution_of(variables) : NULL;
    PyObject *kind = execution == NULL ? NULL : common_kind(variables, target);
    PyObject *identity = kind == NULL ? NULL : PyLong_FromVoidPtr(target);
    if (identity == NULL)
        return NULL;
    PyObject *owner = Py_XNewRef(PyDict_GetItemWithError(OF_VARIABLES(OWNERS_OF), identity));
    Py_DECREF(identity);
    if (owner == NULL && !PyErr_Occurred())
        owner = new_owner(variables, target, kind, place);
    if (owner == NULL)
        return NULL;
    PyObject *shadow = NULL;
    if (Py_IS_TYPE(owner, weak_owner_type)) {
        shadow = Py_XNewRef(PyDict_GetItemWithError(OF_OWNER(ATTRIBUTES), name));
        if (shadow == NULL && !PyErr_Occurred())
            shadow = new_shadow(owner, name, running_task(execution));
    }
    Py_DECREF(owner);
    return shadow;
}

/* -- naming ---------------------------------------------------------------------------- */

/* Owner.resource_id and Variables.next_name; borrowed. */
static PyObject *
name_of_owner(PyObject *owner, PyObject *variables, PyObject *task)
{
    if (OF_OWNER(NAME) != Py_None)
        return OF_OWNER(NAME);
    PyObject *counts = OF_VARIABLES(COUNTS), *index = TASK(task, INDEX);
    PyObject *last = PyDict_GetItemWithError(counts, index);
    if (last == NULL && PyErr_Occurred())
        return NULL;
    Py_ssize_t number = last == NULL ? 0 : int_value(last) + 1;
    PyObject *count = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(number);
    PyObject *name = NULL;
    if (count != NULL && PyDict_SetItem(counts, index, count) == 0)
        name = shared_part(TASK(task, ID), ':', number);
    Py_XDECREF(count);
    if (name == NULL)
        return NULL;
    SET_OWNER(NAME, name);
    Py_DECREF(name);
    return name;
}

/* Whether names_of would give the variable no container, and change nothing, for sure. */
static int
is_common_variable(PyObject *self, PyObject *shadow)
{
    PyObject *owner = OF_SHADOW(OWNER);
    if (!Py_IS_TYPE(shadow, shadow_type) || !Py_IS_TYPE(owner, weak_owner_type) ||
        OF_SHADOW(IS_ITEM) != Py_False || !PyUnicode_CheckExact(OF_SHADOW(KEY)) ||
        !Py_IS_TYPE(OF_OWNER(OWNER_VARIABLES), variables_type) ||
        execution_of(OF_OWNER(OWNER_VARIABLES)) != self)
        return 0;
    if (slot_get(OF_OWNER(KIND), kind_parts[IS_CONTAINER]) != Py_False)
        return 1;
    /* By which name a class would be found there, Python knows. */
    return PySet_GET_SIZE(slot_get(self, namespaces_slots[0])) == 0;
}

/* ``ResourceTable.add_variable`` */
static int
add_variable(PyObject *self, PyObject *id, PyObject *shadow)
{
    PyObject *state = variable_type->tp_alloc(variable_type, 0);
    if (state == NULL)
        return -1;
    slot_set(state, variable_slots[VARIABLE_ID], id);
    slot_set(state, variable_slots[VARIABLE_SHADOW], shadow);
    int result = PyList_Append(slot_get(EXECUTION(RESOURCES), states_slots[0]), state);
    Py_DECREF(state);
    return result;
}

/* Execution._name_variable; borrowed; NULL, without an exception: a rare case. */
PyObject *
name_variable(PyObject *self, PyObject *identity, PyObject *shadow)
{
    if (variables_type == NULL || !Py_IS_TYPE(self, execution_type) ||
        !is_common_variable(self, shadow))
        return NULL;
    PyObject *owner = OF_SHADOW(OWNER);
    PyObject *name = name_of_owner(owner, OF_OWNER(OWNER_VARIABLES), EXECUTION(CURRENT));
    PyObject *id = name == NULL ? NULL : shared_attribute(name, OF_SHADOW(KEY));
    PyObject *names = id == NULL ? NULL : PyTuple_Pack(3, id, Py_None, shadow);
    if (names != NULL && (PyDict_SetItem(EXECUTION(VARIABLES), identity, names) < 0 ||
                          add_variable(self, id, shadow) < 0))
        Py_CLEAR(names);
    Py_XDECREF(id);
    Py_XDECREF(names); /* the execution keeps it */
    return names;
}

/* use_variables(Execution, ResourceTable, Variables, WeakOwner, Kind, Shadow, VariableState, File,
 * NO_ACCESSES) */
PyObject *
use_variables(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *execution, *table, *variables, *owner, *kind, *shadow, *variable, *file, *accesses;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOO", &execution, &table, &variables, &owner, &kind,
                          &shadow, &variable, &file, &accesses) ||
        find_slots(execution, namespaces_slots) < 0 || find_slots(table, states_slots) < 0 ||
        find_slots(variables, variables_slots) < 0 || find_slots(owner, owner_slots) < 0 ||
        find_slots(kind, kind_parts) < 0 || find_slots(shadow, shadow_parts) < 0 ||
        find_slots(variable, variable_slots) < 0)
        return NULL;
    /* They live as long as the process. */
    no_accesses = Py_NewRef(accesses);
    weak_owner_type = (PyTypeObject *)Py_NewRef(owner);
    shadow_type = (PyTypeObject *)Py_NewRef(shadow);
    variable_type = (PyTypeObject *)Py_NewRef(variable);
    file_type = (PyTypeObject *)Py_NewRef(file);
    variables_type = (PyTypeObject *)Py_NewRef(variables);
    Py_RETURN_NONE;
}
