/* Making a resource. */
#include "threads.h"

enum { CLOCK, CREATED, GIVEN_LABEL, SERIAL, STATE_NAME, TYPE };
static Slot resource_slots[] = {
    [CLOCK] = {"clock", 0}, [CREATED] = {"created", 0}, [GIVEN_LABEL] = {"given_label", 0},
    [SERIAL] = {"serial", 0}, [STATE_NAME] = {"id", 0},
    [TYPE] = {"type", 0}, {0},
};
enum { NAMED, STATES };
static Slot table_parts[] = {[NAMED] = {"_named", 0}, [STATES] = {"_states", 0}, {0}};

static PyTypeObject *state_type;
static PyObject *text_thread_type;

/* ResourceState(...) in a table; a new reference, or NULL, also if the id is NULL. */
static PyObject *
add_state(PyObject *table, PyObject *id, PyObject *type, PyObject *created, PyObject *label,
          PyObject *serial)
{
    PyObject *state = id == NULL ? NULL : state_type->tp_alloc(state_type, 0);
    if (state == NULL)
        return NULL;
    slot_set(state, resource_slots[STATE_NAME], id);
    slot_set(state, resource_slots[TYPE], type);
    slot_set(state, resource_slots[CREATED], created);
    slot_set(state, resource_slots[GIVEN_LABEL], label);
    slot_set(state, resource_slots[SERIAL], serial);
    slot_set(state, resource_slots[CLOCK], Py_None);
    if (PyList_Append(slot_get(table, table_parts[STATES]), state) < 0)
        Py_CLEAR(state);
    return state;
}

PyObject *
thread_resource(PyObject *table, PyObject *task_id)
{
    PyObject *named = slot_get(table, table_parts[NAMED]);
    PyObject *known = PyDict_GetItemWithError(named, task_id);
    if (known != NULL || PyErr_Occurred())
        return Py_XNewRef(known);
    PyObject *label = shared_thread_label(task_id);
    PyObject *state =
        label == NULL ? NULL : add_state(table, task_id, text_thread_type, Py_None, label, zero);
    Py_XDECREF(label);
    if (state != NULL && PyDict_SetItem(named, task_id, state) < 0)
        Py_CLEAR(state);
    return state;
}

PyObject *
new_resource(PyObject *self, PyObject *type, PyObject *created)
{
    PyObject *task = EXECUTION(CURRENT), *table = EXECUTION(RESOURCES);
    Py_ssize_t before = slot_int(task, thread_slots[RESOURCES_MADE]);
    PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(before + 1);
    if (number == NULL)
        return NULL;
    PyObject *id = shared_part(TASK(task, ID), ':', before);
    PyObject *serial = slot_get(table, table_slots[TABLE_SERIAL]);
    PyObject *state = add_state(table, id, type, created, no_text, serial);
    if (state != NULL)
        SET_OF_TASK(RESOURCES_MADE, number);
    Py_XDECREF(id);
    Py_DECREF(number);
    return state;
}

int
know_resources(PyObject *state, PyObject *table)
{
    if (find_slots(state, resource_slots) < 0 || find_slots(table, table_parts) < 0)
        return -1;
    state_type = (PyTypeObject *)Py_NewRef(state);
    text_thread_type = PyUnicode_InternFromString("Thread");
    return text_thread_type == NULL ? -1 : 0;
}
