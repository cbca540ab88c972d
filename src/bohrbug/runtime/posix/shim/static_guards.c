/* Static variables of functions in C++: while one task initialises such a variable, others that come to it wait.
 *
 * Programs call these functions only as long as they have not seen that it is done.  Which library has the real ones
 * is looked up at the first call, as hardly any program in C has them; where the C++ library is known to a plugin
 * only, nobody finds them, and what the guard is by the ABI (Itanium C++ ABI, section 3.3.3) is made of it here: its
 * first byte tells that the variable is there. */
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "real.h"
#include "schedule.h"

static struct {
    bool are_known;
    int (*acquire)(uint64_t *state);
    void (*release)(uint64_t *state);
    void (*abort)(uint64_t *state);
} functions;

static void look_up(void) {
    if (functions.are_known) return;
    functions.acquire = (int (*)(uint64_t *))dlsym(RTLD_NEXT, "__cxa_guard_acquire");
    functions.release = (void (*)(uint64_t *))dlsym(RTLD_NEXT, "__cxa_guard_release");
    functions.abort = (void (*)(uint64_t *))dlsym(RTLD_NEXT, "__cxa_guard_abort");
    __atomic_store_n(&functions.are_known, true, __ATOMIC_RELEASE);
}

/* -- the guard itself ----------------------------------------------------------------------- */

static uint8_t *done(uint64_t *state) { return (uint8_t *)state; }
static uint8_t *taken(uint64_t *state) { return (uint8_t *)state + 1; }

static bool is_done(uint64_t *state) { return __atomic_load_n(done(state), __ATOMIC_ACQUIRE); }

static int take(uint64_t *state) {
    look_up();
    if (functions.acquire) return functions.acquire(state);
    while (!is_done(state)) {
        if (!__atomic_exchange_n(taken(state), 1, __ATOMIC_ACQUIRE)) return 1;
        REAL(sched_yield)();
    }
    return 0;
}

static void let_go_done(uint64_t *state) {
    if (functions.release) {
        functions.release(state);
        return;
    }
    __atomic_store_n(done(state), 1, __ATOMIC_RELEASE);
    __atomic_store_n(taken(state), 0, __ATOMIC_RELEASE);
}

static void let_go_undone(uint64_t *state) {
    if (functions.abort) functions.abort(state);
    else __atomic_store_n(taken(state), 0, __ATOMIC_RELEASE);
}

/* -- what programs call ---------------------------------------------------------------------- */

EXPORT int __cxa_guard_acquire(uint64_t *state) {
    if (!controlled() || busy || early) return take(state);
    GUARD;
    struct resource *resource = resource_at(state, ONCE, false, SITE, NULL);
    /* An initialiser that comes to its own variable gets an exception. */
    bool is_mine = resource->owner.task == index_of(current);
    if (!is_mine && segment->alive_count > 1 && !is_done(state))
        perform_when(ACQUIRE, resource_index(resource), SITE,
                     (struct waiting){UNHELD, 0, NO_DEADLINE, false, false});
    int mine = take(state);
    if (mine) resource_take(resource, SITE);
    else if (accesses_watched()) order_learn(resource_index(resource));
    return mine;
}

static void release(uint64_t *state) {
    struct resource *resource = resource_known(state, ONCE);
    if (resource && resource->owner.task == index_of(current)) resource_release(resource);
}

EXPORT void __cxa_guard_release(uint64_t *state) {
    let_go_done(state);
    if (!controlled() || busy) return;
    GUARD;
    release(state);
}

EXPORT void __cxa_guard_abort(uint64_t *state) {
    let_go_undone(state);
    if (!controlled() || busy) return;
    GUARD;
    release(state);
}
