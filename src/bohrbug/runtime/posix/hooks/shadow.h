/* What is remembered of the program's memory: who accessed it last, and where.
 *
 * Under control one thread runs at a time, so nothing here needs a lock or an atomic.
 */
#ifndef BOHRBUG_SHADOW_H
#define BOHRBUG_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shim/accesses.h"
#include "shared_memory.h"

/* Of four bytes of the program.  Epochs are 0 where nothing was seen; places have 31 bits. */
struct cell {
    uint32_t write, write_place, read, read_place;
};

/* The bytes differ: `read_place` is the number of their four cells. */
#define SPLIT UINT32_MAX
/* More than one access matters: `write_place` is the number of the list of them. */
#define SEVERAL (UINT32_MAX - 1)

/* The memory was freed: nobody may access it. */
#define FREED (UINT32_MAX - 2)

/* Of a place: the access was atomic. */
#define ATOMIC_BIT 0x80000000u

struct four {
    struct cell byte[4];
};

#define ADDRESS_BITS 38
#define SHADOW_MASK (((UINT64_C(1) << ADDRESS_BITS) - 4) << 2)
#define PLACE_FILTER (1u << 14)

/* Hidden, or every access of them would go through a table of addresses. */
#pragma GCC visibility push(hidden)
extern struct moment now;
extern char *shadow;
extern struct four *fours;
extern const struct control *control;
/* By the low bits of a place: whether accesses there need a closer look. */
extern uint8_t place_filter[PLACE_FILTER];
#pragma GCC visibility pop

static inline struct cell *cell_of(uint64_t address) {
    return (struct cell *)(shadow + (address << 2 & SHADOW_MASK));
}

static inline bool wants_closer_look(uint64_t place) {
    return __builtin_expect(place_filter[place % PLACE_FILTER], 0);
}

/* The access that the program is about to make; a scheduling point, where its place is one. */
void access_slowly(uint64_t address, size_t size, enum kind kind, uint64_t place);

/* Whether nobody but a task of that index has accessed what the cell stands for. */
static inline bool is_only_of(const struct cell *cell, uint32_t task) {
    return (!cell->write || TASK_OF(cell->write) == task) &&
           (!cell->read || TASK_OF(cell->read) == task);
}

/* Whether the running task has done the same in this epoch, at whatever place: one that comes after a
 * scheduling point is in another epoch, so each place has its turn once those before it are points.
 * A plain access after an atomic one is more than that: it races with what the atomic one does not. */
static inline bool is_known(const struct cell *cell, bool is_write, uint32_t epoch) {
    return is_write ? cell->write == epoch && !(cell->write_place & ATOMIC_BIT)
                    : cell->read == epoch && !(cell->read_place & ATOMIC_BIT);
}

/* Marks of cells look like epochs of a task that comes last of all. */
#define LAST_TASK TASK_OF(SPLIT)

static inline void access_at(const volatile void *pointer, size_t size, bool is_write,
                             uint64_t place) {
    uint32_t epoch = now.epoch;
    if (!epoch) return;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    enum kind kind = is_write ? WRITE : READ;
    if (wants_closer_look(place) || size > 8 || __builtin_expect(shares_memory, 0)) {
        access_slowly(address, size, kind, place);
        return;
    }
    struct cell *cell = cell_of(address);
    size_t count = size == 8 ? 2 : 1;
    if (size < 4) {
        if (cell->write != SPLIT) {
            access_slowly(address, size, kind, place);
            return;
        }
        cell = &fours[cell->read_place].byte[address & 3];
        count = size;
    }
    uint32_t task = TASK_OF(epoch);
#pragma GCC unroll 2
    for (size_t i = 0; i < count; i++, cell++) {
        if (is_known(cell, is_write, epoch)) continue;
        if (__builtin_expect(task == LAST_TASK || !is_only_of(cell, task), 0)) {
            access_slowly(address, size, kind, place);
            return;
        }
        if (is_write) {
            cell->write = epoch;
            cell->write_place = (uint32_t)place & ~ATOMIC_BIT;
        } else {
            cell->read = epoch;
            cell->read_place = (uint32_t)place & ~ATOMIC_BIT;
        }
    }
}

/* Memory is new, and what was done to it before is over. */
void shadow_clear(uint64_t address, size_t size);
/* Memory is nobody's. */
void shadow_freed(uint64_t address, size_t size);
/* Records without being a scheduling point: what atomics do, and the release of memory. */
void record(uint64_t address, size_t size, enum kind kind, uint64_t place);

/* Whether an access of another task, which conflicts with this one and is not ordered before it, was the last
 * there. */
bool meets_other(uint64_t address, bool writes);

#endif
