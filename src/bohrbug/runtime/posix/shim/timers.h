/* Timers of the kernel: alarm, setitimer, timer_create, timerfd.  Each is a task in virtual time that sleeps
 * until it fires, and then sends its signal, starts its thread, or writes to its descriptor. */
#ifndef BOHRBUG_TIMERS_H
#define BOHRBUG_TIMERS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "task.h"

/* Whether a timer that the kernel still has, as it was set where nobody could see it, may soon send one of
 * these signals: it is worth waiting for in real time. */
bool timer_ends_soon(uint64_t signals);
/* In a new process: it has none of its parent's. */
void timers_forget(void);
/* The program handles other signals than before. */
void timers_look_at_handlers(void);
/* A signal was waited for and taken: if a timer has sent it, it says how often that has expired since. */
void timer_signal_taken(siginfo_t *info);
/* A descriptor is about to be closed. */
void timer_closed(int fd);
/* The program is about to become another one, which keeps its alarm; or could not. */
void timers_before_exec(void);
void timers_exec_failed(void);
/* Whether somebody else than timers would be left of this process if the running task ended. */
bool other_threads_stay(void);
/* Whether nobody but timers would be left of this process if the running task ended. */
bool only_timers_stay(void);

#endif
