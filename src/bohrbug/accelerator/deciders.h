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

/* How the point of an operation is found: ``site.point_of``. */
void know_points(PyObject *function);
/* Whether the point of an operation is in a set; -1: exception */
int is_among_points(PyObject *operation, PyObject *points);

/* What is known of the places of one set of tasks, most of which wait at the same few. It must not
 * outlive the step: only the tasks keep the places alive. */
enum { KNOWN_PLACES = 16 };
typedef struct {
    PyObject *place[KNOWN_PLACES];
    int found[KNOWN_PLACES];
} KnownPlaces;
/* The same as is_among_points, for one set of points all the time. */
int is_among_known(KnownPlaces *known, PyObject *operation, PyObject *points);
/* The next number of a ``random.Random``, from 0 to 1; -1: exception */
double draw(PyObject *random);

/* A method of a decider with one argument. */
#define TWIN(name, function) {{name, function, METH_O, "See the method in Python."}, NULL}
/* What its method in Python does, as this is no common case. */
PyObject *by_reference(const Twin *twin, PyObject *self, PyObject *argument);
/* Put the twins of a class of deciders in their places; None. */
PyObject *use_decider(PyObject *decider, Slot *slots, Twin *twins);

#endif
