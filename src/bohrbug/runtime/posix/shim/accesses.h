/* What the segment holds of accesses to memory, and what the shim and the library of hooks, which
 * stands in for the runtime of the thread sanitizer, know of each other.
 *
 * accesses_layout.py describes the same structures to Python.
 */
#ifndef BOHRBUG_ACCESSES_H
#define BOHRBUG_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "segment.h"

/* An epoch: the index of a task, and how many it had before. */
#define COUNT_BITS 22
#define MOST_COUNT 0x3ffff0u
#define EPOCH(task, count) ((task) << COUNT_BITS | (count))
#define TASK_OF(epoch) ((epoch) >> COUNT_BITS)
#define COUNT_OF(epoch) ((epoch) & ((1u << COUNT_BITS) - 1))

#define MOST_RESOURCE_CLOCKS (1u << 16)
#define MOST_POINTS 8192
#define MOST_POINT_MODULES 64
#define MOST_RACES 512
#define MOST_SHARED_PLACES 8192
#define MOST_WITNESSES 64
#define MOST_WEAK_PLACES 64
#define MOST_LOCKS 8
#define CLOCK_WORDS (1u << 25)
#define MOST_WATCHPOINTS 4
#define MOST_SAMPLED 3
#define MODULE_PATH 240
/* Stores that a task has in its buffer, at most; and those of them that are scheduling points. */
#define MOST_BUFFERED 48u
#define MOST_ENTRIES 24u
/* Bytes of a store that goes into a buffer. */
#define MOST_STORED 64u
/* Atomics of which older stores are kept, how many of them, and in executions of how many tasks. */
#define MOST_HISTORIES 1024u
#define MOST_PAST_STORES 8u
#define MOST_TASKS_WITH_PAST 256u

/* What is asked for. */
enum watch {
    WATCH_NOTHING,  /* atomics are scheduling points all the same */
    WATCH_RACES,
    WATCH_SHARED,   /* ... and conflicting accesses that are ordered */
};

/* A place that is a scheduling point. */
struct access_point {
    uint64_t offset;
    uint32_t module, spare;
};

struct point_module {
    char path[240];
};

/* Two places that raced; the later access is the one at which it was seen. */
struct seen_race {
    uint64_t address;
    uint64_t first_place, second_place;
    uint32_t first_epoch, second_epoch;
    uint32_t first_kind, second_kind;
    uint32_t size, count;
    uint32_t process, step;
};

struct place_in_process {
    uint64_t place;
    uint32_t process, spare;
};

/* Where memory that is weaker than sequentially consistent can give other values. */
enum weak {
    LOADS_OVERTAKE = 1,           /* an atomic load an earlier atomic store to other memory */
    RELAXED_ORDERS = 2,           /* relaxed accesses beside those to other memory */
    STACK_IN_ORDER = 4,           /* a store to the task's own stack, which left the buffer too early */
};

enum seen { NOT_SEEN, AT_ALL, EXACTLY };
/* Of `may_be_buffered`: nobody has seen the stores before. */
#define NOBODY_KNOWS 2u

/* An access that is waited for in an execution that repeats another one. */
struct witness {
    /* Asked for. */
    uint64_t place, address;
    uint32_t epoch, kind;
    /* What was seen. */
    uint32_t seen, stack;
    uint64_t found;               /* where it was this time */
    uint64_t before, after;       /* the value, where it has at most eight bytes */
    uint32_t has_after, size;
    uint32_t may_be_buffered;     /* a store to other memory, and no fence since */
    uint32_t locks;
    struct holder lock[MOST_LOCKS];  /* with the resource in the place of the task */
    uint64_t block, block_size, allocated_at;  /* of the heap, or 0 */
};

/* Memory that the processor watches. */
struct watchpoint {
    char path[MODULE_PATH];       /* of the module that it lies in, or "" */
    uint64_t address;             /* ... as the module's file has it, or anywhere */
    uint32_t size;
    uint32_t tells_writes;        /* a second register tells writes from reads */
};

/* An instruction before which tasks are held. */
struct sampled_place {
    char path[MODULE_PATH];       /* of its module */
    uint64_t offset;              /* ... as that file has it */
    int64_t displacement;
    uint32_t base, index, scale;  /* registers, see REGISTERS in instructions.py */
    uint32_t size, length;        /* of what it accesses, and of the instruction */
    uint32_t kind;
};

