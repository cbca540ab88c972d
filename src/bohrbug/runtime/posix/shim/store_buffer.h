/* Store buffers: memory as x86 has it, total store order (Owens, Sarkar and Sewell, TPHOLs 2009).
 *
 * A store goes into the buffer of its task, which alone sees it, and reaches memory later, in the order of the
 * stores.  When that is, is a choice: each buffer that holds something is a task of its own, whose next operation
 * is that its oldest store reaches memory.
 *
 * One task runs at a time, so memory itself can show what the running task sees: its own stores are laid over what
 * all see when it gets the turn, and taken away when it passes the turn on.
 */
#ifndef BOHRBUG_STORE_BUFFER_H
#define BOHRBUG_STORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "segment.h"

/* Whether this execution has store buffers. */
extern bool has_store_buffers OWN;

void store_buffers_begin(void);
/* That of a new task is empty, whatever was there in an earlier execution. */
void store_buffer_prepare(uint32_t task);

/* Before the current task comes to a scheduling point: it waits for its stores where the operation is a fence, and
 * memory shows what all see. */
void stores_leave(enum kind kind, uint64_t site);
/* It has the turn again: memory shows what it sees. */
void stores_return(void);
/* If the task is a store buffer, its oldest store reaches memory. */
bool store_reaches_memory(struct task *buffer);

/* Who goes on where nobody is to be preempted: for a task that waits for its stores its buffer, and for a buffer that
 * is empty its task, so that memory is sequentially consistent in such a schedule.  NONE for others. */
uint32_t task_beside_buffer(uint32_t running);

/* The current task is about to store, to so many bytes, at a place that is a scheduling point or not.  The resource
 * of the entry that waits for it; NONE: it is not buffered. */
uint32_t store_put(enum type type, const void *address, size_t size, uint64_t site, bool is_point);
/* The current task goes on when all its stores have reached memory. */
void store_fence(uint64_t site);
/* Memory of the heap is given back: nobody may look at it any more, and somebody else may get it. */
void stores_freed(const void *address, size_t size);
/* A second process takes part, which has other memory: from here on memory is sequentially consistent. */
void store_buffers_end(void);
/* The current thread begins on this stack. */
void store_buffer_on_stack(uint64_t low, uint64_t size);

#endif
