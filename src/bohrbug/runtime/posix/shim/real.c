#include "real.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define DEFINE(name) __typeof__(name) *real_##name;
INTERPOSED(DEFINE)
#undef DEFINE

#define ENTRY(name) {#name, (void **)(void *)&real_##name},
static const struct {
    const char *name;
    void **function;
} table[] = {INTERPOSED(ENTRY)};
#undef ENTRY

/* The oldest version of a function of condition variables has another layout. */
static bool has_older_version(const char *name) {
    return strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
}

/* Where the program has its own malloc, looking a function up may call others of them: then those
 * that are still missing are looked up first. */
void load_real_functions(void) {
    static size_t next;
    while (next < sizeof table / sizeof *table) {
        size_t i = next++;
        void *function = NULL;
        if (has_older_version(table[i].name))
            function = dlvsym(RTLD_NEXT, table[i].name, "GLIBC_2.3.2");
        if (!function) function = dlsym(RTLD_NEXT, table[i].name);
        *table[i].function = function;
    }
}
