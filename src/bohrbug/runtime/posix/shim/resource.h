/* Resources: what the shim knows of a mutex, a semaphore, ... beside the real thing. */
#ifndef BOHRBUG_RESOURCE_H
#define BOHRBUG_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "order.h"
#include "task.h"

#define MOST_SEEN 64

/* Resources that were looked up last, in a place by their address; of this process only. */
extern struct lately_seen {
    const void *address;
    struct resource *resource;
} lately_seen[MOST_SEEN] OWN;

static inline struct lately_seen *place_of_seen(const void *address) {
    return &lately_seen[(uintptr_t)address / 8 % MOST_SEEN];
}

/* The resource at an address if it was looked up lately, as it mostly was; or NULL. */
static inline struct resource *resource_seen(const void *address, enum type type) {
    const struct lately_seen *last = place_of_seen(address);
    if (last->address != address || last->resource->type != type) return NULL;
    return last->resource;
}

/* The resource at an address, made on first sight.  `is_new` (or NULL) tells whether it was. */
struct resource *resource_at(const void *address, enum type type, bool shared, uint64_t site,
                             bool *is_new);
/* The resource at an address if there is one of that type; or NULL. */
struct resource *resource_known(const void *address, enum type type);
/* Whether one that counts as private lies in memory that other processes may have. */
bool resource_in_shared_memory(const struct resource *resource);
/* The same of memory that was accessed, by plain or by atomic operations (VARIABLE, ATOMIC). */
struct resource *resource_of_memory(const void *address, enum type type);
/* The space of faults, among those of resources that are named. */
#define FAULT_SPACE 4
/* The resource that `space` and `place` name in every process, such as a pipe by its inode. */
struct resource *resource_named(uint64_t space, uint64_t place, enum type type, uint64_t site);
/* A new resource at an address, whatever was there before. */
struct resource *resource_make(const void *address, enum type type, bool shared, uint64_t site);
/* The memory at an address no longer holds it; tasks that wait for it go on doing so. */
void resource_forget(const void *address);
/* What lies in that memory is to be looked up by its address, however lately it was. */
void resources_moved(const void *memory, size_t size);
/* Just before a fork: copies of what the child will have of its own; the index of the first. */
uint32_t resources_copy(uint32_t parent_task, uint32_t child_task, uint32_t child_process);
/* In the child, whose table of addresses is still that of its parent. */
void resources_adopt(uint32_t first);

static inline uint32_t resource_index(const struct resource *resource) {
    return (uint32_t)(resource - RESOURCES);
}

/* Who holds it and where it was taken, for reports. */
static inline void resource_take(struct resource *resource, uint64_t site) {
    resource->owner = (struct holder){index_of(current), current->stack, site};
}

static inline void resource_release(struct resource *resource) {
    resource->owner.task = NONE;
    if (order_is_kept()) order_publish(resource_index(resource));
    segment->changes++;
}

#endif
