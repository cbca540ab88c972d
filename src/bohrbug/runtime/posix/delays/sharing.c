#include "sharing.h"

/* A guess, in words of eight bytes: two threads that note at once, or two words in one entry, cost a trap in vain
 * or one that is not set.  An entry is the word, the thread that came last, and what is known. */
#define ENTRIES 16384
#define KNOWN_BITS 10
#define SHARED 1
#define WRITTEN 2

static uint64_t entries[ENTRIES];

bool note_access(const struct slot *slot, const struct point *point) {
    uint64_t word = point->address >> 3, last = index_of(slot), known = 0;
    uint64_t *entry = &entries[(word ^ word >> 14) % ENTRIES];
    uint64_t before = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (before >> KNOWN_BITS == word) {
        known = before & (SHARED | WRITTEN);
        if (((before >> 2) & (MOST_THREADS - 1)) != last) known |= SHARED;
    }
    if (point->act & WRITES) known |= WRITTEN;
    uint64_t after = word << KNOWN_BITS | last << 2 | known;
    if (after != before) __atomic_store_n(entry, after, __ATOMIC_RELAXED);
    return known == (SHARED | WRITTEN);
}
