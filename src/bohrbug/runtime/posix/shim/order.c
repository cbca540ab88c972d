#include "order.h"

#include "past_stores.h"
#include "task.h"
#include "vector_clock.h"

static bool is_kept(void) {
    /* Until a second task is made, everything comes before all that it will do. */
    return segment->tasks > 1 && ACCESSES->takes_part && !ACCESSES->gave_up;
}

static struct task_order *own(void) { return &ACCESSES->order[index_of(current)]; }

/* What was seen so far has an end, and what comes is later. */
static void advance(void) {
    struct task_order *order = own();
    uint32_t index = index_of(current);
    if (!clock_widen(&order->clock, index + 1)) return;
    if (order->count >= MOST_COUNT) {
        clocks_give_up();
        return;
    }
    clock_words(order->clock)[index] = ++order->count;
}

/* Of the epochs of each task, those that began without a fence. */
static uint32_t without_fence[MOST_TASKS];

static void tell_hooks(void) {
    if (!hooks) return;
    struct moment *now = hooks->now;
    if (!current || !is_kept() || ACCESSES->watch == WATCH_NOTHING) {
        now->epoch = 0;
        return;
    }
    const struct task_order *order = own();
    now->clock = clock_words(order->clock);
    now->known = clock_length(order->clock);
    now->epoch = EPOCH(index_of(current), order->count);
    now->fence = order->count - without_fence[index_of(current)];
}

static uint32_t *clock_of(uint32_t resource) {
    if (resource & TASK_BIT) return &ACCESSES->task_clock[resource & ~TASK_BIT];
    return resource < MOST_RESOURCE_CLOCKS ? &ACCESSES->resource_clock[resource] : NULL;
}

/* The task exists for the clocks from its first turn on. */
static bool begin_task(void) {
    if (!current || !is_kept()) return false;
    struct task_order *order = own();
    if (!order->count) {
        clock_join(&order->clock, ACCESSES->task_clock[index_of(current)]);
        advance();
    }
    return !ACCESSES->gave_up;
}

static void publish(uint32_t resource) {
    uint32_t *clock = clock_of(resource);
    if (clock) clock_join(clock, own()->clock);
    else clocks_give_up();
}

static void learn(uint32_t resource) {
    const uint32_t *clock = clock_of(resource);
    if (clock) clock_join(&own()->clock, *clock);
}

/* Children of this process that have ended. */
static void learn_of_children(void) {
    for (uint32_t i = 0; i < segment->processes; i++)
        if (PROCESSES[i].parent == this_process && PROCESSES[i].state == OVER)
            learn(TASK_BIT | PROCESSES[i].main_task);
}

static bool has_type(uint32_t resource, enum type type) {
    return !(resource & TASK_BIT) && RESOURCES[resource].type == type;
}

void order_performed(enum kind kind, uint32_t resource, bool timed_out) {
    if (!begin_task()) {
        tell_hooks();
        return;
    }
    bool learns = false, publishes = false;
    switch (kind) {
    case SPAWN: case END: case RELEASE: case NOTIFY:
        publishes = true;
        break;
    case WAIT:
        publishes = true;
        /* Whoever comes last to a barrier does not wait. */
        learns = has_type(resource, BARRIER);
        break;
    case SET: case PUT: case GET: case EXECUTE: case SIGNAL: case CANCEL:
        publishes = learns = true;
        break;
    case ACQUIRE: case TRY_ACQUIRE: case WAKE: case JOIN: case INSPECT: case BEGIN:
        learns = !timed_out;
        break;
    case SLEEP: case YIELD: case EXTERNAL: case CONTINUE:
    case READ: case WRITE: case LOAD: case STORE: case UPDATE: case CALL: case CHOOSE:
    case BUFFER: case FENCE: case FLUSH:
        break;
    }
    if (learns) learn(resource);
    if (learns && has_type(resource, CHILDREN)) learn_of_children();
    if (publishes) publish(resource);
    if (learns || publishes) advance();
    tell_hooks();
}

void order_turn(void) {
    if (!current) return;
    if (begin_task() && segment->signals_matter) {
        /* A handler may run now; what its sender did comes before it. */
        learn(TASK_BIT | index_of(current));
        advance();
    }
    tell_hooks();
}

void order_begin_epoch(void) {
    if (!begin_task()) return;
    advance();
    without_fence[index_of(current)]++;
    tell_hooks();
}

void order_publish(uint32_t resource) {
    if (!begin_task()) return;
    publish(resource);
    advance();
    tell_hooks();
}

void order_learn(uint32_t resource) {
    if (!begin_task()) return;
    learn(resource);
    advance();
    tell_hooks();
}

void order_atomic_store(uint32_t resource, bool releases, bool goes_on) {
    if (!begin_task()) return;
    uint32_t *clock = clock_of(resource);
    struct task_order *order = own();
    /* What a fence released goes out with whatever is stored after it. */
    uint32_t from = releases ? order->clock : order->released;
    if (!clock) {
        clocks_give_up();
        return;
    }
    if (goes_on) clock_join(clock, from);
    else clock_replace(clock, from);
    order->stored = order->count;
    if (releases) {
        advance();
        /* A plain store of the processor does for it. */
        if (!goes_on) without_fence[index_of(current)]++;
    }
    tell_hooks();
}

void order_store_arrives(uint32_t entry, uint32_t resource) {
    const uint32_t *from = clock_of(entry);
    uint32_t *into = clock_of(resource);
    if (from && into) clock_replace(into, *from);
    else clocks_give_up();
}

uint32_t order_clock(uint32_t resource) {
    const uint32_t *clock = clock_of(resource);
    return clock ? *clock : NO_CLOCK;
}

void order_atomic_load(uint32_t clock, bool acquires) {
    if (!begin_task()) return;
    struct task_order *order = own();
    clock_join(acquires ? &order->clock : &order->unlearnt, clock);
    tell_hooks();
}

void order_fence(bool acquires, bool releases, bool strongest) {
    if (!begin_task()) return;
    struct task_order *order = own();
    if (acquires) clock_join(&order->clock, order->unlearnt);
    if (strongest) past_stores_fence();
    if (releases) clock_replace(&order->released, order->clock);
    advance();
    tell_hooks();
}
