/* After Erickson, Musuvathi, Burckhardt and Olynyk, Effective Data-Race Detection for the Kernel (DataCollider),
 * OSDI 2010; bohrbug.live.native_threads.traps is the same for Python. */
#include "traps.h"

#include "delay.h"

static uint64_t in_phase(uint32_t window, enum trap_phase phase) { return (uint64_t)window * PHASES + phase; }

static bool passes(uint32_t window, enum trap_phase from, enum trap_phase to) {
    uint64_t expected = in_phase(window, from);
    return __atomic_compare_exchange_n(&record->trap.state, &expected, in_phase(window, to), false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static bool is_in(uint32_t window, enum trap_phase phase) {
    return __atomic_load_n(&record->trap.state, __ATOMIC_ACQUIRE) == in_phase(window, phase);
}

/* In one instruction, as others may be writing it. */
static void copy_whole(uint64_t *value, const void *address, uint32_t size) {
    if (size == 8) __builtin_memcpy(value, address, 8);
    else if (size == 4) __builtin_memcpy(value, address, 4);
    else if (size == 2) __builtin_memcpy(value, address, 2);
    else __builtin_memcpy(value, address, size);
}

/* Somebody may have unmapped it meanwhile. */
static void read_value(int which) {
    struct trap *trap = &record->trap;
    uint64_t value = 0, address = trap->paused.address;
    uint32_t size = trap->paused.size;
    trap->known[which] = size && size <= sizeof value && is_readable(address) && is_readable(address + size - 1);
    if (trap->known[which]) copy_whole(&value, (const void *)(uintptr_t)address, size);
    trap->values[which] = value;
}

static void note_side(struct side *side, const struct slot *slot, const struct point *point) {
    side->number = slot->number;
    side->routine = slot->routine;
    side->act = point->act;
    side->size = point->size;
    side->address = point->address;
    side->depth = stack_of_caller(side->stack, point->place);
}

/* -- where ------------------------------------------------------------------------------------- */

#define MOST_EXPECTED 64

static struct {
    uint64_t from, to;
} expected[MOST_EXPECTED];
static uint32_t expected_count;

void expect_races(uint64_t address, uint64_t size) {
    uint32_t i = __atomic_fetch_add(&expected_count, 1, __ATOMIC_RELAXED);
    if (i >= MOST_EXPECTED) return;
    expected[i].to = address + size;
    __atomic_store_n(&expected[i].from, address, __ATOMIC_RELEASE);
}

static bool is_expected(uint64_t address) {
    for (uint32_t i = 0; i < expected_count && i < MOST_EXPECTED; i++)
        if (expected[i].from && address >= expected[i].from && address < expected[i].to) return true;
    return false;
}

bool is_target(uint64_t place) {
    for (uint32_t i = 0; i < record->targets_count && i < MOST_TARGETS; i++)
        if (record->targets[i] == place) return true;
    return false;
}

static void note_place(uint64_t place) {
    uint32_t at = (uint32_t)((place * 0x9E3779B97F4A7C15ULL) >> 52) % MOST_PLACES;
    /* Where the table is full of others nearby, the place is never a target. */
    for (uint32_t i = 0; i < 16; i++) {
        uint64_t *entry = &record->places[(at + i) % MOST_PLACES], known = __atomic_load_n(entry, __ATOMIC_RELAXED);
        if (known == place) return;
        if (known) continue;
        if (__atomic_compare_exchange_n(entry, &known, place, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&record->places_count, 1, __ATOMIC_RELAXED);
            return;
        }
        if (known == place) return;
    }
}

/* -- setting and springing ----------------------------------------------------------------------- */

/* Whoever has caught the thread writes down who it is; that takes as long as a stack. */
static void await_catcher(uint32_t window) {
    while (is_in(window, CATCHING)) wait_for(20000);
}

void trap_set(uint32_t window, struct slot *slot, const struct point *point) {
    struct trap *trap = &record->trap;
    if (is_access(point) && is_expected(point->address)) return;
    if (record->kind == WITH_TRAP) {
        note_place(point->place);
        if (__atomic_sub_fetch(&record->skipped, 1, __ATOMIC_RELAXED) >= 0) return;
    }
    if (!passes(window, UNSET, SETTING)) return;
    __atomic_fetch_add(&record->traps, 1, __ATOMIC_RELAXED);
    uint64_t began = monotonic();
    trap->sprung_at = began;
    trap->slot = index_of(slot);
    note_side(&trap->paused, slot, point);
    if (is_access(point)) read_value(0);
    struct delay *delay = delay_begin(slot, point, false, began);
    __atomic_store_n(&trap->state, in_phase(window, SET), __ATOMIC_RELEASE);
    wait_for(record->pause);
    if (passes(window, SET, IN_VAIN)) {
        close_window(window);
    } else {
        await_catcher(window);
        if (is_in(window, CAUGHT)) {
            read_value(1);
            own.unsettled = window;
            __atomic_store_n(&trap->state, in_phase(window, SPRUNG), __ATOMIC_RELEASE);
        }
    }
    delay_end(slot, delay, began);
}

static bool conflicts(const struct side *paused, const struct point *point) {
    if (!is_access(point) || paused->act >= FIRST_CALL) return false;
    if (!((paused->act | point->act) & WRITES)) return false;
    if (paused->act & point->act & IS_ATOMIC) return false;
    return point->address < paused->address + paused->size && paused->address < point->address + point->size;
}

void trap_catch(uint32_t window, const struct slot *slot, const struct point *point) {
    struct trap *trap = &record->trap;
    if (!is_in(window, SET) || trap->slot == index_of(slot) || !conflicts(&trap->paused, point)) return;
    if (!passes(window, SET, CATCHING)) return;
    note_side(&trap->other, slot, point);
    __atomic_store_n(&trap->state, in_phase(window, CAUGHT), __ATOMIC_RELEASE);
}

void trap_settle(void) {
    uint32_t window = own.unsettled;
    if (!window) return;
    own.unsettled = 0;
    if (!is_in(window, SPRUNG)) return;
    read_value(2);
    if (passes(window, SPRUNG, SETTLED)) close_window(window);
}
