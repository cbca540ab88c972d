/* Spare threads: made and parked before the first execution, and given out in place of new ones.
 *
 * The carrier wears a spare thread as it wears all others, so the kernel's thread never goes on, and need
 * be neither made nor ended in an execution.  It sleeps while its memory is put back to where it was
 * parked; and in a fork, which has that memory too, the kernel has no such thread at all.
 * A thread with more about it than the size of its stack is made anew. */
#ifndef BOHRBUG_SPARE_H
#define BOHRBUG_SPARE_H

#include <pthread.h>
#include <stdbool.h>

#include "task.h"

#define MOST_SPARES 64u
/* The stack of a thread that no spare one can stand for. */
#define UNUSUAL 0

/* How large a stack a new thread is to have, or UNUSUAL. */
uint64_t stack_size_of(const pthread_attr_t *attributes);

/* Before any execution: makes threads that run `begin` when they are given out.  `sizes` are those of their
 * stacks, with commas in between; where one is UNUSUAL, none is made. */
bool spares_make(const char *sizes, void *(*begin)(struct task *task));
/* How many there are. */
unsigned spare_count(void);
/* In a fork: gets the memory that they use first. */
void spares_touch(void);

/* Gives one out; false if there is none for this task, whose `stack_size` is known. */
bool spare_give(struct task *task, pthread_t *thread);
/* Whether it was given out for a task. */
bool is_spare(const struct task *task);
/* What its task returned. */
void *spare_result(const struct task *task);
/* ... if it ends in another way than by returning. */
void spare_exits(void *result);

#endif
