#include "watching.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fences.h"
#include "races.h"
#include "shadow.h"

#define POINT_SLOTS (2u * MOST_POINTS)
#define MOST_INSTRUMENTED 256
#define MOST_BLOCKS (1u << 20)

struct accesses *accesses;
bool watch_shared;
uint32_t witnesses_wanted;
bool buffers_stores;
static bool remembers_stores;
uint32_t settling;

/* -- points ----------------------------------------------------------------------------- */

static struct slot {
    uint64_t place;
    uint32_t times;
} point_slots[POINT_SLOTS];

static struct slot *slot_of(uint64_t place) {
    size_t i = (size_t)(place * 0x9E3779B97F4A7C15ULL >> 40) % POINT_SLOTS;
    while (point_slots[i].place && point_slots[i].place != place) i = (i + 1) % POINT_SLOTS;
    return &point_slots[i];
}

bool is_point(uint64_t place) {
    struct slot *slot = slot_of(place);
    if (!slot->place) return false;
    if (++slot->times <= accesses->most_of_a_place) return true;
    if (slot->times == accesses->most_of_a_place + 1) accesses->tired_places++;
    return false;
}

static int add_points(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    char path[240] = "";
    if (info->dlpi_name && *info->dlpi_name) {
        strncpy(path, info->dlpi_name, sizeof path - 1);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
    }
    for (uint32_t m = 0; m < accesses->point_modules; m++) {
        if (strncmp(accesses->module[m].path, path, sizeof path) != 0) continue;
        for (uint32_t i = 0; i < accesses->points; i++) {
            if (accesses->point[i].module != m) continue;
            uint64_t place = info->dlpi_addr + accesses->point[i].offset;
            slot_of(place)->place = place;
            place_filter[place % PLACE_FILTER] = 1;
        }
    }
    return 0;
}

static void points_begin(void) {
    if (accesses->points) dl_iterate_phdr(add_points, NULL);
}

/* -- modules with hooks ------------------------------------------------------------------- */

static struct range {
    uint64_t start, end;
} instrumented[MOST_INSTRUMENTED];
static uint32_t instrumented_count;

struct search {
    uint64_t address;
    struct range found;
};

static int find_module(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    struct range range = {UINT64_MAX, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uint64_t from = info->dlpi_addr + header->p_vaddr;
        if (from < range.start) range.start = from;
        if (from + header->p_memsz > range.end) range.end = from + header->p_memsz;
    }
    if (search->address < range.start || search->address >= range.end) return 0;
    search->found = range;
    return 1;
}

bool is_instrumented(const void *address) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    for (uint32_t i = 0; i < instrumented_count; i++)
        if (at >= instrumented[i].start && at < instrumented[i].end) return true;
    return false;
}

void instrumented_module(const void *address) {
    if (is_instrumented(address) || instrumented_count == MOST_INSTRUMENTED) return;
    struct search search = {(uint64_t)(uintptr_t)address, {0, 0}};
    if (dl_iterate_phdr(find_module, &search)) instrumented[instrumented_count++] = search.found;
}

/* -- stores in buffers ------------------------------------------------------------------------ */

/* x86-TSO lets a load overtake earlier stores to other memory, until a fence or a locked
 * instruction (Owens, Sarkar and Sewell, TPHOLs 2009).  Stores that have been made since: of more ranges
 * than these, some are other ones than any load's. */
#define MOST_STORES 4u

static struct stores {
    uint32_t task, fence, count;
    struct {
        uint64_t from, to;
    } range[MOST_STORES];
} stores, atomic_stores;

static bool is_of_now(const struct stores *all) {
    return all->task == TASK_OF(now.epoch) && all->fence == now.fence;
}

static void add_store(struct stores *all, uint64_t address, size_t size) {
    if (!is_of_now(all))
        *all = (struct stores){.task = TASK_OF(now.epoch), .fence = now.fence, .count = 0};
    for (uint32_t i = 0; i < all->count && i < MOST_STORES; i++)
        if (all->range[i].from == address && all->range[i].to == address + size) return;
    if (all->count < MOST_STORES) {
        all->range[all->count].from = address;
        all->range[all->count].to = address + size;
    }
    all->count++;
}

