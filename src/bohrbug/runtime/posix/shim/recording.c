#include "recording.h"

#include "populate.h"

#define PAGE ((uint64_t)4096)
/* Short executions are left alone; long ones get as much as they had, up to a limit. */
#define FIRST_STEPS 400u
#define MOST_STEPS_AT_ONCE (1u << 15)

uint32_t steps_at_hand;

void steps_prepare(void) {
    uint32_t from = segment->steps, more = from < FIRST_STEPS ? FIRST_STEPS - from : from;
    if (more > MOST_STEPS_AT_ONCE) more = MOST_STEPS_AT_ONCE;
    if (more > segment->most_steps - from) more = segment->most_steps - from;
    steps_at_hand = from + more;
    if (from < FIRST_STEPS) return;
    uint64_t begin = (uint64_t)(uintptr_t)&STEPS[from] & ~(PAGE - 1);
    uint64_t end = (uint64_t)(uintptr_t)&STEPS[steps_at_hand];
    /* Reading is enough, and takes many pages at once that an earlier execution has used. */
    populate(begin, end, MADV_POPULATE_READ);
}
