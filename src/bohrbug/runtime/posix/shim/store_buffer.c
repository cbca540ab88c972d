#include "store_buffer.h"

#include <stdint.h>

#include "accesses.h"
#include "order.h"
#include "program_stack.h"
#include "resource.h"
#include "schedule.h"
#include "task.h"

/* Kinds of operations that do not wait for the stores before them: what a store buffer is there for. */
#define NO_FENCES \
    (KIND_BIT(READ) | KIND_BIT(WRITE) | KIND_BIT(LOAD) | KIND_BIT(BUFFER) | KIND_BIT(FENCE) | \
     KIND_BIT(CONTINUE) | KIND_BIT(CHOOSE))

/* The space of entries of buffers, among those of resources that are named. */
#define ENTRY_SPACE 9

extern void *__libc_stack_end;

bool has_store_buffers;

/* The buffer whose stores memory shows beside what all see, or NULL. */
static struct store_buffer *shown;

static struct store_buffer *buffer_of(uint32_t task) { return &ACCESSES->buffer[task]; }
static struct store_buffer *own(void) { return buffer_of(index_of(current)); }

static struct buffered_store *store_at(struct store_buffer *buffer, uint32_t i) {
    return &buffer->store[(buffer->first + i) % MOST_BUFFERED];
}

static struct buffered_store *newest(struct store_buffer *buffer) {
    return store_at(buffer, buffer->count - 1);
}

void store_buffers_begin(void) {
    has_store_buffers = segment->memory == STORES_BUFFERED && segment->processes == 1;
    shown = NULL;
    schedule_with_buffers(has_store_buffers);
}

void store_buffer_prepare(uint32_t task) {
    struct store_buffer *buffer = buffer_of(task);
    buffer->first = buffer->count = buffer->puts = buffer->unsettled = 0;
    buffer->task = buffer->last = NONE;
    buffer->stack_from = buffer->stack_to = 0;
}

void store_buffer_on_stack(uint64_t low, uint64_t size) {
    if (!has_store_buffers) return;
    own()->stack_from = low;
    own()->stack_to = low + size;
}

/* -- what memory shows --------------------------------------------------------------------------- */

/* Byte by byte, as the program's memcpy may be one that is looked at. */
static void copy(uint8_t *to, const uint8_t *from, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) ((volatile uint8_t *)to)[i] = from[i];
}

static uint8_t *memory_of(const struct buffered_store *store) {
    return (uint8_t *)(uintptr_t)store->address;
}

/* The hooks come before the stores: what was stored is known at the next one, or before others run. */
static void settle(struct store_buffer *buffer) {
    if (!buffer->unsettled) return;
    buffer->unsettled = 0;
    struct buffered_store *store = newest(buffer);
    copy(store->value, memory_of(store), store->size);
}

static void show(struct store_buffer *buffer) {
    for (uint32_t i = 0; i < buffer->count; i++) {
        struct buffered_store *store = store_at(buffer, i);
        copy(store->hidden, memory_of(store), store->size);
        copy(memory_of(store), store->value, store->size);
    }
    shown = buffer->count ? buffer : NULL;
}

/* What lay on the stack of the current task, in frames that are gone, is of no use to anybody; and the memory may be in
 * use, by the program or by us, when the store to it would reach it. */
static void forget_frames(struct store_buffer *buffer, uint64_t site) {
    uint64_t reaches_to = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < buffer->count; i++) {
        struct buffered_store *store = store_at(buffer, i);
        if (!store->is_on_stack || !store->size) continue;
        if (!has_any) reaches_to = program_stack_at(site);
        has_any = true;
        if (!reaches_to && site) ACCESSES->weak |= STACK_IN_ORDER;
        if (!reaches_to || store->address < reaches_to) store->size = 0;
    }
}

static void hide(uint64_t site) {
    if (!shown) return;
    settle(shown);
    forget_frames(shown, site);
    for (uint32_t i = shown->count; i-- > 0;) {
        struct buffered_store *store = store_at(shown, i);
        /* Code that has no hooks may have written there since. */
        copy(store->value, memory_of(store), store->size);
        copy(memory_of(store), store->hidden, store->size);
    }
    shown = NULL;
}

/* -- the buffer as a task ---------------------------------------------------------------------------- */

/* What it does next, with its oldest store. */
static void declare_next(struct store_buffer *buffer) {
    struct task *task = &TASKS[buffer->task];
    const struct buffered_store *store = store_at(buffer, 0);
    task->kind = FLUSH;
    task->resource = store->resource;
    task->also = store->entry;
    task->site = store->site;
    task->stack = NONE;
    task->condition = ALWAYS;
    task->deadline = NO_DEADLINE;
}

static void begin_task(struct store_buffer *buffer) {
    if (buffer->task == NONE) buffer->task = index_of(task_prepare_buffer(current));
    declare_next(buffer);
    task_enliven(&TASKS[buffer->task]);
}

static void forget_oldest(struct store_buffer *buffer) {
    buffer->first = (buffer->first + 1) % MOST_BUFFERED;
    buffer->count--;
}

bool store_reaches_memory(struct task *task) {
    if (!is_store_buffer(task)) return false;
    struct store_buffer *buffer = buffer_of(task->parent);
    const struct buffered_store *store = store_at(buffer, 0);
    if (RESOURCES[store->resource].type == ATOMIC) order_store_arrives(store->entry, store->resource);
    RESOURCES[store->entry].owner.task = NONE;
    segment->changes++;
    /* Those behind it that are no scheduling points go with it. */
    do {
        copy(memory_of(store), store->value, store->size);
        forget_oldest(buffer);
        store = store_at(buffer, 0);
    } while (buffer->count && store->entry == NONE);
    if (buffer->count) declare_next(buffer);
    else task_remove(task);
    return true;
}

