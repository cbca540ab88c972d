#include "accesses.h"

#include <pthread.h>

#include "freed.h"
#include "order.h"
#include "past_stores.h"
#include "real.h"
#include "sampled.h"
#include "schedule.h"
#include "short_way.h"
#include "stack.h"
#include "store_buffer.h"
#include "watchpoints.h"

/* Of so many atomics each is a resource of its own; further ones share theirs. */
#define MOST_ATOMICS 8192u
#define SHARED_RESOURCES 256u

const struct hooks *hooks;
static bool has_begun;

static void prepare_control(void);

static void begin_hooks(void) {
    if (!ACCESSES->takes_part) ACCESSES->takes_part = 1;
    prepare_control();
    hooks->begin();
}

void accesses_begin(void) {
    has_begun = true;
    store_buffers_begin();
    past_stores_begin();
    if (hooks) begin_hooks();
    watchpoints_begin();
    sampled_begin();
}

void accesses_forked(void) {
    if (hooks) hooks->forked();
    watchpoints_forked();
    sampled_forked();
}

void accesses_thread(void) {
    if (!hooks) return;
    inside++;
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
    }
    if (size) hooks->thread((uint64_t)(uintptr_t)low, size);
    store_buffer_on_stack((uint64_t)(uintptr_t)low, size);
    inside--;
}

static struct header *the_segment(void) { return segment; }

static uint32_t the_task(void) {
    return segment && current && !inside && !busy ? index_of(current) : NONE;
}

/* A resource of memory stands for so many bytes.  Those that overlap are told, as what is done to one is done to
 * the other: plain accesses and atomic ones, of other sizes, to parts of a block. */
static void note_bytes(struct resource *resource, const void *address, size_t size) {
    if (size <= resource->bytes) return;
    resource->bytes = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    if (segment->overlaps) return;
    uintptr_t at = (uintptr_t)address, word = at & ~(uintptr_t)7;
    if (at + size > word + 8) {
        segment->overlaps = 1;
        return;
    }
    for (uintptr_t byte = word; byte < at + size; byte++)
        for (enum type type = VARIABLE; type <= ATOMIC; type++) {
            const struct resource *other = resource_of_memory((const void *)byte, type);
            if (other && other != resource && byte + other->bytes > at) segment->overlaps = 1;
        }
}

/* Memory that several processes share is told apart only where there are several. */
uint32_t memory_resource(const void *address, size_t size, enum type type, uint64_t site) {
    bool shared = segment->processes > 1;
    if (segment->resources >= MOST_ATOMICS) {
        uint64_t number = ((uint64_t)(uintptr_t)address >> 3) % SHARED_RESOURCES;
        address = (const void *)(uintptr_t)(8 * (1 + number));
        size = 0;
    }
    struct resource *resource = resource_at(address, type, shared, site, NULL);
    note_bytes(resource, address, size);
    return resource_index(resource);
}

uint32_t variable_at(const void *address, size_t size, uint64_t site) {
    return memory_resource(address, size, VARIABLE, site);
}

static uint32_t point(enum kind kind, const void *address, size_t size, uint64_t site) {
    GUARD;
    uint32_t resource = variable_at(address, size, site);
    if (segment->alive_count > 1) {
        if (kind == WRITE) segment->changes++;
        perform(kind, resource, site);
        if (kind == READ) fruitless(site);
    }
    return resource;
}

static uint32_t atomic(enum kind kind, const void *address, size_t size, uint64_t site, int order) {
    /* Nobody is there yet who could learn of it. */
    if (segment->tasks < 2) return NONE;
    GUARD;
    uint32_t resource = memory_resource(address, size, ATOMIC, site);
    if (segment->alive_count > 1) {
        current->also = order_beside_atomic(order, site);
        perform(kind, resource, site);
    }
    past_stores_look(resource, address, size);
    return resource;
}

static uint32_t put(enum type type, const void *address, size_t size, uint64_t site, bool is_point) {
    if (!has_store_buffers) return NONE;
    GUARD;
    return store_put(type, address, size, site, is_point);
}

/* The strongest stores, and all updates, are locked instructions. */
static uint32_t buffered_atomic(enum kind kind, const void *address, size_t size, uint64_t site,
                                int order) {
    if (segment->tasks > 1 && kind == STORE && order != __ATOMIC_SEQ_CST) {
        uint32_t entry = put(ATOMIC, address, size, site, true);
        if (entry != NONE) return entry;
    }
    return atomic(kind, address, size, site, order);
}

static bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }

static bool loaded(uint32_t resource, void *value, size_t size, int order, uint64_t site) {
    if (!has_past_stores) {
        order_atomic_load(order_clock(resource), acquires(order));
        return false;
    }
    GUARD;
    return past_store_chosen(resource, value, size, acquires(order), order == __ATOMIC_SEQ_CST, site);
}

static void fence(bool acquires, bool releases, bool strongest, uint64_t site) {
    if (strongest) {
        GUARD;
        store_fence(site);
        past_stores_before_fence(site);
    }
    order_fence(acquires, releases, strongest);
}

static void freed_in_buffers(const void *address, size_t size) {
    if (!has_store_buffers) return;
    GUARD;
    stores_freed(address, size);
}

static void looked_in_vain(uint64_t site) { fruitless(site); }

static void changed(void) { segment->changes++; }

static void publish(const void *address, uint64_t site) {
    GUARD;
    order_publish(memory_resource(address, 0, ATOMIC, site));
}

static void learn(const void *address, uint64_t site) {
    GUARD;
    order_learn(memory_resource(address, 0, ATOMIC, site));
}

static void give_up(void) {
    ACCESSES->gave_up = 1;
    hooks->now->epoch = 0;
}

static void accessed_freed(const void *address, bool writes, uint64_t site) {
    GUARD;
    freed_accessed(address, writes, site);
}

static uint64_t allocated_at(void) { return allocation_site; }

static struct control control = {
    the_segment, the_task, point, order_begin_epoch, atomic, looked_in_vain, changed,
    order_atomic_store, past_stores_add, loaded, fence, publish, learn, stack_record, give_up,
    bohrbug_keep, accessed_freed, allocated_at, put, freed_in_buffers,
};

static void prepare_control(void) {
    control.atomic = has_store_buffers ? buffered_atomic : atomic;
}

EXPORT const struct control *bohrbug_take_hooks(const struct hooks *taken) {
    hooks = taken;
    look_again();
    if (has_begun) begin_hooks();
    return &control;
}
