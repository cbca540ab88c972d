/* What fibers need of a processor. */
#ifndef BOHRBUG_FIBER_SWITCH_H
#define BOHRBUG_FIBER_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "own.h"

#if defined(__x86_64__)
#define HAS_FIBERS 1
#else
#define HAS_FIBERS 0
#endif

/* What a futex `parked` says. */
enum parking { COMING, IS_PARKED, AWAITED };

/* The code of fiber_switch.c knows where these are. */
struct fiber {
    void *stack;               /* its stack pointer while it does not run; registers lie above it */
    uint64_t thread_pointer;
    uint32_t parked;           /* a futex: enum parking */
    uint32_t released;         /* a futex: 1 when the real thread may go on */
    uint64_t mask;             /* of signals, while it does not run */
    bool is_kept;              /* its real thread never goes on */
};

/* Whether the instruction that changes the thread pointer may be used. */
extern bool may_write_thread_pointer OWN;

/* Whether the kernel and the processor allow to change stacks. */
bool can_switch(void) OWN;
uint64_t thread_pointer(void) OWN;
/* Keeps the registers in `from` and goes on where `to` was left. */
void switch_registers(struct fiber *from, const struct fiber *to) OWN;
/* What the thread that calls has set for floating point goes for a fiber that does not run, too. */
void take_over_modes(const struct fiber *fiber) OWN;
/* Going over, and the real thread of `from` goes on where it was left. */
void switch_and_release(struct fiber *from, const struct fiber *to) OWN;
/* Keeps the registers, for another thread to go on, and sleeps on no stack at all until released. */
void park_registers(struct fiber *own) OWN;

#endif
