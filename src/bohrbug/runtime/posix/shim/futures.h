/* What fragments try: each one another policy for the steps of its window. */
#ifndef BOHRBUG_FUTURES_H
#define BOHRBUG_FUTURES_H

#include "segment.h"

/* Stretches of tasks that run one after the other, at most. */
#define MOST_STRETCHES 6

struct future {
    enum policy policy;
    uint64_t seed;
    uint32_t window;
    uint32_t stretches;
    struct segment_of_plan stretch[MOST_STRETCHES]; /* by the indices of tasks */
};

/* The first one goes on as the program would. */
void draw_futures(struct future *futures, uint32_t count, uint64_t *random, uint32_t window);
/* From this step on it is decided by that; the same steps follow in a copy and in the program. */
void decide_by(const struct future *future);
void decide_as_usual(void);

#endif
