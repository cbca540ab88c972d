/* Races, and the places of conflicting accesses, as they are reported. */
#ifndef BOHRBUG_RACES_H
#define BOHRBUG_RACES_H

#include <stddef.h>
#include <stdint.h>

#include "../shim/accesses.h"

/* Places have 31 bits here, and are completed. */
void race_seen(uint32_t first_epoch, uint64_t first_place, enum kind first_kind, uint64_t place,
               enum kind kind, uint64_t address, uint32_t size);
void shared_place(uint64_t place);

/* Races on this memory are meant to be. */
void expect_races(uint64_t address, size_t size);

void races_begin(void);
/* The whole of a place of which only the low bits were kept. */
uint64_t whole_place(uint64_t place);

#endif