struct task_order {
    uint32_t count, clock, released, unlearnt;
    uint32_t stored;              /* `count` at its last atomic store */
    uint32_t older, older_in_a_row;  /* loads that saw an older store, and those at the same place since */
    uint32_t spare;
    uint64_t older_at;
};

/* A store that has not reached memory. */
struct buffered_store {
    uint64_t address, site;
    uint32_t size;
    uint32_t entry, resource;     /* what stands for the entry, and for memory; NONE where it is no point */
    uint32_t is_on_stack;         /* of its task */
    uint8_t value[MOST_STORED];
    uint8_t hidden[MOST_STORED];  /* what all others see, while its task runs */
};

/* Of a task: see store_buffer.c.  A ring. */
struct store_buffer {
    uint32_t first, count;
    uint32_t puts;                /* points among the stores so far */
    uint32_t unsettled;           /* the newest store is still to be done */
    uint32_t task;                /* the one that it is itself, or NONE */
    uint32_t last;                /* the entry that the next fence waits for, or NONE */
    uint64_t stack_from, stack_to;
    struct buffered_store store[MOST_BUFFERED];
};

/* A store to an atomic: see past_stores.c. */
struct past_store {
    uint8_t value[16];
    uint32_t task, moment;        /* who made it and when; NONE: it was there before */
    uint32_t strength;            /* its number among those that are sequentially consistent, or 0 */
    uint32_t released, seen;      /* clocks: what it released, and since when which task has seen it */
    uint32_t spare;
};

/* Of an atomic.  A ring. */
struct store_history {
    uint32_t size, count;
    struct past_store store[MOST_PAST_STORES];
};

struct accesses {
    /* The settings. */
    uint32_t watch, points, point_modules, witnesses;
    uint32_t most_of_a_place;     /* scheduling points in an execution */
    uint32_t watchpoints, sampled;
    /* What happened. */
    uint32_t takes_part;          /* a process with hooks has begun */
    uint32_t gave_up;             /* no room for clocks or shadows: from then on nothing was seen */
    uint32_t tired_places;        /* that were no points any more, having been too often */
    uint32_t races, dropped_races, shared_places;
    uint32_t clock_words;
    uint32_t weak;                /* enum weak, as bits */
    uint32_t weak_places;         /* where atomics showed that, in the first process */
    uint32_t histories, histories_full; /* that there are, and whether there was no room for one */
    uint32_t strongest_stores;    /* sequentially consistent ones, so far */
    uint32_t fences;              /* a clock: what the sequentially consistent fences have made known */
    uint32_t has_fences;          /* the program may do some */
    uint32_t watch_error;         /* why the kernel did not let us watch, as errno */
    uint32_t hits, tired_watchpoints; /* of watchpoints, and those that were hit too often */
    struct watchpoint watchpoint[MOST_WATCHPOINTS];
    struct sampled_place sampled_place[MOST_SAMPLED];
    struct task_order order[MOST_TASKS];
    uint32_t task_clock[MOST_TASKS];
    uint32_t resource_clock[MOST_RESOURCE_CLOCKS];
    struct point_module module[MOST_POINT_MODULES];
    struct access_point point[MOST_POINTS];
    struct witness witness[MOST_WITNESSES];
    struct seen_race race[MOST_RACES];
    struct place_in_process shared_place[MOST_SHARED_PLACES];
    uint64_t weak_place[MOST_WEAK_PLACES];
    uint32_t words[CLOCK_WORDS];
    struct store_buffer buffer[MOST_TASKS];
    struct store_history history[MOST_HISTORIES];
};

#define ACCESSES TABLE(struct accesses, accesses)

/* -- between the shim and the library of hooks -------------------------------------------------- */

/* Of the running task, for the hooks: kept up to date by the shim. */
struct moment {
    uint32_t epoch;               /* 0 where accesses are not watched */
    uint32_t known;               /* length of its clock */
    uint32_t fence;               /* another one since something was done that is a fence on x86, too */
    const uint32_t *clock;
};

