/* What all threads of a process share, and no lock of the program guards: where it stands among folders,
 * its environment, and so on.  Functions that the C library makes safe for themselves can still come
 * between two calls of another task. */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "process_state.h"
#include "real.h"
#include "schedule.h"
#include "trying.h"

void process_state_operation(enum kind kind, enum process_state state, uint64_t site) {
    if (alone || segment->alive_count < 2) return;
    uint64_t place = (uint64_t)this_process << 8 | state;
    perform(kind, resource_index(resource_named(STATES, place, STATE, site)), site);
}

#define ON_STATE(kind, state, type, name, parameters, ...) \
    EXPORT type name parameters { \
        CALLED_BY_PROGRAM(name, __VA_ARGS__); \
        process_state_operation(kind, state, SITE); \
        return REAL(name)(__VA_ARGS__); \
    }

ON_STATE(SET, WORKING_DIRECTORY, int, chdir, (const char *path), path)
ON_STATE(SET, WORKING_DIRECTORY, int, fchdir, (int fd), fd)
ON_STATE(INSPECT, WORKING_DIRECTORY, char *, getcwd, (char *buffer, size_t size), buffer, size)
ON_STATE(SET, CREATION_MASK, mode_t, umask, (mode_t mask), mask)
ON_STATE(INSPECT, ENVIRONMENT, char *, getenv, (const char *name), name)
ON_STATE(INSPECT, ENVIRONMENT, char *, secure_getenv, (const char *name), name)
ON_STATE(SET, ENVIRONMENT, int, setenv, (const char *name, const char *value, int replace), name, value,
         replace)
ON_STATE(SET, ENVIRONMENT, int, unsetenv, (const char *name), name)
ON_STATE(SET, ENVIRONMENT, int, putenv, (char *entry), entry)
ON_STATE(SET, ENVIRONMENT, int, clearenv, (void))
ON_STATE(SET, RANDOM_NUMBERS, int, rand, (void))
ON_STATE(SET, RANDOM_NUMBERS, long, random, (void))

#define SEEDS(name) \
    EXPORT void name(unsigned seed) { \
        if (controlled() && !busy) { \
            GUARD; \
            process_state_operation(SET, RANDOM_NUMBERS, SITE); \
        } \
        REAL(name)(seed); \
    }
SEEDS(srand)
SEEDS(srandom)

EXPORT char *setlocale(int category, const char *locale) {
    CALLED_BY_PROGRAM(setlocale, category, locale);
    process_state_operation(locale ? SET : INSPECT, LOCALE, SITE);
    return REAL(setlocale)(category, locale);
}
