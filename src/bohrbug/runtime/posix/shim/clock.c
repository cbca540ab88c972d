#include "clock.h"

#include <errno.h>

#include "schedule.h"
#include "timeouts.h"

/* Nanoseconds that pass with every reading, so that loops which poll a clock end. */
#define READING 1000ULL
/* Readings without a scheduling point after which they take more and more time. */
#define IMPATIENT_AFTER 200
/* ... and after which the task is made to yield. */
#define YIELDS_AFTER 1000
/* What the monotonic clocks say at the beginning. */
#define MONOTONIC_START (1000 * SECOND)

static __thread unsigned readings __attribute__((tls_model("initial-exec")));
static __thread uint32_t readings_at __attribute__((tls_model("initial-exec")));

static uint64_t start_of(clockid_t clock) {
    if (is_of_processor(clock)) return 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
        return segment->epoch;
    default:
        return MONOTONIC_START;
    }
}

uint64_t clock_read(clockid_t clock) {
    if (readings_at != segment->steps) {
        readings_at = segment->steps;
        readings = 0;
    }
    unsigned excess = ++readings > IMPATIENT_AFTER ? readings - IMPATIENT_AFTER : 0;
    segment->now += READING << (excess / 8 < 20 ? excess / 8 : 20);
    if (readings >= YIELDS_AFTER) perform(YIELD, current_resource(), 0);
    /* Whoever sees that moment sees what the timer has done, too. */
    else if (timer_is_due()) perform(INSPECT, current_resource(), 0);
    return start_of(clock) + clock_now(clock);
}

bool is_of_processor(clockid_t clock) {
    /* The negative numbers are the clocks of processes and threads. */
    return clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

uint64_t clock_now(clockid_t clock) {
    return is_of_processor(clock) ? segment->now - segment->slept : segment->now;
}

bool can_wait_by(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }

bool clock_is_known(clockid_t clock) {
    /* Number 10 has had an owner once. */
    return clock <= CLOCK_TAI && clock != CLOCK_TAI - 1;
}

int clock_refuses(clockid_t clock) {
    switch (clock) {
    case CLOCK_MONOTONIC_RAW: case CLOCK_REALTIME_COARSE: case CLOCK_MONOTONIC_COARSE:
        return EOPNOTSUPP;
    default:
        return clock < 0 || clock <= CLOCK_TAI ? 0 : EINVAL;
    }
}

bool valid_time(const struct timespec *time) {
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < (long)SECOND;
}

static uint64_t nanoseconds(const struct timespec *time) {
    if (time->tv_sec < 0) return 0;
    if ((uint64_t)time->tv_sec > UINT64_MAX / SECOND / 4) return NO_DEADLINE / 4;
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

uint64_t deadline_after(const struct timespec *time) { return segment->now + nanoseconds(time); }

uint64_t deadline_at(clockid_t clock, const struct timespec *time) {
    uint64_t moment = nanoseconds(time), start = start_of(clock);
    if (is_of_processor(clock)) start = 0, moment += segment->slept;
    return moment > start ? moment - start : 0;
}

uint64_t before_beginning(clockid_t clock, const struct timespec *time) {
    uint64_t moment = nanoseconds(time), start = start_of(clock);
    return moment < start ? start - moment : 0;
}

/* The deadlines of timers of processor time are as far away as before. */
static void put_off(uint64_t by) {
    for (uint32_t i = 0; segment->timers && i < segment->alive_count; i++) {
        struct task *task = &TASKS[segment->alive[i]];
        if (task->fires == WITH_PROCESSOR && task->deadline != NO_DEADLINE) task->deadline += by;
    }
}

void clock_advance(uint64_t moment, bool somebody_computes) {
    if (moment == NO_DEADLINE || moment <= segment->now) return;
    if (!somebody_computes) {
        segment->slept += moment - segment->now;
        put_off(moment - segment->now);
    }
    segment->now = moment;
}
