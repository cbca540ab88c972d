/* Live rounds: copies of a running program try what could come next, and the program goes on as the worst of
 * them did.
 *
 * Jinx (Corensic, 2011) stopped a program now and then, ran several simulations of its next millisecond from a
 * snapshot, and let the real program do what the most harmful one did.  Here a snapshot is a copy of the
 * process: all tasks are fibers of one kernel thread, and so they are all in the copy.
 * The other end of this record is live_layout.py beside this folder; `live` guards both. */
#ifndef BOHRBUG_LIVE_H
#define BOHRBUG_LIVE_H

#include <stdbool.h>

#include "segment.h"

#define MOST_FRAGMENTS 64
#define MOST_FILTER 512
/* Pairs of places that a fragment tells of. */
#define MOST_FRAGMENT_PAIRS 256

/* How a fragment ended; the order is that of End in live/harm.py. */
enum fragment_end {
    AT_WINDOW, IT_FAILED, IT_CRASHED, AT_OUTSIDE, AT_WAIT, AT_EXIT, TOO_LONG, GOT_LOST, FRAGMENT_ENDS
};

/* What a fragment tells of itself, if it can. */
struct fragment_report {
    uint32_t is_written, end;
    uint32_t ending, misuse, signal, task; /* how it failed: enum ending, enum misuse_kind, number, index */
    int32_t code;              /* what it exited with */
    uint32_t steps;            /* those of it */
    uint32_t waiting, held;    /* tasks that waited at once, and steps for which a lock was held, at most */
    uint32_t pairs_count;
    uint64_t choices;          /* a checksum of its steps */
    uint64_t pairs[MOST_FRAGMENT_PAIRS]; /* who reads from where, as numbers */
};

struct live {
    /* Told by the starter. */
    uint32_t budget;           /* hundredths of a per cent of the time that rounds may take */
    uint32_t window, fragments, at_once, history;
    uint32_t most_rounds;      /* 0: no limit */
    uint64_t nanoseconds;      /* of real time, after which there are no more rounds; 0: no limit */
    uint64_t patience;         /* ... for which a fragment may take */
    uint64_t seed;
    uint32_t has_code;         /* what the program is to exit with is known: */
    int32_t code;
    uint32_t filter_length, spare;
    uint64_t filter[MOST_FILTER]; /* of system calls, as the kernel reads it */
    /* What happened. */
    uint32_t waits;            /* in real time, for somebody outside or for fragments */
    uint32_t met_outside, has_children;
    uint32_t followed;         /* the step at which the program went another way last, as a fragment did or by chance;
                                * NONE: it never has */
    uint64_t rounds, retired, parted, failed_copies, unproved, forgotten;
    uint64_t ends[FRAGMENT_ENDS];
    uint64_t began, spent, longest; /* nanoseconds of the monotonic clock */
    struct fragment_report suspect; /* the last failing fragment that was followed */
    struct fragment_report reports[MOST_FRAGMENTS];
};

/* NULL where there are no live rounds; and the step before which nobody has to look after them. */
extern struct live *live OWN;
extern uint32_t live_at OWN;

/* The run begins. */
void live_begin(void);
/* Step `live_at` is about to be chosen. */
void live_visit(void);
/* The first steps are forgotten, so that all others have other numbers. */
void live_forgets(uint32_t count);
/* The current moment of a clock that nobody sets. */
uint64_t real_now(void);

#endif
