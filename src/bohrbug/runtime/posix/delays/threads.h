/* What is known of the threads of this process. */
#ifndef BOHRBUG_DELAYS_THREADS_H
#define BOHRBUG_DELAYS_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "../shim/own.h"
#include "record.h"

struct own {
    struct slot *slot;
    /* It is in code of ours; handlers of signals may come there. */
    bool is_within;
    /* The window whose trap caught somebody while this thread was in it, until the thread is seen again. */
    uint32_t unsettled;
};

extern __thread struct own own OWN_OF_THREAD;
/* That of this process, or one in which no window is ever opened. */
extern struct record *record OWN;
extern struct record no_record OWN;

/* That of the calling thread; NULL if it has none and there is no room. */
struct slot *own_slot(void);
/* One for a thread that is about to be started; NULL if there is no room. */
struct slot *slot_for_new(uint64_t routine, uint64_t argument);
/* The calling thread is the one it was made for. */
void slot_enter(struct slot *slot);
void slot_free(struct slot *slot);
/* Before there is any; after a fork, in the child. */
void threads_begin(void);
void threads_forget(void);

static inline uint32_t index_of(const struct slot *slot) { return (uint32_t)(slot - record->slots); }

#endif
