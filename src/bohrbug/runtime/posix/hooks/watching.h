/* What is asked for of accesses in this execution: points, and witnesses of races. */
#ifndef BOHRBUG_WATCHING_H
#define BOHRBUG_WATCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shim/accesses.h"

/* The part of the segment that is about accesses. */
extern struct accesses *accesses;
extern bool watch_shared;
extern uint32_t witnesses_wanted;
/* Stores are told of before they are done, all of them. */
extern bool buffers_stores;
/* A value written is looked at before anything else happens. */
extern uint32_t settling;
/* The shadow is being changed. */
extern volatile uint32_t working;

/* Whether the place is a scheduling point, and not yet too often. */
bool is_point(uint64_t place);
/* The running task stores: until a fence the store may wait in a buffer of the processor. */
void note_store(uint64_t address, size_t size);
/* ... or does an atomic operation, which may meet one of another task that nothing orders. */
void note_atomic(uint64_t address, size_t size, enum kind kind, int order, bool meets_other,
                 uint64_t place);
/* The access may be one that is waited for. */
void witness_look(uint64_t address, size_t size, enum kind kind, uint64_t place);
/* ... and may be one that was done already. */
void witness_done(const struct done_access *done);
void settle(void);

/* Of memory for the shadow, and of what is remembered in it. */
bool shadow_begin(void);
void shadow_forget_all(void);

/* A module that was compiled with hooks. */
void instrumented_module(const void *address);
bool is_instrumented(const void *address);

struct block {
    uint64_t address, size, site;
};
/* Blocks of the heap are remembered only where witnesses may ask for them. */
void block_allocated(uint64_t address, uint64_t size, uint64_t site);

/* What the allocator gives out, and gets back: kept is what is not given out again at once. */
void heap_allocated(uint64_t address, size_t size, uint64_t site);
void heap_freed(uint64_t address, size_t size, uint64_t place, bool is_kept);

#endif
