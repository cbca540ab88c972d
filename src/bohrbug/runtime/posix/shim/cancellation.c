#include "cancellation.h"

#include <errno.h>

#include "ended_threads.h"
#include "fiber.h"
#include "real.h"
#include "schedule.h"
#include "short_way.h"

bool cancels_anywhere;

void cancellation_comes(void) {
    if (!current->cancel_anywhere || !is_cancelled(current)) return;
    segment->cancelled_anywhere = 1;
    cancellation_point();
}

void cancellation_point(void) {
    uint8_t before = current->unwinds;
    current->unwinds |= is_cancelled(current);
    REAL(pthread_testcancel)();
    current->unwinds = before;
}

EXPORT int pthread_cancel(pthread_t thread) {
    CONTROLLED(pthread_cancel, thread);
    needs_kernel_threads("pthread_cancel");
    struct task *task = task_of_handle((uint64_t)thread);
    if (!task && names_ended_thread(thread, SITE, "cancellation of")) return ESRCH;
    if (!task) return REAL(pthread_cancel)(thread);
    perform(CANCEL, TASK_BIT | index_of(task), SITE);
    if (names_ended_thread(thread, SITE, "cancellation of")) return ESRCH;
    /* Parked threads must not act on it before they have the turn. */
    segment->signals_matter = 1;
    int result = REAL(pthread_cancel)(thread);
    task->cancelled = 1;
    after_reaching(TASK_BIT | index_of(task), SITE);
    return result;
}

/* A cancellation that has come meanwhile may end the task here. */
static void let_it_come(uint64_t site) {
    perform(INSPECT, current_resource(), site);
    cancellation_comes();
}

EXPORT int pthread_setcancelstate(int state, int *before) {
    CALLED_BY_PROGRAM(pthread_setcancelstate, state, before);
    if (current->cancel_anywhere && state == PTHREAD_CANCEL_DISABLE) let_it_come(SITE);
    int result = REAL(pthread_setcancelstate)(state, before);
    if (result == 0) current->cancel_disabled = state == PTHREAD_CANCEL_DISABLE;
    if (current->cancel_anywhere && state == PTHREAD_CANCEL_ENABLE) let_it_come(SITE);
    return result;
}

EXPORT int pthread_setcanceltype(int type, int *before) {
    CALLED_BY_PROGRAM(pthread_setcanceltype, type, before);
    if (type != PTHREAD_CANCEL_ASYNCHRONOUS && type != PTHREAD_CANCEL_DEFERRED) return EINVAL;
    if (before) *before = current->cancel_anywhere ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS) {
        cancels_anywhere = true;
        look_again();
        current->cancel_anywhere = 1;
        let_it_come(SITE);
    } else if (current->cancel_anywhere) {
        let_it_come(SITE);
        current->cancel_anywhere = 0;
    }
    return 0;
}

EXPORT void pthread_testcancel(void) {
    if (controlled()) {
        GUARD;
        perform_when(INSPECT, current_resource(), SITE, (struct waiting){ALWAYS, 0, NO_DEADLINE, true, false});
        cancellation_point();
        return;
    }
    REAL(pthread_testcancel)();
}
