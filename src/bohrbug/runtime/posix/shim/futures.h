/* What fragments try: each one another policy for the steps of its window. */
#ifndef BOHRBUG_FUTURES_H
#define BOHRBUG_FUTURES_H

#include <stdbool.h>

#include "segment.h"

/* Stretches of tasks that run one after the other, at most. */
#define MOST_STRETCHES 6

struct future {
    enum policy policy;
    uint64_t seed;
    uint32_t window;
    bool keeps_inside;
    uint32_t stretches;
    struct segment_of_plan stretch[MOST_STRETCHES]; /* by the indices of tasks */
};

/* The first one goes on as the program would. */
void draw_futures(struct future *futures, uint32_t count, uint64_t *random, uint32_t window);
/* Whether tasks are kept from what would be seen outside, as a fragment ends there: in all but the first one, and
 * where the program follows them. */
extern bool keeps_inside OWN;
/* The enabled tasks without these, if there are others; how many are left. */
uint32_t those_inside(uint16_t *enabled, uint32_t count);

/* From this step on it is decided by that; the same steps follow in a copy and in the program. */
void decide_by(const struct future *future);
void decide_as_usual(void);

#endif
