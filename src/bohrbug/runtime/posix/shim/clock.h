/* Virtual time: it stands still while tasks run and jumps when a timeout fires. */
#ifndef BOHRBUG_CLOCK_H
#define BOHRBUG_CLOCK_H

#include <stdbool.h>
#include <time.h>

#include "segment.h"

#define SECOND 1000000000ULL

/* What a clock says now, in nanoseconds; reading it takes a little virtual time. */
uint64_t clock_read(clockid_t clock);
/* The virtual moment at which `time` from now, or a clock's absolute `time`, is reached. */
uint64_t deadline_after(const struct timespec *time);
uint64_t deadline_at(clockid_t clock, const struct timespec *time);
/* ... and how long before the beginning an absolute time was. */
uint64_t before_beginning(clockid_t clock, const struct timespec *time);
bool valid_time(const struct timespec *time);
/* Whether a clock counts time of the processor, which stands still while all sleep. */
bool is_of_processor(clockid_t clock);
/* Virtual nanoseconds since the beginning by a clock, without a reading. */
uint64_t clock_now(clockid_t clock);
/* Whether functions with a deadline by a clock of the caller's choice take this one. */
bool can_wait_by(clockid_t clock);
/* Whether the kernel has such a clock. */
bool clock_is_known(clockid_t clock);
/* The error with which the kernel refuses a timer by a clock, or 0. */
int clock_refuses(clockid_t clock);
/* A timeout has fired: at least that late it is now.  Somebody has computed until then, or all have slept. */
void clock_advance(uint64_t moment, bool somebody_computes);

#endif
