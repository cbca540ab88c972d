#include "program_stack.h"

#include <dlfcn.h>
#include <stddef.h>
#include <unwind.h>

#include "task.h"

#define MOST_FRAMES 32

/* In the library that backtrace() has loaded, too: one that we need ourselves would be loaded into every program. */
static __typeof__(&_Unwind_Backtrace) walk;
static __typeof__(&_Unwind_GetIP) place_of;
static __typeof__(&_Unwind_GetCFA) pointer_of;

void program_stack_begin(void) {
    inside++;
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (library) {
        walk = (__typeof__(walk))dlsym(library, "_Unwind_Backtrace");
        place_of = (__typeof__(place_of))dlsym(library, "_Unwind_GetIP");
        pointer_of = (__typeof__(pointer_of))dlsym(library, "_Unwind_GetCFA");
    }
    inside--;
}

struct search {
    uint64_t site, found;
    int frames;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data) {
    struct search *search = data;
    if (place_of(context) == search->site) search->found = pointer_of(context);
    return search->found || ++search->frames == MOST_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint64_t program_stack_at(uint64_t site) {
    if (!walk || !place_of || !pointer_of || !site) return 0;
    struct search search = {site, 0, 0};
    inside++;
    walk(look, &search);
    inside--;
    return search.found;
}