/* Whether there was a store to other bytes. */
static bool has_other(const struct stores *all, uint64_t address, size_t size) {
    if (!is_of_now(all)) return false;
    for (uint32_t i = 0; i < all->count && i < MOST_STORES; i++)
        if (all->range[i].from > address || all->range[i].to < address + size) return true;
    return all->count > MOST_STORES;
}

void note_store(uint64_t address, size_t size) { add_store(&stores, address, size); }

static bool may_be_buffered(uint64_t address, size_t size) { return has_other(&stores, address, size); }

/* -- atomics that are weaker than sequentially consistent ----------------------------------------- */

/* Memory on which atomics of different tasks met that nothing orders, and whether one of them, a load or a
 * store, was relaxed.  With one such variable only, all see its values in the same order. */
static uint64_t met[2];
static bool met_relaxed;

static void note_weak(enum weak what, uint64_t place) {
    accesses->weak |= what;
    uint32_t i = 0;
    while (i < accesses->weak_places && accesses->weak_place[i] != place) i++;
    if (i < MOST_WEAK_PLACES && i == accesses->weak_places)
        accesses->weak_place[accesses->weak_places++] = place;
}

void note_atomic(uint64_t address, size_t size, enum kind kind, int order, bool meets_other,
                 uint64_t place) {
    if (meets_other && !remembers_stores) {
        if (!met[0]) met[0] = address;
        else if (met[0] != address) met[1] = address;
        met_relaxed |= order == __ATOMIC_RELAXED && kind != UPDATE;
        if (met[1] && met_relaxed) note_weak(RELAXED_ORDERS, place);
        if (kind == LOAD && has_other(&atomic_stores, address, size))
            note_weak(LOADS_OVERTAKE, place);
    }
    /* The strongest stores, and all updates, are done by locked instructions. */
    if (kind == STORE && order != __ATOMIC_SEQ_CST) add_store(&atomic_stores, address, size);
    else if (kind != LOAD) atomic_stores.count = stores.count = 0;
}

/* -- the heap ------------------------------------------------------------------------------------ */

static struct block *blocks;
static uint32_t block_count;

