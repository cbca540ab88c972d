/* What time it is. */
#include <sys/time.h>
#include <time.h>

#include "clock.h"
#include "real.h"
#include "task.h"

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    CONTROLLED(clock_gettime, clock, time);
    if (!clock_is_known(clock)) return REAL(clock_gettime)(clock, time);
    /* The negative numbers are the processor-time clocks of other processes and threads. */
    uint64_t now = clock_read(clock < 0 ? CLOCK_THREAD_CPUTIME_ID : clock);
    *time = (struct timespec){(time_t)(now / SECOND), (long)(now % SECOND)};
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    CONTROLLED(gettimeofday, time, zone);
    uint64_t now = clock_read(CLOCK_REALTIME);
    /* The header promises that there is one; programs pass NULL all the same. */
    struct timeval *volatile given = time;
    if (given) *given = (struct timeval){(time_t)(now / SECOND), (long)(now % SECOND / 1000)};
    return 0;
}

EXPORT time_t time(time_t *seconds) {
    CONTROLLED(time, seconds);
    time_t now = (time_t)(clock_read(CLOCK_REALTIME) / SECOND);
    if (seconds) *seconds = now;
    return now;
}

EXPORT int timespec_get(struct timespec *time, int base) {
    CONTROLLED(timespec_get, time, base);
    if (base != TIME_UTC) return 0;
    uint64_t now = clock_read(CLOCK_REALTIME);
    *time = (struct timespec){(time_t)(now / SECOND), (long)(now % SECOND)};
    return base;
}

EXPORT clock_t clock(void) {
    CONTROLLED(clock);
    return (clock_t)(clock_read(CLOCK_PROCESS_CPUTIME_ID) / (SECOND / CLOCKS_PER_SEC));
}
