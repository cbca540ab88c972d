/* Numbers in memory that several processes share. */
#include "accelerator.h"
#include <stdint.h>

#ifdef __linux__
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

/* The number at an index of a buffer, which the caller releases; NULL with an exception set if there
 * is none. */
static int64_t *
shared_number(PyObject *memory, Py_ssize_t index, Py_ssize_t more, Py_buffer *view)
{
    if (PyObject_GetBuffer(memory, view, PyBUF_WRITABLE) < 0)
        return NULL;
    if (index < 0 || index + more >= view->len / (Py_ssize_t)sizeof(int64_t)) {
        PyErr_SetString(PyExc_IndexError, "there is no such number in this memory");
        PyBuffer_Release(view);
        return NULL;
    }
    return (int64_t *)view->buf + index;
}

/* add_shared(memory, index): add one to a number of 64 bits in a buffer, and return what it was,
 * at once for all who share the memory */
PyObject *
add_shared(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *memory;
    Py_ssize_t index;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "On", &memory, &index))
        return NULL;
    int64_t *number = shared_number(memory, index, 0, &view);
    if (number == NULL)
        return NULL;
    int64_t before = __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
    PyBuffer_Release(&view);
    return PyLong_FromLongLong(before);
}

#ifdef __linux__
/* Who waits until a number is as large as needed sleeps on its lower half, under the bit of what is
 * needed: whoever makes it that large wakes those, and nobody else.  The 32 numbers of 32 bits after
 * it say how many wait under each bit.  If one of them is killed its number stays too large, which
 * costs calls in vain and no more. */
#define BITS 32
#define AFTER (BITS * (Py_ssize_t)sizeof(uint32_t) / (Py_ssize_t)sizeof(int64_t))

static uint32_t *
waiting_for(int64_t *number, int64_t value)
{
    return (uint32_t *)(number + 1) + (value & (BITS - 1));
}

static uint32_t *
lower_half(int64_t *number)
{
    return (uint32_t *)number + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static uint32_t
bit_of(int64_t value)
{
    return (uint32_t)1 << (value & (BITS - 1));
}

/* add_and_wake(memory, index): add_shared, and wake who sleeps in wait_shared for just that */
PyObject *
add_and_wake(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *memory;
    Py_ssize_t index;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "On", &memory, &index))
        return NULL;
    int64_t *number = shared_number(memory, index, AFTER, &view);
    if (number == NULL)
        return NULL;
    int64_t before = __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST);
    /* Who begins to wait after this look sees what was added. */
    if (__atomic_load_n(waiting_for(number, before + 1), __ATOMIC_SEQ_CST) > 0)
        syscall(SYS_futex, lower_half(number), FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
                bit_of(before + 1));
    PyBuffer_Release(&view);
    return PyLong_FromLongLong(before);
}

/* Sleep until a number is as large as needed, or it is late: whether to look again, after a signal. */
static int
sleep_until(int64_t *number, int64_t needed, const struct timespec *end)
{
    for (;;) {
        int64_t now = __atomic_load_n(number, __ATOMIC_SEQ_CST);
        if (now >= needed)
            return 0;
        /* The kernel looks whether it is still so. */
        long done = syscall(SYS_futex, lower_half(number), FUTEX_WAIT_BITSET, (uint32_t)now, end,
                            NULL, bit_of(needed));
        if (done < 0 && errno == EINTR)
            return 1;
        if (done < 0 && errno != EAGAIN)
            return 0;
    }
}

/* wait_shared(memory, index, needed, seconds): wait until others have made a number as large as
 * needed with add_and_wake, so many seconds at most; whether it is */
PyObject *
wait_shared(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *memory;
    Py_ssize_t index;
    long long needed;
    double seconds;
    Py_buffer view;
    if (!PyArg_ParseTuple(arguments, "OnLd", &memory, &index, &needed, &seconds))
        return NULL;
    int64_t *number = shared_number(memory, index, AFTER, &view);
    if (number == NULL)
        return NULL;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t nanoseconds = end.tv_nsec + (int64_t)(seconds * 1e9);
    end.tv_sec += (time_t)(nanoseconds / 1000000000);
    end.tv_nsec = (long)(nanoseconds % 1000000000);
    int again = 1;
    __atomic_fetch_add(waiting_for(number, needed), 1, __ATOMIC_SEQ_CST);
    while (again) {
        Py_BEGIN_ALLOW_THREADS
        again = sleep_until(number, needed, &end);
        Py_END_ALLOW_THREADS
        if (again && PyErr_CheckSignals() < 0)
            break;
    }
    __atomic_fetch_sub(waiting_for(number, needed), 1, __ATOMIC_SEQ_CST);
    int enough = __atomic_load_n(number, __ATOMIC_SEQ_CST) >= needed;
    PyBuffer_Release(&view);
    return again ? NULL : PyBool_FromLong(enough);
}
#endif
