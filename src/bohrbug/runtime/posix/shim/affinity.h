/* One processor for all tasks, as only one of them runs at a time; and those that the program believes to have. */
#ifndef BOHRBUG_AFFINITY_H
#define BOHRBUG_AFFINITY_H

#include <pthread.h>

#include "segment.h"

void affinity_begin(void);
/* A new task may run where its parent may, or where the attributes of its thread say. */
void affinity_of_new(const struct task *task, const pthread_attr_t *attributes);

#endif
