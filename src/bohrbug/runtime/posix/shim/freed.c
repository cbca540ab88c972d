#include "freed.h"

#include <string.h>

#include "accesses.h"
#include "ending.h"
#include "real.h"
#include "resource.h"
#include "schedule.h"
#include "task.h"

/* Larger ones are given back at once, as are further ones. */
#define LARGEST 4096u
#define MOST_KEPT 8192u
#define SLOTS (2 * MOST_KEPT)
#define GRAIN 16u
#define CLASSES (LARGEST / GRAIN + 1)
/* No address, in whatever part of it. */
#define PATTERN 0xFD
#define PAGES 4096u

struct kept {
    char *block;               /* NULL: unused */
    uint32_t size, task;
    uint64_t site;
    uint32_t older;            /* of its class: number from 1, or 0 */
};

static struct kept kept[MOST_KEPT + 1];
static uint16_t slots[SLOTS];  /* by address, open addressing */
static uint32_t newest[CLASSES];
static uint32_t unused[MOST_KEPT], unused_count, used_so_far;
/* By pages, how many blocks begin there. */
static uint16_t begun[PAGES];

uint64_t allocation_site;

/* They know better, and keep blocks themselves. */
extern void __asan_init(void) __attribute__((weak, visibility("default")));
extern void __msan_init(void) __attribute__((weak, visibility("default")));
extern void __hwasan_init(void) __attribute__((weak, visibility("default")));

static bool is_active(void) {
    return segment && controlled() && !__asan_init && !__msan_init && !__hwasan_init;
}

/* -- by address ----------------------------------------------------------------------------------- */

static size_t slot_first(const void *block) {
    return (size_t)(((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15ULL >> 40) % SLOTS;
}

static size_t slot_of(const void *block) {
    size_t i = slot_first(block);
    while (slots[i] && kept[slots[i]].block != block) i = (i + 1) % SLOTS;
    return i;
}

/* What was entered behind it moves up (Knuth, volume 3, algorithm 6.4R). */
static void remove_slot(size_t i) {
    for (size_t j = i;;) {
        slots[i] = 0;
        for (;;) {
            j = (j + 1) % SLOTS;
            if (!slots[j]) return;
            size_t first = slot_first(kept[slots[j]].block);
            bool stays = i <= j ? i < first && first <= j : i < first || first <= j;
            if (!stays) break;
        }
        slots[i] = slots[j];
        i = j;
    }
}

static uint16_t *begun_at(uintptr_t address) { return &begun[(address >> 12) % PAGES]; }

static struct kept *kept_at(const void *block) {
    uint16_t number = slots[slot_of(block)];
    return number ? &kept[number] : NULL;
}

/* The block that an address lies in. */
static struct kept *kept_around(const void *address) {
    uintptr_t at = (uintptr_t)address;
    if (!*begun_at(at) && !*begun_at(at - LARGEST)) return NULL;
    uintptr_t block = at & ~(uintptr_t)(GRAIN - 1);
    for (uint32_t i = 0; i <= LARGEST / GRAIN; i++, block -= GRAIN) {
        struct kept *found = kept_at((const void *)block);
        if (found) return at < block + found->size ? found : NULL;
    }
    return NULL;
}

/* -- misuse --------------------------------------------------------------------------------------- */

/* For reports: it was made where the block was freed, by whoever did that. */
static uint32_t resource_of(const struct kept *block) {
    struct resource *resource = resource_make(block->block, MEMORY, false, block->site);
    resource->owner.task = block->task;
    return resource_index(resource);
}

void freed_check(const void *address, const char *what, uint64_t site) {
    struct kept *block = used_so_far ? kept_around(address) : NULL;
    if (block)
        misuse(USE_AFTER_FREE, resource_of(block), site, "%s in memory that was freed", what);
}

void freed_accessed(const void *address, bool writes, uint64_t site) {
    struct kept *block = kept_around(address);
    misuse(USE_AFTER_FREE, block ? resource_of(block) : current_resource(), site,
           "%s memory that was freed", writes ? "a write to" : "a read of");
}

static void check(const struct kept *block) {
    if (lets_pass(USE_AFTER_FREE)) return;
    const unsigned char *bytes = (const unsigned char *)block->block;
    for (uint32_t i = 0; i < block->size; i++)
        if (bytes[i] != PATTERN)
            misuse(USE_AFTER_FREE, resource_of(block), block->site,
                   "memory was written to after it was freed");
}

void freed_check_all(void) {
    if (!is_active()) return;
    GUARD;
    for (uint32_t i = 1; i <= used_so_far; i++)
        if (kept[i].block) check(&kept[i]);
}

/* -- keeping and giving out ----------------------------------------------------------------------- */

static uint32_t class_of(size_t size) { return (uint32_t)((size + 8) / GRAIN); }

EXPORT void bohrbug_frees_kept(void *block, const char *what, uint64_t site) {
    if (!is_active()) return;
    GUARD;
    struct kept *found = kept_at(block);
    if (found)
        misuse(FREE_TWICE, resource_of(found), site, "%s of memory that was freed before", what);
}

EXPORT bool bohrbug_keep(void *block, size_t size, uint64_t site) {
    allocation_site = site;
    if (!is_active()) return false;
    bohrbug_frees_kept(block, "free", site);
    if (size > LARGEST - GRAIN || (uintptr_t)block % GRAIN ||
        (!unused_count && used_so_far == MOST_KEPT))
        return false;
    GUARD;
    bool may_be_used = lets_pass(USE_AFTER_FREE);
    if (hooks) hooks->freed((uint64_t)(uintptr_t)block, size, site, !may_be_used);
    uint32_t number = unused_count ? unused[--unused_count] : ++used_so_far;
    uint32_t *first = &newest[class_of(size)];
    kept[number] = (struct kept){block, (uint32_t)size, index_of(current), site, *first};
    *first = number;
    slots[slot_of(block)] = (uint16_t)number;
    ++*begun_at((uintptr_t)block);
    if (!may_be_used) memset(block, PATTERN, size);
    resources_moved(block, size);
    return true;
}

EXPORT void *bohrbug_reuse(size_t size, uint64_t site) {
    allocation_site = site;
    if (!used_so_far || size > LARGEST - 2 * GRAIN || !is_active()) return NULL;
    GUARD;
    /* As the C library rounds it up: a block has eight bytes before it, and at least 24. */
    uint32_t *first = &newest[class_of(size < 24 ? 24 : (size + 8 + GRAIN - 1) / GRAIN * GRAIN - 8)];
    uint32_t number = *first;
    if (!number || kept[number].size < size) return NULL;
    struct kept *found = &kept[number];
    check(found);
    char *block = found->block;
    *first = found->older;
    remove_slot(slot_of(block));
    --*begun_at((uintptr_t)block);
    found->block = NULL;
    unused[unused_count++] = number;
    if (hooks) hooks->allocated((uint64_t)(uintptr_t)block, found->size, site);
    return block;
}
