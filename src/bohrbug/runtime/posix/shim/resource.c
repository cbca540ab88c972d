#include "resource.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "ending.h"
#include "order.h"
#include "task.h"

/* From address to index, by open addressing; of this process only. */
struct slot {
    uint64_t address;
    uint32_t index, used;
};

static struct slot first_slots[1 << 12];
static struct slot *slots = first_slots;
static size_t slot_count = 1 << 12, slots_used;

static size_t hash_of(uint64_t address) {
    return (size_t)((address >> 3) * 0x9E3779B97F4A7C15ULL >> 20) & (slot_count - 1);
}

/* The slot of an address, or the free one where it would go. */
static struct slot *slot_of(uint64_t address) {
    size_t i = hash_of(address);
    while (slots[i].used && slots[i].address != address) i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static void grow(void) {
    struct slot *old = slots;
    size_t old_count = slot_count;
    size_t bytes = 2 * old_count * sizeof *slots;
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) finish(TOO_BIG, NONE, "no memory for the table of resources");
    slots = memory;
    slot_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].used) *slot_of(old[i].address) = old[i];
    if (old != first_slots) munmap(old, old_count * sizeof *old);
}

/* What names a place in shared memory in every process: file and offset; false if it is private.
 *
 * Found in /proc/self/maps, read without the C library's locks. */
static bool shared_place(uint64_t address, uint64_t *space, uint64_t *offset) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    char line[512];
    size_t length = 0;
    bool found = false;
    char buffer[4096];
    long got;
    while (!found && (got = syscall(SYS_read, fd, buffer, sizeof buffer)) > 0) {
        for (long i = 0; i < got && !found; i++) {
            if (buffer[i] != '\n') {
                if (length < sizeof line - 1) line[length++] = buffer[i];
                continue;
            }
            line[length] = 0;
            length = 0;
            unsigned long start, end, at, major, minor, inode;
            char rights[8];
            if (sscanf(line, "%lx-%lx %7s %lx %lx:%lx %lu", &start, &end, rights, &at, &major,
                       &minor, &inode) != 7 || address < start || address >= end)
                continue;
            if (rights[3] == 's') {
                *space = (uint64_t)1 << 63 | ((major << 52) ^ (minor << 40) ^ inode);
                *offset = address - start + at;
                found = true;
            } else {
                length = 0;
                goto out;
            }
        }
    }
out:
    syscall(SYS_close, fd);
    return found;
}

static struct resource *append(uint64_t address, uint64_t space, enum type type, uint64_t site) {
    if (segment->resources >= segment->most_resources)
        finish(TOO_BIG, NONE, "an execution with more than %u resources",
               segment->most_resources);
    struct resource *resource = &RESOURCES[segment->resources++];
    resource->address = address;
    resource->space = space;
    resource->type = type;
    resource->process = this_process;
    resource->creator = current ? index_of(current) : NONE;
    resource->created_at = site;
    resource->owner.task = NONE;
    resource->clock = 0;
    return resource;
}

static struct resource *find_shared(uint64_t space, uint64_t place) {
    for (uint32_t i = segment->resources; i-- > 0;) {
        struct resource *other = &RESOURCES[i];
        if (other->space == space && other->address == place && !other->destroyed) return other;
    }
    return NULL;
}

static struct resource *make(uint64_t address, enum type type, bool shared, uint64_t site,
                             bool fresh, bool *is_new) {
    uint64_t space = this_process, place = address;
    if (is_new) *is_new = true;
    if (shared && shared_place(address, &space, &place) && !fresh) {
        struct resource *known = find_shared(space, place);
        if (known) {
            if (is_new) *is_new = false;
            return known;
        }
    }
    return append(place, space, type, site);
}

static struct resource *enter(struct slot *slot, uint64_t address, struct resource *resource) {
    bool is_new_slot = !slot->used;
    slot->address = address;
    slot->index = resource_index(resource);
    slot->used = 1;
    if (is_new_slot && ++slots_used * 2 > slot_count) grow();
    return resource;
}

struct resource *resource_at(const void *address, enum type type, bool shared, uint64_t site,
                             bool *is_new) {
    uint64_t place = (uint64_t)(uintptr_t)address, key = place;
    /* A word can be an atomic and a futex at once. */
    if (type == ATOMIC) key |= (uint64_t)1 << 62;
    if (type == VARIABLE) key |= (uint64_t)1 << 61;
    struct slot *slot = slot_of(key);
    if (is_new) *is_new = false;
    if (slot->used && slot->index != NONE) {
        struct resource *resource = &RESOURCES[slot->index];
        if (resource->type == type) return resource;
    }
    return enter(slot, key, make(place, type, shared, site, false, is_new));
}

struct resource *resource_named(uint64_t space, uint64_t place, enum type type, uint64_t site) {
    /* No object of a program lies at such an address. */
    uint64_t key = (uint64_t)1 << 63 | ((space << 40) ^ place);
    struct slot *slot = slot_of(key);
    if (slot->used && slot->index != NONE) return &RESOURCES[slot->index];
    space |= (uint64_t)1 << 63;
    struct resource *resource = find_shared(space, place);
    return enter(slot, key, resource ? resource : append(place, space, type, site));
}

struct resource *resource_make(const void *address, enum type type, bool shared, uint64_t site) {
    uint64_t key = (uint64_t)(uintptr_t)address;
    resource_forget(address);
    return enter(slot_of(key), key, make(key, type, shared, site, true, NULL));
}

void resource_forget(const void *address) {
    struct slot *slot = slot_of((uint64_t)(uintptr_t)address);
    if (!slot->used || slot->index == NONE) return;
    RESOURCES[slot->index].destroyed = 1;
    slot->index = NONE;
}

static bool is_private(const struct slot *slot) {
    return slot->used && slot->index != NONE && !(RESOURCES[slot->index].space >> 63);
}

uint32_t resources_copy(uint32_t parent_task, uint32_t child_task, uint32_t child_process) {
    uint32_t first = segment->resources;
    for (size_t i = 0; i < slot_count; i++) {
        if (!is_private(&slots[i])) continue;
        const struct resource *old = &RESOURCES[slots[i].index];
        struct resource *copy = append(old->address, child_process, old->type, old->created_at);
        *copy = *old;
        copy->space = copy->process = child_process;
        copy->creator = child_task;
        copy->marks = 0;
        if (copy->owner.task == parent_task) copy->owner.task = child_task;
        else if (copy->owner.task != NONE) copy->owner.task = OUTSIDE;
    }
    return first;
}

void resources_adopt(uint32_t first) {
    for (size_t i = 0; i < slot_count; i++)
        if (is_private(&slots[i])) slots[i].index = first++;
}

void resource_take(struct resource *resource, uint64_t site) {
    resource->owner.task = index_of(current);
    resource->owner.site = site;
    resource->owner.stack = current->stack;
}

void resource_release(struct resource *resource) {
    resource->owner.task = NONE;
    if (order_is_kept()) order_publish(resource_index(resource));
    segment->changes++;
}
