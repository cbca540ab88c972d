/* Descriptors that a task may have to wait for. */
#ifndef BOHRBUG_DESCRIPTORS_H
#define BOHRBUG_DESCRIPTORS_H

#include <stdbool.h>

#include "segment.h"

/* Whether a task that waits for descriptors can go on. */
bool descriptors_ready(struct task *task);

#endif
