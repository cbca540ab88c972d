#include "shadow.h"

#include <string.h>
#include <sys/mman.h>

#include "races.h"
#include "watching.h"

struct moment now;
char *shadow;
uint8_t place_filter[PLACE_FILTER];

volatile uint32_t working;

#define SHADOW_SIZE (UINT64_C(1) << (ADDRESS_BITS + 2))
/* Entries of a list; the oldest gives way to the newest. */
#define LONGEST 32u
#define ARENA_SIZE (UINT64_C(1) << 36)
#define PAGE 4096u

struct access {
    uint32_t epoch, place, kind;
};

struct list {
    uint32_t length, next;
    struct access access[LONGEST];
};

struct four *fours;
static struct list *lists;
static uint32_t lists_used = 1, fours_used = 1, free_list;

static void *reserve(uint64_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, size, MADV_NOHUGEPAGE);
    madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

bool shadow_begin(void) {
    if (!shadow) shadow = reserve(SHADOW_SIZE);
    if (!lists) lists = reserve(ARENA_SIZE);
    if (!fours) fours = reserve(ARENA_SIZE);
    return shadow && lists && fours;
}

void shadow_forget_all(void) {
    madvise(shadow, SHADOW_SIZE, MADV_DONTNEED);
    lists_used = fours_used = 1;
    free_list = 0;
}

/* -- order ------------------------------------------------------------------------------ */

static bool is_own(uint32_t epoch) { return TASK_OF(epoch) == TASK_OF(now.epoch); }

/* Whether what was done in an epoch happens before what the running task does now. */
static bool is_before(uint32_t epoch) {
    uint32_t task = TASK_OF(epoch);
    return is_own(epoch) || (task < now.known && now.clock[task] >= COUNT_OF(epoch));
}

static bool is_write(enum kind kind) { return kind == WRITE || kind == STORE || kind == UPDATE; }
static bool is_atomic(enum kind kind) { return kind != WRITE && kind != READ; }

/* -- lists -------------------------------------------------------------------------------- */

static uint32_t new_list(void) {
    uint32_t number = free_list;
    if (number) free_list = lists[number].next;
    else number = lists_used++;
    lists[number].length = 0;
    return number;
}

static void append(struct list *list, struct access access) {
    if (list->length == LONGEST) {
        memmove(list->access, list->access + 1, (LONGEST - 1) * sizeof *list->access);
        list->length--;
    }
    list->access[list->length++] = access;
}

static uint32_t packed(uint64_t place, enum kind kind) {
    return ((uint32_t)place & ~ATOMIC_BIT) | (is_atomic(kind) ? ATOMIC_BIT : 0);
}
static struct access write_of(const struct cell *cell) {
    enum kind kind = cell->write_place & ATOMIC_BIT ? UPDATE : WRITE;
    return (struct access){cell->write, cell->write_place & ~ATOMIC_BIT, kind};
}
static struct access read_of(const struct cell *cell) {
    enum kind kind = cell->read_place & ATOMIC_BIT ? LOAD : READ;
    return (struct access){cell->read, cell->read_place & ~ATOMIC_BIT, kind};
}

/* One access of the running task. */
struct incoming {
    uint64_t address, place;
    uint32_t size;
    enum kind kind;
};

/* Whether two accesses of different tasks conflict, and what follows if they do. */
static bool conflicts(const struct access *earlier, const struct incoming *later) {
    return (is_write(earlier->kind) || is_write(later->kind)) &&
           !(is_atomic(earlier->kind) && is_atomic(later->kind));
}

/* Tells of a conflict; true if it is a race. */
static bool meets(const struct access *earlier, const struct incoming *later) {
    if (is_own(earlier->epoch) || !conflicts(earlier, later)) return false;
    if (watch_shared) {
        shared_place(earlier->place);
        shared_place(later->place);
    }
    if (is_before(earlier->epoch)) return false;
    race_seen(earlier->epoch, earlier->place, earlier->kind, later->place, later->kind,
              later->address, later->size);
    return true;
}