void block_allocated(uint64_t address, uint64_t size, uint64_t site) {
    if (!witnesses_wanted) return;
    if (!blocks) {
        void *memory = mmap(NULL, MOST_BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return;
        blocks = memory;
    }
    blocks[block_count++ % MOST_BLOCKS] = (struct block){address, size, site};
}

/* The one that was allocated last, of those that the address lies in. */
static const struct block *block_of(uint64_t address) {
    uint32_t count = block_count < MOST_BLOCKS ? block_count : MOST_BLOCKS;
    for (uint32_t i = 0; i < count; i++) {
        const struct block *block = &blocks[(block_count - 1 - i) % MOST_BLOCKS];
        if (address >= block->address && address < block->address + block->size) return block;
    }
    return NULL;
}

/* -- witnesses -------------------------------------------------------------------------------------- */

static struct witness *unsettled;

static uint64_t value_at(uint64_t address, size_t size) {
    uint64_t value = 0;
    if (size <= sizeof value) memcpy(&value, (const void *)(uintptr_t)address, size);
    return value;
}

void settle(void) {
    if (!unsettled) return;
    unsettled->after = value_at(unsettled->found, unsettled->size);
    unsettled->has_after = 1;
    unsettled = NULL;
    settling = 0;
}

static void note_locks(struct witness *witness) {
    const struct header *header = control->segment();
    const struct resource *resources =
        (const struct resource *)((const char *)header + header->at.resources);
    uint32_t task = TASK_OF(now.epoch);
    for (uint32_t i = 0; i < header->resources && witness->locks < MOST_LOCKS; i++) {
        const struct resource *resource = &resources[i];
        if (resource->destroyed) continue;
        const struct holder *holder = resource->owner.task == task ? &resource->owner : NULL;
        for (int r = 0; !holder && resource->type == RWLOCK && r < MOST_READERS; r++)
            if (resource->reader[r].site && resource->reader[r].task == task)
                holder = &resource->reader[r];
        if (!holder) continue;
        witness->lock[witness->locks] = *holder;
        witness->lock[witness->locks++].task = i;
    }
}

/* Whether the access is the one that is waited for, and better than what was taken for it before; then
 * most is noted of it. */
static bool is_it(struct witness *witness, uint64_t address, size_t size, enum kind kind,
                  uint64_t place) {
    if (witness->epoch != now.epoch || witness->place != place || witness->kind != kind)
        return false;
    /* What is needed to record stacks can move the heap, and with it the address. */
    bool exactly = witness->address >= address && witness->address < address + size;
    if (witness->seen && (witness->seen == EXACTLY || !exactly)) return false;
    witness->seen = exactly ? EXACTLY : AT_ALL;
    witness->locks = 0;
    witness->stack = control->stack();
    witness->size = (uint32_t)size;
    witness->found = address;
    note_locks(witness);
    const struct block *block = block_of(address);
    if (block) {
        witness->block = block->address;
        witness->block_size = block->size;
        witness->allocated_at = block->site;
    }
    return true;
}

void witness_look(uint64_t address, size_t size, enum kind kind, uint64_t place) {
    for (uint32_t i = 0; i < witnesses_wanted; i++) {
        struct witness *witness = &accesses->witness[i];
        /* Of all loads at that place one is enough. */
        if (witness->place == place && witness->kind == kind && may_be_buffered(address, size))
            witness->may_be_buffered = 1;
        if (!is_it(witness, address, size, kind, place)) continue;
        witness->before = value_at(address, size);
        if (kind == WRITE && size <= sizeof witness->after) {
            unsettled = witness;
            settling = 1;
        }
    }
}

void witness_done(const struct done_access *done) {
    for (uint32_t i = 0; i < witnesses_wanted; i++) {
        struct witness *witness = &accesses->witness[i];
        if (!is_it(witness, done->address, done->size, done->kind, done->place)) continue;
        witness->before = done->before;
        witness->after = done->after;
        witness->has_after = done->has_after;
        witness->may_be_buffered = NOBODY_KNOWS;
    }
}

/* -- the beginning ------------------------------------------------------------------------------------ */

static void begin(void) {
    struct header *header = control->segment();
    accesses = (struct accesses *)((char *)header + header->at.accesses);
    watch_shared = accesses->watch == WATCH_SHARED;
    witnesses_wanted = accesses->witnesses;
    buffers_stores = header->memory == STORES_BUFFERED && !header->memory_given_up;
    remembers_stores = header->memory == STORES_REMEMBERED && !header->memory_given_up;
    accesses->has_fences = remembers_stores && calls_fences();
    points_begin();
    races_begin();
    /* Every access is looked at, so that the value of the one before it is known. */
    if (witnesses_wanted || buffers_stores) memset(place_filter, 1, sizeof place_filter);
    if (accesses->watch != WATCH_NOTHING && !shadow_begin()) {
        accesses->watch = WATCH_NOTHING;
        accesses->gave_up = 1;
    }
}

static void forked(void) {
    if (accesses->watch != WATCH_NOTHING) shadow_forget_all();
}

static void thread_begins(uint64_t low, uint64_t size) {
    /* What was on this stack before belonged to a thread that has ended. */
    if (now.epoch) shadow_clear(low, size);
}

static void touched_by_kernel(uint64_t address, size_t size, enum kind kind, uint64_t site) {
    if (now.epoch && is_instrumented((const void *)(uintptr_t)site)) record(address, size, kind, site);
}

static const struct hooks ours = {&now,   begin,     forked,  thread_begins,
                                  settle, &settling, &working, race_seen, witness_done,
                                  heap_allocated, heap_freed, touched_by_kernel,
                                  is_in_shared_memory, memory_is_shared};
const struct control *control;

extern __typeof__(bohrbug_take_hooks) bohrbug_take_hooks __attribute__((weak));

__attribute__((constructor(102))) static void start(void) {
    if (bohrbug_take_hooks) control = bohrbug_take_hooks(&ours);
}
