/* The state of a generator of random numbers, copied as memory: seeding one takes much longer.
 *
 * That a generator looks like this in memory is found out at run time, see
 * bohrbug/exploration/seeding.py.
 */
#include "accelerator.h"
#include <stdint.h>
#include <string.h>

enum { WORDS = 624 };

/* How _random.Random begins. */
typedef struct {
    PyObject_HEAD
    int index;
    uint32_t words[WORDS];
} Generator;
enum { STATE_SIZE = sizeof(int) + WORDS * sizeof(uint32_t) };

static bool
is_large_enough(PyObject *generator)
{
    if (Py_TYPE(generator)->tp_basicsize >= (Py_ssize_t)sizeof(Generator))
        return true;
    PyErr_SetString(PyExc_TypeError, "not a generator of random numbers");
    return false;
}

/* generator_state(generator): its memory, as bytes: the index and the words */
PyObject *
generator_state(PyObject *Py_UNUSED(module), PyObject *generator)
{
    if (!is_large_enough(generator))
        return NULL;
    return PyBytes_FromStringAndSize((const char *)&((Generator *)generator)->index, STATE_SIZE);
}

/* set_generator_state(generator, state) */
PyObject *
set_generator_state(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *generator, *state;
    if (!PyArg_ParseTuple(arguments, "OS", &generator, &state) || !is_large_enough(generator))
        return NULL;
    if (PyBytes_GET_SIZE(state) != STATE_SIZE) {
        PyErr_SetString(PyExc_ValueError, "not a state of a generator");
        return NULL;
    }
    memcpy(&((Generator *)generator)->index, PyBytes_AS_STRING(state), STATE_SIZE);
    Py_RETURN_NONE;
}
