/* The end of an execution that the shim brings about itself. */
#ifndef BOHRBUG_ENDING_H
#define BOHRBUG_ENDING_H

#include <stdbool.h>

#include "segment.h"

/* Writes down how the execution ends and ends all its processes. */
_Noreturn void finish(enum ending ending, uint32_t task, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes it down only; what follows is left to the program. */
void note_ending(enum ending ending, uint32_t task, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The current task misuses a resource at `site`: that ends the execution, unless the user lets it pass.  Then
 * this returns, and whoever asks does what the C library does. */
void misuse(enum misuse_kind kind, uint32_t resource, uint64_t site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline bool lets_pass(enum misuse_kind kind) { return segment->allowed_misuses >> kind & 1; }

/* The handlers that write down a fatal signal before the process dies of it. */
void crash_handlers_install(void);

#endif
