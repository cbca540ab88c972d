/* Resources: what the shim knows of a mutex, a semaphore, ... beside the real thing. */
#ifndef BOHRBUG_RESOURCE_H
#define BOHRBUG_RESOURCE_H

#include <stdbool.h>

#include "segment.h"

/* The resource at an address, made on first sight.  `is_new` (or NULL) tells whether it was. */
struct resource *resource_at(const void *address, enum type type, bool shared, uint64_t site,
                             bool *is_new);
/* The space of faults, among those of resources that are named. */
#define FAULT_SPACE 4
/* The resource that `space` and `place` name in every process, such as a pipe by its inode. */
struct resource *resource_named(uint64_t space, uint64_t place, enum type type, uint64_t site);
/* A new resource at an address, whatever was there before. */
struct resource *resource_make(const void *address, enum type type, bool shared, uint64_t site);
/* The memory at an address no longer holds it; tasks that wait for it go on doing so. */
void resource_forget(const void *address);
/* Just before a fork: copies of what the child will have of its own; the index of the first. */
uint32_t resources_copy(uint32_t parent_task, uint32_t child_task, uint32_t child_process);
/* In the child, whose table of addresses is still that of its parent. */
void resources_adopt(uint32_t first);

static inline uint32_t resource_index(const struct resource *resource) {
    return (uint32_t)(resource - RESOURCES);
}

/* Who holds it and where it was taken, for reports. */
void resource_take(struct resource *resource, uint64_t site);
void resource_release(struct resource *resource);

#endif
