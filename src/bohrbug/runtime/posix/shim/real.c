#include "real.h"

#include <dlfcn.h>
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

void load_real_functions(void) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = NULL;
        /* The oldest version of these has another layout. */
        if (strncmp(table[i].name, "pthread_cond_", 13) == 0)
            function = dlvsym(RTLD_NEXT, table[i].name, "GLIBC_2.3.2");
        if (!function) function = dlsym(RTLD_NEXT, table[i].name);
        *table[i].function = function;
    }
}
