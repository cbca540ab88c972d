#include "past_stores.h"

#include "faults.h"
#include "process_state.h"
#include "resource.h"
#include "schedule.h"
#include "trying.h"
#include "vector_clock.h"

/* Behind the entries of tasks a clock has those of what fences have made known, and the number of the last sequentially
 * consistent store of which a fence knows. */
#define VIEWS MOST_TASKS_WITH_PAST
#define STRONGEST (2u * MOST_TASKS_WITH_PAST)

/* A loop that waits for a value gets to see it: so many loads at one place see older ones in a row, and so many of a
 * task in all. */
#define MOST_OLDER_IN_A_ROW 3u
#define MOST_OLDER 100u

bool has_past_stores;

void past_stores_begin(void) {
    has_past_stores = segment->memory == STORES_REMEMBERED && segment->processes == 1;
}

void past_stores_end(void) {
    if (!has_past_stores) return;
    segment->memory_given_up = 1;
    has_past_stores = false;
}

static struct task_order *own(void) { return &ACCESSES->order[index_of(current)]; }

static struct store_history *history_of(uint32_t resource) {
    uint32_t number = RESOURCES[resource].history;
    return number ? &ACCESSES->history[number - 1] : NULL;
}

static struct past_store *store_at(struct store_history *history, uint32_t i) {
    return &history->store[i % MOST_PAST_STORES];
}

static struct past_store *newest(struct store_history *history) {
    return store_at(history, history->count - 1);
}

/* Byte by byte, as the program's memcpy may be one that is looked at. */
static void copy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
}

static bool same(const void *one, const void *other, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const volatile uint8_t *)one)[i] != ((const volatile uint8_t *)other)[i]) return false;
    return true;
}

/* -- what there was ---------------------------------------------------------------------------------- */

static struct past_store *append(struct store_history *history, const void *address) {
    struct past_store *store = store_at(history, history->count++);
    copy(store->value, address, history->size);
    store->task = NONE;
    store->moment = store->strength = 0;
    clock_replace(&store->released, NO_CLOCK);
    clock_replace(&store->seen, NO_CLOCK);
    return store;
}

static bool make_history(struct resource *resource, const void *address) {
    struct accesses *all = ACCESSES;
    /* Further atomics share their resources: see memory_resource. */
    bool is_alone = resource->address == (uint64_t)(uintptr_t)address;
    if (all->histories == MOST_HISTORIES || !is_alone) {
        all->histories_full = 1;
        return false;
    }
    struct store_history *history = &all->history[all->histories];
    /* Another execution may have been here before. */
    *history = (struct store_history){.count = 0};
    resource->history = ++all->histories;
    return true;
}

void past_stores_look(uint32_t resource, const void *address, size_t size) {
    if (!has_past_stores) return;
    if (!RESOURCES[resource].history && !make_history(&RESOURCES[resource], address)) return;
    struct store_history *history = history_of(resource);
    if (history->size == size && same(newest(history)->value, address, size)) return;
    /* The first time, or it was stored to in another way: that value is what all see. */
    history->size = (uint32_t)size;
    history->count = 0;
    append(history, address);
}

void past_stores_add(uint32_t resource, const void *address, size_t size, int order) {
    struct store_history *history = has_past_stores ? history_of(resource) : NULL;
    if (!history || history->size != size) return;
    struct past_store *store = append(history, address);
    store->task = index_of(current);
    store->moment = own()->stored;
    clock_replace(&store->released, order_clock(resource));
    if (order == __ATOMIC_SEQ_CST) store->strength = ++ACCESSES->strongest_stores;
}

/* -- what a load may see --------------------------------------------------------------------------------- */

/* Whether the current task knows of what another one did at a moment. */
static bool knows(uint32_t task, uint32_t moment, bool strongest) {
    uint32_t clock = own()->clock;
    return moment <= clock_at(clock, task) || moment <= clock_at(clock, VIEWS + task) ||
           (strongest && moment <= clock_at(ACCESSES->fences, VIEWS + task));
}

static bool knows_store(const struct past_store *store, bool strongest) {
    if (store->task == NONE || knows(store->task, store->moment, strongest)) return true;
    if (store->strength &&
        (strongest || store->strength <= clock_at(own()->clock, STRONGEST)))
        return true;
    for (uint32_t task = 0; task < clock_length(store->seen); task++) {
        uint32_t moment = clock_at(store->seen, task);
        if (moment && knows(task, moment, strongest)) return true;
    }
    return false;
}

/* How many stores, the newest ones, a load may see. */
static uint32_t visible(struct store_history *history, bool strongest) {
    uint32_t most = history->count < MOST_PAST_STORES ? history->count : MOST_PAST_STORES;
    uint32_t count = 1;
    while (count < most && !knows_store(store_at(history, history->count - count), strongest)) count++;
    return count;
}

static uint32_t choose_among(uint32_t count, uint64_t site) {
    struct task_order *order = own();
    if (order->older_at != site) order->older_in_a_row = 0;
    order->older_at = site;
    if (count < 2 || order->older_in_a_row == MOST_OLDER_IN_A_ROW || order->older == MOST_OLDER) {
        order->older_in_a_row = 0;
        return 0;
    }
    struct resource *fault = resource_named(FAULT_SPACE, OLDER_VALUE, FAULT, site);
    uint32_t chosen = choose_value(count, resource_index(fault), site);
    order->older_in_a_row = chosen ? order->older_in_a_row + 1 : 0;
    order->older += chosen > 0;
    return chosen;
}

bool past_store_chosen(uint32_t resource, void *value, size_t size, bool acquires, bool strongest,
                       uint64_t site) {
    struct store_history *history = history_of(resource);
    if (!history || history->size != size || !own()->count) {
        order_atomic_load(order_clock(resource), acquires);
        return false;
    }
    uint32_t chosen = value ? choose_among(visible(history, strongest), site) : 0;
    struct past_store *store = store_at(history, history->count - 1 - chosen);
    if (chosen) copy(value, store->value, size);
    uint32_t task = index_of(current);
    if (!clock_at(store->seen, task)) clock_raise(&store->seen, task, own()->count);
    order_atomic_load(store == newest(history) ? order_clock(resource) : store->released, acquires);
    return chosen;
}

/* -- fences ------------------------------------------------------------------------------------------------ */

static uint32_t order_of_fences(uint64_t site) {
    return resource_index(resource_named(STATES, ORDER_OF_FENCES, STATE, site));
}

uint32_t order_beside_atomic(int order, uint64_t site) {
    bool matters = has_past_stores && ACCESSES->has_fences && order == __ATOMIC_SEQ_CST;
    return matters ? order_of_fences(site) : NONE;
}

void past_stores_before_fence(uint64_t site) {
    if (has_past_stores && segment->alive_count > 1) perform(UPDATE, order_of_fences(site), site);
}

void past_stores_fence(void) {
    if (!has_past_stores) return;
    uint32_t *clock = &own()->clock, *fences = &ACCESSES->fences;
    for (uint32_t task = 0; task < segment->tasks; task++)
        clock_raise(clock, VIEWS + task, clock_at(*fences, VIEWS + task));
    clock_raise(clock, STRONGEST, ACCESSES->strongest_stores);
    for (uint32_t task = 0; task < segment->tasks; task++) {
        clock_raise(fences, VIEWS + task, clock_at(*clock, task));
        clock_raise(fences, VIEWS + task, clock_at(*clock, VIEWS + task));
    }
}
