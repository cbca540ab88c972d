/* The functions behind the interposed ones. */
#ifndef BOHRBUG_REAL_H
#define BOHRBUG_REAL_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "functions.h"

/* Declared by no header. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack);

#define DECLARE(name) extern __typeof__(name) *real_##name;
INTERPOSED(DECLARE)
#undef DECLARE

#define REAL(name) (real_##name ? real_##name : (load_real_functions(), real_##name))
#define EXPORT __attribute__((visibility("default")))
/* Where the program called: what reports show. */
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

void load_real_functions(void);

#endif
