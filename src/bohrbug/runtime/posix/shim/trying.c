#include "trying.h"

#include <errno.h>
#include <stdbool.h>

#include "cancellation.h"
#include "real.h"

/* What each task of this process tries; done, with its result, if it was so while the task waited.  A handler that runs
 * meanwhile may try something itself, and then puts this back. */
static struct try {
    const struct call *call;
    long result;
    int error;
    bool is_done;
} tries[MOST_TASKS];

static bool would_block(void) { return errno == EAGAIN || errno == EACCES || errno == ENOMSG; }

void try_again(struct task *task) {
    uint32_t index = index_of(task);
    const struct call *call = tries[index].call;
    if (!call || tries[index].is_done) return;
    int error = errno;
    long result = call->attempt(call);
    if (result < 0 && would_block()) {
        if (segment->looks_closely)
            task->fd_outside = call->outsider ? call->outsider(call) : NOBODY;
    } else {
        tries[index].result = result;
        tries[index].error = errno;
        tries[index].is_done = true;
        segment->releases++;
    }
    errno = error;
}

long persist_from_now(const struct call *call, enum kind kind, uint32_t resource, uint64_t site) {
    uint32_t index = index_of(current);
    uint64_t deadline = call->deadline ? call->deadline : NO_DEADLINE;
    for (;;) {
        long result = call->attempt(call);
        if (result >= 0 || !would_block()) return result;
        const struct try before = tries[index];
        tries[index].call = call;
        tries[index].is_done = false;
        current->fd_outside = NOBODY;
        uint8_t signals = call->never_restarts ? ANY_SIGNAL : SIGNALS;
        struct waiting waiting = {TRIED, segment->releases, deadline, true, signals};
        enum woken woken = perform_when(kind, resource, site, waiting);
        const struct try tried = tries[index];
        tries[index] = before;
        if (tried.is_done) {
            errno = tried.error;
            return tried.result;
        }
        cancellation_point();
        if (woken == TIMED_OUT) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (woken != INTERRUPTED || (current->restarts && !call->never_restarts)) continue;
        errno = EINTR;
        return -1;
    }
}

long persist(const struct call *call, enum kind kind, uint32_t resource, uint64_t site) {
    perform(kind, resource, site);
    return persist_from_now(call, kind, resource, site);
}

uint32_t numbered(uint64_t space, uint64_t place, enum type type, uint64_t site) {
    return resource_index(resource_named(space, place, type, site));
}

void let_go(uint32_t resource, uint64_t site) {
    segment->releases++;
    after_release(resource, site);
}
