/* Which objects only we still hold; see held_only_by_us in bohrbug/runtime/threads/data/owners.py. */
#include "accelerator.h"

/* held_only_by_us(held): a dict of HeldOwners, which all have one type. */
PyObject *
held_only_by_us(PyObject *Py_UNUSED(module), PyObject *held)
{
    static Slot slots[] = {{"object", 0}, {0}};
    static PyTypeObject *type;
    if (!PyDict_Check(held)) {
        PyErr_SetString(PyExc_TypeError, "not a dict");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    PyObject *identity, *owner;
    Py_ssize_t place = 0;
    while (found != NULL && PyDict_Next(held, &place, &identity, &owner)) {
        if (type != Py_TYPE(owner)) {
            if (find_slots((PyObject *)Py_TYPE(owner), slots) < 0) {
                Py_CLEAR(found);
                break;
            }
            type = Py_TYPE(owner);
        }
        PyObject *object = slot_get(owner, slots[0]);
        if (object != NULL && Py_REFCNT(object) == 1 && PyList_Append(found, owner) < 0)
            Py_CLEAR(found);
    }
    return found;
}
