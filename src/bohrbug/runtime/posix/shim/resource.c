#include "resource.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "ending.h"
#include "forgetting.h"
#include "freed.h"
#include "task.h"

#define FIRST_SLOTS ((size_t)1 << 8)

/* Whether other processes have the memory where a resource lies, too. */
enum reach { UNKNOWN_REACH, OWN_MEMORY, SHARED_MEMORY };

/* From address to index, by open addressing; of this process only. */
struct slot {
    uint64_t address;
    uint32_t index;
    uint16_t used, reach;
};

static struct slot first_slots[FIRST_SLOTS];
static struct slots {
    struct slot *at;
    size_t mask, used;         /* one less than there are, and how many are in use */
} slots = {first_slots, FIRST_SLOTS - 1, 0};
/* No object lies there, nor at NULL, which is looked for in the first place. */
#define NOWHERE ((const void *)1)
struct lately_seen lately_seen[MOST_SEEN] = {{NOWHERE, NULL}};

static size_t slot_first(uint64_t address) {
    return (size_t)((address >> 3) * 0x9E3779B97F4A7C15ULL >> 20) & slots.mask;
}

/* The slot of an address, or the free one where it would go. */
static struct slot *slot_of(uint64_t address) {
    size_t i = slot_first(address);
    while (slots.at[i].used && slots.at[i].address != address) i = (i + 1) & slots.mask;
    return &slots.at[i];
}

static void grow(void) {
    struct slots old = slots;
    size_t count = 2 * (old.mask + 1);
    void *memory = (void *)syscall(SYS_mmap, NULL, count * sizeof *slots.at,
                                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) finish(TOO_BIG, NONE, "no memory for the table of resources");
    slots.at = memory;
    slots.mask = count - 1;
    for (size_t i = 0; i <= old.mask; i++)
        if (old.at[i].used) *slot_of(old.at[i].address) = old.at[i];
    if (old.at != first_slots) munmap(old.at, (old.mask + 1) * sizeof *old.at);
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
    bool has_room = segment->resources < segment->most_resources;
    uint32_t index = has_room ? segment->resources++ : forgotten_resource();
    if (index == NONE)
        finish(TOO_BIG, NONE, "an execution with more than %u resources",
               segment->most_resources);
    struct resource *resource = &RESOURCES[index];
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

static void note_seen(const void *address, struct resource *resource) {
    *place_of_seen(address) = (struct lately_seen){address, resource};
}

static struct resource *enter(struct slot *slot, uint64_t address, struct resource *resource) {
    bool is_new_slot = !slot->used;
    slot->address = address;
    slot->index = resource_index(resource);
    slot->used = 1;
    slot->reach = UNKNOWN_REACH;
    if (is_new_slot && ++slots.used * 2 > slots.mask) grow();
    note_seen((const void *)(uintptr_t)address, resource);
    return resource;
}

/* What is used there, of what programs make and destroy. */
static const char *const names_of_types[] = {
    [MUTEX] = "use of a mutex", [CONDITION] = "use of a condition variable",
    [RWLOCK] = "use of a reader-writer lock", [SEMAPHORE] = "use of a semaphore",
    [BARRIER] = "use of a barrier", [SPINLOCK] = "use of a spin lock", [FILE_LOCK] = "use of a lock",
};

/* A word can be an atomic and a futex at once. */
static uint64_t key_of(const void *address, enum type type) {
    uint64_t key = (uint64_t)(uintptr_t)address;
    if (type == ATOMIC) key |= (uint64_t)1 << 62;
    if (type == VARIABLE) key |= (uint64_t)1 << 61;
    return key;
}

struct resource *resource_at(const void *address, enum type type, bool shared, uint64_t site,
                             bool *is_new) {
    uint64_t place = (uint64_t)(uintptr_t)address;
    if (type < DESCRIPTOR && type != FUTEX && type != ONCE)
        freed_check(address, names_of_types[type], site);
    uint64_t key = key_of(address, type);
    struct slot *slot = slot_of(key);
    if (is_new) *is_new = false;
    if (slot->used && slot->index != NONE) {
        struct resource *resource = &RESOURCES[slot->index];
        if (key == place) note_seen(address, resource);
        if (resource->type == type) return resource;
    }
    return enter(slot, key, make(place, type, shared, site, false, is_new));
}

struct resource *resource_known(const void *address, enum type type) {
    const struct slot *slot = slot_of((uint64_t)(uintptr_t)address);
    if (!slot->used || slot->index == NONE || RESOURCES[slot->index].type != type) return NULL;
    return &RESOURCES[slot->index];
}

bool resource_in_shared_memory(const struct resource *resource) {
    const void *address = (const void *)(uintptr_t)resource->address;
    struct slot *slot = slot_of(key_of(address, (enum type)resource->type));
    uint64_t space, place;
    if (!slot->used) return false;
    if (slot->reach == UNKNOWN_REACH)
        slot->reach = shared_place(resource->address, &space, &place) ? SHARED_MEMORY : OWN_MEMORY;
    return slot->reach == SHARED_MEMORY;
}

struct resource *resource_of_memory(const void *address, enum type type) {
    const struct slot *slot = slot_of(key_of(address, type));
    return slot->used && slot->index != NONE ? &RESOURCES[slot->index] : NULL;
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
    place_of_seen(address)->address = NOWHERE;
    struct slot *slot = slot_of((uint64_t)(uintptr_t)address);
    if (!slot->used || slot->index == NONE) return;
    RESOURCES[slot->index].destroyed = 1;
    slot->index = NONE;
}

void resources_moved(const void *memory, size_t size) {
    for (size_t i = 0; i < MOST_SEEN; i++)
        if ((uintptr_t)lately_seen[i].address - (uintptr_t)memory < size)
            lately_seen[i].address = NOWHERE;
}

static bool is_private(const struct slot *slot) {
    return slot->used && slot->index != NONE && !(RESOURCES[slot->index].space >> 63);
}

uint32_t resources_copy(uint32_t parent_task, uint32_t child_task, uint32_t child_process) {
    uint32_t first = segment->resources;
    for (size_t i = 0; i <= slots.mask; i++) {
        if (!is_private(&slots.at[i])) continue;
        const struct resource *old = &RESOURCES[slots.at[i].index];
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
    for (size_t i = 0; i < MOST_SEEN; i++) lately_seen[i].address = NOWHERE;
    for (size_t i = 0; i <= slots.mask; i++)
        if (is_private(&slots.at[i])) slots.at[i].index = first++;
}
