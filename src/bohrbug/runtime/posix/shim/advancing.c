#include "advancing.h"

#include "program_stack.h"
#include "task.h"

/* Times in the second half of the last stretch that a task stands where it never did before, which show that it comes
 * further: a loop without an end is through all that there is by then. */
#define ENOUGH 4
/* More than there are looks in the last stretch; a power of two. */
#define MOST_STANDINGS 4096

static uint64_t standings[MOST_STANDINGS];
static uint16_t fresh[MOST_TASKS];

/* Whether it is there already; else it is put there. */
static bool is_known(uint64_t standing) {
    for (uint32_t at = (uint32_t)(standing >> 32);; at++) {
        uint64_t *place = &standings[at % MOST_STANDINGS];
        if (*place == standing) return true;
        if (!*place) {
            *place = standing;
            return false;
        }
    }
}

void note_standing(uint32_t step) {
    const struct task *task = current;
    if (!task) return;
    uint32_t index = index_of(task);
    uint64_t state = program_stack_state(task->site);
    /* Where nobody can tell it may as well be the same. */
    if (!state || is_known((state ^ task->site << 1) * (2 * index + 1))) return;
    if (step >= (last_stretch() + segment->max_steps) / 2) fresh[index]++;
}

bool comes_further(void) {
    for (uint32_t index = 0; index < segment->tasks; index++)
        if (fresh[index] >= ENOUGH) return true;
    return false;
}
