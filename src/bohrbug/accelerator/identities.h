/* Numbers for objects that an execution makes; see identities.c. */
#ifndef BOHRBUG_IDENTITIES_H
#define BOHRBUG_IDENTITIES_H

#include "accelerator.h"

/* What an object is known by, in place of its address. */
typedef struct {
    const void *object;  /* not owned; NULL: a free place */
    uint64_t number;     /* of its birth; its hash is made of it */
    uint64_t id;         /* what ``id()`` has said; 0: nobody has asked */
    bool is_told;        /* somebody knows it: it stays what it is while the object lives */
    bool is_living;      /* its end would have been seen; else it may have died */
} Identity;

/* -- identities.c ---------------------------------------------------------------- */

/* What an object is known by; NULL: its address. */
Identity *identity_of(PyObject *object);
/* An object has been made: it is known by a number if an execution has made it. ``end_is_seen``:
 * note_end will be called for it. */
void note_birth(PyObject *object, const char *class_name, bool end_is_seen);
/* It is no more. */
void note_end(const void *object);

/* -- asking.c -------------------------------------------------------------------- */

/* Let ``hash``, ``id`` and ``repr`` say what is known of objects; -1: an exception is set. */
int take_over_questions(void);
/* Let the same questions about objects of a class be answered so. */
void take_over_class(PyTypeObject *type);

#endif
