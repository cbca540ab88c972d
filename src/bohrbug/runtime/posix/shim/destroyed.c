#include "destroyed.h"

#include <stddef.h>

/* The oldest gives way to the next. */
#define MOST_DESTROYED 64

static const void *destroyed[MOST_DESTROYED];
static size_t next;

static const void **place_of(const void *address) {
    for (size_t i = 0; i < MOST_DESTROYED; i++)
        if (destroyed[i] == address) return &destroyed[i];
    return NULL;
}

void note_destroyed(const void *address) { destroyed[next++ % MOST_DESTROYED] = address; }

void note_initialised(const void *address) {
    const void **place = place_of(address);
    if (place) *place = NULL;
}

bool was_destroyed(const void *address) { return place_of(address) != NULL; }
