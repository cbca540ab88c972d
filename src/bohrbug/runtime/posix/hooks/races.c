#include "races.h"

#include <link.h>
#include <string.h>

#include "shadow.h"
#include "watching.h"

#define LOW 0x7fffffffu
#define MOST_MODULES 512
#define SLOTS (1u << 14)

static struct {
    uint64_t start, end;
} modules[MOST_MODULES];
static uint32_t module_count;

/* By open addressing: what was reported already, with the number of its entry, from 1. */
static struct slot {
    uint64_t key;
    uint32_t number;
} slots[SLOTS];

#define MOST_EXPECTED 1024

static struct {
    uint64_t start, end;
} expected[MOST_EXPECTED];
static uint32_t expected_count;

void expect_races(uint64_t address, size_t size) {
    if (expected_count == MOST_EXPECTED) return;
    expected[expected_count].start = address;
    expected[expected_count++].end = address + size;
}

static bool is_expected(uint64_t address) {
    for (uint32_t i = 0; i < expected_count; i++)
        if (address >= expected[i].start && address < expected[i].end) return true;
    return false;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        uint64_t from = info->dlpi_addr + header->p_vaddr;
        if (from < start) start = from;
        if (from + header->p_memsz > end) end = from + header->p_memsz;
    }
    if (start < end && module_count < MOST_MODULES) {
        modules[module_count].start = start;
        modules[module_count++].end = end;
    }
    return 0;
}

static uint64_t completed(uint64_t place) {
    for (uint32_t i = 0; i < module_count; i++) {
        uint64_t high = modules[i].start & ~(uint64_t)LOW;
        for (int carry = 0; carry < 2; carry++, high += (uint64_t)LOW + 1) {
            uint64_t whole = high | (place & LOW);
            if (whole >= modules[i].start && whole < modules[i].end) return whole;
        }
    }
    return 0;
}

uint64_t whole_place(uint64_t place) {
    uint64_t whole = completed(place);
    if (whole) return whole;
    /* A library was loaded since. */
    module_count = 0;
    dl_iterate_phdr(add_module, NULL);
    whole = completed(place);
    return whole ? whole : place;
}

void races_begin(void) {
    module_count = 0;
    dl_iterate_phdr(add_module, NULL);
}

/* The entry for a key; with `number` 0 if it is new, and NULL if there is no room. */
static struct slot *slot_of(uint64_t key) {
    size_t i = (size_t)(key * 0x9E3779B97F4A7C15ULL >> 40) % SLOTS;
    for (size_t tries = 0; tries < SLOTS; tries++, i = (i + 1) % SLOTS)
        if (!slots[i].number || slots[i].key == key) {
            slots[i].key = key;
            return &slots[i];
        }
    return NULL;
}

void race_seen(uint32_t first_epoch, uint64_t first_place, enum kind first_kind, uint64_t place,
               enum kind kind, uint64_t address, uint32_t size) {
    if (is_expected(address)) return;
    struct accesses *all = accesses;
    struct slot *slot = slot_of((first_place & LOW) << 32 | (place & LOW));
    if (slot && slot->number) {
        all->race[slot->number - 1].count++;
        return;
    }
    if (!slot || all->races >= MOST_RACES) {
        all->dropped_races++;
        return;
    }
    struct seen_race *race = &all->race[all->races];
    slot->number = ++all->races;
    const struct header *header = control->segment();
    *race = (struct seen_race){
        .address = address,
        .first_place = whole_place(first_place),
        .second_place = whole_place(place),
        .first_epoch = first_epoch,
        .second_epoch = now.epoch,
        .first_kind = first_kind,
        .second_kind = kind,
        .size = size,
        .count = 1,
        .step = header->steps,
    };
    const struct task *tasks = (const struct task *)((const char *)header + header->at.tasks);
    race->process = tasks[TASK_OF(now.epoch)].process;
}

void shared_place(uint64_t place) {
    struct accesses *all = accesses;
    /* No pair of places has such a key. */
    struct slot *slot = slot_of(UINT64_C(1) << 63 | (place & LOW));
    if (!slot || slot->number || all->shared_places >= MOST_SHARED_PLACES) return;
    const struct header *header = control->segment();
    const struct task *tasks = (const struct task *)((const char *)header + header->at.tasks);
    all->shared_place[all->shared_places].place = whole_place(place);
    all->shared_place[all->shared_places].process = tasks[TASK_OF(now.epoch)].process;
    slot->number = ++all->shared_places;
}
