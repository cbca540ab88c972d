/* What happens at a cue point while a window is open. */
#include "cue.h"

#include <errno.h>

#include "delay.h"
#include "priorities.h"
#include "sharing.h"
#include "traps.h"

static void at(struct slot *slot, uint32_t window, const struct point *point) {
    trap_settle();
    uint32_t kind = record->kind;
    if (kind == AMBUSH && !is_target(point->place)) {
        __atomic_store_n(&slot->passed, slot->passed + 1, __ATOMIC_RELAXED);
        trap_catch(window, slot, point);
        return;
    }
    uint64_t now = monotonic();
    __atomic_store_n(&slot->seen, now, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->is_blocked, 0, __ATOMIC_RELAXED);
    bool is_shared = !is_access(point) || note_access(slot, point);
    if (kind == BY_PRIORITIES) {
        if (now < record->ends) give_way(window, slot, point, now);
        return;
    }
    trap_catch(window, slot, point);
    if (is_shared && now < record->ends) trap_set(window, slot, point);
}

void cue_in_window(const struct point *point) {
    if (own.is_within) return;
    int error = errno;
    own.is_within = true;
    struct slot *slot = own_slot();
    uint32_t window = __atomic_load_n(&record->open, __ATOMIC_ACQUIRE);
    if (slot && window) at(slot, window, point);
    own.is_within = false;
    errno = error;
}
