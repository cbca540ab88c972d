/* Mutexes of every type.  The real one is locked too, but only when it is known to be free. */
#ifndef BOHRBUG_MUTEX_H
#define BOHRBUG_MUTEX_H

#include <pthread.h>

#include "segment.h"

int mutex_lock(pthread_mutex_t *mutex, uint64_t site, uint64_t deadline);
int mutex_trylock(pthread_mutex_t *mutex, uint64_t site);
int mutex_unlock(pthread_mutex_t *mutex, uint64_t site);
int mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes, uint64_t site);
int mutex_destroy(pthread_mutex_t *mutex, uint64_t site);

/* Before a wait for a condition variable: unlocks the mutex once, which is no step of its own. */
int mutex_give_up(pthread_mutex_t *mutex, uint64_t site);

/* Number of the resource of a mutex that the current task is about to give up. */
uint32_t mutex_resource(pthread_mutex_t *mutex, uint64_t site);

/* The current task ends: it should hold none. */
void mutexes_of_ended(void);
/* Number of a mutex that the end of the current task gives to others, or NONE. */
uint32_t mutex_left_behind(void);
/* A process has ended, or has other memory after an exec: the kernel tells the next owners of what it held, too. */
void mutexes_of_process(uint32_t process);

#endif