/* An access that was seen after it was done. */
struct done_access {
    uint64_t address, place;
    uint64_t before, after;       /* the value */
    bool has_after;
    enum kind kind;
    uint32_t size;
};

struct hooks {
    struct moment *now;
    /* An execution begins in this process, or goes on in it after a fork. */
    void (*begin)(void);
    void (*forked)(void);
    /* A thread begins on this stack. */
    void (*thread)(uint64_t low, uint64_t size);
    /* The running task is about to pass control on; only while `settling`. */
    void (*settle)(void);
    const uint32_t *settling;
    /* Nothing may interrupt the hooks then. */
    const volatile uint32_t *working;
    /* For accesses that the processor has told of: a race, and one that may be waited for. */
    void (*race)(uint32_t first_epoch, uint64_t first_place, enum kind first_kind, uint64_t place,
                 enum kind kind, uint64_t address, uint32_t size);
    void (*witness)(const struct done_access *done);
    /* Blocks of the heap that are kept when they are freed, and given out again. */
    void (*allocated)(uint64_t address, size_t size, uint64_t site);
    void (*freed)(uint64_t address, size_t size, uint64_t site, bool is_kept);
    /* The kernel has read or written memory for the program. */
    void (*touched)(uint64_t address, size_t size, enum kind kind, uint64_t site);
    /* Memory that processes share: whether it is, and that it is from now on. */
    bool (*is_shared)(uint64_t address);
    void (*became_shared)(const void *address, size_t size);
};

struct control {
    struct header *(*segment)(void);
    /* Index of the task of this thread; NONE where it is not controlled. */
    uint32_t (*task)(void);
    /* Scheduling points of accesses and atomics.  What it was done on is given back. */
    uint32_t (*point)(enum kind kind, const void *address, size_t size, uint64_t site);
    /* Others may come between an access that was a point and the next one. */
    void (*point_passed)(void);
    uint32_t (*atomic)(enum kind kind, const void *address, size_t size, uint64_t site, int order);
    void (*looked_in_vain)(uint64_t site);
    void (*changed)(void);
    void (*atomic_store)(uint32_t resource, bool releases, bool goes_on);
    /* A store has been made: `size` bytes stand at the address now. */
    void (*stored)(uint32_t resource, const void *address, size_t size, int order);
    /* A load has got the value, or the newest one must do (`value` is NULL).  Whether an older one has taken its
     * place. */
    bool (*loaded)(uint32_t resource, void *value, size_t size, int order, uint64_t site);
    void (*fence)(bool acquires, bool releases, bool strongest, uint64_t site);
    /* Of annotations: as if there was a lock at the address. */
    void (*publish)(const void *address, uint64_t site);
    void (*learn)(const void *address, uint64_t site);
    uint32_t (*stack)(void);
    void (*give_up)(void);
    /* Of the heap: see freed.h.  Where the program called the allocator, if that went by the library of
     * allocations. */
    bool (*keep)(void *block, size_t size, uint64_t site);
    void (*freed_accessed)(const void *address, bool writes, uint64_t site);
    uint64_t (*allocation_site)(void);
    /* Of store buffers: see store_buffer.h. */
    uint32_t (*put)(enum type type, const void *address, size_t size, uint64_t site, bool is_point);
    void (*stores_freed)(const void *address, size_t size);
};

/* The library of hooks says that it is there; exported by the shim. */
const struct control *bohrbug_take_hooks(const struct hooks *hooks);

/* -- of the shim ------------------------------------------------------------------------------ */

extern const struct hooks *hooks OWN;

static inline bool accesses_watched(void) { return hooks && hooks->now; }

/* A call at this place has let the kernel read or write so many bytes; a negative number is an error. */
static inline void touched(const void *buffer, ssize_t size, enum kind kind, uint64_t site) {
    if (hooks && size > 0) hooks->touched((uint64_t)(uintptr_t)buffer, (size_t)size, kind, site);
}

/* The resource that stands for memory at an address, which is plain or atomic (VARIABLE, ATOMIC). */
uint32_t memory_resource(const void *address, size_t size, enum type type, uint64_t site);
uint32_t variable_at(const void *address, size_t size, uint64_t site);
void accesses_begin(void);
void accesses_forked(void);
void accesses_thread(void);

#endif
