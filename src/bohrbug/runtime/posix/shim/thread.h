/* Threads. */
#ifndef BOHRBUG_THREAD_H
#define BOHRBUG_THREAD_H

#include <pthread.h>

#include "segment.h"

/* The thread of a task that is not alive yet: it begins when that is chosen. */
int thread_make(struct task *task, pthread_t *thread, const pthread_attr_t *attributes);
int thread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                  void *argument, uint64_t site);
int thread_join(pthread_t thread, void **result, uint64_t site, uint64_t deadline);
int thread_detach(pthread_t thread, uint64_t site);
/* What the thread of a task begins with that was kept for it; returns what the task returns. */
void *thread_begin_kept(struct task *task);
/* Lets the end of this thread be seen; called once in each thread that becomes a task. */
void thread_watch_end(void);
void threads_begin(void);

#endif
