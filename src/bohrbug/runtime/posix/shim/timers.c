#include "timers.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "real.h"

/* Seconds for which it is worth to wait in real time: what takes longer is there to end what hangs. */
#define SOON 5

/* Those that timer_settime has set. */
static struct {
    timer_t timer;
    bool is_set;
} set[16];

static bool is_soon(long seconds, long fraction) {
    return seconds < SOON && (seconds > 0 || fraction > 0);
}

bool timer_ends_soon(uint64_t signals) {
    struct itimerval left;
    bool alarm = signals >> (SIGALRM - 1) & 1;
    if (alarm && getitimer(ITIMER_REAL, &left) == 0 &&
        is_soon(left.it_value.tv_sec, left.it_value.tv_usec))
        return true;
    for (size_t i = 0; signals && i < sizeof set / sizeof *set; i++) {
        struct itimerspec rest;
        if (set[i].is_set && timer_gettime(set[i].timer, &rest) == 0 &&
            is_soon(rest.it_value.tv_sec, rest.it_value.tv_nsec))
            return true;
    }
    return false;
}

void timers_forget(void) {
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) set[i].is_set = false;
}

EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *value,
                         struct itimerspec *before) {
    size_t free = sizeof set / sizeof *set;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        if (set[i].is_set && set[i].timer == timer) free = i;
        else if (!set[i].is_set && free == sizeof set / sizeof *set) free = i;
    }
    if (free < sizeof set / sizeof *set) {
        set[free].timer = timer;
        set[free].is_set = true;
    }
    return REAL(timer_settime)(timer, flags, value, before);
}

EXPORT int timer_delete(timer_t timer) {
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (set[i].is_set && set[i].timer == timer) set[i].is_set = false;
    return REAL(timer_delete)(timer);
}
