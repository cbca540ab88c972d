/* Sleeping and yielding, in virtual time. */
#include <errno.h>
#include <stdint.h>
#include <threads.h>

#include "clock.h"
#include "real.h"
#include "schedule.h"

static void sleep_until(uint64_t moment, uint64_t site) {
    if (moment <= segment->now) {
        perform(YIELD, current_resource(), site);
        return;
    }
    perform_when(SLEEP, current_resource(), site, (struct waiting){NEVER, 0, moment, true});
    REAL(pthread_testcancel)();
}

static void sleep_for(struct timespec time, uint64_t site) {
    sleep_until(deadline_after(&time), site);
}

EXPORT int sched_yield(void) {
    CONTROLLED(sched_yield);
    perform(YIELD, current_resource(), SITE);
    return 0;
}

EXPORT void thrd_yield(void) {
    if (!controlled()) {
        REAL(thrd_yield)();
        return;
    }
    GUARD;
    perform(YIELD, current_resource(), SITE);
}

EXPORT unsigned sleep(unsigned seconds) {
    CONTROLLED(sleep, seconds);
    sleep_for((struct timespec){(time_t)seconds, 0}, SITE);
    return 0;
}

EXPORT int usleep(useconds_t microseconds) {
    CONTROLLED(usleep, microseconds);
    sleep_for((struct timespec){microseconds / 1000000, (long)(microseconds % 1000000) * 1000},
              SITE);
    return 0;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left) {
    CONTROLLED(nanosleep, time, left);
    if (!valid_time(time)) {
        errno = EINVAL;
        return -1;
    }
    sleep_for(*time, SITE);
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *left) {
    CONTROLLED(clock_nanosleep, clock, flags, time, left);
    if (!valid_time(time)) return EINVAL;
    sleep_until(flags & TIMER_ABSTIME ? deadline_at(clock, time) : deadline_after(time), SITE);
    return 0;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left) {
    CONTROLLED(thrd_sleep, time, left);
    if (!valid_time(time)) return -2;
    sleep_for(*time, SITE);
    return 0;
}