/* The list is no longer needed where all of it is the running task's own. */
static void collapse(struct cell *cell, uint32_t number) {
    struct list *list = &lists[number];
    struct cell again = {0, 0, 0, 0};
    for (uint32_t i = 0; i < list->length; i++) {
        const struct access *access = &list->access[i];
        if (!is_own(access->epoch)) return;
        if (is_write(access->kind)) {
            again.write = access->epoch;
            again.write_place = packed(access->place, access->kind);
        } else {
            again.read = access->epoch;
            again.read_place = packed(access->place, access->kind);
        }
    }
    *cell = again;
    list->next = free_list;
    free_list = number;
}

/* A loop that waits looks again and again. */
static bool is_last(const struct list *list, const struct incoming *access) {
    const struct access *last = &list->access[list->length - 1];
    return list->length && last->epoch == now.epoch && last->place == (uint32_t)access->place &&
           last->kind == access->kind;
}

static void record_in_list(struct cell *cell, const struct incoming *access) {
    uint32_t number = cell->write_place, kept = 0;
    struct list *list = &lists[number];
    bool writes = is_write(access->kind);
    if (is_last(list, access)) return;
    for (uint32_t i = 0; i < list->length; i++) {
        struct access *earlier = &list->access[i];
        if (is_own(earlier->epoch)) {
            if (earlier->place == (uint32_t)access->place && earlier->kind == access->kind) continue;
        } else {
            bool races = meets(earlier, access);
            /* What races with an earlier access that is ordered races with the write, too. */
            if (writes && !races && is_before(earlier->epoch)) continue;
        }
        list->access[kept++] = *earlier;
    }
    list->length = kept;
    append(list, (struct access){now.epoch, (uint32_t)access->place, access->kind});
    if (writes) collapse(cell, number);
}

static void make_list(struct cell *cell, const struct incoming *access) {
    uint32_t number = new_list();
    struct list *list = &lists[number];
    if (cell->read) append(list, read_of(cell));
    if (cell->write) append(list, write_of(cell));
    *cell = (struct cell){SEVERAL, number, 0, 0};
    record_in_list(cell, access);
}

/* -- one cell --------------------------------------------------------------------------------- */

static void record_in_cell(struct cell *cell, const struct incoming *access) {
    if (cell->write == SEVERAL) {
        record_in_list(cell, access);
        return;
    }
    if (cell->write == FREED) {
        if (control->task() != NONE)
            control->freed_accessed((const void *)(uintptr_t)access->address,
                                    is_write(access->kind), access->place);
        return;
    }
    struct access write = write_of(cell), read = read_of(cell);
    bool others_wrote = write.epoch && !is_own(write.epoch);
    bool others_read = read.epoch && !is_own(read.epoch);
    bool writes = is_write(access->kind);
    if (others_wrote && !is_before(write.epoch)) {
        make_list(cell, access);
        return;
    }
    if (others_read && !is_before(read.epoch)) {
        make_list(cell, access);
        return;
    }
    if (watch_shared && others_wrote) meets(&write, access);
    if (watch_shared && others_read) meets(&read, access);
    /* What is plain says more than what is atomic. */
    if (is_atomic(access->kind) && is_known(cell, writes, now.epoch)) return;
    if (writes) {
        cell->write = now.epoch;
        cell->write_place = packed(access->place, access->kind);
        if (others_read) cell->read = 0;
    } else {
        cell->read = now.epoch;
        cell->read_place = packed(access->place, access->kind);
    }
}

static struct four *split(struct cell *cell) {
    if (cell->write == SPLIT) return &fours[cell->read_place];
    uint32_t number = fours_used++;
    struct four *four = &fours[number];
    memset(four, 0, sizeof *four);
    for (int i = 0; i < 4; i++) {
        struct cell *byte = &four->byte[i];
        *byte = *cell;
        if (cell->write == SEVERAL && i) {
            byte->write_place = new_list();
            lists[byte->write_place] = lists[cell->write_place];
        }
    }
    *cell = (struct cell){SPLIT, 0, 0, number};
    return four;
}

