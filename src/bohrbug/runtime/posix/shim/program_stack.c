#include "program_stack.h"

#include <dlfcn.h>
#include <stddef.h>
#include <unwind.h>

#include "fnv.h"
#include "task.h"

#define MOST_FRAMES 32
/* Bytes of the stack that are looked at for its state. */
#define MOST_BYTES (256 * 1024)

/* Registers that belong to the caller, as DWARF numbers them. */
#if defined(__x86_64__)
static const int kept[] = {3, 6, 12, 13, 14, 15};
#elif defined(__aarch64__)
static const int kept[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
#else
static const int kept[] = {0};
#define KEPT_ARE_UNKNOWN
#endif
#define KEPT (sizeof kept / sizeof *kept)

/* In the library that backtrace() has loaded, too: one that we need ourselves would be loaded into every program. */
static __typeof__(&_Unwind_Backtrace) walk;
static __typeof__(&_Unwind_GetIP) place_of;
static __typeof__(&_Unwind_GetCFA) pointer_of;
static __typeof__(&_Unwind_GetGR) register_of;

void program_stack_begin(void) {
    inside++;
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (library) {
        place_of = (__typeof__(place_of))dlsym(library, "_Unwind_GetIP");
        pointer_of = (__typeof__(pointer_of))dlsym(library, "_Unwind_GetCFA");
        register_of = (__typeof__(register_of))dlsym(library, "_Unwind_GetGR");
        if (place_of && pointer_of && register_of)
            walk = (__typeof__(walk))dlsym(library, "_Unwind_Backtrace");
    }
    inside--;
}

struct search {
    uint64_t site, found;
    bool to_the_end;           /* the frames around it are looked at, too */
    uint64_t outermost;        /* stack pointer of the last of them */
    uint64_t registers[KEPT];
    int frames;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data) {
    struct search *search = data;
    if (!search->found && place_of(context) == search->site) {
        search->found = pointer_of(context);
        for (size_t i = 0; i < KEPT; i++) search->registers[i] = register_of(context, kept[i]);
    }
    if (search->found) search->outermost = pointer_of(context);
    bool is_over = search->found && !search->to_the_end;
    return is_over || ++search->frames == MOST_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void find(struct search *search) {
    if (!walk || !search->site) return;
    inside++;
    walk(look, search);
    inside--;
}

uint64_t program_stack_at(uint64_t site) {
    struct search search = {.site = site};
    find(&search);
    return search.found;
}

uint64_t program_stack_state(uint64_t site) {
#ifdef KEPT_ARE_UNKNOWN
    return 0;
#endif
    struct search search = {.site = site, .to_the_end = true};
    find(&search);
    if (!search.found || search.outermost - search.found > MOST_BYTES) return 0;
    uint64_t state = fnv_1a_of_words(FNV_START, search.registers, search.registers + KEPT);
    state = fnv_1a_of_words(state, (const uint64_t *)(uintptr_t)search.found,
                            (const uint64_t *)(uintptr_t)search.outermost);
    return state | 1;
}