uint32_t task_beside_buffer(uint32_t running) {
    const struct task *task = &TASKS[running];
    if (is_store_buffer(task)) return task->parent;
    bool waits = task->condition == UNHELD && (task->kind == FENCE || task->kind == BUFFER);
    return waits ? buffer_of(running)->task : NONE;
}

/* -- fences ------------------------------------------------------------------------------------------- */

/* Whether the task waits does not depend on what has reached memory already: what an operation is must not depend on
 * the order of operations that seem to have nothing to do with it. */
void store_fence(uint64_t site) {
    if (!has_store_buffers) return;
    struct store_buffer *buffer = own();
    if (buffer->last == NONE) return;
    uint32_t entry = buffer->last, also = current->also;
    buffer->last = NONE;
    current->also = NONE;
    perform_when(FENCE, entry, site, (struct waiting){UNHELD, 0, NO_DEADLINE, false, false});
    current->also = also;
}

void stores_leave(enum kind kind, uint64_t site) {
    if (!(NO_FENCES & KIND_BIT(kind))) store_fence(site);
    hide(site);
}

void stores_return(void) { show(own()); }

/* -- stores --------------------------------------------------------------------------------------------- */

/* Whether any task but the current one could tell. */
static bool others_live(void) {
    for (uint32_t i = 0; i < segment->alive_count; i++) {
        const struct task *task = &TASKS[segment->alive[i]];
        if (task != current && !is_store_buffer(task)) return true;
    }
    return false;
}

static bool is_on_own_stack(const struct store_buffer *buffer, uint64_t address) {
    if (current->main && current->parent == NONE) {
        uint64_t from = (uint64_t)(uintptr_t)__builtin_frame_address(0);
        return address >= from && address < (uint64_t)(uintptr_t)__libc_stack_end;
    }
    return address >= buffer->stack_from && address < buffer->stack_to;
}

static void append(struct store_buffer *buffer, const void *address, size_t size, uint64_t site,
                   uint32_t entry, uint32_t resource) {
    struct buffered_store *store = store_at(buffer, buffer->count++);
    *store = (struct buffered_store){.address = (uint64_t)(uintptr_t)address,
                                     .site = site,
                                     .size = (uint32_t)size,
                                     .is_on_stack =
                                         is_on_own_stack(buffer, (uint64_t)(uintptr_t)address),
                                     .entry = entry,
                                     .resource = resource};
    copy(store->hidden, memory_of(store), store->size);
    buffer->unsettled = 1;
    shown = buffer;
}

/* Entries are used again and again, so that there are few resources of them. */
static uint32_t next_entry(struct store_buffer *buffer, uint64_t site) {
    uint64_t place = (uint64_t)index_of(current) * MOST_ENTRIES + buffer->puts++ % MOST_ENTRIES;
    return resource_index(resource_named(ENTRY_SPACE, place, STORE_BUFFER, site));
}

static uint32_t put_point(struct store_buffer *buffer, enum type type, const void *address, size_t size,
                          uint64_t site) {
    if (!buffer->count && !others_live()) return NONE;
    uint32_t resource = memory_resource(address, size, type, site);
    uint32_t entry = next_entry(buffer, site);
    /* Waits while the entry is in use. */
    perform_when(BUFFER, entry, site, (struct waiting){UNHELD, 0, NO_DEADLINE, false, false});
    if (!has_store_buffers) return NONE;
    append(buffer, address, size, site, entry, resource);
    buffer->last = entry;
    if (buffer->count == 1) begin_task(buffer);
    RESOURCES[entry].owner = (struct holder){buffer->task, NONE, site};
    return entry;
}

uint32_t store_put(enum type type, const void *address, size_t size, uint64_t site, bool is_point) {
    struct store_buffer *buffer = own();
    settle(buffer);
    if (!is_point && !buffer->count) return NONE;
    if (size > MOST_STORED || buffer->count == MOST_BUFFERED) {
        store_fence(site);
        if (size > MOST_STORED || !is_point) return NONE;
    }
    if (is_point) return put_point(buffer, type, address, size, site);
    append(buffer, address, size, site, NONE, NONE);
    return NONE;
}

/* -- memory that goes -------------------------------------------------------------------------------------- */

static bool is_within(const struct buffered_store *store, uint64_t from, size_t size) {
    return store->address < from + size && from < store->address + store->size;
}

void stores_freed(const void *address, size_t size) {
    uint64_t from = (uint64_t)(uintptr_t)address;
    settle(own());
    for (uint32_t t = 0; t < segment->tasks; t++) {
        struct store_buffer *buffer = buffer_of(t);
        for (uint32_t i = 0; i < buffer->count; i++)
            if (is_within(store_at(buffer, i), from, size)) store_at(buffer, i)->size = 0;
    }
}

void store_buffers_end(void) {
    if (!has_store_buffers) return;
    hide(0);
    for (uint32_t t = 0; t < segment->tasks; t++) {
        struct task *task = buffer_of(t)->task == NONE ? NULL : &TASKS[buffer_of(t)->task];
        while (task && buffer_of(t)->count) store_reaches_memory(task);
    }
    segment->memory_given_up = 1;
    has_store_buffers = false;
    schedule_with_buffers(false);
}
