/* Sets of objects by their addresses; see heap.c. */
#ifndef BOHRBUG_HEAP_H
#define BOHRBUG_HEAP_H

#include "accelerator.h"

/* A set of addresses; the number of places is a power of two, most of them are empty. */
typedef struct {
    PyObject **places;
    size_t mask;
} Addresses;

/* Make the set of some objects, which must outlive it; it ends with PyMem_Free of its places. */
int make_addresses(Addresses *addresses, PyObject *objects);

static inline size_t
scattered(const void *address)
{
    return ((size_t)address >> 4) * (size_t)0x9E3779B1u;
}

static inline size_t
place_of(const Addresses *addresses, PyObject *object)
{
    size_t place = scattered(object) & addresses->mask;
    while (addresses->places[place] != NULL && addresses->places[place] != object)
        place = (place + 1) & addresses->mask;
    return place;
}

static inline bool
is_among(PyObject *object, const Addresses *addresses)
{
    return addresses->places[place_of(addresses, object)] != NULL;
}

#endif
