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

/* Of four bytes of the program.  Epochs are 0 where nothing was seen; places have 31 bits. */
struct cell {
    uint32_t write, write_place, read, read_place;
};

/* The bytes differ: `read_place` is the number of their four cells. */
#define SPLIT UINT32_MAX
/* More than one access matters: `write_place` is the number of the list of them. */
#define SEVERAL (UINT32_MAX - 1)

#define ADDRESS_BITS 38
#define SHADOW_MASK (((UINT64_C(1) << ADDRESS_BITS) - 4) << 2)
#define PLACE_FILTER (1u << 14)

extern struct moment now;
extern char *shadow;
extern const struct control *control;
/* By the low bits of a place: whether accesses there need a closer look. */
extern uint8_t place_filter[PLACE_FILTER];

static inline struct cell *cell_of(uint64_t address) {
    return (struct cell *)(shadow + (address << 2 & SHADOW_MASK));
}

static inline bool wants_closer_look(uint64_t place) {
    return __builtin_expect(place_filter[place % PLACE_FILTER], 0);
}

/* The access that the program is about to make; a scheduling point, where its place is one. */
void access_slowly(uint64_t address, size_t size, enum kind kind, uint64_t place);

static inline void access_at(const volatile void *pointer, size_t size, bool is_write,
                             uint64_t place) {
    uint32_t epoch = now.epoch;
    if (!epoch) return;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    const struct cell *cell = cell_of(address);
    uint32_t last = is_write ? cell->write : cell->read;
    bool known = last == epoch;
    if (size == 8) known = known && (is_write ? cell[1].write : cell[1].read) == epoch;
    if (__builtin_expect(known && (size == 4 || size == 8), 1) && !wants_closer_look(place)) return;
    access_slowly(address, size, is_write ? WRITE : READ, place);
}

/* Memory is new, and what was done to it before is over. */
void shadow_clear(uint64_t address, size_t size);
/* Records without being a scheduling point: what atomics do, and the release of memory. */
void record(uint64_t address, size_t size, enum kind kind, uint64_t place);

#endif
