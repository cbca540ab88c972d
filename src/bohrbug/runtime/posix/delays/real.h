/* The functions behind the interposed ones. */
#ifndef BOHRBUG_DELAYS_REAL_H
#define BOHRBUG_DELAYS_REAL_H

/* assert.h declares what a failed assertion calls only without it. */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

#include "../shim/own.h"
#include "functions.h"

#define DECLARE(name) extern __typeof__(name) *real_##name OWN;
INTERPOSED(DECLARE)
#undef DECLARE

#define REAL(name) (__builtin_expect(real_##name != NULL, 1) ? real_##name : (load_real_functions(), real_##name))
#define EXPORT __attribute__((visibility("default")))
/* Where the program called: what reports show. */
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

extern const char *const function_names[FUNCTIONS] OWN;
void load_real_functions(void);

#endif
