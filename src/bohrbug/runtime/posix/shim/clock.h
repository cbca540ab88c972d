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
bool valid_time(const struct timespec *time);
/* A timeout has fired: at least that late it is now. */
void clock_advance(uint64_t moment);

#endif
