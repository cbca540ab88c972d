/* One timer of the kernel, and what happens when it fires. */
#ifndef BOHRBUG_TIMER_H
#define BOHRBUG_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "task.h"

#define MOST_TIMERS 256
#define ITIMERS 3

enum way { TO_PROCESS, TO_THREAD, NEW_THREAD, ON_DESCRIPTOR_OF_ITS_OWN, IN_SILENCE };

extern struct timer {
    bool is_used, is_armed;
    bool sleeps;               /* its task waits for the deadline, or to be armed again */
    bool is_blocked;           /* whoever armed it blocks its signal */
    bool has_sent;             /* a signal, which may still be pending */
    enum way way;
    int number, thread, fd;
    union sigval value;
    void (*function)(union sigval);
    clockid_t clock;
    uint64_t deadline, interval; /* by clock_now(clock) */
    uint64_t missed;           /* expirations before the beginning, which come with the first one */
    uint64_t late, later;      /* overruns of the last signal that was taken, and of the one that is pending */
    uint32_t computes;         /* whose time of the processor it counts, NONE for the whole process */
    struct task *task;         /* once it was armed */
} timers[MOST_TIMERS] OWN;

static inline bool sends_signals(const struct timer *timer) {
    return timer->way == TO_PROCESS || timer->way == TO_THREAD;
}

static inline uint64_t signal_bit(int number) { return (uint64_t)1 << (number - 1); }

/* It has expired so many times; nobody comes between the moment and what the kernel does then. */
void timer_fires(struct timer *timer, uint64_t times);
/* How often it expired while the signal of an earlier time was pending, for the last one that was taken. */
int timer_overruns(struct timer *timer);
/* A descriptor counts so many expirations more, or none any more. */
void timer_descriptor_counts(int fd, uint64_t times);
void timer_descriptor_clears(int fd);

#endif
