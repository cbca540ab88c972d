/* The debug registers of the processor: by them the kernel stops a thread where it accesses an address
 * or reaches an instruction. */
#ifndef BOHRBUG_DEBUG_REGISTERS_H
#define BOHRBUG_DEBUG_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "own.h"

/* What a register is set to. */
struct setting {
    uint32_t type;             /* HW_BREAKPOINT_... */
    uint32_t size;
    uint64_t address;
    uint64_t what;             /* given to the handler, from 0 */
    bool off;
};

/* Where a thread was stopped: behind an access, or before an instruction. */
struct stopped {
    uint64_t place, stack;     /* the instruction pointer, and the stack pointer */
    const ucontext_t *context;
};

typedef void (*on_stop)(uint32_t what, const struct stopped *stopped);

/* Whether SIGTRAP is ours, and no handler or mask of the program may keep it from us. */
bool debug_registers_are_set(void);
/* From now on the handler is called for settings whose `what` is from `first` on; those below belong to
 * handlers that were given before. */
void debug_registers_take(uint32_t first, on_stop handler);
/* In this thread and all that it starts: a descriptor, or -1; then the segment says why. */
int debug_register_open(const struct setting *setting);
void debug_register_change(int descriptor, const struct setting *setting);
void debug_register_off(int descriptor);

/* The value at an address, seen without being stopped there. */
uint64_t value_at(uint64_t address, uint32_t size);

#endif
