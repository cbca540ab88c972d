/* Which memory several threads access, one of them writing: where a trap may catch a race. */
#ifndef BOHRBUG_DELAYS_SHARING_H
#define BOHRBUG_DELAYS_SHARING_H

#include "cue.h"

/* A thread is about to access memory; whether others have, and somebody writes. */
bool note_access(const struct slot *slot, const struct point *point);

#endif
