/* The numbers by which executions are sampled: the checksums that bohrbug/runtime/threads/sampling.py
 * makes of choices, without writing them down first.
 */
#include "accelerator.h"
#include <stdint.h>

/* CRC-32, as zlib computes it, by bytes. */
static uint32_t table[256];

static void
fill_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++)
            remainder = (remainder >> 1) ^ (remainder & 1 ? 0xEDB88320u : 0);
        table[byte] = remainder;
    }
}

static inline uint32_t
with_byte(uint32_t checksum, unsigned char byte)
{
    return (checksum >> 8) ^ table[(checksum ^ byte) & 0xFF];
}

/* A type code of the format of ``marshal``, version 0, and the number that follows it. */
static uint32_t
with_head(uint32_t checksum, char code, uint32_t number)
{
    checksum = with_byte(checksum, (unsigned char)code);
    for (int shift = 0; shift < 32; shift += 8)
        checksum = with_byte(checksum, (unsigned char)(number >> shift));
    return checksum;
}

/* Take one choice in; false: one that is written in another way, or an exception is set. */
static bool
take_choice(uint32_t *checksum, PyObject *choice)
{
    if (PyUnicode_CheckExact(choice) && PyUnicode_IS_ASCII(choice)) {
        Py_ssize_t length = PyUnicode_GET_LENGTH(choice);
        const Py_UCS1 *text = PyUnicode_1BYTE_DATA(choice);
        if (length > INT32_MAX)
            return false;
        uint32_t sum = with_head(*checksum, 'u', (uint32_t)length);
        for (Py_ssize_t i = 0; i < length; i++)
            sum = with_byte(sum, text[i]);
        *checksum = sum;
        return true;
    }
    if (PyLong_CheckExact(choice)) {
        int overflow;
        long long value = PyLong_AsLongLongAndOverflow(choice, &overflow);
        if (overflow || value < INT32_MIN || value > INT32_MAX)
            return false;
        *checksum = with_head(*checksum, 'i', (uint32_t)(int32_t)value);
        return true;
    }
    return false;
}

/* checksum_of(choices, seed, are_rows): see ``number_of``; None: there is a choice of another kind
 *
 *     choices: a list or tuple of them, or of rows that begin with them
 */
PyObject *
checksum_of(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !(PyList_CheckExact(arguments[0]) || PyTuple_CheckExact(arguments[0]))) {
        PyErr_SetString(PyExc_TypeError, "checksum_of() takes a list or tuple, a seed and a flag");
        return NULL;
    }
    unsigned long seed = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred())
        return NULL;
    bool are_rows = arguments[2] == Py_True;
    if (table[1] == 0)
        fill_table();
    Py_ssize_t length = PySequence_Fast_GET_SIZE(arguments[0]);
    PyObject **choices = PySequence_Fast_ITEMS(arguments[0]);
    if (length > INT32_MAX)
        Py_RETURN_NONE;
    uint32_t checksum = ~(uint32_t)seed;
    /* What is in rows would be put together in a list. */
    checksum = with_head(checksum, are_rows || PyList_CheckExact(arguments[0]) ? '[' : '(',
                         (uint32_t)length);
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *choice = choices[i];
        if (are_rows) {
            if (!PyTuple_Check(choice) || PyTuple_GET_SIZE(choice) == 0)
                Py_RETURN_NONE;
            choice = PyTuple_GET_ITEM(choice, 0);
        }
        if (!take_choice(&checksum, choice))
            Py_RETURN_NONE;
    }
    return PyLong_FromUnsignedLong(~checksum & 0xFFFFFFFFu);
}
