/* Sleeping and yielding, in virtual time. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>

#include "addresses.h"
#include "cancellation.h"
#include "clock.h"
#include "fairness.h"
#include "real.h"
#include "schedule.h"

/* Whether it slept to the end. */
static bool sleep_until(uint64_t moment, uint64_t site) {
    fairness_comes(site);
    if (moment <= segment->now) {
        perform(YIELD, current_resource(), site);
        return true;
    }
    struct waiting waiting = {NEVER, 0, moment, true, true};
    enum woken woken = perform_when(SLEEP, current_resource(), site, waiting);
    cancellation_point();
    return woken != INTERRUPTED;
}

static bool sleep_for(struct timespec time, uint64_t site) {
    return sleep_until(deadline_after(&time), site);
}

static void tell_rest(uint64_t until, struct timespec *left) {
    uint64_t rest = until > segment->now ? until - segment->now : 0;
    if (left) *left = (struct timespec){(time_t)(rest / SECOND), (long)(rest % SECOND)};
}

static int interrupted(void) {
    errno = EINTR;
    return -1;
}

/* Yields in a row of the only task there is, after which it can only be waiting for what nobody
 * sees: such as a thread that the leak sanitizer has made by itself. */
#define ALONE 50

static void yield(uint64_t site) {
    static uint32_t by_itself, last;
    if (segment->alive_count > 1 || segment->steps != last) by_itself = 0;
    else if (++by_itself > ALONE) REAL(nanosleep)(&(struct timespec){0, 100000}, NULL);
    fairness_comes(site);
    perform(YIELD, current_resource(), site);
    last = segment->steps;
}

EXPORT int sched_yield(void) {
    CONTROLLED(sched_yield);
    yield(SITE);
    return 0;
}

EXPORT void thrd_yield(void) {
    if (!controlled()) {
        REAL(thrd_yield)();
        return;
    }
    GUARD;
    yield(SITE);
}

EXPORT unsigned sleep(unsigned seconds) {
    CONTROLLED(sleep, seconds);
    uint64_t until = segment->now + seconds * SECOND;
    if (sleep_until(until, SITE) || segment->now >= until) return 0;
    return (unsigned)((until - segment->now + SECOND - 1) / SECOND);
}

EXPORT int usleep(useconds_t microseconds) {
    CONTROLLED(usleep, microseconds);
    struct timespec time = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    return sleep_for(time, SITE) ? 0 : interrupted();
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left) {
    CONTROLLED(nanosleep, time, left);
    REFUSED_IF(leads_nowhere(time), nanosleep, time, left);
    if (!valid_time(time)) {
        errno = EINVAL;
        return -1;
    }
    uint64_t until = deadline_after(time);
    return sleep_until(until, SITE) ? 0 : (tell_rest(until, left), interrupted());
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *left) {
    CONTROLLED(clock_nanosleep, clock, flags, time, left);
    REFUSED_IF(leads_nowhere(time), clock_nanosleep, clock, flags, time, left);
    if (!valid_time(time) || clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL;
    if (clock_refuses(clock)) return clock_refuses(clock);
    uint64_t until = flags & TIMER_ABSTIME ? deadline_at(clock, time) : deadline_after(time);
    if (sleep_until(until, SITE)) return 0;
    if (!(flags & TIMER_ABSTIME)) tell_rest(until, left);
    return EINTR;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left) {
    CONTROLLED(thrd_sleep, time, left);
    REFUSED_IF(leads_nowhere(time), thrd_sleep, time, left);
    if (!valid_time(time)) return -2;
    uint64_t until = deadline_after(time);
    if (sleep_until(until, SITE)) return 0;
    tell_rest(until, left);
    return -1;
}