/* Bytes `from` to `to` of the four that a cell stands for. */
static void record_bytes(struct cell *cell, uint32_t from, uint32_t to,
                         const struct incoming *access) {
    if (from == 0 && to == 4 && cell->write != SPLIT) {
        record_in_cell(cell, access);
        return;
    }
    struct four *four = split(cell);
    for (uint32_t i = from; i < to; i++) record_in_cell(&four->byte[i], access);
}

static bool is_recorded(const struct cell *cell, uint32_t from, uint32_t to, bool writes) {
    if (cell->write != SPLIT) return false;
    const struct four *four = &fours[cell->read_place];
    for (uint32_t i = from; i < to; i++)
        if (!is_known(&four->byte[i], writes, now.epoch)) return false;
    return true;
}

void record(uint64_t address, size_t size, enum kind kind, uint64_t place) {
    struct incoming access = {address, place & ~(uint64_t)ATOMIC_BIT, (uint32_t)size, kind};
    bool writes = is_write(kind);
    /* A handler of the program has interrupted the hooks. */
    if (working) return;
    working = 1;
    for (uint64_t at = address, end = address + size; at < end;) {
        uint32_t from = at & 3;
        uint32_t to = end - (at - from) < 4 ? (uint32_t)(end - (at - from)) : 4;
        struct cell *cell = cell_of(at);
        access.address = at;
        if (!is_recorded(cell, from, to, writes)) record_bytes(cell, from, to, &access);
        at += to - from;
    }
    working = 0;
    if (!witnesses_wanted) return;
    witness_look(address, size, kind, place);
    if (writes) note_store(address, size);
}

/* -- what meets an atomic operation ------------------------------------------------------------- */

static bool is_met(const struct access *earlier, bool writes) {
    return earlier->epoch && !is_own(earlier->epoch) && !is_before(earlier->epoch) &&
           (writes || is_write(earlier->kind));
}

bool meets_other(uint64_t address, bool writes) {
    const struct cell *cell = cell_of(address);
    if (cell->write == SPLIT) cell = &fours[cell->read_place].byte[address & 3];
    if (cell->write == FREED) return false;
    if (cell->write != SEVERAL) {
        struct access write = write_of(cell), read = read_of(cell);
        return is_met(&write, writes) || is_met(&read, writes);
    }
    const struct list *list = &lists[cell->write_place];
    for (uint32_t i = 0; i < list->length; i++)
        if (is_met(&list->access[i], writes)) return true;
    return false;
}

/* -- accesses ----------------------------------------------------------------------------------- */

void access_slowly(uint64_t address, size_t size, enum kind kind, uint64_t place) {
    bool was_point = false;
    if (shares_memory) note_if_shared(address, place);
    if (wants_closer_look(place) && control->task() != NONE) {
        if (settling) settle();
        was_point = is_point(place);
        const void *at = (const void *)(uintptr_t)address;
        bool is_put = buffers_stores && kind == WRITE &&
                      control->put(VARIABLE, at, size, place, was_point) != NONE;
        if (was_point && !is_put) control->point(kind, at, size, place);
        if (!now.epoch) return;
    }
    record(address, size, kind, place);
    if (was_point) control->point_passed();
}

void shadow_freed(uint64_t address, size_t size) {
    for (uint64_t at = address; at + 4 <= address + size; at += 4)
        *cell_of(at) = (struct cell){FREED, 0, 0, 0};
}

void shadow_clear(uint64_t address, size_t size) {
    if (!size) return;
    uint64_t first = address & ~UINT64_C(3), last = (address + size + 3) & ~UINT64_C(3);
    char *from = (char *)cell_of(first), *to = from + (last - first) * 4;
    if (to > shadow + SHADOW_SIZE) to = shadow + SHADOW_SIZE;
    if (to - from >= 64 * (ptrdiff_t)PAGE) {
        /* Whole pages are given back rather than touched. */
        char *page = (char *)(((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
        char *end = (char *)((uintptr_t)to & ~(uintptr_t)(PAGE - 1));
        memset(from, 0, (size_t)(page - from));
        madvise(page, (size_t)(end - page), MADV_DONTNEED);
        memset(end, 0, (size_t)(to - end));
        return;
    }
    memset(from, 0, (size_t)(to - from));
}
