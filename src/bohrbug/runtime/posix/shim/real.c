#include "real.h"

#include "newest.h"

#define DEFINE(name) __typeof__(name) *real_##name;
INTERPOSED(DEFINE)
#undef DEFINE

#define ENTRY(name) {#name, (void **)(void *)&real_##name},
static const struct {
    const char *name;
    void **function;
} table[] = {INTERPOSED(ENTRY)};
#undef ENTRY

/* Where the program has its own malloc, looking a function up may call others of them: then those
 * that are still missing are looked up first. (Volatile, as dlsym is declared not to call back.) */
void load_real_functions(void) {
    static volatile size_t next;
    while (next < sizeof table / sizeof *table) {
        size_t i = next++;
        *table[i].function = newest(table[i].name);
    }
}
