/* What the policies in C share. */
#ifndef BOHRBUG_DECIDERS_H
#define BOHRBUG_DECIDERS_H

#include "scheduling.h"

/* Whether an object is a task of an execution in this process. */
static inline bool
is_task(PyObject *object)
{
    return task_type != NULL && Py_IS_TYPE(object, task_type);
}

/* Whether the point of an operation is in a set; -1: exception */
int is_among_points(PyObject *operation, PyObject *points);
/* The next number of a ``random.Random``, from 0 to 1; -1: exception */
double draw(PyObject *random);

#endif
