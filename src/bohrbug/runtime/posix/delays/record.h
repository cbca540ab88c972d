/* What a program with real threads shares with the process that started it, which opens the windows.
 *
 * delays_layout.py is the other side; a test compares every offset.
 */
#ifndef BOHRBUG_DELAYS_RECORD_H
#define BOHRBUG_DELAYS_RECORD_H

#include <stdint.h>

/* More threads than these are never delayed: each looks at all others while it gives way. */
#define MOST_THREADS 256
#define MOST_DELAYS 64
/* A power of two. */
#define MOST_PLACES 4096
#define MOST_CHANGES 3
#define MOST_TARGETS 3
#define MOST_FRAMES 16
#define MOST_NAMES 64
#define MAPS_SIZE 65536

/* What a thread is about to do: an access, or, from FIRST_CALL on, the call of a function. */
enum act { READS = 1, WRITES = 2, IS_ATOMIC = 4, FIRST_CALL = 8 };

enum window_kind { BY_PRIORITIES = 1, WITH_TRAP, AMBUSH };

/* What a thread waits for, without a timeout. */
enum wait { NO_WAIT, MUTEX, READ_LOCK, WRITE_LOCK, CONDITION, SEMAPHORE, BARRIER, JOIN, SPIN_LOCK, TIMED };

enum slot_state { FREE_SLOT, STARTING, IN_USE };

/* A thread. */
struct slot {
    uint32_t state, number, tid;
    /* It is being delayed; others gave way to it in vain since it was seen. */
    uint32_t is_delayed, is_blocked;
    /* The window for which its priority was drawn. */
    uint32_t drawn_in;
    uint32_t wait, waits;
    int64_t priority;
    /* When it was last at a cue point, in nanoseconds of the monotonic clock, as all times here. */
    uint64_t seen;
    uint64_t self, routine, argument;
    uint64_t wait_object, wait_place, wait_function;
    /* Cue points that it has passed while an ambush waited for others. */
    uint64_t passed;
    uint64_t spare[3];
};

struct delay {
    /* Counted from 1; written last. */
    uint64_t ticket;
    uint32_t number, act, gives_way, size;
    uint64_t routine, address, began, ended;
    uint32_t depth, spare;
    uint64_t stack[MOST_FRAMES];
};

/* One of the two threads of a race. */
struct side {
    uint32_t number, act, size, depth;
    uint64_t routine, address;
    uint64_t stack[MOST_FRAMES];
};

/* The state has the window's number above these. */
enum trap_phase { UNSET, SETTING, SET, CATCHING, CAUGHT, IN_VAIN, SPRUNG, SETTLED, PHASES };

struct trap {
    uint64_t state;
    uint64_t sprung_at;
    struct side paused, other;
    /* Before, after the access of the other, and after both. */
    uint64_t values[3];
    uint32_t known[3];
    uint32_t slot;
};

struct record {
    /* Of the process that takes part. */
    uint32_t pid;
    uint32_t has_asserted;
    char assertion[512];
    uint32_t asserted_by, spare;
    uint64_t asserting_routine;
    uint64_t assertion_stack[MOST_FRAMES];
    /* Where glibc keeps who has a lock, and whether processes share it. */
    uint32_t owner_at, mutex_kind_at, writer_at, rwlock_shared_at, condition_shared_at, spare_too;

    /* The number of the window that is open, or 0: alone in its line, as every hook reads it. */
    uint32_t open __attribute__((aligned(128)));

    /* Of the window; written before it is opened. */
    uint32_t kind __attribute__((aligned(128)));
    uint32_t changes_count, targets_count, spare_again;
    uint64_t ends, seed, pause;
    uint64_t changes[MOST_CHANGES], targets[MOST_TARGETS];
    /* How long threads give way at most, after how long they look again, after how long without a
     * sign of life others count as blocked, and as gone. */
    uint64_t longest, slice, grace, gone;

    /* What it comes to. */
    uint64_t cues __attribute__((aligned(128)));
    int64_t skipped;
    uint64_t ended;
    uint64_t gave_way, traps, delayed;
    uint64_t delays_begun;
    uint32_t numbers, alive, slots_used, places_count;

    struct trap trap __attribute__((aligned(128)));
    struct slot slots[MOST_THREADS] __attribute__((aligned(128)));
    struct delay delays[MOST_DELAYS];
    uint64_t places[MOST_PLACES];
    char names[MOST_NAMES][32];
    uint32_t maps_length;
    char maps[MAPS_SIZE];
};

#endif
