/* Condition variables.  The real one is never touched: its waiters are known here alone. */
#ifndef BOHRBUG_CONDITION_H
#define BOHRBUG_CONDITION_H

#include <pthread.h>
#include <stdbool.h>

#include "segment.h"

int condition_init(pthread_cond_t *condition, const pthread_condattr_t *attributes, uint64_t site);
int condition_destroy(pthread_cond_t *condition, uint64_t site);
int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t site,
                   uint64_t deadline);
int condition_notify(pthread_cond_t *condition, bool all, uint64_t site);

#endif
