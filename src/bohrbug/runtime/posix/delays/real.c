#include "real.h"

#include <stddef.h>

#include "../shim/newest.h"

#define DEFINE(name) __typeof__(name) *real_##name;
INTERPOSED(DEFINE)
#undef DEFINE

#define NAME(name) #name,
const char *const function_names[FUNCTIONS] = {INTERPOSED(NAME)};
#undef NAME

#define POINTER(name) (void **)(void *)&real_##name,
static void **const pointers[FUNCTIONS] = {INTERPOSED(POINTER)};
#undef POINTER

/* Where the program has its own malloc, looking a function up may call others of them: then those
 * that are still missing are looked up first. (Volatile, as dlsym is declared not to call back.) */
void load_real_functions(void) {
    static volatile int next;
    while (next < FUNCTIONS) {
        int i = next++;
        *pointers[i] = newest(function_names[i]);
    }
}
